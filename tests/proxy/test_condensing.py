"""What becomes of a conversation on the way: its bytes, request after request, and when a decision is taken."""

import json
import socket
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from build import assistant, thinking, user
from helpers import LONG
from live_conversations import lines

from condense_cli.formats import parse
from condense_cli.live.deciding import Attempt
from condense_cli.live.state import StateFile
from condense_cli.rules.validity import validate
from condense_cli.storage.files import packed, unpacked

from .talks import BINDING, EAGER, HASTY, OPUS, further, marks, post, sent, work
from .upstream import Answer, Api, Asked, Running, ask, proxied, said


# Whatever is around the messages stays, and so do those that are not frozen, to the byte.
def test_only_the_messages_are_exchanged(model: Api, running: Running) -> None:
    text = json.dumps(work(), indent=1)
    last = '{"role":"user","content":"Th\\u00e4nks,\\/ go \\ud83d on.","n":1.50}'
    text = text[: text.rindex("{")] + last + "]"
    head, tail = (
        '{ "max_tokens" : 1e2,\n"messages":',
        ',"model":"claude-opus-4-6", "x": [1.0, "\\u00e9"], "stream":false}\n',
    )
    ask(f"{running.url}/v1/messages", content=(head + text + tail).encode())
    (asked,) = model.asked
    assert asked.body.startswith(head.encode())
    assert asked.body.endswith((last + "]" + tail).encode())
    assert len(asked.body) < len(text) / 2
    assert asked.headers["content-length"] == str(len(asked.body))


def test_the_frozen_part_stays_the_same(model: Api, running: Running) -> None:
    messages = work()
    for number in range(4):
        post(running, further(messages, number))
    bodies = [sent(asked) for asked in model.asked]
    assert len(b"".join(bodies[0])) < len(json.dumps(messages)) / 2
    for before, after in pairwise(bodies):
        assert after[: len(before)] == before
    for asked in model.asked:
        assert not validate(parse(json.dumps(asked.json["messages"]).encode(), format="anthropic"))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_packed_bodies(model: Api, running: Running, encoding: str) -> None:
    ending = {"gzip": "body.gz", "zstd": "body.zst"}[encoding]
    body = json.dumps({"model": "m", "messages": work()}).encode()
    ask(f"{running.url}/v1/messages", content=packed(body, ending), headers={"content-encoding": encoding})
    (asked,) = model.asked
    assert asked.headers["content-encoding"] == encoding
    assert asked.body != packed(body, ending)
    assert len(unpacked(asked.body, "body")) < len(body) / 2


def test_a_key_that_is_there_twice(model: Api, running: Running) -> None:
    text = json.dumps(work())
    body = f'{{"messages": {text}, "model": "m", "messages": {text}}}'
    ask(f"{running.url}/v1/messages", content=body.encode())
    (asked,) = model.asked
    assert asked.body.startswith(f'{{"messages": {text}, "model": "m", "messages": ['.encode())
    assert len(sent(asked)) == len(work())
    assert len(asked.body) < 0.75 * len(body)


def chat(turns: int = 3) -> list[Any]:
    middle: list[Any] = []
    for n in range(turns):
        function = {"name": "read", "arguments": json.dumps({"path": f"{n}.py"})}
        middle.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}],
            }
        )
        middle.append({"role": "tool", "tool_call_id": f"c{n}", "content": lines(f"file{n}")})
    return [{"role": "system", "content": "Be good."}, user("Look."), *middle, assistant("Found."), user("Go on.")]


def items(turns: int = 3) -> list[Any]:
    found: list[Any] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]}]
    for n in range(turns):
        call = {
            "type": "function_call",
            "call_id": f"c{n}",
            "name": "read",
            "arguments": json.dumps({"path": f"{n}.py"}),
        }
        found += [call, {"type": "function_call_output", "call_id": f"c{n}", "output": lines(f"file{n}")}]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found."}]}
    return [*found, said, {"role": "user", "content": "Go on."}]


@pytest.mark.parametrize(("path", "messages"), [("/v1/chat/completions", chat()), ("/v1/responses", items())])
def test_other_apis(model: Api, running: Running, path: str, messages: list[Any]) -> None:
    post(running, messages, path)
    post(running, further(messages), path)
    first, second = map(sent, model.asked)
    assert len(b"".join(first)) < len(json.dumps(messages)) / 2
    assert second[: len(first)] == first
    assert [marks(asked) for asked in model.asked] == [0, 0]


# A mark is put at the end of the frozen part; four are the most that may be, and longer ones go before shorter ones.
def test_cache_marks(model: Api, running: Running) -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    system = [{"type": "text", "text": "Be good.", "cache_control": hour}] * 2
    messages = work()
    messages[-1] = {"role": "user", "content": [{"type": "text", "text": "Go on.", "cache_control": hour}]}
    for number in range(2):
        post(running, [*messages[:-1], *further([messages[-1]], number)], system=system)
    for asked in model.asked:
        found = [
            part["cache_control"]
            for message in asked.json["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if "cache_control" in part
        ]
        assert (marks(asked), found) == (4, [hour, hour])


def test_one_request_as_it_came(model: Api, running: Running) -> None:
    messages = work()
    post(running, messages)
    body = ask(
        f"{running.url}/v1/messages", json={"model": "m", "messages": further(messages)}, headers={"X-Condense": "Off"}
    ).request.content
    post(running, further(messages, 2))
    assert model.asked[1].body == body
    assert all("x-condense" not in asked.headers for asked in model.asked)
    assert sent(model.asked[2])[: len(sent(model.asked[0]))] == sent(model.asked[0])


def thought(number: int) -> Any:
    return assistant([thinking(f"thought {number}"), {"type": "text", "text": f"Good {number}."}])


def thoughts(asked: Asked) -> list[str]:
    return [f"thought {n}" for n in range(9) if f'"thought {n}"'.encode() in asked.body]


# Thinking over the condensed part is invalid in the request that goes as it came, and the other way around.
def test_thinking_around_a_request_as_it_came(model: Api, running: Running) -> None:
    messages = [*work()[:-2], thought(0), user("Go on.")]
    post(running, messages, model=BINDING)
    messages += [thought(1), user("And?")]
    post(running, messages, model=BINDING)
    assert thoughts(model.asked[-1]) == ["thought 1"]
    messages += [thought(2), user("And?")]
    post(running, messages, model=BINDING, headers={"x-condense": "off"})
    assert thoughts(model.asked[-1]) == ["thought 0"]
    messages += [thought(3), user("And?")]
    post(running, messages, model=BINDING)
    assert thoughts(model.asked[-1]) == []
    messages += [thought(4), user("And?")]
    post(running, messages, model=BINDING)
    assert thoughts(model.asked[-1]) == ["thought 4"]


class Gate:
    """Decisions that begin, and wait until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        run = Attempt.run

        def waiting(attempt: Attempt) -> Any:
            self.reached.set()
            assert self.opened.wait(LONG)
            return run(attempt)

        monkeypatch.setattr(Attempt, "run", waiting)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.opened.set()


def settle(running: Running) -> None:
    """Wait until no decision is under way."""
    for conversation in running.proxy.conversations.all():
        while conversation.running is not None and not conversation.running.done():
            threading.Event().wait(0.01)
        work = conversation.live._decider._work
        if work is not None:
            work.result(LONG)


# A request goes without a decision that takes long, and the next goes with it; what was thought in between is invalid.
def test_a_late_decision_goes_with_the_next_request(model: Api, gate: Gate) -> None:
    messages = [*work()[:-2], thought(0), user("Go on.")]
    with proxied(model.url, **HASTY) as running:
        post(running, messages, model=BINDING)
        assert sent(model.asked[0]) == [json.dumps(message).encode() for message in messages]
        assert "takes longer" in running.proxy.record.decisions[-1].decision.reason
        messages += [thought(1), user("And?")]
        post(running, messages, model=BINDING)
        assert sent(model.asked[1]) == [json.dumps(message).encode() for message in messages]
        gate.opened.set()
        settle(running)
        messages += [thought(2), user("And?")]
        post(running, messages, model=BINDING)
        assert len(model.asked[2].body) < len(model.asked[1].body) / 2
        assert thoughts(model.asked[2]) == []
        messages += [thought(3), user("And?")]
        post(running, messages, model=BINDING)
        assert thoughts(model.asked[3]) == ["thought 3"]


def test_what_fits_no_window_waits(model: Api, gate: Gate) -> None:
    with proxied(model.url, **{**HASTY, "window": 5_000}) as running:
        asking = threading.Thread(target=post, args=(running, work()))
        asking.start()
        assert gate.reached.wait(LONG)
        asking.join(0.1)  # Longer than its patience; if the request went on it would be here, most likely.
        assert model.asked == []
        gate.opened.set()
        asking.join()
    assert len(model.asked[0].body) < len(json.dumps(work())) / 2


# With nothing in the cache rewriting is free, and never again is: the first request waits longer than others.
def test_a_cold_request_waits(model: Api, gate: Gate) -> None:
    with proxied(model.url, **{**HASTY, "cold_patience": LONG}) as running:
        asking = threading.Thread(target=post, args=(running, work()))
        asking.start()
        assert gate.reached.wait(LONG)
        gate.opened.set()
        asking.join()
        assert len(model.asked[0].body) < len(json.dumps(work())) / 2
        gate.opened.clear()
        post(running, work(2), headers={"x-condense": "off"})  # Another conversation, which is warm from here on.
        post(running, further(work(2)))
        assert "takes longer" in running.proxy.record.decisions[-1].decision.reason


# A client that leaves while its decision is made: that goes with its next request.
def test_a_client_that_leaves_in_the_middle_of_a_decision(model: Api, gate: Gate) -> None:
    body = json.dumps({"model": OPUS, "messages": work()}).encode()
    head = b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    with proxied(model.url, **EAGER) as running:
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            connection.sendall(head + body)
            assert gate.reached.wait(LONG)
        gate.opened.set()
        settle(running)
        assert model.asked == []
        post(running, work())
    assert len(model.asked[0].body) < len(json.dumps(work())) / 2


def test_two_clients_with_the_same_conversation(model: Api, running: Running) -> None:
    messages = work()
    threads = [threading.Thread(target=post, args=(running, messages)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(model.asked), len({asked.body for asked in model.asked})) == (6, 1)
    assert len(model.asked[0].body) < len(json.dumps(messages)) / 2
    assert running.proxy.record.fault_count == 0


def test_a_proxy_that_starts_again_goes_on(model: Api, tmp_path: Path) -> None:
    messages = work()
    for number in range(2):
        with proxied(model.url, StateFile(tmp_path / "live.db"), **EAGER) as running:
            post(running, further(messages, number))
    first, second = map(sent, model.asked)
    assert second[: len(first)] == first
    assert len(b"".join(first)) < len(json.dumps(messages)) / 2
    assert b"value of item" not in (tmp_path / "live.db").read_bytes()


# What the API takes only as it came goes so at once, and after two in a row without another try.
def test_what_is_refused_goes_on_as_it_came(model: Api, running: Running) -> None:
    messages = work()
    whole = [json.dumps(message).encode() for message in messages]
    usage = {"usage": {"input_tokens": 40_000, "output_tokens": 3}}
    model.respond = lambda asked: said(usage) if sent(asked) == whole else said({"type": "error"}, 400)
    assert [post(running, messages).status_code for _ in range(4)] == [200] * 4
    assert [sent(asked) == whole for asked in model.asked] == [False, True, False, True, True, True]
    assert "from now on it passes through unchanged" in running.proxy.record.faults[-1].words
    assert (running.proxy.record.fault_count, running.proxy.record.sums.saved) == (2, 0)
    assert running.proxy.record.sums.sent == 4 * 40_000


ERRORS = {
    "size": "prompt is too long: 208310 tokens > 200000 maximum",
    "room": "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000",
    "chat": "This model's maximum context length is 128000 tokens.",
    "credit": "Your credit balance is too low to access the Anthropic API.",
    "quota": "You exceeded your current quota: insufficient_quota",
    "pairs": "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_0.",
    "other": "temperature is not supported",
}


# However often the API refuses what it would refuse as it came, too, condensing goes on.
@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize(("status", "is_packed"), [(400, False), (422, True)])
def test_a_refusal_that_condensing_is_not_to_blame_for(
    model: Api, running: Running, kind: str, status: int, is_packed: bool
) -> None:
    messages = work()
    error = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": ERRORS[kind]}}).encode()
    headers = (("Content-Type", "application/json"), *((("Content-Encoding", "gzip"),) if is_packed else ()))
    data = packed(error, "body.gz") if is_packed else error
    model.respond = lambda _: Answer((data[:9], data[9:]), status, headers)
    answers = [post(running, messages, headers={"accept-encoding": "gzip"}) for _ in range(4)]
    assert [(answer.status_code, answer.content) for answer in answers] == [(status, error)] * 4
    is_known = kind not in ("pairs", "other")
    assert len(model.asked) == (4 if is_known else 8)  # Others are tried as they came.
    model.respond = lambda _: said({})
    assert post(running, messages).status_code == 200
    assert len(model.asked[-1].body) < len(json.dumps(messages)) / 2
    assert running.proxy.record.fault_count == 0


# A try of the original that the API does not answer shows nothing: the client hears the first refusal.
def test_a_refusal_behind_which_the_api_is_gone(model: Api, running: Running) -> None:
    model.respond = lambda _: None if len(model.asked) % 2 == 0 else said({"error": "odd"}, 400)
    assert [post(running, work()).status_code for _ in range(3)] == [400] * 3
    assert len(model.asked) == 6
    assert running.proxy.record.fault_count == 0


# Thinking over the original that was taken in between is invalid over what is condensed, and that before the other way
# around; where the original was refused as well, nothing was thought over it.
@pytest.mark.parametrize("is_taken", [True, False])
def test_thinking_around_a_refusal(model: Api, running: Running, is_taken: bool) -> None:
    messages = [*work()[:-2], thought(0), user("Go on.")]
    post(running, messages, model=BINDING)
    messages += [thought(1), user("And?")]
    refused = len(model.asked)
    model.respond = lambda _: said({}, 200 if is_taken and len(model.asked) == refused + 2 else 400)
    post(running, messages, model=BINDING)
    assert [thoughts(asked) for asked in model.asked[refused:]] == [["thought 1"], ["thought 0"]]
    model.respond = lambda _: said({})
    messages += [thought(2), user("And?")]
    post(running, messages, model=BINDING)
    assert thoughts(model.asked[-1]) == ([] if is_taken else ["thought 1", "thought 2"])


def test_addresses_with_the_version_in_them(model: Api, running: Running) -> None:
    messages = work()
    for path in ("/messages?beta=true", "/chat/completions"):
        post(running, messages, path)
        assert len(model.asked[-1].body) < len(json.dumps(messages)) / 2
    assert [asked.path for asked in model.asked] == ["/v1/messages?beta=true", "/chat/completions"]


def test_watching_changes_nothing(model: Api) -> None:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 9_900, "output_tokens": 5}
    model.respond = lambda _: said({"usage": usage})
    with proxied(model.url, **EAGER, watches=True) as running:
        for number in range(3):
            post(running, further(work(), number))
        sums = running.proxy.record.sums
    assert [asked.json["messages"] for asked in model.asked] == [further(work(), number) for number in range(3)]
    assert (sums.requests, sums.sent) == (3, 30_000)
    assert sums.saved > 10_000
