"""What a selection takes and what is protected from every pass, worked out for single messages."""

from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    changed_messages,
    condense,
    configuration,
    conversation,
    one_pass,
    result,
    text,
    thinking,
    user,
)
from msgspec.structs import replace

from condense_cli import api
from condense_cli.api import overrides_from
from condense_cli.config.models import Configuration, IndexRange, Predicates, Selection
from condense_cli.config.options import NO_OVERRIDES, Overrides
from condense_cli.core.transcript import Block, Message, Place, cut_before
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import ConfigurationError
from condense_cli.passes.receipts import Kept
from condense_cli.passes.selection import Selected, no_selectors, protect, select, why_untouched
from condense_cli.tokens.counting import Counter

COMMAND = "<command-name>/init</command-name>"
TYPED_BEHIND = f"{COMMAND}\n<command-args>Never push.</command-args>"
SHELL = "<bash-input>git status</bash-input>"
REMINDER = "<system-reminder>Be brief.</system-reminder>"
Messages = list[dict[str, Any]]


def read(*messages: dict[str, Any]) -> tuple[Message, ...]:
    return anthropic(*messages).messages


def selected(messages: tuple[Message, ...], **selection: Any) -> Selected:
    return select(Selection(**selection), messages, Counter())


@pytest.mark.parametrize(
    ("selection", "end", "preserved", "age"),
    [
        ({"type": "custom"}, 14, None, "selected"),
        ({"type": "preserve_recent", "keep_recent_count": 1}, 13, 1, "old"),
        ({"type": "preserve_recent", "keep_recent_count": 5}, 9, 5, "old"),
        ({"type": "preserve_recent", "keep_recent_count": 14}, 0, 14, "old"),
        ({"type": "preserve_recent"}, 9, 5, "old"),
        ({"type": "preserve_recent", "keep_recent_count": 0}, 14, 0, "old"),
        ({"type": "preserve_percent", "keep_percentage": 50}, 7, 7, "old"),
        ({"type": "preserve_percent", "keep_percentage": 0.5}, 13, 1, "old"),
        ({"type": "preserve_percent", "keep_percentage": 100}, 0, 14, "old"),
        ({"type": "preserve_percent"}, 7, 7, "old"),
        ({"type": "preserve_percent", "keep_percentage": 0}, 14, 0, "old"),
    ],
)
def test_where_a_selection_ends(selection: dict[str, Any], end: int, preserved: int | None, age: str) -> None:
    found = selected(read(*conversation()), **selection)
    assert (found.end, found.preserved_turns, found.age) == (end, preserved, age)


# It goes when its thinking goes; were it counted, the window would move then.
def test_a_message_of_thinking_alone_takes_no_room() -> None:
    messages = read(user("a"), assistant("b"), user("c"), assistant([thinking()]), user("d"), assistant("e"))
    assert len(messages) == 6
    assert selected(messages, type="preserve_recent", keep_recent_count=3).end == 2


def test_a_percentage_is_of_turns() -> None:
    messages = read(user("a"), assistant("b"), user("c"), assistant([thinking()]), user("d"), assistant("e"))
    assert selected(messages, type="preserve_percent", keep_percentage=60).preserved_turns == 3
    assert selected(messages, type="preserve_percent", keep_percentage=61).preserved_turns == 4


def test_a_percentage_is_a_hundredth() -> None:
    many = read(*conversation(60))
    assert len(many) > 101
    assert selected(many, type="preserve_percent", keep_percentage=100).preserved_turns == len(many)


# An earlier summary: whatever it says, but not from outside of the range, and not where only some tools are meant.
@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        ({"regex": "no such text"}, [0, 1, 2, 3]),
        ({"roles": ("tool",)}, [0, 1, 2, 3]),
        ({"range": IndexRange(start=1, end=3)}, [1, 2]),
        ({"only_tools": ("read",)}, [1, 2]),
        ({"only_tools": ("bash",)}, []),
    ],
)
def test_which_summaries_a_selection_takes_in(selection: dict[str, Any], taken: list[int]) -> None:
    messages = read(*conversation(1))
    found = selected(messages, type="custom", **selection)
    assert [message.index for message in messages if found.takes_in(message, message.blocks[0])] == taken


def test_a_selector_narrows_down_what_predicates_leave() -> None:
    messages = read(user("a"), assistant("b"), user("c"))
    asked: list[tuple[str, int]] = []

    def find(name: str) -> Any:
        def look(messages: tuple[Message, ...], count: Counter) -> Any:
            asked.append((name, len(messages)))
            assert isinstance(count, Counter)
            return lambda message, block: block.text != "a"

        return look

    found = select(Selection(type="custom", selector="mine", roles=("user",)), messages, Counter(), find)
    assert asked == [("mine", 3)]
    assert [message.index for message in messages if found.test(message, message.blocks[0])] == [2]


def test_a_selector_that_nobody_brings_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="There is no selector named 'mine'") as caught:
        no_selectors("mine")
    assert caught.value.hint == "An installed package can provide one."


def protected(messages: tuple[Message, ...], **settings: Any) -> dict[int, Kept]:
    return protect(Configuration(**{"keep_first": 0, **settings}), messages, Counter()).messages


def test_standing_instructions_and_the_first_messages() -> None:
    messages = read(
        {"role": "system", "content": "s"}, assistant("a"), user("b"), {"role": "developer", "content": "d"}
    )
    assert protected(messages) == {0: Kept.STANDING, 2: Kept.FIRST_REQUEST, 3: Kept.STANDING}
    assert protected(messages, keep_first=1) == {
        0: Kept.STANDING,
        1: Kept.FIRST,
        2: Kept.FIRST_REQUEST,
        3: Kept.STANDING,
    }


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [user(REMINDER), assistant("a"), user("b"), assistant("c"), user("d")],
            {0: Kept.BEFORE_REQUEST, 2: Kept.FIRST_REQUEST},
        ),
        ([assistant("a"), user("b"), assistant("c")], {1: Kept.FIRST_REQUEST}),
        ([user(COMMAND), assistant("a"), user("b")], {0: Kept.FIRST_REQUEST}),
        ([user(COMMAND), assistant("a")], {0: Kept.FIRST_REQUEST}),
        ([user(TYPED_BEHIND), assistant("a"), user("b")], {0: Kept.FIRST_REQUEST}),
        ([user(SHELL), assistant("a"), user("b")], {0: Kept.BEFORE_REQUEST, 2: Kept.FIRST_REQUEST}),
        ([user(REMINDER), assistant("a")], {}),
        ([assistant("a")], {}),
        ([], {}),
    ],
)
def test_the_first_request(messages: Messages, expected: dict[int, Kept]) -> None:
    assert protected(read(*messages)) == expected


def test_a_request_after_a_summary_is_not_called_the_first() -> None:
    """A client compacted: what the user typed first is no longer there."""
    first, *rest = read(user([text("So far we did this."), text("Now that.")]), assistant("a"))
    summary = replace(first, blocks=tuple(replace(block, summarizes=True, injected=True) for block in first.blocks[:1]))
    own = replace(first, index=1, blocks=first.blocks[1:])
    assert protected((summary, own, *rest)) == {1: Kept.NEXT_REQUEST}
    merged = replace(first, blocks=(*summary.blocks, *own.blocks))
    assert protected((merged, *rest)) == {0: Kept.NEXT_REQUEST}


def test_a_list_of_plugins_that_codex_sends_first_is_no_request() -> None:
    plugins = "<recommended_plugins>\nHere is a list of plugins.\n</recommended_plugins>"
    messages = read(user([text(plugins), text(REMINDER)]), assistant("a"), user("b"), assistant("c"))
    assert protected(messages) == {0: Kept.BEFORE_REQUEST, 2: Kept.FIRST_REQUEST}


# Nobody answered it: what the user types next is the request.
@pytest.mark.parametrize("command", [COMMAND, TYPED_BEHIND])
def test_a_command_that_nobody_answered_is_no_request(command: str) -> None:
    messages = read(user(command), {"role": "system", "content": "s"}, user("b"), assistant("c"))
    assert protected(messages)[2] is Kept.FIRST_REQUEST
    assert protected(messages)[0] is Kept.BEFORE_REQUEST


def test_what_is_kept_at_the_start_keeps_that_reason_before_the_request() -> None:
    messages = read(user(REMINDER), assistant("a"), user("b"))
    assert protected(messages, keep_first=1) == {0: Kept.FIRST, 2: Kept.FIRST_REQUEST}


def test_a_demonstration_is_not_the_start() -> None:
    shown, asked = read(user("an example"), assistant("a"), user("b"))[::2]
    shown = replace(shown, blocks=(replace(shown.blocks[0], demonstrates=True, injected=True),))
    found = protected((shown, asked), keep_first=1)
    assert found == {asked.index: Kept.FIRST_REQUEST}


def test_why_a_block_is_protected() -> None:
    (message,) = read(user("PIN it"))
    (block,) = message.blocks
    pinned = protect(Configuration(keep_first=0, pins=(Predicates(regex="PIN"),)), (), Counter())
    nothing = protect(Configuration(keep_first=0), (), Counter())
    first = protect(Configuration(keep_first=1, pins=(Predicates(regex="PIN"),)), (message,), Counter())
    assert pinned.of(message, block) is Kept.PINNED
    assert nothing.of(message, block) is None
    assert first.of(message, block) is Kept.FIRST_REQUEST
    anchor = replace(block, anchors=True)
    assert first.of(replace(message, blocks=(anchor,)), anchor) is Kept.ANCHOR


# A client's own summary goes into the next one, unless it is pinned; that it stands first is no reason.
def test_a_summary_is_protected_by_pins_alone() -> None:
    (message,) = read(user("PIN it"))
    block = replace(message.blocks[0], summarizes=True)
    summary = replace(message, blocks=(block,))
    pinned = protect(Configuration(keep_first=1, pins=(Predicates(regex="PIN"),)), (message,), Counter())
    first = protect(Configuration(keep_first=1), (message,), Counter())
    assert first.of(message, message.blocks[0]) is Kept.FIRST_REQUEST
    assert first.of(summary, block) is Kept.SUMMARY
    assert pinned.of(summary, block) is Kept.PINNED


def test_a_pin_of_several_is_enough() -> None:
    (message,) = read(user("PIN it"))
    pins = (Predicates(regex="no"), Predicates(regex="PIN"))
    assert protect(Configuration(keep_first=0, pins=pins), (), Counter()).of(message, message.blocks[0]) is Kept.PINNED


# What went in one run would no longer be matched in the next, which would then change what the pin held.
@pytest.mark.parametrize(
    ("mode", "model", "is_held"),
    [
        ("auto", "claude-opus-4-5", True),
        ("auto", "claude-opus-5-5", False),
        ("keep", "claude-opus-5-5", True),
        ("drop", "claude-opus-4-5", False),
    ],
)
def test_no_pin_rests_on_thinking_that_may_go(mode: Any, model: str, is_held: bool) -> None:
    (_, message) = read(user("a"), assistant([thinking("PIN it"), text("PIN it")]))
    settings = Configuration(keep_first=0, thinking=mode, pins=(Predicates(regex="PIN"),))
    protection = protect(settings, (), Counter(), model)
    thought, said = message.blocks
    assert protection.of(message, said) is Kept.PINNED
    assert protection.of(message, thought) is (Kept.PINNED if is_held else None)


def test_why_a_pass_leaves_a_block_alone() -> None:
    messages = read(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    found = selected(messages, type="preserve_recent", keep_recent_count=1, roles=("assistant",))
    protection = protect(Configuration(keep_first=0), messages, Counter())
    why = [
        why_untouched(position, message, message.blocks[0], found, protection)
        for position, message in enumerate(messages)
    ]
    assert why == [Kept.FIRST_REQUEST, None, Kept.NOT_SELECTED, None, Kept.RECENT]


# Positions are those of the messages that are there, whatever index they had before others went.
def test_the_position_decides_what_is_too_new() -> None:
    messages = read(user("a"), assistant("b"), user("c"), assistant("d"))[2:]
    found = selected(messages, type="preserve_recent", keep_recent_count=1)
    nothing = protect(Configuration(keep_first=0), (), Counter())
    assert [
        why_untouched(position, message, message.blocks[0], found, nothing) for position, message in enumerate(messages)
    ] == [None, Kept.RECENT]


def told(*overrides: dict[str, Any], flags: Overrides = NO_OVERRIDES, **settings: Any) -> list[str]:
    """What is said of overrides in a pass that preserves the last two of 14 messages."""
    transcript = anthropic(*conversation())
    recent = {"type": "preserve_recent", "keep_recent_count": 2}
    config = one_pass(selection=recent, individual_config={"overrides": list(overrides)}) | settings.pop("of_pass", {})
    return list(api.condense(transcript, configuration(config, **settings), overrides=flags).warnings)


def suppressing(index: int, kind: str = "tool_results") -> dict[str, Any]:
    return {"message_index": index, "operations": {kind: {"operation": "suppress"}}}


@pytest.mark.parametrize(
    ("index", "settings", "why"),
    [
        (0, {}, "part of the user's first request"),
        (1, {"keep_first": 2}, "protected at the start"),
        (12, {}, "among the preserved turns"),
        (-1, {}, "among the preserved turns"),
        (-14, {}, "part of the user's first request"),
        (4, {"keep": ["4"]}, "pinned"),
        (4, {"flags": overrides_from(keep=["4"])}, "pinned"),
        (4, {"flags": overrides_from(keep_recent=10)}, "among the preserved turns"),
    ],
)
def test_an_override_of_a_message_that_stays_is_told(index: int, settings: dict[str, Any], why: str) -> None:
    said = f"Pass only has an override for message {index}, which stays as it is: {why}."
    assert told(suppressing(index), **settings) == [said]


@pytest.mark.parametrize(
    ("overrides", "settings"),
    [
        ([suppressing(4)], {}),
        ([suppressing(-10)], {}),
        ([{"message_index": 0, "operations": {"message_text": {"operation": "keep"}}}], {}),
        ([{"message_index": 0, "operations": {}}], {}),
        ([suppressing(0)], {"of_pass": {"enabled": False}}),
        ([suppressing(0)], {"of_pass": {"mode": "extract"}}),
        ([suppressing(0)], {"flags": overrides_from(lossless_only=True)}),
    ],
)
def test_other_overrides_are_not(overrides: list[dict[str, Any]], settings: dict[str, Any]) -> None:
    assert told(*overrides, **settings) == []


def test_an_override_of_a_message_that_is_not_there_is_told_once() -> None:
    for index in (14, -15):
        assert told(suppressing(index)) == [f"Pass only has an override for message {index}, and there are 14."]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"type": "preserve_recent", "keep_recent_count": 2}, [2, 4, 6, 8, 10]),
        ({"type": "preserve_recent", "keep_recent_count": 99}, []),
        ({"type": "preserve_percent", "keep_percentage": 50}, [2, 4, 6]),
        ({"type": "custom", "age": {"min": 3, "max": 7}}, [6, 8, 10]),
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
