"""Requests for a compaction: recognized and answered here, and everything that only looks like one passed on."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from build import assistant, call, result, text, user
from live_conversations import lines

from condense_cli.ledger.compaction import read_back
from condense_cli.proxy import app, compaction
from condense_cli.proxy.bodies import api_of

from .upstream import TOKEN, Api, Running, api, ask, get, proxied, said

WORD = "condense-0123456789abcdef"
ASKS = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nPlease summarize."
ENDING = "\n\nREMINDER: Do NOT call any tools."
OPUS = "claude-opus-4-6"
OWN: dict[str, Any] = {"compact": "own", "word": WORD}
USAGE = {"input_tokens": 9_000, "output_tokens": 900, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
ODD = "costs $& and `$$` and $1\n</summary>\n<analysis>thought</analysis>\n<summary>x</summary>"

WORK: list[dict[str, Any]] = [
    user("Never touch main."),
    assistant([call("t1", "Bash", command="make all")]),
    user([result("t1", lines("row"))]),
    assistant([text("## Migration plan\n1. Copy accounts_v2.\n2. Switch.")]),
    user("Go on then."),
    assistant([text("I go on with step 2.")]),
]


def asking(instructions: str = "", *, word: str = WORD, mark: bool = False) -> dict[str, Any]:
    """The last message of a compaction: instructions, what the hook printed, and the rest of the template."""
    added = "\n\n".join(filter(None, (instructions, word)))
    whole = ASKS + (f"\n\nAdditional Instructions:\n{added}" if added else "") + ENDING
    return user([text(whole) | ({"cache_control": {"type": "ephemeral"}} if mark else {})])


def post(running: Running, *messages: dict[str, Any], **more: Any) -> httpx.Response:
    headers = more.pop("headers", {})
    body = {"model": OPUS, "max_tokens": 9, "stream": True, "messages": [*WORK, *messages], **more}
    return ask(f"{running.url}/v1/messages?beta=true", json=body, headers=headers)


def events_of(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = answer.text.strip().split("\n\n")
    found = [(block.split("\n")[0], json.loads(block.split("\n")[1].removeprefix("data: "))) for block in blocks]
    assert all(name == f"event: {event['type']}" for name, event in found)
    return [event for _, event in found]


def text_of(answer: httpx.Response) -> str:
    deltas = (event["delta"] for event in events_of(answer) if event["type"] == "content_block_delta")
    return "".join(delta["text"] for delta in deltas)


@pytest.fixture
def model() -> Iterator[Api]:
    with api(lambda _: said({"type": "message", "content": [], "usage": USAGE})) as found:
        yield found


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if versions of the client asked by the text of these tests."""
    whole = ASKS + ENDING
    monkeypatch.setattr(compaction, "_TEMPLATES", {len(whole): hashlib.sha256(whole.encode()).hexdigest()[:16]})


def test_the_answer_is_a_stream_of_the_api(model: Api) -> None:
    with proxied(model.url, **OWN) as running:
        answer = post(running, asking())
    assert model.asked == []
    events = events_of(answer)
    kinds = [event["type"] for event in events]
    assert kinds[:3] == ["message_start", "content_block_start", "content_block_delta"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert events[0]["message"]["model"] == OPUS
    assert events[-2]["delta"]["stop_reason"] == "end_turn"
    assert set(events[-2]["usage"].values()) == {0}  # Nothing was billed.
    (seen,) = running.proxy.record.compactions
    assert seen.is_ours
    assert 0 < seen.after < seen.before


# A client takes what is between the first tags, expands `$&` in it, and may cut the first analysis out of the rest.
def test_odd_text_is_kept_as_it_is(model: Api) -> None:
    with proxied(model.url, **OWN) as running:
        found = text_of(post(running, user(f"It\n{ODD}"), assistant("Yes."), asking("keep the migration plan")))
    opened, line, closed, blank, *rest = found.split("\n")
    assert (opened, closed, blank) == ("<summary>", "</summary>", "")
    assert "$" not in line
    body = "\n".join(rest)
    assert "costs $& and `$$` and $1\n</summary>\n‹analysis>thought‹/analysis>\n<summary>x</summary>" in body
    assert "<analysis" not in body
    assert "2. Switch." in body
    held = read_back(body)
    assert held is not None
    assert [each.text for each in held.words][:2] == ["Never touch main.", "Go on then."]


def test_the_next_request_goes_to_the_api(model: Api) -> None:
    with proxied(model.url, **OWN) as running:
        found = text_of(post(running, asking()))
        continued = user(f"This session is being continued from a previous conversation.\n\n{found}")
        body = {"model": OPUS, "max_tokens": 9, "stream": True, "messages": [continued, user("And now?")]}
        ask(f"{running.url}/v1/messages", json=body)
        again = {**body, "messages": [continued, user("And now?"), assistant("Done."), asking()]}
        second = text_of(ask(f"{running.url}/v1/messages", json=again))
    assert len(model.asked) == 1
    held = read_back(second)
    assert held is not None
    assert [each.text for each in held.words] == ["Never touch main.", "Go on then.", "And now?"]


@pytest.mark.parametrize("behind", [[], [{"role": "system", "content": "Tokens left: 9."}]])
def test_messages_of_the_system_may_follow(model: Api, behind: list[dict[str, Any]]) -> None:
    with proxied(model.url, **OWN) as running:
        assert "Never touch main." in text_of(post(running, asking(), *behind))


def test_a_packed_body(model: Api) -> None:
    body = gzip.compress(json.dumps({"model": OPUS, "stream": True, "messages": [*WORK, asking()]}).encode())
    with proxied(model.url, **OWN) as running:
        answer = ask(f"{running.url}/v1/messages", content=body, headers={"content-encoding": "gzip"})
    assert "Never touch main." in text_of(answer)


def test_the_size_is_a_setting(model: Api) -> None:
    work = [*WORK, user([text("More."), text(lines("further", 900))])]
    with proxied(model.url, **OWN, compact_tokens=2_000) as running:
        body = {"model": OPUS, "stream": True, "messages": [*work, assistant("Yes."), asking()]}
        ask(f"{running.url}/v1/messages", json=body)
        (seen,) = running.proxy.record.compactions
    assert 1_000 < seen.after <= 2_000


STORED = f"<local-command-stdout>Compacted. PreCompact completed successfully: {WORD}</local-command-stdout>"


# The word alone, or where nobody but the client puts it, or without all else: no compaction.
@pytest.mark.parametrize(
    "messages",
    [
        [user([text(STORED), text("What is next?")])],
        [user(STORED)],
        [user(f"Why is {WORD} in the output?")],
        [user([text(f"{ASKS}\n\nAdditional Instructions:\n{WORD}"), text("What is next?")])],
        [user(f"{ASKS}\n\nAdditional Instructions:\nsay {WORD}")],
        [asking(), assistant("A summary.")],
        [assistant([call("t9", "Bash", command="x")]), user([*asking()["content"], result("t9", "y")])],
        [assistant([call("t9", "Read", file_path="x")]), user([result("t9", asking()["content"][0]["text"])])],
        [asking(word="condense-of-another-run")],
        [user([])],
        [user([{"type": "text", "text": 9}])],
    ],
)
def test_what_only_looks_like_one_passes(model: Api, messages: list[dict[str, Any]]) -> None:
    with proxied(model.url, **OWN) as running:
        post(running, *messages)
    assert len(model.asked) == 1
    assert json.loads(model.asked[0].body)["messages"][len(WORK) :] == messages
    assert running.proxy.record.compactions == []


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"compact": "client"}, {}),
        ({"watches": True}, {}),
        ({}, {"headers": {"x-condense": "off"}}),
        ({}, {"stream": False}),
    ],
)
def test_it_passes_unless_it_is_to_be_answered(model: Api, settings: dict[str, Any], more: dict[str, Any]) -> None:
    with proxied(model.url, **OWN | settings) as running:
        post(running, asking(), **more)
    assert [asked.json["messages"][-1] for asked in model.asked] == [asking()]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages/count_tokens"])
def test_other_requests_pass(model: Api, path: str) -> None:
    with proxied(model.url, **OWN) as running:
        ask(running.url + path, json={"model": OPUS, "stream": True, "messages": [*WORK, asking()]})
    assert len(model.asked) == 1


# Where no hook runs, a text counts that is known to its last letter, but for what the user gave.
@pytest.mark.parametrize("instructions", ["", "keep the migration plan"])
def test_a_known_text_counts_without_a_hook(model: Api, known: None, instructions: str) -> None:
    with proxied(model.url, compact="own") as running:
        found = text_of(post(running, asking(instructions, word="")))
    assert "Never touch main." in found
    assert model.asked == []


def test_the_mark_of_a_typed_prompt_tells_it(model: Api, known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied(model.url, compact="own") as running:
        post(running, asking(word="", mark=True))
        assert len(model.asked) == 1
        monkeypatch.setattr(compaction, "_MARKED", (len(ASKS + ENDING),))  # As versions up to 2.1.50.
        post(running, asking(word="", mark=True))
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (asking(word=""), "its hook did not run"),
        (user(ASKS + "\n\nOf a part."), "summarize a part of the conversation was passed on"),
    ],
)
def test_the_page_names_what_was_passed_on(
    model: Api, known: None, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], words: str
) -> None:
    part = ASKS + "\n\nOf a part."
    monkeypatch.setattr(compaction, "_PARTIAL", {len(part): hashlib.sha256(part.encode()).hexdigest()[:16]})
    with proxied(model.url, **OWN) as running:
        post(running, asked)
        page = get(f"{running.url}/condense", params={"token": TOKEN}).text
    assert len(model.asked) == 1
    assert words in page


def test_an_error_passes_it_on(model: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("of what was said")

    monkeypatch.setattr(app, "compact", fails)
    with proxied(model.url, **OWN) as running:
        post(running, asking())
        page = get(f"{running.url}/condense", params={"token": TOKEN}).text
    assert [asked.json["messages"][-1] for asked in model.asked] == [asking()]
    assert "a compaction was passed on (ZeroDivisionError)" in page
    assert "of what was said" not in page


# Messages that no reader takes are the API's to refuse.
@pytest.mark.parametrize("broken", [{"role": "user", "content": 9}, {"role": "nobody", "content": []}, "no message"])
def test_messages_that_cannot_be_read_are_not_in_the_way(model: Api, broken: Any) -> None:
    with proxied(model.url, **OWN) as running:
        body = {"model": OPUS, "stream": True, "messages": [broken, *WORK, asking()]}
        answer = ask(f"{running.url}/v1/messages", json=body)
    assert answer.status_code == 200
    assert len(model.asked) + len(running.proxy.record.compactions) == 1


# What the client's model took for it, and what we would have.
def test_a_compaction_of_the_model_is_told(known: None) -> None:
    with (
        api(lambda _: said({"type": "message", "content": [], "usage": USAGE})) as model,
        proxied(model.url) as running,
    ):
        post(running, asking(word=""))
        (seen,) = running.proxy.record.compactions
        while not seen.after:
            get(running.url)
        page = get(f"{running.url}/condense", params={"token": TOKEN}).text
    assert (seen.is_ours, len(model.asked) > 0) == (False, True)
    assert 0 < seen.after < seen.before
    assert seen.money is not None
    assert seen.money > 0
    assert "for 1 compaction, --compact own would have taken" in page


TURN = json.dumps({"session_id": "s", "request_kind": "compaction", "compaction": {"trigger": "auto"}})
OF_TURN = json.dumps({"session_id": "s", "request_kind": "turn"})


def item(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


CODEX: list[dict[str, Any]] = [
    item("developer", "Use the tools."),
    item("user", "Never touch main."),
    item("assistant", "I look."),
    {"type": "function_call", "name": "shell", "arguments": '{"command": ["make", "all"]}', "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": lines("row")},
    item("assistant", "I go on with step 2."),
]


def codex(running: Running, *items: dict[str, Any], turn: str = TURN, **more: Any) -> httpx.Response:
    body = {"model": "gpt-5.5", "stream": True, "input": [*CODEX, *items], **more}
    return ask(f"{running.url}/v1/responses", json=body, headers={"x-codex-turn-metadata": turn})


def item_of(answer: httpx.Response) -> dict[str, Any]:
    kinds = {event["type"]: event for event in events_of(answer)}
    assert [*kinds] == [
        "response.created", "response.output_item.added", "response.output_item.done", "response.completed",
    ]  # fmt: skip
    found: dict[str, Any] = kinds["response.completed"]["response"]["output"][0]
    assert kinds["response.output_item.done"]["item"] == found
    return found


# Its own provider wants an item that only it can read, and sends it back for good: it arrives as words of the user.
def test_codex_with_its_own_provider(model: Api) -> None:
    with proxied(model.url, compact="own") as running:
        made = item_of(codex(running, {"type": "compaction_trigger"}))
        assert (made["type"], model.asked) == ("compaction", [])
    for settings in ({"compact": "own"}, {"compact": "client"}, {"watches": True}):  # Whatever is set the next day.
        with proxied(model.url, **settings) as running:
            codex(running, made, item("user", "And now?"), turn=OF_TURN)
        sent = model.asked[-1].json["input"]
        assert (sent[: len(CODEX)], sent[-1]) == (CODEX, item("user", "And now?"))
        assert sent[len(CODEX)]["role"] == "user"
        held = read_back(sent[len(CODEX)]["content"][0]["text"])
        assert held is not None
        assert [each.text for each in held.words] == ["Never touch main."]


def test_codex_twice(model: Api) -> None:
    with proxied(model.url, compact="own") as running:
        first = item_of(codex(running, {"type": "compaction_trigger"}))
        kept = [item("user", "Never touch main."), first, item("user", "Go on."), {"type": "compaction_trigger"}]
        second = item_of(codex(running, input=kept))
    held = read_back(base64.b64decode(second["encrypted_content"]).decode())
    assert held is not None
    assert [each.text for each in held.words] == ["Never touch main.", "Go on."]
    assert [each.text for each in held.ledger.commands] == ["make all"]


def test_codex_with_another_provider(model: Api) -> None:
    with proxied(model.url, compact="own") as running:
        made = item_of(codex(running, item("user", "Write a summary for another model.")))
    assert (made["type"], made["role"], model.asked) == ("message", "assistant", [])
    held = read_back(made["content"][0]["text"])
    assert held is not None
    assert [each.text for each in held.words] == ["Never touch main."]


@pytest.mark.parametrize(
    ("items", "more"),
    [
        ([{"type": "compaction_trigger"}], {"turn": OF_TURN}),
        ([{"type": "compaction_trigger"}], {"turn": "compaction, but no JSON"}),
        ([{"type": "compaction_trigger"}], {"turn": '["compaction"]'}),
        ([{"type": "compaction_trigger"}], {"stream": False}),
        ([item("assistant", "compaction")], {}),
    ],
)
def test_other_requests_of_codex_pass(model: Api, items: list[dict[str, Any]], more: dict[str, Any]) -> None:
    with proxied(model.url, compact="own") as running:
        codex(running, *items, **more)
    assert [asked.json["input"][len(CODEX) :] for asked in model.asked] == [items]


# Items of the API's own, and what is none of ours, stay as they are.
@pytest.mark.parametrize("content", ["gAAAAABo", "Q29tcGFjdGVk", "no base64 %", 9, None])
def test_items_of_others_stay(model: Api, content: object) -> None:
    other = {"type": "compaction", "id": "cmp_1", "encrypted_content": content}
    with proxied(model.url) as running:
        codex(running, other, item("user", "And now?"), turn=OF_TURN)
    assert model.asked[0].json["input"][len(CODEX)] == other


@pytest.mark.parametrize("encoding", ["", "gzip", "br"])
def test_a_body_without_an_item_of_ours_is_not_read(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABo"}
    data = json.dumps({"model": "gpt-5.5", "input": [*CODEX, other]}).encode()
    data = gzip.compress(data) if encoding else data
    monkeypatch.setattr(compaction, "body_of", None)
    responses = api_of("POST", "/v1/responses")
    assert responses is not None
    assert compaction.with_own_compactions(data, encoding, responses) is data


def test_an_item_of_ours_in_a_packed_body(model: Api) -> None:
    with proxied(model.url, compact="own") as running:
        made = item_of(codex(running, {"type": "compaction_trigger"}))
        body = gzip.compress(json.dumps({"model": "gpt-5.5", "input": [*CODEX, made]}).encode())
        ask(f"{running.url}/v1/responses", content=body, headers={"content-encoding": "GZIP"})
    sent = json.loads(gzip.decompress(model.asked[-1].body))["input"]
    assert sent[len(CODEX)]["role"] == "user"
