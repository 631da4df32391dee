"""Write a recap: what of a conversation someone who goes on needs, chosen to a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import parse_summary
from ..core.tokens import Counter
from ..core.transcript import Message
from ..core.values import BlockKind
from ..extractive.answers import is_all_words, own_units, pasted_units, words_in
from ..extractive.shorten import summarize
from ..extractive.survey import Survey
from ..extractive.units import render, split
from ..ledger.bounded import DONE, fit, quoted
from ..ledger.collect import merge_all
from ..ledger.entries import CommandEntry, Ledger, UserRequest
from ..ledger.written import command_text, parse
from ..passes.modes.stretch import SummarizedStretch, said_by_summary
from ..toolcalls.outcomes import DENIED, ENDED, OK
from .written import fenced_data, holds_recap, written


def words_of(messages: Sequence[Message]) -> tuple[UserRequest, ...]:
    """What the user wrote, oldest first, and how often. Pasted is what `own_units` says; a marker is in its place.

    Words of earlier messages count where a summary of ours quotes them. What a model wrote as a summary quotes nobody.
    """
    own = own_units(messages)
    said: list[Ledger] = [*_quoted(messages)]
    for (position, number), units in sorted(own.items()):
        block = messages[position].blocks[number]
        if block.kind is BlockKind.TOOL_RESULT:
            text = words_in(block)
        else:
            text = _without_pasted(block.text, units)
        if text.strip():
            said.append(Ledger(requests=(UserRequest(text.strip("\n")),)))
    return merge_all(said).requests


def _quoted(messages: Sequence[Message]) -> Iterator[Ledger]:
    for message in messages:
        for block in message.blocks:
            if block.summarizes and parse_summary(block.text):
                found = parse(block.text)
                if found is not None:
                    yield Ledger(requests=found.requests)


def _without_pasted(text: str, own: Sequence[int] | None) -> str:
    """What of a text is the user's own, None being all of it; the data of a recap that it holds is pasted as well."""
    if holds_recap(text):
        lines = text.split("\n")
        data = {*fenced_data(lines)}
        text = "\n".join(line for number, line in enumerate(lines) if number not in data)
        pasted = pasted_units(split(text))
        own = [unit for unit in range(len(split(text).texts)) if unit not in pasted]
    if own is None:
        return text
    units = split(text)
    kept = bytearray(len(units.texts))
    for unit in own:
        kept[unit] = 1
    return render(units, kept) if any(kept) else ""


def words_not_said(words: Sequence[UserRequest], since: Sequence[Message]) -> tuple[UserRequest, ...]:
    """The user's words of which a line is not in any text since."""
    said = _said(since)
    return tuple(
        request
        for request in words
        if any(line.strip() and line.strip() not in said for line in request.text.split("\n"))
    )


def without_named(ledger: Ledger, since: Sequence[Message]) -> Ledger:
    """The ledger without the entries that a text since names."""
    said = _said(since)
    return replace(
        ledger,
        changed=tuple(entry for entry in ledger.changed if entry.path not in said),
        read=tuple(entry for entry in ledger.read if entry.path not in said),
        commands=tuple(command for command in ledger.commands if command.text not in said),
        todos=tuple(todo for todo in ledger.todos if todo.text not in said),
    )


def _said(messages: Sequence[Message]) -> str:
    return "\n".join(block.text for message in messages for block in message.blocks)


MOST: Final = 5

_LEADING: Final = re.compile(r"\s*+(?:cd [^&;\n]{1,300}(?:&&|;)\s*+|[A-Za-z_]\w*=\S*+\s++|(?:sudo|time|timeout \S+) )*")
_PROGRAM: Final = re.compile(r"(\S++)((?: ++\S++){0,8})")
_OPTION: Final = re.compile(r"(?<! ) ++-\S++(?: ++[/.~]\S++)?")
"""An option, with the folder that some of them name."""

_NAMES: Final = (
    "git gh npm pnpm yarn npx bun cargo go docker kubectl helm terraform make just uv pip poetry python python3 node "
    "dotnet mvn gradle bazel rake bundle composer flutter deno systemctl apt brew aws az gcloud"
)
_WITH_SUBCOMMANDS: Final = frozenset(_NAMES.split())
_RUNNING: Final = frozenset({"run", "exec", "compose"})
"""Subcommands behind which the name of what runs comes."""


def unsolved(commands: Sequence[CommandEntry]) -> tuple[CommandEntry, ...]:
    """The newest commands that failed, oldest first, where no later run of the same program, and subcommand, went well.

    Commands are in the order in which each ran last.
    """
    found: list[CommandEntry] = []
    went_well: set[str] = set()
    for command in reversed(commands):
        what = _what_runs(command.text)
        if command.outcome == OK:
            went_well.add(what)
        elif command.outcome not in (ENDED, DENIED) and what not in went_well:
            went_well.add(what)  # An older failure of the same is the same trouble.
            found.append(command)
    return tuple(reversed(found[:MOST]))


def _what_runs(text: str) -> str:
    """Program and subcommand of a command line, by which runs of the same thing are known."""
    rest = text[match.end() :] if (match := _LEADING.match(text)) else text
    named = _PROGRAM.match(rest)
    if named is None:
        return rest
    program = named[1].rpartition("/")[2]
    if program not in _WITH_SUBCOMMANDS:
        return program
    words = _OPTION.sub("", named[2]).split()
    return " ".join([program, *words[: 2 if words and words[0] in _RUNNING else 1]])


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
