"""Bodies are read as far as they are new, and that is the same as reading all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from build import assistant, user
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.live.requests import Request
from condense_cli.proxy.bodies import Api, Body, Recent, api_of, body_of
from condense_cli.proxy.conversations import Conversations


def api(path: str = "/v1/messages") -> Api:
    found = api_of("POST", path)
    assert found is not None
    return found


MARK = {"type": "ephemeral"}
MESSAGES = st.lists(
    st.one_of(
        st.integers(0, 99),
        st.builds(user, st.text(max_size=5)),
        st.builds(lambda text: user([{"type": "text", "text": text, "cache_control": MARK}]), st.text(max_size=3)),
        st.sampled_from([None, [], {}, "messages", assistant("[1, 2]"), assistant('"messages":[')]),
    ),
    max_size=8,
)


def spelled(messages: list[Any], style: int, tail: str) -> bytes:
    indent, separators = [(None, (",", ":")), (None, (", ", ": ")), (1, (",", ": "))][style]
    text = json.dumps(messages, indent=indent, separators=separators, ensure_ascii=style == 1)
    return ('{"model": "m", "messages":' + text + tail + "}").encode("utf-8", "surrogatepass")


TAILS = st.sampled_from(["", ', "x": [1, {"messages": []}]', " ", ', "messages": [1, 2]', ', "messages": []'])


@given(MESSAGES, MESSAGES, st.integers(0, 8), st.integers(0, 2), TAILS)
def test_what_is_new_is_enough(old: list[Any], new: list[Any], kept: int, style: int, tail: str) -> None:
    before = body_of(spelled(old, style, ', "stream": true'), "", api())
    data = spelled([*old[:kept], *new], style, tail)
    whole, further = body_of(data, "", api()), body_of(data, "", api(), before)
    assert (whole is None) == (further is None)
    if whole is None or further is None:
        return
    assert further.same <= len(old)
    assert [bytes(raw) for raw in further.listed.raws] == [bytes(raw) for raw in whole.listed.raws]
    assert (further.model, further.lives_long) == (whole.model, whole.lives_long)
    for body in (whole, further):
        changed = body.with_messages([*body.messages, 7])
        assert changed is not None
        assert json.loads(changed) == {**json.loads(data), "messages": [*json.loads(data)["messages"], 7]}


def test_only_a_body_of_its_own_messages_passes_as_it_came() -> None:
    body = body_of(b'{"messages":[1,  2],"x":3}', "", api())
    assert body is not None
    assert body.with_messages([*body.messages]) is None
    for messages in ([1, 7], [7, 2], [2, 1], [1], [1, 2, 2], []):
        changed = body.with_messages(messages)
        assert changed is not None
        assert json.loads(changed) == {"messages": messages, "x": 3}


@pytest.mark.parametrize("tail", ["", "]", "}", ",]}", ",,3]}", " 3]}", "]]}", ',"x"}', '],"input":'])
def test_what_is_broken_behind_the_known_part(tail: str) -> None:
    head = b'{"messages":[{"role":"user","content":"Hello."},{"role":"user","content":"Hello?"}'
    before = body_of(head + b"]}", "", api())
    assert before is not None
    assert body_of(head + tail.encode(), "", api(), before) is None


def test_a_number_that_goes_on() -> None:
    before = body_of(b'{"messages":[1,2]}', "", api())
    further = body_of(b'{"messages":[1,23]}', "", api(), before)
    assert further is not None
    assert (further.same, [bytes(raw) for raw in further.listed.raws]) == (1, [b"1", b"23"])


def test_the_bodies_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.proxy.bodies.LARGEST_KEPT", 10_000)
    recent = Recent()
    for number in range(100):
        data = json.dumps({"messages": [user(f"{number} " + "x" * 900)]}).encode()
        read = recent.read(data, "", api(), ())
        assert read is not None
        recent.keep(data, (), read[0], Request(read[0].messages).known)
    assert sum(len(seen.body.data) for seen in recent._seen.values()) == recent._size <= 10_000


@pytest.mark.parametrize(("more", "kept"), [(0, 3), (-1, 2)])
def test_bodies_are_kept_up_to_the_last_byte(monkeypatch: pytest.MonkeyPatch, more: int, kept: int) -> None:
    bodies = [json.dumps({"messages": [user(f"{number} " + "x" * 900)]}).encode() for number in range(4)]
    monkeypatch.setattr("condense_cli.proxy.bodies.LARGEST_KEPT", 3 * len(bodies[0]) + more)
    recent = Recent()
    for data in bodies:
        read = recent.read(data, "", api(), ())
        assert read is not None
        recent.keep(data, (), read[0], ())
    assert len(recent._seen) == kept


def conversation_of(conversations: Conversations, messages: list[Any], **headers: str) -> tuple[Any, Body]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = conversations.of(json.dumps({"messages": messages}).encode(), "", api(), named)
    assert found is not None
    return found[0], found[2]


@pytest.fixture
def conversations() -> Conversations:
    from condense_cli.live.conversation import Live
    from condense_cli.live.state import Memory

    return Conversations(Memory(), lambda state, format, life: Live(state=state, format=format, cache_life=life))


# Without a name a conversation is found by what it holds: runs that begin alike are told apart as soon as they differ.
def test_runs_that_begin_alike(conversations: Conversations) -> None:
    start = [user("Solve it.")]
    one, _ = conversation_of(conversations, [*start, assistant("a"), user("b")])
    other, _ = conversation_of(conversations, [*start, assistant("c"), user("d")])
    assert one is not other
    assert conversation_of(conversations, [*start, assistant("a"), user("b"), assistant("e"), user("f")])[0] is one
    assert conversation_of(conversations, [*start, assistant("c"), user("d"), assistant("e"), user("f")])[0] is other
    assert conversations.number == 2


def test_a_named_conversation_may_be_rewound(conversations: Conversations) -> None:
    messages = [user("Solve it."), assistant("a"), user("b")]
    one, _ = conversation_of(conversations, messages, session_id="s")
    assert conversation_of(conversations, [*messages[:1], assistant("x"), user("y")], session_id="s")[0] is one
    assert conversation_of(conversations, messages, session_id="t")[0] is not one
    assert conversation_of(conversations, messages, session_id="s", x_claude_code_agent_id="a")[0] is not one
    assert conversation_of(conversations, [user("A title, please.")], session_id="s")[0] is not one


def test_the_conversations_that_are_kept_are_bounded(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("condense_cli.proxy.conversations.MOST", 5)
    for number in range(20):
        conversation_of(conversations, [user(f"Number {number}.")])
        conversation_of(conversations, [user("Alike."), assistant(str(number))])
    assert len(conversations.all()) == 5
    assert conversations.number == 40


# An hour is what the cache marks say, not any text; a mark may be beside the messages, and then on the newest of them.
@pytest.mark.parametrize(
    ("mark", "more", "lives_long", "caches"),
    [
        ({"type": "ephemeral", "ttl": "1h"}, {}, True, True),
        ({"type": "ephemeral", "ttl": "5m"}, {}, False, True),
        (None, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}, True, True),
        (None, {}, False, False),
    ],
)
def test_how_long_the_cache_lives(mark: Any, more: Any, lives_long: bool, caches: bool) -> None:
    block = {"type": "tool_use", "id": "a", "name": "wait", "input": {"for": "1h", "n": 1}}
    messages = [assistant([{**block, "cache_control": mark} if mark else block])]
    found = body_of(json.dumps({"model": "m", "messages": messages, **more}).encode(), "", api())
    assert found is not None
    assert (found.lives_long, found.caches) == (lives_long, caches)


def test_apis_that_cache_without_marks() -> None:
    found = body_of(b'{"messages": [{"role": "user", "content": "Hi."}]}', "", api("/v1/chat/completions"))
    assert found is not None
    assert found.caches
