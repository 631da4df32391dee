"""What a pass may touch: selections, and what is protected from all of them."""

from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    changed_messages,
    condense,
    conversation,
    one_pass,
    openai,
    read_turn,
    reasons,
    result,
    text,
    user,
)

from condense_cli.core.transcript import Block, Message, Place, cut_before
from condense_cli.core.values import BlockKind, Role
from condense_cli.passes.receipts import Kept


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"type": "preserve_recent", "keep_recent_count": 0}, [2, 4, 6, 8, 10, 12]),
        ({"type": "preserve_recent", "keep_recent_count": 1}, [2, 4, 6, 8, 10, 12]),
        ({"type": "preserve_recent", "keep_recent_count": 2}, [2, 4, 6, 8, 10]),
        ({"type": "preserve_recent", "keep_recent_count": 5}, [2, 4, 6, 8]),
        ({"type": "preserve_recent", "keep_recent_count": 99}, []),
        ({"type": "preserve_percent", "keep_percentage": 0}, [2, 4, 6, 8, 10, 12]),
        ({"type": "preserve_percent", "keep_percentage": 1}, [2, 4, 6, 8, 10, 12]),
        ({"type": "preserve_percent", "keep_percentage": 50}, [2, 4, 6]),
        ({"type": "preserve_percent", "keep_percentage": 100}, []),
        ({"type": "custom"}, [2, 4, 6, 8, 10, 12]),
        ({"type": "custom", "range": {"start": 4, "end": 9}}, [4, 6, 8]),
        ({"type": "custom", "range": {"start": -6, "end": -1}}, [8, 10, 12]),
        ({"type": "custom", "age": {"min": 5}}, [2, 4, 6, 8]),
        ({"type": "custom", "age": {"min": 3, "max": 7}}, [6, 8, 10]),
        ({"type": "custom", "roles": ["assistant"]}, []),
        ({"type": "custom", "tools": {"include": ["re*"]}}, [2, 4, 6, 8, 10, 12]),
        ({"type": "custom", "tools": {"exclude": ["READ"]}}, []),
        ({"type": "custom", "min_tokens": 100_000}, []),
        ({"type": "custom", "regex": "item 39 is"}, [2, 4, 6, 8, 10, 12]),
        ({"type": "custom", "regex": "item 40 is"}, []),
        ({"type": "preserve_recent", "keep_recent_count": 5, "range": {"start": 5}}, [6, 8]),
    ],
)
def test_a_selection_chooses_what_is_cut(selection: dict[str, Any], expected: list[int]) -> None:
    assert changed_messages(condense(anthropic(*conversation()), one_pass(selection=selection))) == expected


# The edge of a selection moves earlier rather than between a call and its result.
def test_a_selection_never_splits_an_exchange() -> None:
    both = {"defaults": {"tool_parameters": {"operation": "suppress"}, "tool_results": {"operation": "suppress"}}}
    messages = [user("a")]
    for n in range(3):
        messages += [assistant([call(f"x{n}", "Write", content=LONG)]), user([result(f"x{n}")])]
    for kept, expected in ((1, [1, 2, 3, 4]), (2, [1, 2, 3, 4]), (3, [1, 2])):
        selection = {"type": "preserve_recent", "keep_recent_count": kept}
        condensation = condense(anthropic(*messages), one_pass(selection=selection, individual_config=both))
        assert changed_messages(condensation) == expected


# Where results need not follow at once, each call may be open while the one before it is answered.
def test_an_exchange_that_overlaps_thousands_of_others_is_not_split() -> None:
    def message(index: int, kind: BlockKind, call: int) -> Message:
        return Message(index, Role.ASSISTANT, (Block(kind, Place(index, ()), (), call_id=str(call)),))

    calls = [message(2 * n + 1, BlockKind.TOOL_CALL, n) for n in range(3_000)]
    results = [message(2 * n + 4, BlockKind.TOOL_RESULT, n) for n in range(3_000)]
    messages = sorted([*calls, *results], key=lambda message: message.index)
    assert {cut_before(messages, position) for position in (1, 2, 4_000, len(messages) - 1)} == {0}


def test_failed_and_superseded_results_can_be_selected() -> None:
    messages = [user("a"), *read_turn("1"), *read_turn("2", is_error=True), *read_turn("3"), assistant("z")]
    failed = condense(anthropic(*messages), one_pass(selection={"type": "custom", "failed": True}))
    assert changed_messages(failed) == [4]
    superseded = condense(anthropic(*messages), one_pass(selection={"type": "custom", "superseded": True}))
    assert changed_messages(superseded) == [2, 4]


# Some clients count their calls anew in each turn: what one of them showed is not renewed by another.
def test_results_of_calls_that_share_an_id_are_not_superseded() -> None:
    messages = [user("a"), *read_turn("1", "a.py"), *read_turn("1", "b.py"), *read_turn("2", "a.py"), assistant("z")]
    for superseded, changed in ((True, []), (False, [2, 4, 6])):
        selection = {"type": "custom", "superseded": superseded}
        assert changed_messages(condense(anthropic(*messages), one_pass(selection=selection))) == changed


def test_the_start_the_request_and_pins_stay() -> None:
    everything = {"defaults": {name: {"operation": "suppress"} for name in ("message_text", "tool_results")}}
    reminder = f"<system-reminder>{LONG}</system-reminder>"
    # What the assistant did before, at a command of the client's, is no more protected than what it did later.
    messages = [user(reminder), assistant(LONG), user(LONG), assistant(LONG), user([text(LONG + " PIN")])]
    condensation = condense(
        anthropic(*messages),
        one_pass(selection={"type": "custom"}, individual_config=everything),
        keep_first=0,
        pins=[{"regex": "PIN$"}],
    )
    assert changed_messages(condensation) == [1, 3]
    assert reasons(condensation, 0) == {Kept.BEFORE_REQUEST}
    assert reasons(condensation, 2) == {Kept.FIRST_REQUEST}
    assert reasons(condensation, 4) == {Kept.PINNED}
    assert any("suppresses message text" in warning for warning in condensation.warnings)
    kept = condense(anthropic(*messages), one_pass(selection={"type": "custom"}), keep_first=1)
    assert reasons(kept, 0) == {Kept.FIRST}


def test_standing_instructions_stay() -> None:
    everything = {"defaults": {"message_text": {"operation": "suppress"}}}
    messages = [{"role": "system", "content": LONG}, user("a"), {"role": "developer", "content": LONG}, assistant(LONG)]
    condensation = condense(openai(*messages), one_pass(selection={"type": "custom"}, individual_config=everything))
    assert changed_messages(condensation) == [3]
    assert reasons(condensation, 0) == reasons(condensation, 2) == {Kept.STANDING}
