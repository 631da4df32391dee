"""A model service on the loopback interface: it records what a client sends and answers from a script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Any
    """The parsed JSON, or None where nothing was sent."""
    headers: dict[str, str] = field(default_factory=dict)
    """Names in small letters."""
    data: bytes = b""
    """As it was sent."""


@dataclass(frozen=True)
class Answer:
    """Either one JSON value or, with `events`, a stream of server-sent events; one that is `cut` has no end.

    An event that has a type is sent under that name. `ending` is what the stream ends with besides, as it is.
    """

    body: Any = None
    events: tuple[Json, ...] = ()
    ending: str = ""
    status: int = 200
    is_cut: bool = False


Responder = Callable[[Request], Answer]


@dataclass
class Service:
    """The running server: where it listens, what it was asked, and who answers."""

    url: str
    respond: Responder
    requests: list[Request] = field(default_factory=list)


@contextmanager
def serve(respond: Responder) -> Iterator[Service]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    service = Service(f"http://127.0.0.1:{server.server_port}", respond)
    server.service = service  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        service: Service = self.server.service  # type: ignore[attr-defined]
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, json.loads(data) if data else None, headers, data)
        service.requests.append(request)
        answer = service.respond(request)
        if answer.events:
            stream = ("".join(map(_event, answer.events)) + answer.ending).encode()
            self._send(answer, "text/event-stream", stream[: len(stream) // 2] if answer.is_cut else stream)
        else:
            self._send(answer, "application/json", json.dumps(answer.body).encode())

    def _send(self, answer: Answer, kind: str, data: bytes) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) + answer.is_cut))
        self.close_connection = self.close_connection or answer.is_cut
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_HEAD = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the test's output is pytest's."""


def _event(event: Json) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"
