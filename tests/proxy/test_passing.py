"""What passes through the proxy as it is, and what becomes of connections that end early."""

import gzip
import json
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
from helpers import LONG

from .upstream import Answer, Api, Running, ask, get, proxied, request, said, stream

HELLO = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}]}


@pytest.fixture
def running(model: Api) -> Iterator[Running]:
    with proxied(model.url) as found:
        yield found


def talk(running: Running, request: bytes) -> bytes:
    """Everything that comes back for the bytes of a request."""
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


# Bytes, headers and query arrive as they were sent, in both directions.
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/messages?beta=true", json.dumps(HELLO, indent=3).encode()),
        ("POST", "/v1/messages", b'{"model": "x", "messages": [{"role": '),
        ("POST", "/v1/messages", b"\xff\xfe no json"),
        ("POST", "/v1/messages", b""),
        ("POST", "/v1/messages/count_tokens", json.dumps(HELLO).encode()),
        ("POST", "/v1/responses", b'{"input": "Hello.", "model": "gpt-5.5"}'),
        ("POST", "/v1/responses", b'{"input": [{"role": "user", "content": "Hi"}], "previous_response_id": "resp_1"}'),
        ("POST", "/v1/chat/completions", b'{"messages": [], "model": null}'),
        ("POST", "/v1/chat/completions", b'{"messages": {"a": 1}}'),
        ("POST", "/v1/chat/completions", b"[" * 3_000 + b"]" * 3_000),
        ("PUT", "/v1/files/%2Fa%20b?x=%C3%A4&y=", b"a file"),
        ("DELETE", "/v1/files/1", b""),
        ("PATCH", "/unknown", b"\0\1\2"),
        ("GET", "/v1/models", b""),
        ("OPTIONS", "/", b""),
    ],
)
def test_requests_pass_as_they_are(model: Api, running: Running, method: str, path: str, body: bytes) -> None:
    model.respond = lambda _: Answer(
        (b"what ", b"it says"), 418, (("X-One", "1"), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"))
    )
    headers = {"x-api-key": "sk-secret", "Anthropic-Beta": "a,b", "User-Agent": "me/1"}
    answer = request(method, running.url + path, content=body, headers=headers)
    (asked,) = model.asked
    assert (asked.method, asked.path, asked.body) == (method, path, body)
    assert {name: asked.headers[name] for name in ("x-api-key", "anthropic-beta", "user-agent")} == {
        "x-api-key": "sk-secret", "anthropic-beta": "a,b", "user-agent": "me/1",
    }  # fmt: skip
    assert asked.headers["host"] == model.url.removeprefix("http://")
    assert (answer.status_code, answer.content) == (418, b"what it says")
    assert answer.headers.get_list("set-cookie") == ["a=b", "c=d"]
    assert "server" not in answer.headers
    assert running.proxy.record.fault_count == 0


def test_cookies_are_not_kept(model: Api, running: Running) -> None:
    model.respond = lambda _: Answer(headers=(("Set-Cookie", "a=b; Path=/"),))
    for _ in range(2):
        get(f"{running.url}/v1/models")
    assert "cookie" not in model.asked[-1].headers


def test_head_has_no_body(model: Api, running: Running) -> None:
    model.respond = lambda _: Answer((), headers=(("Content-Length", "12"),))
    answer = httpx.head(f"{running.url}/api/hello")
    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, "12", b"")


def test_errors_pass_with_their_bodies(model: Api, running: Running) -> None:
    model.respond = lambda _: said({"type": "error", "error": {"type": "overloaded_error"}}, 529)
    answer = ask(f"{running.url}/v1/messages", json=HELLO)
    assert (answer.status_code, answer.json()["error"]["type"]) == (529, "overloaded_error")
    assert len(model.asked) == 1, "retries are the client's"


def test_bodies_in_chunks(model: Api, running: Running) -> None:
    data = json.dumps(HELLO).encode()
    ask(f"{running.url}/v1/messages", content=(data[n : n + 7] for n in range(0, len(data), 7)))
    assert model.asked[0].body == data


# Of what is packed in another way than it says, or in one that nobody knows here, nothing is read.
@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br", "gzip, zstd", "nonsense"])
def test_a_wrong_encoding_passes(model: Api, running: Running, encoding: str) -> None:
    data = json.dumps(HELLO).encode()
    ask(f"{running.url}/v1/messages", content=data, headers={"content-encoding": encoding})
    assert (model.asked[0].body, model.asked[0].headers["content-encoding"]) == (data, encoding)


def test_a_body_that_is_cut_off_passes(model: Api, running: Running) -> None:
    data = gzip.compress(json.dumps(HELLO).encode())[:-9]
    ask(f"{running.url}/v1/messages", content=data, headers={"content-encoding": "gzip"})
    assert model.asked[0].body == data


def test_a_body_beyond_the_limit_passes(model: Api, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    from condense_cli.proxy import app

    monkeypatch.setattr(app, "LARGEST", 100_000)
    data = b"x" * 1_000_000
    ask(f"{running.url}/v1/messages", content=data)
    assert model.asked[0].body == data


# What unpacks to more than any API takes is not unpacked.
def test_a_bomb_passes(model: Api, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.proxy.bodies.LARGEST", 1_000_000)
    text = json.dumps({"messages": [{"role": "user", "content": "0" * 2_000_000}]}).encode()
    data = gzip.compress(text)
    ask(f"{running.url}/v1/messages", content=data, headers={"content-encoding": "gzip"})
    assert model.asked[0].body == data
    assert running.proxy.conversations.number == 0


# Up to the last byte that is read a body is looked at.
@pytest.mark.parametrize(("more", "conversations"), [(0, 1), (-1, 0)])
@pytest.mark.parametrize("is_packed", [False, True])
def test_the_largest_body(
    model: Api, running: Running, monkeypatch: pytest.MonkeyPatch, is_packed: bool, more: int, conversations: int
) -> None:
    text = json.dumps({"messages": [{"role": "user", "content": "0" * 20_000}]}).encode()
    monkeypatch.setattr(f"condense_cli.proxy.{'bodies' if is_packed else 'app'}.LARGEST", len(text) + more)
    data, headers = (gzip.compress(text), {"content-encoding": "gzip"}) if is_packed else (text, {})
    ask(f"{running.url}/v1/messages", content=data, headers=headers)
    assert model.asked[0].body == data
    assert running.proxy.conversations.number == conversations


def test_a_stream_comes_as_it_is_made(model: Api, running: Running) -> None:
    more = threading.Event()
    model.respond = lambda _: Answer(
        (b"data: 1\n\n", more.wait, b"data: 2\n\n"), headers=(("Content-Type", "text/event-stream"),)
    )
    with stream("POST", f"{running.url}/v1/messages", json=HELLO) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"data: 1\n\n"
        more.set()
        assert next(pieces) == b"data: 2\n\n"


# The client sees what it would have seen: an answer that ends too early is no whole answer.
@pytest.mark.parametrize("is_chunked", [True, False])
def test_an_answer_that_breaks_off(model: Api, running: Running, is_chunked: bool) -> None:
    model.respond = lambda _: Answer((b"data: 1\n\n",), breaks_off=True, is_chunked=is_chunked)
    with (
        pytest.raises(httpx.RemoteProtocolError),
        stream("POST", f"{running.url}/v1/messages", json=HELLO) as answer,
    ):
        answer.read()
    model.respond = lambda _: Answer()
    assert ask(f"{running.url}/v1/messages", json=HELLO).status_code == 200


def test_an_api_that_closes_without_an_answer(model: Api, running: Running) -> None:
    model.respond = lambda _: None
    answer = ask(f"{running.url}/v1/messages", json=HELLO)
    assert answer.status_code == 502
    assert "cannot be reached" in answer.json()["error"]["message"]
    assert len(running.proxy.record.faults) == 1


def test_an_api_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with proxied(f"http://127.0.0.1:{port}") as running:
        answer = ask(f"{running.url}/v1/messages", json=HELLO)
    assert (answer.status_code, answer.json()["type"]) == (502, "error")


# A client that leaves is not waited for: neither while the API is silent, nor in the middle of its answer.
@pytest.mark.parametrize("begins", [False, True])
def test_a_client_that_leaves(model: Api, running: Running, begins: bool) -> None:
    came, left = threading.Event(), threading.Event()

    def silent(*_: object) -> Answer:
        came.set()
        if not begins:
            left.wait(LONG)
        return Answer((b"data: 1\n\n", lambda: left.wait(LONG), *[b"x" * 100_000] * 100))

    model.respond = silent
    body = json.dumps(HELLO).encode()
    head = b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(head + body)
        assert came.wait(LONG)
        if begins:
            assert connection.recv(100)
    left.set()
    assert model.gone.wait(LONG)


# What nobody takes is not read ahead: the API is held up as the client is.
def test_a_slow_client_slows_the_api(model: Api, running: Running) -> None:
    sent: list[int] = []
    model.respond = lambda _: Answer(
        tuple(part for n in range(400) for part in (b"x" * 100_000, lambda n=n: sent.append(n)))
    )
    body = json.dumps(HELLO).encode()
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        connection.recv(1)
        before = -1
        while len(sent) != before:
            before = len(sent)
            threading.Event().wait(0.2)
        assert len(sent) < 300


def test_the_first_http(running: Running, model: Api) -> None:
    body = json.dumps(HELLO).encode()
    answer = talk(running, b"POST /v1/messages HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"{}")
    assert model.asked[0].body == body


@pytest.mark.parametrize(
    "line",
    [
        b"GET http://127.0.0.1:1/secret HTTP/1.1",
        b"CONNECT 127.0.0.1:22 HTTP/1.1",
        b"GET secret HTTP/1.1",
        b"GET %2F.example.com HTTP/1.1",
    ],
)
def test_it_goes_nowhere_else(running: Running, model: Api, line: bytes) -> None:
    answer = talk(running, line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404"))
    assert model.asked == []


def test_web_sockets_are_refused_at_once(running: Running, model: Api) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
    answer = get(f"{running.url}/v1/responses", headers=headers)
    assert answer.status_code == 426
    assert model.asked == []


# Nothing of what is said, and no key, is printed or logged, whatever happens.
def test_nothing_is_logged(
    model: Api, running: Running, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    model.respond = lambda _: Answer((b"x",), breaks_off=True)
    with pytest.raises(httpx.RemoteProtocolError):
        ask(f"{running.url}/v1/messages?key=sk-1", json=HELLO, headers={"x-api-key": "sk-2"})
    assert "sk-" not in caplog.text
    assert capfd.readouterr() == ("", "")
