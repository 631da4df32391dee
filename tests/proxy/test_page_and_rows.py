"""The page that shows what the proxy does, and rows that a gateway has condensed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from build import assistant, user
from live_conversations import lines

from condense_cli import api as api_of_package
from condense_cli.proxy.compress import CompressOrder, compressed
from condense_cli.proxy.record import Sums, summary

from .talks import further, post, work
from .upstream import TOKEN, Answer, Api, Running, api, ask, get, said


@pytest.fixture
def model() -> Iterator[Api]:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 9_000,
        "cache_creation_input_tokens": 990,
        "output_tokens": 7,
    }
    with api(lambda _: said({"content": [], "usage": usage})) as found:
        yield found


def test_the_page(running: Running) -> None:
    for number in range(3):
        post(running, further(work(), number), headers={"X-Claude-Code-Session-Id": "<b>5f2c91d8"})
    running.proxy.record.failed(0.0, "a <fault>")
    answer = get(f"{running.url}/condense", params={"token": TOKEN})
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for part in (
        "3 requests in 1 conversation",
        "&lt;b&gt;5f2c9",
        "90%",
        "claude-opus-4-6",
        "a &lt;fault&gt;",
        "1 fault",
        "$",
        "<th>conversation</th><th class=n>requests</th>",
        "<th>time</th><th>conversation</th>",
    ):
        assert part in answer.text
    assert "value of item" not in answer.text
    assert "Please find the bug" not in answer.text


def test_results_that_the_client_cleared_are_named(running: Running) -> None:
    quoted = 'CLEARED = "[Old tool result content cleared]"'
    messages, named = further(work(6), 1), {"X-Claude-Code-Session-Id": "5f2c91d8"}
    post(running, [*messages, user(quoted)], headers=named)
    assert running.proxy.record.clearings == []
    for message in [message for message in messages if message["role"] == "user"][1:4]:
        for part in message["content"]:
            part["content"] = "[Old tool result content cleared]"
    for number in (1, 2):
        post(running, further(messages, number), headers=named)
    (seen,) = running.proxy.record.clearings
    assert (seen.results, seen.model) == (3, "claude-opus-4-6")
    told = summary(running.proxy.record, running.proxy.conversations.number, watches=False)
    assert "the client cleared 3 old results in 1 step" in told
    page = get(f"{running.url}/condense", params={"token": TOKEN}).text
    assert "Cleared by the client" in page
    assert told.capitalize() in page


# What the page says of single conversations adds up to what the closing line says.
def test_the_page_and_the_closing_line_are_one_sum(running: Running) -> None:
    for first in ("Please find the bug.", "Please write the tests."):
        for number in range(4):
            post(running, further(work(5, first), number))
    found = Sums()
    for each in running.proxy.conversations.all():
        found.add(each.savings.sums)
    assert found == running.proxy.record.sums
    assert found.requests == 8
    page = get(f"{running.url}/condense", params={"token": TOKEN}).text
    assert summary(running.proxy.record, 2, watches=False).capitalize() in page


@pytest.mark.parametrize(
    ("params", "headers"),
    [({}, {}), ({"token": "another"}, {}), ({"token": TOKEN}, {"Host": "evil.example"}), ({"token": "ä"}, {})],
)
def test_the_page_is_for_who_started_it(running: Running, model: Api, params: Any, headers: Any) -> None:
    answer = get(f"{running.url}/condense", params=params, headers=headers)
    assert (answer.status_code, "conversation" in answer.text) == (403, False)
    assert model.asked == []


# Usage is read from a stream that is packed, too, and in all APIs.
@pytest.mark.parametrize(
    ("path", "events"),
    [
        (
            "/v1/messages",
            [
                {
                    "type": "message_start",
                    "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 990, "output_tokens": 1}},
                },
                {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50, "input_tokens": None}},
            ],
        ),
        (
            "/v1/chat/completions",
            [
                {
                    "choices": [],
                    "usage": {
                        "prompt_tokens": 1000,
                        "completion_tokens": 50,
                        "prompt_tokens_details": {"cached_tokens": 990},
                    },
                }
            ],
        ),
        (
            "/v1/responses",
            [
                {
                    "type": "response.completed",
                    "response": {
                        "usage": {
                            "input_tokens": 1000,
                            "output_tokens": 50,
                            "input_tokens_details": {"cached_tokens": 990},
                        }
                    },
                }
            ],
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_the_usage_is_read(model: Api, running: Running, path: str, events: list[Any], encoding: str) -> None:
    from condense_cli.storage.files import packed

    text = "".join(f"event: x\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events).encode() + b"data: [DONE]\n\n"
    data = packed(text, {"identity": "a", "gzip": "a.gz", "zstd": "a.zst"}[encoding])
    pieces = tuple(data[n : n + 11] for n in range(0, len(data), 11))
    model.respond = lambda _: Answer(
        pieces, headers=(("Content-Type", "text/event-stream"), ("Content-Encoding", encoding))
    )
    answer = post(running, [user("Hi.")], path, headers={"accept-encoding": "br, gzip, zstd;q=0.5"})
    assert answer.content
    assert model.asked[0].headers["accept-encoding"] == "gzip, zstd;q=0.5"
    (conversation,) = running.proxy.conversations.all()
    assert conversation.reported == 1050
    assert (conversation.savings.sums.sent, conversation.savings.sums.read) == (1000, 990)


ROWS: list[dict[str, Any]] = [
    {"role": "user", "content": "Please find the bug."},
    {"role": "tool", "tool_call_id": "a", "name": "read", "content": lines("a")},
    {"role": "tool", "tool_call_id": "b", "content": lines("b"), "extra": 1},
    {"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]},
    {"role": "user", "content": "Look again.\n" * 2_000},
    {"role": "tool", "tool_call_id": "d", "content": "ok"},
]


@pytest.mark.parametrize("preset", ["balanced", "cost", "lossless", "max", "quality", "speed"])
def test_as_many_rows_as_were_sent(running: Running, model: Api, preset: str) -> None:
    config = {"mode": "ccr", "preset": preset, "keep_recent": 0}
    answer = ask(f"{running.url}/v1/compress", json={"messages": ROWS, "model": "gpt-5.5", "config": config})
    found = answer.json()
    assert answer.status_code == 200
    assert [row["role"] for row in found["messages"]] == [row["role"] for row in ROWS]
    assert [row.get("tool_call_id") for row in found["messages"]] == [row.get("tool_call_id") for row in ROWS]
    assert [found["messages"][n] for n in (0, 3, 4, 5)] == [ROWS[n] for n in (0, 3, 4, 5)]
    assert found["tokens_before"] - found["tokens_after"] == found["tokens_saved"]
    if preset == "speed":
        assert len(found["messages"][1]["content"]) < len(ROWS[1]["content"]) / 2
        assert found["messages"][2]["extra"] == 1
        assert found["tokens_saved"] > 5_000
    assert model.asked == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "it is not JSON"),
        (b"[]", "Expected `object`"),
        (b"{}", "messages"),
        (b'{"messages": [1]}', "Expected `object`"),
        (b'{"messages": [{"content": "secret"}]}', "Row 0 of messages has no role of"),
        (
            b'{"messages": [{"role": "tool", "content": "x"}], "config": {"preset": "../../etc/passwd"}}',
            "config.preset is none of",
        ),
        (
            b'{"messages": [{"role": "tool", "content": "x"}], "config": {"preset": ["speed"]}}',
            "config.preset is none of",
        ),
        (b'{"messages": [{"role": "tool", "content": "x"}], "config": {"target_tokens": "9"}}', "config.target_tokens"),
        (b'{"messages": [{"role": "tool", "content": "x"}], "config": {"keep_recent": true}}', "config.keep_recent"),
        (b'{"messages": [{"role": "tool", "content": {"a": 1}}, {"role": "nobody", "content": 7}]}', "Row 1 of"),
    ],
)
def test_bad_bodies_get_a_sentence(running: Running, body: bytes, words: str) -> None:
    answer = ask(f"{running.url}/v1/compress", content=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert "secret" not in answer.text


# A gateway goes on with what it sent, whatever happens here.
def test_an_error_gives_the_rows_back(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.api.condense", lambda *_, **__: 1 / 0)
    assert ask(f"{running.url}/v1/compress", json={"messages": ROWS}).json()["messages"] == ROWS
    assert running.proxy.record.fault_count == 1


# Whatever a run gives that is not row by row: what belongs where is not known then.
def test_other_rows_than_were_sent_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    order = CompressOrder(ROWS, "gpt-5.5", {"preset": "speed"})
    assert compressed(order).tokens_saved > 5_000
    dumped = api_of_package.dump_messages
    monkeypatch.setattr("condense_cli.api.dump_messages", lambda result: [dumped(result)[0], *dumped(result)])
    found = compressed(order)
    assert (found.messages, found.tokens_saved, found.transforms_applied) == (ROWS, 0, [])


def test_no_rows(running: Running) -> None:
    assert ask(f"{running.url}/v1/compress", json={"messages": []}).json()["messages"] == []


def test_rows_without_results(running: Running) -> None:
    rows = [user("Hello."), assistant("Yes?")]
    assert ask(f"{running.url}/v1/compress", json={"messages": rows}).json()["messages"] == rows
