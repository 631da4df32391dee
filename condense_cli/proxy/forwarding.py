"""Send a request on to its API, stream the answer back, and read the usage that it reports."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, Protocol, TypeVar

import httpx
import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ..core.lazy_pattern import lazy_pattern
from ..money.economics import Accounting, CallUsage
from ..storage.files import zstd

Headers = list[tuple[bytes, bytes]]

OFF: Final = b"x-condense"
"""A header for this proxy alone: with the value `off`, the request goes on as it came."""

_OF_A_CONNECTION: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
"""https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1"""

_ANEW: Final = frozenset({b"host", b"content-length", b"expect", OFF})
"""Headers that each hop sets anew."""

READABLE: Final = (b"gzip", b"deflate", b"zstd", b"identity")
"""Content encodings in which usage can be read."""


def names_this_machine(host: str) -> bool:
    """Check that a host header names this machine in a way that no page of another site can."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host) in ("127.0.0.1", "localhost", "[::1]")


def sent_on(headers: Iterable[tuple[bytes, bytes]], *, length: int | None, reads: bool = False) -> Headers:
    """Return the headers of a request for the upstream.

    `length` is that of the body, None if unknown. With `reads`, only readable content encodings are accepted.
    """
    headers = [*headers]
    dropped = _ANEW | _of_connection(headers)
    new = [(name, value) for name, value in headers if name.lower() not in dropped]
    if reads:
        new = [(name, _readable(value) if name.lower() == b"accept-encoding" else value) for name, value in new]
        if not any(name.lower() == b"accept-encoding" for name, _ in new):
            new.append((b"accept-encoding", b"identity"))
    if length is not None:
        new.append((b"content-length", b"%d" % length))
    return new


def sent_back(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of an answer for the client."""
    headers = [*headers]
    dropped = _of_connection(headers)
    return [(name.lower(), value) for name, value in headers if name.lower() not in dropped]


def _of_connection(headers: Headers) -> frozenset[bytes]:
    named = (value for name, value in headers if name.lower() == b"connection")
    return _OF_A_CONNECTION | {each.strip().lower() for value in named for each in value.split(b",")}


def _readable(accepted: bytes) -> bytes:
    """Keep the readable ones of the content encodings that a client accepts."""
    kept = [each.strip() for each in accepted.split(b",") if each.split(b";")[0].strip().lower() in READABLE]
    return b", ".join(kept) or b"identity"


_LONGEST: Final = 8 << 20
"""Most bytes to keep of a line, or of an answer in one piece. Longer ones report nothing."""

_PLAIN: Final = ("", "identity")

_NAMED: Final = b'"usage'
"""Beginning of the key, which is `usageMetadata` in Google's answers."""
_IN_FRAMES: Final = lazy_pattern(rb'"usage":(\{(?:[^{}]|\{[^{}]*\})*\})')
_FRAMES: Final = "amazon.eventstream"
"""Type of answers that come in binary frames with JSON inside; the last ones hold the usage."""
_LAST: Final = 64 << 10

_WHATEVER_IS_SENT: Final = lazy_pattern(
    r"(?i)prompt is too long|context[ _](?:length|limit|window)|maximum (?:prompt|context)|too many tokens"
    r"|request[ _]too[ _]large|credit balance|insufficient[ _](?:quota|balance|credit|funds)|billing|usage limits?\b"
)
"""Refusals that the longer original would meet as well: size and credit. Words of Anthropic, OpenAI and servers that
follow them."""


class _Holder(Struct):
    usage: dict[str, Any] | None = None


class _Said(Struct):
    """An answer, or an event of a stream. Anthropic's streams begin with a message, those of Responses end with one."""

    usage: dict[str, Any] | None = None
    message: _Holder | str | None = None
    response: _Holder | None = None
    usageMetadata: dict[str, Any] | None = None


_decode: Final = msgspec.json.Decoder(_Said | list[_Said]).decode


def refuses_whatever_is_sent(text: str) -> bool:
    """Check whether the API would refuse the original for the same reason."""
    return _WHATEVER_IS_SENT.search(text) is not None


def text_of(data: bytes, encoding: str) -> str:
    """Decode the beginning of an answer; "" if its encoding is unknown or broken."""
    try:
        if encoding.strip().lower() not in _PLAIN:
            data = _unpacker(encoding.strip().lower()).decompress(data, max_length=_LONGEST)
    except Exception:  # As in `UsageReader.feed`.
        return ""
    return data.decode("utf-8", "replace")


class _Unpacker(Protocol):
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


class UsageReader:
    """Collect the usage that an answer reports, piece by piece.

    Unreadable answers report nothing. Raises nothing.
    """

    def __init__(self, kind: str, encoding: str) -> None:
        self._is_stream = "event-stream" in kind
        self._is_framed = _FRAMES in kind
        self._reads = self._is_stream or self._is_framed or "json" in kind
        self._encoding = encoding.strip().lower()
        self._unpacker: _Unpacker | None = None
        self._waiting = bytearray()
        self._found: dict[str, Any] = {}

    def feed(self, piece: bytes) -> None:
        if not self._reads:
            return
        try:
            self._waiting += self._plain(piece)
        except Exception:  # Broken, or of an unknown encoding: the client will see.
            self._reads = False
            return
        if self._is_stream:
            *lines, rest = self._waiting.split(b"\n")
            self._waiting = bytearray(rest)
            for line in lines:
                self._read(bytes(line).removeprefix(b"data:"))
        if self._is_framed:
            del self._waiting[:-_LAST]
        if len(self._waiting) > _LONGEST:
            self._reads = False
            self._waiting.clear()

    def end(self) -> None:
        """Read an answer that came in one piece, now that it is whole."""
        if self._reads and self._is_framed:
            for usage in _IN_FRAMES.finditer(bytes(self._waiting)):
                self._read(b'{"usage":' + usage[1] + b"}")
        elif self._reads:
            self._read(bytes(self._waiting).removeprefix(b"data:"))
        self._waiting.clear()

    def usage(self, accounting: Accounting) -> CallUsage | None:
        """Return the tokens reported so far; None if there are none."""
        found = self._found
        places = ("input_tokens_details", "prompt_tokens_details")
        details: dict[str, Any] = next((given for each in places if isinstance(given := found.get(each), dict)), {})
        tokens = _first(found, "input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount")
        if tokens is None:
            return None
        if accounting is Accounting.ANTHROPIC:
            written = _first(found, "cache_creation_input_tokens", "cacheWriteInputTokens")
            read = _first(found, "cache_read_input_tokens", "cacheReadInputTokens")
        else:
            written = _first(details, "cache_write_tokens")
            read = _first(details, "cached_tokens") or _first(found, "cachedContentTokenCount")
        lives = found.get("cache_creation")
        hour = _first(lives, "ephemeral_1h_input_tokens") if isinstance(lives, dict) else None
        return CallUsage(
            tokens,
            (_first(found, "output_tokens", "completion_tokens", "outputTokens", "candidatesTokenCount") or 0)
            + (_first(found, "thoughtsTokenCount") or 0),
            written or 0,
            read or 0,
            hour_write_tokens=min(hour or 0, written or 0),
        )

    def _plain(self, piece: bytes) -> bytes:
        if self._encoding in _PLAIN:
            return piece
        if self._unpacker is None:
            self._unpacker = _unpacker(self._encoding)
        plain = self._unpacker.decompress(piece, max_length=_LONGEST)
        if len(plain) == _LONGEST:
            raise ValueError("a piece of a stream that unpacks to more than any answer")
        return plain

    def _read(self, line: bytes) -> None:
        if _NAMED not in line:
            return
        try:
            said = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        for each in said if isinstance(said, list) else [said]:
            message = each.message.usage if isinstance(each.message, _Holder) else None
            for usage in (message, each.response and each.response.usage, each.usage, each.usageMetadata):
                # Later reports win, key by key.
                self._found.update({key: value for key, value in (usage or {}).items() if value is not None})


def _unpacker(encoding: str) -> _Unpacker:
    """Return a decompressor. Raises LookupError for an unknown encoding."""
    if encoding == "zstd":
        return zstd().ZstdDecompressor()  # type: ignore[no-any-return]
    return zlib.decompressobj({"gzip": 31, "x-gzip": 31, "deflate": 15}[encoding])


def _first(values: dict[str, Any], *names: str) -> int | None:
    found = (values.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


CONNECT_SECONDS: Final = 30.0
"""Timeout of a connection. Answers have none: the client decides how long to wait."""

IDLE_SECONDS: Final = 4.0
"""Seconds to keep idle connections to an API. Servers close theirs after five or more, and a request on a connection
that is just being closed is lost."""

_BEGINNING: Final = 65_536

_Result = TypeVar("_Result")


class Upstream:
    """Connections to APIs. Keeps no cookies, follows no redirects, retries nothing."""

    def __init__(self) -> None:
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=IDLE_SECONDS),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def send(self, method: str, url: str, headers: Headers, body: bytes | AsyncIterator[bytes]) -> httpx.Response:
        """Send a request and return the beginning of the answer. Raises httpx.HTTPError, httpx.InvalidURL."""
        request = httpx.Request(method, url, headers=headers, content=body)
        return await self._client.send(request, stream=True)


class Passing(StreamingResponse):
    """Stream an answer to the client at the client's pace, and hand its usage to `on_end` at the end.

    If the API breaks off, so does the stream.
    """

    def __init__(self, answer: httpx.Response, on_end: Callable[[UsageReader], None] | None = None) -> None:
        headers = answer.headers
        self._answer = answer
        self._on_end = on_end
        self._raw = answer.aiter_raw()
        self._begun: list[bytes] = []
        self._reader = UsageReader(headers.get("content-type", ""), headers.get("content-encoding", ""))
        super().__init__(self._pieces(), answer.status_code)
        self.raw_headers = sent_back(answer.headers.raw)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            # The client left, or the API broke off: uvicorn closes the connection.
            with suppress(ClientDisconnect):
                await super().__call__(scope, receive, send)
        finally:
            await self.close()

    async def beginning(self) -> str:
        """Return the first 64 KB of the answer as text. The client still gets all of it."""
        while sum(map(len, self._begun)) < _BEGINNING:
            piece = await anext(self._raw, None)
            if piece is None:
                break
            self._begun.append(piece)
        return text_of(b"".join(self._begun), self._answer.headers.get("content-encoding", ""))

    async def close(self) -> None:
        """Abandon the answer."""
        await asyncio.shield(self._answer.aclose())

    async def _pieces(self) -> AsyncIterator[bytes]:
        try:
            for piece in self._begun:
                yield piece
            async for piece in self._raw:
                if self._on_end is not None:
                    self._reader.feed(piece)
                yield piece
        finally:
            if self._on_end is not None:
                self._reader.end()
                self._on_end(self._reader)


def refusal(status: int, kind: str, words: str) -> Response:
    """Return an error in a shape that clients of all APIs read."""
    error = {"type": kind, "message": f"condense proxy: {words}", "param": None, "code": None}
    return JSONResponse({"type": "error", "error": error}, status)


async def unless_gone(request: Request, work: Awaitable[_Result]) -> _Result:
    """Return the result of the work. Raises ClientDisconnect, and cancels the work, if the client leaves."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for each in (task, gone):
            if not each.done():
                each.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await each


async def _gone(request: Request) -> None:
    """Wait until the client has left. Read its body first."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
