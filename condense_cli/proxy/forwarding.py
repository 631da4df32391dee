"""A request sent on to its API, and the answer streamed back as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypeVar

import httpx
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from .answers import UsageReader, text_of
from .headers import Headers, sent_back

CONNECT_SECONDS: Final = 30.0
"""For a connection. An answer may take its time: the client waits as long as it likes."""

IDLE_SECONDS: Final = 4.0
"""For connections to an API that are kept open. Servers close theirs after five or more, and one that is closed just as
it is used is a request that nobody answers."""

_BEGINNING: Final = 65_536

_Result = TypeVar("_Result")


class Upstream:
    """The client's side of all connections to APIs. Keeps no cookies, follows no redirects, tries nothing twice."""

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
        """The beginning of the answer. Raises httpx.HTTPError, httpx.InvalidURL."""
        request = httpx.Request(method, url, headers=headers, content=body)
        return await self._client.send(request, stream=True)


class Passing(StreamingResponse):
    """An answer on its way to the client, piece by piece, as fast as that takes it; what is read of it goes to `told`.

    Where the API breaks off, so does this, and the client sees what it would have seen.
    """

    def __init__(self, answer: httpx.Response, told: Callable[[UsageReader], None] | None = None) -> None:
        headers = answer.headers
        self._answer = answer
        self._told = told
        self._raw = answer.aiter_raw()
        self._begun: list[bytes] = []
        self._reader = UsageReader(headers.get("content-type", ""), headers.get("content-encoding", ""))
        super().__init__(self._pieces(), answer.status_code)
        self.raw_headers = sent_back(answer.headers.raw)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            # The client left, or the API broke off: uvicorn closes the connection, and there is nobody to tell.
            with suppress(ClientDisconnect):
                await super().__call__(scope, receive, send)
        finally:
            await self.close()

    async def beginning(self) -> str:
        """The text with which the answer begins, up to some 64 KB; all of it still passes."""
        while sum(map(len, self._begun)) < _BEGINNING:
            piece = await anext(self._raw, None)
            if piece is None:
                break
            self._begun.append(piece)
        return text_of(b"".join(self._begun), self._answer.headers.get("content-encoding", ""))

    async def close(self) -> None:
        """Give up an answer that goes to nobody."""
        await asyncio.shield(self._answer.aclose())

    async def _pieces(self) -> AsyncIterator[bytes]:
        try:
            for piece in self._begun:
                yield piece
            async for piece in self._raw:
                if self._told is not None:
                    self._reader.feed(piece)
                yield piece
        finally:
            if self._told is not None:
                self._reader.end()
                self._told(self._reader)


def refusal(status: int, kind: str, words: str) -> Response:
    """An error in a shape that clients of all APIs read."""
    error = {"type": kind, "message": f"condense proxy: {words}", "param": None, "code": None}
    return JSONResponse({"type": "error", "error": error}, status)


async def unless_gone(request: Request, work: Awaitable[_Result]) -> _Result:
    """What the work comes to; it is given up when the client leaves. Raises ClientDisconnect then."""
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
    """Returns when the client has left. Its body has to be read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
