"""Serve requests: condense conversations on their way to an API, answer compactions, show the status page."""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from threading import BoundedSemaphore
from typing import Any, Final, Literal

import httpx
import msgspec
import uvicorn
from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..config.models import Configuration
from ..errors import BrokenOutputError, CondenseError
from ..live.conversation import KEEP_RECENT, Live
from ..live.deciding import DecisionKind, Fitted
from ..live.requests import Request as Messages
from ..live.state import Memory, State
from ..money.economics import CallUsage
from . import forwarding
from .bodies import LARGEST, Api, Body, api_of, target, usual_upstream
from .compaction import (
    SECONDS,
    CompactionAnswer,
    CompactionRequest,
    compact,
    compaction_request,
    events,
    with_own_compactions,
)
from .compress import Compressed, CompressOrder, compressed, order_of, unchanged
from .conversations import REFUSALS, Conversation, Conversations, Fits
from .record import (
    PAGE_HEADERS,
    Decided,
    Record,
    SeenClearing,
    SeenCompaction,
    SentRequest,
    cost_of,
    least_cost,
    status_page,
)

PATIENCE: Final = 2.0
"""Seconds that a request waits for a decision."""

COLD_PATIENCE: Final = 30.0
"""Seconds if nothing of the request is cached. Rewriting is free then, and never again that cheap."""

AHEAD: Final = 0.8
"""Share of a threshold at which to prepare a decision, so that hardly any request waits for one."""

AT_ONCE: Final = 2
"""Decisions worked out at a time. More would delay each other, and all requests."""


class ProxySettings(Struct, frozen=True):
    """Settings of one run.

    - `token`, `hosts`: the secret of the status page, and the host names that it answers to
    - `is_local`: only this machine can reach the proxy
    - `upstream`: the API of all requests; None for each request's own vendor, or its replacement in `vendors`
    - `watches`: change nothing, and report what would be saved
    - `compact`: who answers compactions of Claude Code, in `compact_tokens` of the model's; `word` is what its hook
      prints then, empty if none runs
    - `turn`: entered while a decision is worked out
    """

    token: str
    hosts: frozenset[str]
    is_local: bool = True
    upstream: str | None = None
    vendors: Mapping[str, str] = {}
    preset: str | None = None
    configuration: Configuration | None = None
    policy: str = "economic"
    keep_recent: int = KEEP_RECENT
    window: int | None = None
    watches: bool = False
    patience: float = PATIENCE
    cold_patience: float = COLD_PATIENCE
    ahead: float | None = AHEAD
    compact: Literal["client", "own"] = "client"
    compact_tokens: int | None = None
    word: str = ""
    turn: AbstractContextManager[Any] = field(default_factory=lambda: BoundedSemaphore(AT_ONCE))


_ANYTHING: Final = [
    {"role": role, "content": f"line {number}\n" * 400} for number, role in enumerate(("user", "assistant", "user") * 3)
]

_UNREACHABLE: Final = (httpx.HTTPError, httpx.InvalidURL)
_REFUSALS: Final = (400, 422)
"""Statuses by which APIs refuse the content of a request. Servers that validate it first use the second."""


class Proxy:
    """One run of the proxy. Every request that is not for the proxy itself goes on to its API."""

    def __init__(self, settings: ProxySettings, state: State, record: Record) -> None:
        self.settings = settings
        self.record = record
        self.is_reached = threading.Event()
        """Set at the first request."""
        self.conversations = Conversations(state, partial(_live, settings))
        self._fits = Fits()
        self._upstream = forwarding.Upstream()
        self._notes: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        self._fits.close()
        await self._upstream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.is_reached.set()
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except ClientDisconnect:
            return  # The client has left.
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1")
        if not path.startswith("/"):
            return forwarding.refusal(400, "invalid_request_error", "the address has to be a path.")
        if request.headers.get("upgrade", "").lower() == "websocket":
            return forwarding.refusal(426, "invalid_request_error", "WebSockets are not passed on; use plain HTTP.")
        pieces, whole = await _read(request)
        api = api_of(request.method, path, request.headers.get("authorization", ""))
        exchange = None
        if api is not None and whole is not None:
            whole = with_own_compactions(whole, request.headers.get("content-encoding", ""), api)
            found = await forwarding.unless_gone(request, self._exchange(request, api, whole))
            if isinstance(found, Response):
                return found
            exchange = found
            whole = exchange.body if exchange is not None else whole
        return await self._forward(request, path, pieces if whole is None else whole, exchange)

    async def _exchange(self, request: Request, api: Api, data: bytes) -> _Exchange | Response | None:
        """Decide what becomes of a conversation, or answer it; None if there is none that can be read."""
        try:
            found = self.conversations.of(data, request.headers.get("content-encoding", ""), api, request.headers)
        except (ValueError, RecursionError):
            return None  # The API will refuse it.
        if found is None:
            return None
        conversation, messages, body = found
        usage, conversation.reported = conversation.reported, None
        cleared = conversation.newly_cleared(body)
        if cleared:
            self.record.clearings.append(SeenClearing(time.time(), conversation.label, body.model or "", cleared))
        is_off = request.headers.get(forwarding.OFF.decode(), "").strip().lower() == "off"
        turn = request.headers.get("x-codex-turn-metadata", "")
        seen = None if is_off else await self._compaction(conversation, body, turn)
        if isinstance(seen, Response):
            return seen
        if is_off:
            fitted = await self._fits.originals(conversation, messages, body)
        else:
            fitted = await self._fits.fit(conversation, messages, body, usage)
        now = time.time()
        self.record.decided(Decided(now, conversation.label, body.model or "", fitted.decision))
        if fitted.decision.kind is DecisionKind.FAILED:
            self.record.failed(now, f"{conversation.label}: {fitted.decision.reason}")
        new = None if self.settings.watches else body.with_messages(fitted.messages)
        sent = data if new is None else new
        return _Exchange(conversation, messages, body, data, fitted, sent, new is not None, seen)

    async def _compaction(self, conversation: Conversation, body: Body, turn: str) -> Response | SeenCompaction | None:
        """Answer a request for a compaction, or note one that goes on; return None for every other request.

        Raises nothing but ClientDisconnect: an unclear request goes on.
        """
        now = time.time()
        try:
            asked = compaction_request(body, self.settings.word, turn)
        except Exception:  # The API will refuse it.
            return None
        if isinstance(asked, str):
            self.record.passed(now, f"{conversation.label}: {asked}")
        if not isinstance(asked, CompactionRequest):
            return None
        is_ours = self.settings.compact == "own" and not self.settings.watches
        seen = SeenCompaction(now, conversation.label, body.model or "", is_ours)
        work = self._fits.beside(partial(self._compacted, asked, body.model))
        if not is_ours:
            self.record.compacted(seen)
            self._note_answer(seen, work)
            return seen
        try:
            found = await asyncio.wait_for(work, SECONDS)
        except Exception as error:
            self.record.failed(now, f"{conversation.label}: a compaction was passed on ({type(error).__name__})")
            return None
        seen.before, seen.after, seen.seconds = found.before, found.after, found.seconds
        seen.money = least_cost(found.before, body.model, now)
        self.record.compacted(seen)
        headers = {"cache-control": "no-cache"}
        return StreamingResponse(events(found, asked.form, body.model), 200, headers, "text/event-stream")

    def _compacted(self, asked: CompactionRequest, model: str | None) -> CompactionAnswer:
        with self.settings.turn:
            return compact(asked, model, self.settings.compact_tokens, self.settings.window)

    def _note_answer(self, seen: SeenCompaction, work: Awaitable[CompactionAnswer]) -> None:
        """Work out our answer for the record while the model answers."""

        async def note() -> None:
            with suppress(Exception):  # Only a figure is missing then.
                found = await work
                seen.before, seen.after, seen.seconds = found.before, found.after, found.seconds

        task = asyncio.ensure_future(note())
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _forward(
        self, request: Request, path: str, body: bytes | AsyncIterator[bytes], exchange: _Exchange | None
    ) -> Response:
        try:
            answer = await self._ask_api(request, path, body, reads=exchange is not None)
        except _UNREACHABLE as error:
            words = f"{self._upstream_of(request, path)} cannot be reached ({type(error).__name__})"
            self.record.failed(time.time(), words)
            return forwarding.refusal(502, "api_error", f"{words}.")
        if exchange is None:
            return forwarding.Passing(answer)
        if exchange.is_changed:
            if answer.status_code in _REFUSALS:
                return await self._refused(request, path, forwarding.Passing(answer), exchange)
            if answer.status_code < 400:
                exchange.conversation.refused = 0
        return self._passing(exchange, answer)

    async def _refused(self, request: Request, path: str, answer: forwarding.Passing, exchange: _Exchange) -> Response:
        """Send the original after the API refused a condensed request, and return the answer for the client.

        The answer shows whether condensing was to blame. Nothing was billed so far.
        """
        conversation = exchange.conversation
        try:
            if forwarding.refuses_whatever_is_sent(await answer.beginning()):
                return answer
            as_it_came = await self._as_it_came(exchange)
            other = await self._ask_api(request, path, as_it_came.body, reads=True)
        except _UNREACHABLE:
            return answer
        await answer.close()
        if other.status_code >= 400:
            conversation.sent_originals = False  # Nothing was thought over them.
        else:
            conversation.refused += 1
            words = f"{conversation.label}: a condensed request was refused, and the original was taken"
            if conversation.refused == REFUSALS:
                words += "; from now on it passes through unchanged"
            self.record.failed(time.time(), words)
        return self._passing(as_it_came, other)

    async def _as_it_came(self, exchange: _Exchange) -> _Exchange:
        fitted = await self._fits.originals(exchange.conversation, exchange.request, exchange.body_before)
        body = exchange.body_before.with_messages(fitted.messages)
        return msgspec.structs.replace(exchange, fitted=fitted, body=body or exchange.data, is_changed=False)

    async def _ask_api(
        self, request: Request, path: str, body: bytes | AsyncIterator[bytes], *, reads: bool
    ) -> httpx.Response:
        """Send a request and return the beginning of the answer.

        Raises httpx.HTTPError, httpx.InvalidURL, ClientDisconnect.
        """
        query = request.scope["query_string"].decode("latin-1")
        url = target(self._upstream_of(request, path), path) + (f"?{query}" if query else "")
        headers = forwarding.sent_on(request.headers.raw, length=_length(request, body), reads=reads)
        sending = self._upstream.send(request.method, url, headers, body)
        return await (forwarding.unless_gone(request, sending) if isinstance(body, bytes) else sending)

    def _upstream_of(self, request: Request, path: str) -> str:
        if self.settings.upstream is not None:
            return self.settings.upstream
        vendor = usual_upstream(path, request.headers)
        return self.settings.vendors.get(vendor, vendor)

    def _passing(self, exchange: _Exchange, answer: httpx.Response) -> forwarding.Passing:
        """Return an answer for the client; its usage is recorded at its end."""
        is_answer = answer.status_code == 200
        return forwarding.Passing(answer, partial(self._record_usage, exchange) if is_answer else None)

    def _record_usage(self, exchange: _Exchange, reader: forwarding.UsageReader) -> None:
        """Record the usage that an ended answer reported, or an estimate."""
        body, fitted, conversation = exchange.body_before, exchange.fitted, exchange.conversation
        watches = self.settings.watches
        usage = reader.usage(body.api.accounting)
        if exchange.compaction is not None:
            now = time.time()
            exchange.compaction.model_seconds = now - exchange.compaction.at
            if usage is not None:
                exchange.compaction.money = cost_of(usage, body.api.accounting, body.model, now)
        if usage is None:
            usage = CallUsage(fitted.tokens + (fitted.saved if watches else 0), 0)
        else:
            tokens = usage.total_tokens(body.api.accounting)
            # Policies see the size that a condensed request would have had.
            conversation.reported = max(0, tokens - fitted.saved) if watches else tokens
        asked = SentRequest(
            model=body.model, cache=fitted.cache, saved=fitted.saved,
            caches=body.caches, for_an_hour=body.lives_long, rewrites=fitted.decision.is_change,
        )  # fmt: skip
        self.record.sums.add(conversation.savings.add(usage, body.api.accounting, asked, time.time(), watches=watches))

    async def page(self, request: Request) -> Response:
        """Show the status page to requests with the token and an expected host name."""
        host = request.headers.get("host", "")
        given = request.query_params.get("token", "")
        if host not in self.settings.hosts or not hmac.compare_digest(given.encode(), self.settings.token.encode()):
            return PlainTextResponse("The address of this page was printed when the proxy started.\n", 403)
        known = [(each.label, each.savings.sums) for each in self.conversations.all()]
        text = status_page(self.record, known, self.conversations.number, watches=self.settings.watches)
        return HTMLResponse(text, headers=PAGE_HEADERS)

    async def compress(self, request: Request) -> Response:
        """Shorten rows for a gateway: as many come out as went in."""
        if self.settings.is_local and not forwarding.names_this_machine(request.headers.get("host", "")):
            return forwarding.refusal(403, "permission_error", "ask for it as 127.0.0.1 or localhost.")
        _, data = await _read(request)
        if data is None:
            return forwarding.refusal(413, "invalid_request_error", f"the body has more than {LARGEST:,} bytes.")
        try:
            order = order_of(data)
            answer = await self._fits.beside(partial(self._compressed, order))
        except Exception as error:  # The gateway continues with its own rows.
            if isinstance(error, CondenseError) and not isinstance(error, BrokenOutputError):
                return forwarding.refusal(400, "invalid_request_error", error.message)
            self.record.failed(time.time(), f"rows are returned unchanged ({type(error).__name__})")
            answer = unchanged(order)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    def _compressed(self, order: CompressOrder) -> Compressed:
        with self.settings.turn:
            return compressed(order)


class _Exchange(msgspec.Struct, frozen=True):
    """A request with a conversation as it came (`data`, messages and body), and the `body` that is sent."""

    conversation: Conversation
    request: Messages
    body_before: Body
    data: bytes
    fitted: Fitted
    body: bytes
    is_changed: bool
    compaction: SeenCompaction | None = None


def application(proxy: Proxy) -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=_warm, args=(proxy.settings,), daemon=True).start()
        yield
        await proxy.close()

    routes = [
        Route("/condense", proxy.page, methods=["GET"]),
        Route("/v1/compress", proxy.compress, methods=["POST"]),
        Route("/{path:path}", proxy),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _warm(settings: ProxySettings) -> None:
    """Import the modules that decisions need before the first request waits for them."""
    with suppress(Exception):  # The first decision will report it.
        settings = msgspec.structs.replace(settings, policy="tokens:1000")
        _live(settings, Memory(), "anthropic", 0.0).fit(_ANYTHING, model="claude-opus-5")


def _live(settings: ProxySettings, state: State, format_name: str, life: float) -> Live:
    return Live(
        settings.configuration,
        preset=settings.preset,
        policy=settings.policy,
        state=state,
        keep_recent=settings.keep_recent,
        context_window=settings.window,
        cache_life=life,
        format=format_name,
        timeout=settings.patience,
        cold_timeout=settings.cold_patience,
        ahead=settings.ahead,
        turn=settings.turn,
        raw=True,
    )


async def _read(request: Request) -> tuple[AsyncIterator[bytes], bytes | None]:
    """Read a body of at most LARGEST bytes whole; return a larger one as pieces and None. Raises ClientDisconnect."""
    stream = request.stream()
    pieces: list[bytes] = []
    size = 0
    async for piece in stream:
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            return _chained(pieces, stream), None
    return stream, b"".join(pieces)


async def _chained(first: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for piece in first:
        yield piece
    async for piece in rest:
        yield piece


def _length(request: Request, body: object) -> int | None:
    """Return the length of the body in bytes; None if it is sent in pieces without one."""
    if isinstance(body, bytes):
        has_body = body or "content-length" in request.headers or "transfer-encoding" in request.headers
        return len(body) if has_body else None
    given = request.headers.get("content-length", "")
    return int(given) if given.isdecimal() else None


LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_BACKLOG: Final = 2048
_WAIT: Final = 5
"""Seconds for open answers at shutdown."""


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free one. Raises CondenseError."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except OSError as error:
        raise CondenseError(
            f"Cannot listen on {host}:{port} ({error.strerror or error}).", "Choose another port with --port."
        ) from None
    return found


def address_of(listener: socket.socket, host: str) -> str:
    """Return the address for clients on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{listener.getsockname()[1]}"


def names_of(address: str) -> frozenset[str]:
    """Return the host headers of browsers on this machine."""
    port = address.rpartition(":")[2]
    return frozenset(
        {address.removeprefix("http://"), *(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))}
    )


def serve(proxy: Proxy, listener: socket.socket) -> None:
    """Serve until the process gets a signal to stop."""
    _server(proxy).run(sockets=[listener])


@contextmanager
def served(proxy: Proxy, listener: socket.socket) -> Iterator[None]:
    """Serve in a thread while the block runs."""
    server = _server(proxy)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(2 * _WAIT)
        with suppress(OSError):
            listener.close()


def _server(proxy: Proxy) -> uvicorn.Server:
    # uvicorn would log addresses with their keys, and errors with content.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return uvicorn.Server(
        uvicorn.Config(
            application(proxy),
            log_config=None,
            access_log=False,
            ws="none",
            http="h11",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_WAIT,
        )
    )
