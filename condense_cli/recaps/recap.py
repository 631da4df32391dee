"""A recap: what of a conversation someone who goes on needs, chosen to a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.tokens import Counter
from ..core.transcript import Message
from ..core.values import BlockKind
from ..extractive.answers import is_all_words
from ..extractive.shorten import summarize
from ..extractive.survey import Survey
from ..ledger.bounded import DONE, fit
from ..ledger.entries import CommandEntry, Ledger, UserRequest
from ..ledger.quoting import quoted
from ..ledger.written import command_text
from ..passes.modes.stretch import SummarizedStretch, said_by_summary
from .fence import holds_recap
from .named import without_named, words_not_said
from .unsolved import unsolved
from .words import words_of
from .written import written

LEAST: Final = 300
"""Tokens below which there is hardly room for anything but the frame."""

_WORDS: Final = 0.5
_UNSOLVED: Final = 0.1
_LEDGER: Final = 0.2
"""Shares of the budget that the user's words, errors, and what was done may take at most. Lines have the rest."""

_COMMANDS: Final = 8
"""The last commands are told; of all others the files that they changed."""

_ROUNDS: Final = 4
_SLACK: Final = 8
"""Joined texts have a few tokens more or less than their parts."""


class Recap(Struct, frozen=True):
    """What is told of so many `messages`. `tokens` are those of `text`, which says all of it.

    `words` are the user's; `unsolved` are commands that failed last; `ledger` has everything else that was done, open
    todos alone among its todos; `lines` are as they stood, under headings.
    """

    messages: int
    words: tuple[UserRequest, ...]
    unsolved: tuple[CommandEntry, ...]
    ledger: Ledger
    lines: str
    text: str
    tokens: int
    is_lost: bool = False


def recap(messages: Sequence[Message], budget: int, count: Counter, since: Sequence[Message] | None = None) -> Recap:
    """The recap of a conversation within a budget of tokens, as far as its frame fits.

    With `since`, what the model was given after a compaction, only what that does not say any more is told.
    """
    words = words_of(messages)
    ledger = replace(SummarizedStretch.of(messages, count).ledger, requests=())
    todos = tuple(todo for todo in ledger.todos if todo.status not in DONE)
    ledger = replace(ledger, todos=todos, is_whole_list=bool(todos))
    if since is not None:
        words = words_not_said(words, since)
        ledger = without_named(ledger, since)
    failed = unsolved(ledger.commands)
    others = [command for command in ledger.commands if command not in failed]
    ledger = replace(ledger, commands=tuple(others[-_COMMANDS:]))
    room = budget - _frame(len(messages), count)
    words = _within(words, int(room * _WORDS), count)
    failed = _newest_within(failed, int(room * _UNSOLVED), count)
    ledger = fit(ledger, int(room * _LEDGER), count)

    def text_with(lines: str) -> str:
        return written(len(messages), words, failed, ledger, lines, is_lost=since is not None)

    given = {block.text for message in since or () for block in message.blocks}
    read = [*(_to_pick_from(message, given) for message in messages), *(since or ())]
    lines = _lines(Survey(read, count), len(messages), budget, lambda lines: count(text_with(lines)))
    text = text_with(lines)
    return Recap(len(messages), words, failed, ledger, lines, text, count(text), is_lost=since is not None)


def _lines(survey: Survey, stop: int, budget: int, size: Callable[[str], int]) -> str:
    """Lines of the messages before `stop`, as many as fit: `size` tells the tokens of the recap with them."""
    room = budget - size("") - _SLACK
    for _ in range(_ROUNDS):
        found = summarize(survey, 0, stop, room) if room > 0 else ""
        excess = size(found) - budget
        if excess <= 0:
            return found
        room -= excess + _SLACK
    return ""


def _to_pick_from(message: Message, given: Set[str]) -> Message:
    """A message without what is told elsewhere: marks and ledgers of summaries, the user's words in results, earlier
    recaps, and whole texts that are given all the same."""
    if message.is_summary:
        return said_by_summary(message)
    gone = [
        is_all_words(block)
        or (block.kind is not BlockKind.TOOL_CALL and (block.text in given or holds_recap(block.text)))
        for block in message.blocks
    ]
    if not any(gone):
        return message
    blocks = (block.with_text("") if is_gone else block for block, is_gone in zip(message.blocks, gone, strict=True))
    return replace(message, blocks=tuple(blocks))


def _frame(messages: int, count: Counter) -> int:
    """Tokens of a recap that has every part, beside what is in them."""
    return count(written(messages, [UserRequest("")], [CommandEntry("")], Ledger(), "."))


def _newest_within(commands: Sequence[CommandEntry], budget: int, count: Counter) -> tuple[CommandEntry, ...]:
    kept: list[CommandEntry] = []
    for command in reversed(commands):
        budget -= count(command_text(command)) + 1
        if budget < 0:
            break
        kept.insert(0, command)
    return tuple(kept)


def _within(words: Sequence[UserRequest], budget: int, count: Counter) -> tuple[UserRequest, ...]:
    """As much of the words as fits, sentence by sentence where not all of them do, rules and decisions last."""

    def measure(texts: Sequence[str]) -> int:
        return sum(count(text) + 3 for text in texts if text)

    if measure([request.text for request in words]) <= budget:
        return tuple(words)
    texts = quoted(words, budget, count, measure)
    return tuple(replace(request, text=text) for request, text in zip(words, texts, strict=True) if text)
