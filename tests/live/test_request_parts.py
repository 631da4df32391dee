"""Parts of requests: what is equal, what may be marked, what an SDK's objects are sent as."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from build import assistant, call, result, text, thinking, user

from condense_cli.errors import UsageError
from condense_cli.live.requests import (
    Request,
    as_bytes,
    is_thinking,
    marks_in,
    tokens_of,
    with_blocks,
    with_breakpoints,
)

MARK = {"cache_control": {"type": "ephemeral"}}


class OfSdk:
    """An object as the SDKs have them: unset fields are not sent."""

    def model_dump(self, *, mode: str, exclude_unset: bool) -> dict[str, Any]:
        return {"role": "user", "content": "Hi."} if (mode, exclude_unset) == ("json", True) else {}


class Mapped(dict[str, Any]):
    pass


@pytest.mark.parametrize("message", [OfSdk(), SimpleNamespace(model_dump=OfSdk().model_dump), Mapped(user("Hi."))])
def test_objects_are_sent_as_their_json(message: Any) -> None:
    assert json.loads(as_bytes(message)) == user("Hi.")
    assert Request([message]).plain(0) == user("Hi.")


@pytest.mark.parametrize("value", ["\ud800", 10**30, {"a": ["\udfff", OfSdk()]}])
def test_values_that_only_json_can_spell(value: Any) -> None:
    for is_sorted in (False, True) if not isinstance(value, dict) else (False,):
        spelled = json.loads(as_bytes(value, is_sorted=is_sorted))
        assert spelled == value or spelled["a"] == ["\udfff", user("Hi.")]


def test_keys_are_sorted_where_they_are_compared() -> None:
    for odd in (1, "\ud800"):
        one, other = ({"b": odd, "a": 2}, {"a": 2, "b": odd})
        assert as_bytes(one) != as_bytes(other)
        assert as_bytes(one, is_sorted=True) == as_bytes(other, is_sorted=True)


@pytest.mark.parametrize(("value", "kind"), [([1j], "complex"), ({"a": object()}, "object"), (len, "builtin_function")])
def test_values_that_are_no_json_are_named(value: Any, kind: str) -> None:
    with pytest.raises(UsageError, match=rf"^A message holds a {kind}\w*, which is not JSON\.$") as raised:
        as_bytes(value)
    assert raised.value.hint == "Give dicts, lists and strings."


def test_messages_from_an_earlier_request_are_read_anew() -> None:
    messages = [user("One."), assistant("Two."), user("Three.")]
    known = Request(messages[:2]).known
    request = Request(messages, known, same=2)
    assert [request.plain(position) for position in range(3)] == messages
    assert request.plain(2) is not messages[2]
    assert request.agrees(known)
    assert not Request(messages[:1]).agrees(known)
    assert not request.agrees([*known, *Request([user("Other.")]).known])
    assert (request.shared(known), request.shared(Request([messages[0], user("x")]).known)) == (2, 1)


# What is no answer of a model: a result, a request, and items without a role.
@pytest.mark.parametrize(
    ("message", "answers"),
    [
        (assistant("Yes."), True),
        ({"role": "model", "parts": [{"text": "Yes."}]}, True),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, True),
        ({"type": "function_call_output", "call_id": "c", "output": "x"}, False),
        (user("No."), False),
        ("assistant", False),
        ({}, False),
    ],
)
def test_answers_are_told_apart(message: Any, answers: bool) -> None:
    assert Request([message]).known[0].answers is answers


@pytest.mark.parametrize(
    ("part", "is_thought"),
    [
        (thinking(), True),
        ({"type": "redacted_thinking", "data": "x"}, True),
        (text("thinking"), False),
        ({"reasoningContent": {"reasoningText": {"text": "Hm."}}}, True),
        ("thinking", False),
        ({}, False),
    ],
)
def test_thinking_is_known_by_its_type(part: Any, is_thought: bool) -> None:
    assert is_thinking(part) is is_thought


@pytest.mark.parametrize("kind", ["text", "input_text", "output_text"])
def test_a_single_text_is_its_string(kind: str) -> None:
    whole = Request([user([{"type": kind, "text": "Hi."}])]).known[0]
    assert whole.digest == Request([user("Hi.")]).known[0].digest
    for other in ([{"type": kind, "text": "Hi.", "more": 1}], [{"type": kind, "text": "Hi."}] * 2, [text("Ho.")]):
        assert Request([user(other)]).known[0].digest != whole.digest


def test_images_and_signatures_count_as_few_characters() -> None:
    plain = Request([user([text("four")])]).characters(0)
    long = Request([user([text("four"), {"type": "image", "source": {"data": "A" * 90_000}}])]).characters(0)
    assert plain == len("user") + len("text") + len("four")
    assert plain < long < 20_000
    assert Request([user([text("four"), thinking()])]).characters(0) < plain + 500


@pytest.mark.parametrize(
    ("message", "new"),
    [
        (user("Hi."), user([text("Hi.")])),
        ({**user("Hi."), "id": 1}, {**user([text("Hi.")]), "id": 1}),
        (user(""), user("")),
        (user([text("Hi.")]), user([text("Hi.")])),
        ({"role": "user"}, {"role": "user"}),
        ("Hi.", "Hi."),
    ],
)
def test_texts_become_blocks(message: Any, new: Any) -> None:
    assert with_blocks(message) == new


@pytest.mark.parametrize(
    ("content", "at"),
    [
        ([text("a"), text("b")], 1),
        ([text("a"), text("")], 0),
        ([text("a"), thinking()], 0),
        ([text("a"), call("c")], 1),
        ([result("c", "x"), "odd"], 0),
        ([thinking()], None),
        ([text("")], None),
        ("a", None),
    ],
)
def test_the_last_block_that_may_have_a_mark_gets_ours(content: Any, at: int | None) -> None:
    messages = [user(content), user("New.")]
    before = json.dumps(messages)
    sent = with_breakpoints(messages, [1], 2)
    assert json.dumps(messages) == before
    if at is None:
        assert sent == messages
    else:
        marked = [part for part in sent[0]["content"] if isinstance(part, dict) and part.get("cache_control")]
        assert marked == [{**content[at], **MARK}]
        assert (sent[0]["content"][at], sent[1]) == (marked[0], messages[1])


def test_our_mark_lives_as_long_as_the_client_s() -> None:
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    sent = with_breakpoints([user([text("a")]), user([{**text("b"), **hour}])], [1], 2)
    assert sent == [user([{**text("a"), **hour}]), user([{**text("b"), **hour}])]
    assert sent[0]["content"][0]["cache_control"] is not sent[1]["content"][0]["cache_control"]


# The oldest go first, and of one message the first ones.
def test_the_client_s_newest_marks_stay() -> None:
    two = user([{**text("b"), **MARK}, {**text("c"), **MARK}])
    sent = with_breakpoints([user([text("a")]), two, user([{**text("d"), **MARK}])], [1], 1)
    assert sent[0] == user([{**text("a"), **MARK}])
    assert sent[1:] == [user([text("b"), {**text("c"), **MARK}]), user([{**text("d"), **MARK}])]
    for beside, ends in ((4, [1]), (0, [])):
        assert with_breakpoints([two], ends, beside) == [two]


def test_marks_are_counted() -> None:
    marked = {**text("a"), **MARK}
    assert [marks_in(each) for each in ([marked, text("b"), marked, "x"], "text", None, [], marked)] == [2, 0, 0, 0, 1]


# In Bedrock's Converse API a mark is a part of its own.
def test_points_are_marks_too() -> None:
    point = {"cachePoint": {"type": "default"}}
    said, asked = user([{"text": "a"}]), user([{"text": "b"}, point])
    assert with_breakpoints([said, asked], [1], 2, is_point=True) == [user([{"text": "a"}, point]), asked]
    assert with_breakpoints([said, user([{"text": "b"}])], [1], 2, is_point=True)[0] == user([{"text": "a"}, point])
    assert said == user([{"text": "a"}])
    assert (marks_in([{"text": "a"}, point]), marks_in({"tools": [point, {"toolSpec": {}}]})) == (1, 1)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (SimpleNamespace(input_tokens=3, output_tokens=4, cache_read_input_tokens=5), 12),
        ({"input": 3, "output": 4}, 7),
        ({"input_tokens": 3, "cache_read_input_tokens": True, "cache_creation_input_tokens": None}, 3),
        ({"input_tokens": None, "prompt_tokens": 6}, 6),
        (0, 0),
    ],
)
def test_usage_of_further_kinds(usage: Any, tokens: int) -> None:
    assert tokens_of(usage) == tokens


@pytest.mark.parametrize("usage", [{"output_tokens": 3}, None, 1.5, SimpleNamespace(total=3)])
def test_usage_without_an_input_is_refused(usage: Any) -> None:
    with pytest.raises(UsageError, match=r"^The usage holds no input_tokens and no prompt_tokens\.$") as raised:
        tokens_of(usage)
    assert raised.value.hint == "Give usage as the API returned it."
