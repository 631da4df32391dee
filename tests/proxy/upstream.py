"""An API on the loopback interface that does as it is told, and a proxy before it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

import httpx
from helpers import LONG
from msgspec.structs import replace

from condense_cli.live.state import Memory, State
from condense_cli.proxy import app
from condense_cli.proxy.app import Proxy, ProxySettings, address_of, listening, names_of, served
from condense_cli.proxy.record import Record

TOKEN = "the token of this run"

get = partial(httpx.get, timeout=LONG)
ask = partial(httpx.post, timeout=LONG)
request = partial(httpx.request, timeout=LONG)
stream = partial(httpx.stream, timeout=LONG)
"""As httpx has them, for any machine."""


@dataclass(frozen=True)
class Asked:
    """A request as it arrived. Names of headers are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """Pieces that are sent one by one; a function is called in between. With `breaks_off` the end never comes."""

    pieces: tuple[bytes | Callable[[], object], ...] = (b"{}",)
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    breaks_off: bool = False
    is_chunked: bool = True


def said(value: object, status: int = 200) -> Answer:
    return Answer((json.dumps(value).encode(),), status)


@dataclass
class Api:
    """The running API: where it is, what it was asked, and who answers."""

    url: str
    respond: Callable[[Asked], Answer | None]
    asked: list[Asked] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the other side left before an answer was whole."""


@contextmanager
def api(respond: Callable[[Asked], Answer | None] = lambda _: Answer()) -> Iterator[Api]:
    """An answer of None closes the connection without one."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    found = Api(f"http://127.0.0.1:{server.server_port}", respond)
    server.api = found  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class Running:
    """A proxy that runs, and where."""

    proxy: Proxy
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextmanager
def proxied(upstream: str | None, state: State | None = None, **more: Any) -> Iterator[Running]:
    """A proxy in a thread. `more` are settings."""
    listener = listening("127.0.0.1", 0)
    url = address_of(listener, "127.0.0.1")
    settings = ProxySettings(token=TOKEN, hosts=names_of(url), upstream=upstream)
    proxy = Proxy(replace(settings, **more), state or Memory(), Record())
    with patch.object(app, "_warm"), served(proxy, listener):  # It takes a second, and no test waits for it.
        yield Running(proxy, url)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        found: Api = self.server.api  # type: ignore[attr-defined]
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, self._body(headers))
        found.asked.append(asked)
        answer = found.respond(asked)
        if answer is None:
            self.close_connection = True
            return
        try:
            self._send(answer)
        except (BrokenPipeError, ConnectionResetError):
            found.gone.set()
            self.close_connection = True

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        has_body = self.command != "HEAD" and answer.status not in (204, 304)
        if not answer.is_chunked:
            whole = b"".join(piece for piece in answer.pieces if isinstance(piece, bytes))
            self.send_header("Content-Length", str(len(whole) + answer.breaks_off))
        elif has_body:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in answer.pieces if has_body else ():
            if callable(piece):
                piece()
                continue
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if answer.is_chunked else piece)
            self.wfile.flush()
        if answer.breaks_off:
            self.close_connection = True
        elif has_body and answer.is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the test's output is pytest's."""
