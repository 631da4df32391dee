"""Which thinking a change invalidates: all behind it, and none before."""

import pytest
from build import anthropic, assistant, openai, read_turn, result, text, thinking, user
from msgspec.structs import replace

from condense_cli.core.transcript import Block, Message, Place, Transcript
from condense_cli.core.values import Role
from condense_cli.rules.validity import (
    calls_answered_next,
    first_message_from_user,
    one_result_per_call,
    texts_not_blank,
    thinking_behind_changes,
    thinking_bound_to_prefix,
    tool_calls_answered,
)

TALK = anthropic(
    user("a"),
    assistant([thinking(), text("b")]),
    *[user("c"), *read_turn("x")],
    assistant([thinking(), text("d")]),
    user("e"),
    assistant([text("f"), thinking(), text("g")]),
)
THINKS = [(1, 0), (5, 0), (7, 1)]


def edited(position: int, number: int) -> list[Message]:
    messages = [*TALK.messages]
    blocks = [*messages[position].blocks]
    blocks[number] = blocks[number].with_text("cut")
    messages[position] = replace(messages[position], blocks=tuple(blocks))
    return messages


def test_nothing_changed_and_all_is_valid() -> None:
    assert [*thinking_behind_changes(TALK.messages, ())] == []


@pytest.mark.parametrize(
    ("position", "number", "behind"),
    [(0, 0, 3), (1, 1, 2), (2, 0, 2), (4, 0, 2), (5, 1, 1), (6, 0, 1), (7, 0, 1), (7, 2, 0)],
)
def test_what_is_behind_a_change(position: int, number: int, behind: int) -> None:
    assert [*thinking_behind_changes(edited(position, number), ())] == THINKS[len(THINKS) - behind :]


# Of a record of which a part went, the rest is not behind that part.
@pytest.mark.parametrize(
    ("gone", "behind"), [([(0, 0)], 3), ([(1, 1)], 2), ([(5, 1), (4, 0)], 2), ([(6, 0)], 1), ([(7, 2)], 0)]
)
def test_what_is_behind_something_that_went(gone: list[tuple[int, int]], behind: int) -> None:
    removed: list[Block] = [TALK.messages[position].blocks[number] for position, number in gone]
    kept = [
        replace(message, blocks=tuple(block for block in message.blocks if block not in removed))
        for message in TALK.messages
    ]
    expected = [block for message in TALK.messages for block in message.blocks if block.kind == "thinking"]
    found = [kept[position].blocks[number] for position, number in thinking_behind_changes(kept, removed)]
    assert found == expected[len(expected) - behind :]


def test_what_the_api_says_of_it() -> None:
    changed = replace(TALK, messages=tuple(edited(6, 0)), model="claude-sonnet-5-5")
    (violation,) = thinking_bound_to_prefix(changed)
    assert (violation.rule, violation.message) == ("thinking_bound_to_prefix", 7)
    assert violation.about == str(Place(7, ("content", 1, "thinking")))
    assert violation.said == (
        "messages.7: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    )
    assert [*thinking_bound_to_prefix(replace(changed, model=None))] == []


def test_a_transcript_without_messages_or_blocks() -> None:
    nothing = replace(TALK, messages=())
    assert [*first_message_from_user(nothing)] == []
    first = replace(TALK.messages[0], role=Role.ASSISTANT, blocks=())
    (violation,) = first_message_from_user(replace(TALK, messages=(first, *TALK.messages[1:])))
    assert violation.message == 0


def test_a_message_that_is_an_empty_string_breaks_another_rule() -> None:
    assert [*texts_not_blank(anthropic(user(""), assistant("b")))] == []


def test_a_blank_result_is_no_blank_text() -> None:
    turn = read_turn("x", content=" ")
    assert [*texts_not_blank(anthropic(user("a"), *turn, assistant("b")))] == []


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def test_the_parts_of_a_result_are_one_result() -> None:
    turn = read_turn("x", content=[text("one"), IMAGE])
    assert [*one_result_per_call(anthropic(user("a"), *turn, assistant("b")))] == []
    assert [*calls_answered_next(anthropic(user("a"), *turn, assistant("b")))] == []
    twice = [turn[0], user([result("x", [text("one"), IMAGE]), result("x", "two")])]
    assert len([*one_result_per_call(anthropic(user("a"), *twice, assistant("b")))]) == 1


# In Chat Completions only messages of tools answer.
def test_a_message_of_another_role_answers_no_call() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{}"}}]}
    talk: Transcript = openai(user("a"), call, {"role": "tool", "tool_call_id": "x", "content": "r"}, assistant("b"))
    assert [*tool_calls_answered(talk)] == []
    spoken = replace(talk.messages[2], role=Role.USER)
    (violation,) = tool_calls_answered(replace(talk, messages=(*talk.messages[:2], spoken, talk.messages[3])))
    assert (violation.message, violation.about) == (1, "x")
