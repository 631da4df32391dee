"""The application: what is asked of it, and what becomes of it."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import httpx
import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..errors import BrokenOutputError, CondenseError
from ..live.conversation import Live
from ..live.deciding import DecisionKind, Fitted
from ..live.requests import Request as Messages
from ..live.state import Memory, State
from ..money.economics import CallUsage
from . import page
from .answers import UsageReader, refuses_whatever_is_sent
from .apis import Api, api_of, target, usual_upstream
from .bodies import LARGEST, Body
from .compress import Compressed, CompressOrder, compressed, order_of, unchanged
from .conversations import Conversation, Conversations
from .fitting import REFUSALS, Fits
from .forwarding import Passing, Upstream, refusal, unless_gone
from .headers import OFF, names_this_machine, sent_on
from .record import Decided, Record
from .savings import SentRequest
from .settings import ProxySettings
from .states import SharedState

_ANYTHING: Final = [
    {"role": role, "content": f"line {number}\n" * 400} for number, role in enumerate(("user", "assistant", "user") * 3)
]

_UNREACHABLE: Final = (httpx.HTTPError, httpx.InvalidURL)
_REFUSALS: Final = (400, 422)
"""Statuses by which APIs refuse what a request holds; servers that check it first have the second one."""


class Proxy:
    """One run: every request that is not for the proxy itself goes on to its API."""

    def __init__(self, settings: ProxySettings, state: State, record: Record) -> None:
        self.settings = settings
        self.record = record
        self.is_reached = threading.Event()
        """Set once any request has come."""
        self.conversations = Conversations(SharedState(state), partial(_live, settings))
        self._fits = Fits()
        self._upstream = Upstream()

    async def close(self) -> None:
        self._fits.close()
        await self._upstream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.is_reached.set()
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except ClientDisconnect:
            return  # Nobody waits for it.
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1")
        if not path.startswith("/"):
            return refusal(400, "invalid_request_error", "the address has to be a path.")
        if request.headers.get("upgrade", "").lower() == "websocket":
            return refusal(426, "invalid_request_error", "WebSockets are not passed on; use plain HTTP.")
        pieces, whole = await _read(request)
        api = api_of(request.method, path)
        exchange = None
        if api is not None and whole is not None:
            exchange = await unless_gone(request, self._exchange(request, api, whole))
            whole = exchange.body if exchange is not None else whole
        return await self._sent(request, path, pieces if whole is None else whole, exchange)

    async def _exchange(self, request: Request, api: Api, data: bytes) -> _Exchange | None:
        """What becomes of a conversation; None where there is none that can be read."""
        try:
            found = self.conversations.of(data, request.headers.get("content-encoding", ""), api, request.headers)
        except (ValueError, RecursionError):
            return None  # The API will say what it thinks of it.
        if found is None:
            return None
        conversation, messages, body = found
        usage, conversation.reported = conversation.reported, None
        if request.headers.get(OFF.decode(), "").strip().lower() == "off":
            fitted = await self._fits.originals(conversation, messages, body)
        else:
            fitted = await self._fits.fit(conversation, messages, body, usage)
        now = time.time()
        self.record.decided(Decided(now, conversation.label, body.model or "", fitted.decision))
        if fitted.decision.kind is DecisionKind.FAILED:
            self.record.failed(now, f"{conversation.label}: {fitted.decision.reason}")
        new = None if self.settings.watches else body.with_messages(fitted.messages)
        return _Exchange(conversation, messages, body, data, fitted, data if new is None else new, new is not None)

    async def _sent(
        self, request: Request, path: str, body: bytes | AsyncIterator[bytes], exchange: _Exchange | None
    ) -> Response:
        try:
            answer = await self._asked(request, path, body, reads=exchange is not None)
        except _UNREACHABLE as error:
            words = f"{self._upstream_of(request, path)} cannot be reached ({type(error).__name__})"
            self.record.failed(time.time(), words)
            return refusal(502, "api_error", f"{words}.")
        if exchange is None:
            return Passing(answer)
        if exchange.is_changed:
            if answer.status_code in _REFUSALS:
                return await self._refused(request, path, Passing(answer), exchange)
            if answer.status_code < 400:
                exchange.conversation.refused = 0
        return Passing(answer, self._teller(exchange, answer))

    async def _refused(self, request: Request, path: str, answer: Passing, exchange: _Exchange) -> Response:
        """The answer for the client, where the API refused a condensed request: that to the original, which shows
        whether condensing was to blame. Nothing was billed so far."""
        conversation = exchange.conversation
        try:
            if refuses_whatever_is_sent(await answer.beginning()):
                return answer
            as_it_came = await self._as_it_came(exchange)
            other = await self._asked(request, path, as_it_came.body, reads=True)
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
        return Passing(other, self._teller(as_it_came, other))

    async def _as_it_came(self, exchange: _Exchange) -> _Exchange:
        fitted = await self._fits.originals(exchange.conversation, exchange.request, exchange.body_before)
        body = exchange.body_before.with_messages(fitted.messages)
        return msgspec.structs.replace(exchange, fitted=fitted, body=body or exchange.data, is_changed=False)

    async def _asked(
        self, request: Request, path: str, body: bytes | AsyncIterator[bytes], *, reads: bool
    ) -> httpx.Response:
        """The beginning of the API's answer. Raises httpx.HTTPError, httpx.InvalidURL, ClientDisconnect."""
        query = request.scope["query_string"].decode("latin-1")
        url = target(self._upstream_of(request, path), path) + (f"?{query}" if query else "")
        headers = sent_on(request.headers.raw, length=_length(request, body), reads=reads)
        sending = self._upstream.send(request.method, url, headers, body)
        return await (unless_gone(request, sending) if isinstance(body, bytes) else sending)

    def _upstream_of(self, request: Request, path: str) -> str:
        if self.settings.upstream is not None:
            return self.settings.upstream
        vendor = usual_upstream(path, request.headers)
        return self.settings.vendors.get(vendor, vendor)

    def _teller(self, exchange: _Exchange, answer: httpx.Response) -> Callable[[UsageReader], None] | None:
        return partial(self._told, exchange) if answer.status_code == 200 else None

    def _told(self, exchange: _Exchange, reader: UsageReader) -> None:
        """The answer has ended: what it reports of the request's tokens, or what is estimated."""
        body, fitted, conversation = exchange.body_before, exchange.fitted, exchange.conversation
        watches = self.settings.watches
        usage = reader.usage(body.api.accounting)
        if usage is None:
            usage = CallUsage(fitted.tokens + (fitted.saved if watches else 0), 0)
        else:
            tokens = usage.total_tokens(body.api.accounting)
            # What is watched is taken to be sent condensed.
            conversation.reported = max(0, tokens - fitted.saved) if watches else tokens
        asked = SentRequest(
            model=body.model, cache=fitted.cache, saved=fitted.saved,
            caches=body.caches, for_an_hour=body.lives_long, rewrites=fitted.decision.is_change,
        )  # fmt: skip
        self.record.sums.add(conversation.savings.add(usage, body.api.accounting, asked, time.time(), watches=watches))

    async def page(self, request: Request) -> Response:
        """What it does, for who has the token and asks by the right name."""
        host = request.headers.get("host", "")
        given = request.query_params.get("token", "")
        if host not in self.settings.hosts or not hmac.compare_digest(given.encode(), self.settings.token.encode()):
            return PlainTextResponse("The address of this page was printed when the proxy started.\n", 403)
        text = page.page(self.record, self.conversations, watches=self.settings.watches)
        return HTMLResponse(text, headers=page.HEADERS)

    async def compress(self, request: Request) -> Response:
        """Rows in, as many rows out."""
        if self.settings.is_local and not names_this_machine(request.headers.get("host", "")):
            return refusal(403, "permission_error", "ask for it as 127.0.0.1 or localhost.")
        _, data = await _read(request)
        if data is None:
            return refusal(413, "invalid_request_error", f"the body has more than {LARGEST:,} bytes.")
        try:
            order = order_of(data)
            answer = await self._fits.beside(partial(self._compressed, order))
        except Exception as error:  # The gateway goes on with what it sent.
            if isinstance(error, CondenseError) and not isinstance(error, BrokenOutputError):
                return refusal(400, "invalid_request_error", error.message)
            self.record.failed(time.time(), f"rows are returned unchanged ({type(error).__name__})")
            answer = unchanged(order)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    def _compressed(self, order: CompressOrder) -> Compressed:
        with self.settings.turn:
            return compressed(order)


class _Exchange(msgspec.Struct, frozen=True):
    """A request with a conversation: what came (`data`, its messages and body), and what is sent."""

    conversation: Conversation
    request: Messages
    body_before: Body
    data: bytes
    fitted: Fitted
    body: bytes
    is_changed: bool


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
    """Import what a decision needs while nobody waits for one."""
    with suppress(Exception):  # The first decision will tell.
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
    """The body: whole where it is not too large, or else piece by piece. Raises ClientDisconnect."""
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
    """The length of the body, None where it is sent on in pieces without one."""
    if isinstance(body, bytes):
        has_body = body or "content-length" in request.headers or "transfer-encoding" in request.headers
        return len(body) if has_body else None
    given = request.headers.get("content-length", "")
    return int(given) if given.isdecimal() else None
