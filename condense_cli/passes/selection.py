"""Which blocks a pass may touch, and what no pass may touch at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration, Predicates, Selection
from ..core.factor import binds_thinking
from ..core.selectors import OfText
from ..core.tokens import Counter
from ..core.transcript import Block, Message, cut_before
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..core.wording import plural
from ..errors import ConfigurationError
from ..formats.engine.client_text import is_command, is_wrapped
from .meant import meaning
from .predicates import Predicate, compile_predicates
from .receipts import Kept

Selector = Callable[[Sequence[Message], Counter], Predicate]
"""Looks at the whole conversation and gives the test of a block. The same conversation must give the same answers."""

FindSelector = Callable[[str], Selector]
"""The selector of a name. Raises ConfigurationError."""


def no_selectors(name: str) -> Selector:
    raise ConfigurationError(f"There is no selector named {name!r}.", "An installed package can provide one.")


class Selected(Struct, frozen=True):
    """A selection worked out for a transcript: messages[:end] where `test` holds.

    An earlier summary goes into the next one whatever the selection says of its text; it stays where it is outside of
    the range, or only some tools are meant: `takes_in` tells.
    """

    end: int
    preserved_turns: int | None
    test: Predicate
    takes_in: Predicate
    reason: str


def select(
    selection: Selection, messages: Sequence[Message], count: Counter, selectors: FindSelector = no_selectors
) -> Selected:
    turns = [position for position, message in enumerate(messages) if not message.is_only_thinking]
    test = compile_predicates(selection, messages, count) if _has_predicates(selection) else _anything
    whole = Predicates(range=selection.range, only_tools=selection.only_tools)
    takes_in = compile_predicates(whole, messages, count) if _has_predicates(whole) else _anything
    if selection.selector is not None:
        test = _both(test, selectors(selection.selector)(tuple(messages), count))
    match selection.type:
        case "custom":
            return Selected(len(messages), None, test, takes_in, "selected by the pass")
        case "preserve_recent":
            wanted = selection.keep_recent_count or 0
            reason = f"older than the last {plural(wanted, 'turn')}"
        case "preserve_percent":
            percentage = selection.keep_percentage or 0
            wanted = math.ceil(percentage * sum(message.turns for message in messages) / 100)
            reason = f"older than the newest {percentage:g}%"
        case other:
            assert_never(other)
    # Counting from the front: a slice such as [-0:] would preserve everything when nothing is meant.
    first_kept = max(0, len(turns) - wanted)
    end = turns[first_kept] if first_kept < len(turns) else len(messages)
    return Selected(cut_before(messages, end), wanted, test, takes_in, reason)


def _has_predicates(given: Predicates) -> bool:
    return any(getattr(given, name) is not None for name in Predicates.__struct_fields__)


def _anything(message: Message, block: Block) -> bool:
    return True


def _both(one: Predicate, other: Predicate) -> Predicate:
    return lambda message, block: one(message, block) and other(message, block)


class Protection(Struct, frozen=True):
    """What no pass touches: standing instructions, the start, the first request, pins. `messages` by index."""

    messages: dict[int, Kept]
    pins: tuple[Predicate, ...]
    holds_thinking: bool = True

    def of(self, message: Message, block: Block) -> Kept | None:
        if block.anchors:
            return Kept.ANCHOR
        reason = None if block.summarizes else self.messages.get(message.index)
        may_hold = reason is None and (self.holds_thinking or block.kind is not BlockKind.THINKING)
        if may_hold and any(pin(message, block) for pin in self.pins):
            return Kept.PINNED
        return Kept.SUMMARY if block.summarizes else reason


def why_untouched(
    position: int, message: Message, block: Block, selected: Selected, protection: Protection
) -> Kept | None:
    """Why a pass leaves a block alone before it asks what the block is. None: it may touch it.

    What nothing may touch goes before what is too new for this pass, and that before what it does not select.
    `position` is that of the message among those that the selection was worked out for.
    """
    protected = protection.of(message, block)
    if protected is not None:
        return protected
    if position >= selected.end:
        return Kept.RECENT
    return None if selected.test(message, block) else Kept.NOT_SELECTED


def protect(
    configuration: Configuration, messages: Sequence[Message], count: Counter, model: str | None = None
) -> Protection:
    """What stays of the messages of a conversation with a `model`.

    Where thinking may go whatever a pin says, no pin rests on it: with it would go, in the next run, what holds now.
    """
    protected: dict[int, Kept] = {}
    conversation = [message for message in messages if message.role not in STANDING_ROLES]
    for message in messages:
        if message.role in STANDING_ROLES:
            protected[message.index] = Kept.STANDING
    own = [message for message in conversation if not any(block.demonstrates for block in message.blocks)]
    for message in own[: configuration.keep_first]:
        protected[message.index] = Kept.FIRST
    request = _first_request(conversation)
    if request is not None:
        # What only its words tell to be no request stays as well: cut, it could be taken for one later.
        for message in filter(_holds_elements, conversation[:request]):
            protected.setdefault(message.index, Kept.BEFORE_REQUEST)
        goes_on = any(message.is_summary for message in conversation[: request + 1])
        protected[conversation[request].index] = Kept.NEXT_REQUEST if goes_on else Kept.FIRST_REQUEST
    pins = tuple(_pin(pin, messages, count) for pin in configuration.pins)
    if configuration.keep:
        pins += (meaning(configuration.keep, messages),)
    goes = configuration.thinking == "drop" or (configuration.thinking == "auto" and binds_thinking(model))
    return Protection(protected, pins, holds_thinking=not goes)


def _pin(pin: Predicates, messages: Sequence[Message], count: Counter) -> Predicate:
    """The test of a pin: one that finds a call holds for its result."""
    own = compile_predicates(pin, messages, count)
    if pin.regex is None:
        return own
    rest = compile_predicates(replace(pin, regex=None), messages, count)
    found = meaning([OfText(pin.regex)], messages)
    return lambda message, block: own(message, block) or (found(message, block) and rest(message, block))


def _holds_elements(message: Message) -> bool:
    return message.role is Role.USER and any(
        block.kind is BlockKind.TEXT and is_wrapped(block.text) for block in message.blocks
    )


def _first_request(conversation: Sequence[Message]) -> int | None:
    """The position of the first message that the user typed, or of what the assistant went on from without one.

    That is a command such as `/init`, or the summary that a session continues: all the work that follows was done for
    it, however late the user types something.
    """
    for position, message in enumerate(conversation):
        texts = [block for block in message.blocks if block.kind is BlockKind.TEXT]
        if message.role is not Role.USER or not texts:
            continue
        is_answered = position + 1 < len(conversation) and conversation[position + 1].role is Role.ASSISTANT
        goes_on = message.is_summary or any(is_command(block.text) for block in texts)
        is_asked = not all(block.injected or is_wrapped(block.text) for block in texts)
        if is_asked or (is_answered and goes_on):
            return position
    return None
