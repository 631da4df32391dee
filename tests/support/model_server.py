"""A server on this machine that speaks both APIs and plays what a test asks for: answers, failures, silence.

It counts how many requests it works on at once. Statuses are sent with `retry-after-ms`, which both SDKs honour,
so that retries take no time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from helpers import LONG

Body = dict[str, Any]
Play = Callable[["Exchange"], None]

INPUT, OUTPUT = 1000, 20


class Exchange:
    """One request that is being answered."""

    def __init__(self, handler: BaseHTTPRequestHandler, server: ModelServer, body: Body) -> None:
        self._handler = handler
        self.server = server
        self.body = body
        self.promised: int | None = None
        """Bytes that the answer claims to have; None: it ends with the connection."""
        self.is_anthropic = "/v1/messages" in handler.path

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])

    def begin(self, status: int = 200, content_type: str = "text/event-stream", **headers: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", content_type)
        if self.promised is not None:
            self._handler.send_header("Content-Length", str(self.promised))
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def send(self, data: str) -> None:
        self._handler.wfile.write(data.encode())
        self._handler.wfile.flush()

    def event(self, value: Body) -> None:
        kind = f"event: {value['type']}\n" if self.is_anthropic else ""
        self.send(f"{kind}data: {json.dumps(value)}\n\n")

    def start(self, usage: Body | None = None) -> None:
        self.begin()
        if self.is_anthropic:
            message = {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": self.body["model"],
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage or {"input_tokens": INPUT, "output_tokens": 1},
            }
            self.event({"type": "message_start", "message": message})
            block = {"type": "text", "text": ""}
            self.event({"type": "content_block_start", "index": 0, "content_block": block})

    def text(self, text: str) -> None:
        if self.is_anthropic:
            delta = {"type": "text_delta", "text": text}
            self.event({"type": "content_block_delta", "index": 0, "delta": delta})
        else:
            self.event(self._chunk({"content": text}, None))

    def end(self, reason: str, usage: Body | None) -> None:
        self.server.ends(self)
        if self.is_anthropic:
            self.event({"type": "content_block_stop", "index": 0})
            delta = {"stop_reason": reason, "stop_sequence": None}
            self.event({"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": OUTPUT}})
            self.event({"type": "message_stop"})
            return
        self.event(self._chunk({}, reason))
        if usage is not None:
            self.event({**self._chunk({}, None), "choices": [], "usage": usage})
        self.send("data: [DONE]\n\n")

    def _chunk(self, delta: Body, finish: str | None) -> Body:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


OPENAI_USAGE: Body = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}


def good(text: str = "A short summary.", *, usage: Body | None = OPENAI_USAGE, together: int = 0) -> Play:
    """A whole answer, once `together` requests have come in at a time. `usage` is what an OpenAI server reports."""

    def play(exchange: Exchange) -> None:
        if together:
            exchange.server.gather(together)
        exchange.start()
        for word in text.split(" "):
            exchange.text(f"{word} ")
        exchange.end("end_turn" if exchange.is_anthropic else "stop", None if exchange.is_anthropic else usage)

    return play


def ending(anthropic: str, openai: str, text: str = "Some text") -> Play:
    """An answer that ends for another reason."""

    def play(exchange: Exchange) -> None:
        exchange.start()
        if text:
            exchange.text(text)
        exchange.end(anthropic if exchange.is_anthropic else openai, None if exchange.is_anthropic else OPENAI_USAGE)

    return play


def cut(exchange: Exchange) -> None:
    """The stream ends in the middle, without any error."""
    exchange.start()
    exchange.text("Half of an")


def error_inside(kind: str) -> Play:
    """An error event in the middle of the stream."""

    def play(exchange: Exchange) -> None:
        exchange.start()
        exchange.text("Half of an")
        error = {"type": kind, "message": "played by the test", "code": kind}
        exchange.event({"type": "error", "error": error})

    return play


def status(code: int, kind: str = "some_error", message: str = "played by the test", param: str | None = None) -> Play:
    def play(exchange: Exchange) -> None:
        exchange.begin(code, "application/json", retry_after_ms="1")
        error = {"type": kind, "message": message, "code": kind, "param": param}
        exchange.send(json.dumps({"type": "error", "error": error}))

    return play


def raw(text: str, content_type: str = "text/event-stream") -> Play:
    """Whatever a server may send that is not of this API."""

    def play(exchange: Exchange) -> None:
        exchange.begin(200, content_type)
        exchange.send(text)

    return play


def hang(exchange: Exchange) -> None:
    """Nothing, until the test is over."""
    exchange.server.over.wait(LONG)


def dribble(exchange: Exchange) -> None:
    """A word now and then, without end: the server is never silent for long."""
    exchange.start()
    while not exchange.server.over.wait(0.02):
        exchange.text("more ")


def counting(factor: float, around: int = 400) -> Play:
    """A count of so many tokens for each that is counted here, and of what the API puts around a request."""

    def play(exchange: Exchange) -> None:
        from condense_cli.formats import parse
        from condense_cli.tokens.counting import Counter

        body = {key: value for key, value in exchange.body.items() if key != "tools"}
        transcript = parse(json.dumps(body).encode())
        count = Counter()
        told = round(factor * (count.transcript(transcript) + count(transcript.envelope)))
        number(around + told)(exchange)

    return play


def number(told: Any) -> Play:
    """A count that says this."""

    def play(exchange: Exchange) -> None:
        exchange.begin(200, "application/json")
        exchange.send(json.dumps({"input_tokens": told}))

    return play


def in_turn(*plays: Play) -> Play:
    """One play per request; the last one goes on."""
    remaining: Iterator[Play] = iter(plays)
    lock = threading.Lock()
    current = plays[-1]

    def play(exchange: Exchange) -> None:
        with lock:
            chosen = next(remaining, current)
        chosen(exchange)

    return play


class ModelServer:
    """What was asked, and how it is answered."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.url = ""
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[Body] = []
        self.most_at_once = 0
        self.over = threading.Event()
        self.begun = threading.Event()
        self._running: set[Exchange] = set()
        self._lock = threading.Condition()

    @property
    def calls(self) -> int:
        return len(self.bodies)

    def prompts(self) -> Sequence[str]:
        return [str(body["messages"][-1]["content"]) for body in self.bodies]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.paths.append(handler.path)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self.bodies.append(body)
            exchange = Exchange(handler, self, body)
            self._running.add(exchange)
            self.most_at_once = max(self.most_at_once, len(self._running))
            self._lock.notify_all()
        self.begun.set()
        try:
            self.play(exchange)
        except OSError:
            pass  # Whoever asked is gone.
        finally:
            self.ends(exchange)

    def gather(self, count: int) -> None:
        """Wait until so many requests were worked on at once, then a moment in which one too many may come."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.most_at_once >= count, LONG)
        self.over.wait(0.02)

    def ends(self, exchange: Exchange) -> None:
        """The answer does not count as running any more: whoever has its last words may ask again at once."""
        with self._lock:
            self._running.discard(exchange)


@contextmanager
def model_server(play: Play) -> Iterator[ModelServer]:
    model = ModelServer(play)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            model.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 200

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield model
    finally:
        model.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
