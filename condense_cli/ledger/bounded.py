"""Bound a ledger's size: the least useful entries go first, and it says how many went."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Literal, assert_never, get_args

from msgspec.structs import replace

from ..core.tokens import Counter
from ..extractive.choice import UNSIGNED, Candidates, Choice, Coverage, Opening, Stretch
from ..extractive.choice import fit as fit_choice
from ..extractive.instructions import weight_of
from ..extractive.units import render, split
from ..toolcalls.outcomes import ENDED, OK
from . import written
from .entries import FileEntry, Ledger, LeftOutEntries, UserRequest

_LONG: Final = 400
"""Requests of more characters go before equally useful ones: rules are short."""
_OF_LONG: Final = 0.5

_MARKER: Final = 10
_OPENING: Final = Opening(2)
"""Tokens of a marker with its line break, and of the prefix of a request."""


def quoted(
    requests: Sequence[UserRequest], budget: int, count: Counter, measure: Callable[[Sequence[str]], int]
) -> list[str]:
    """Shorten requests to `budget` tokens in all; a request that goes is empty.

    `measure` counts the tokens of what is left. Markers tell what is missing from a request.
    """
    units = [split(request.text, by_sentence=True) for request in requests]
    tokens, values = array(UNSIGNED), array("d")
    stretches: list[Stretch] = []
    for request, found in zip(requests, units, strict=True):
        start = len(tokens)
        share = _OF_LONG if len(request.text) > _LONG else 1.0
        for text in found.texts:
            tokens.append(count.anew(text))
            values.append(share * weight_of(text) * tokens[-1])
        stretches.append(Stretch(start, len(tokens), found.gaps, _OPENING))
    size = len(tokens)
    choice = Choice(Candidates(tokens, values, [()] * size, stretches, _MARKER), Coverage.of(()))

    def written() -> list[str]:
        inside = (choice.kept[stretch.start : stretch.stop] for stretch in stretches)
        return [render(found, kept) if any(kept) else "" for found, kept in zip(units, inside, strict=True)]

    fit_choice(choice, budget, lambda: measure(written()))
    return written()


DONE: Final = frozenset({"completed", "done", "cancelled", "deleted"})

_Section = Literal["requests", "changed", "read", "commands", "todos"]
_Entry = tuple[_Section, int]
"""A section and the position of an entry in it."""


def fit(ledger: Ledger, max_tokens: int, count: Counter, wanted: Collection[str] = ()) -> Ledger:
    """Drop entries until the ledger's text has at most `max_tokens`; return the same object if it fits.

    Files only read go first, then commands that ended well, finished todos, other commands, changed files, open
    todos, in each of these the oldest first; last the user's requests, sentence by sentence. `wanted` entries
    (paths of files, or texts) go after all but the requests. If not even the number of dropped entries fits, the
    ledger is empty.
    """
    fitted = _fitted(ledger, max_tokens, count, wanted)
    if len(fitted.requests) == len(ledger.requests):
        return fitted

    bare = _without(ledger, [entry for entry in _least_useful_first(ledger) if entry[0] != "requests"])

    def with_texts(texts: Sequence[str]) -> Ledger:
        gone: list[_Entry] = [("requests", number) for number, text in enumerate(texts) if not text]
        requests = tuple(replace(found, text=text) for found, text in zip(bare.requests, texts, strict=True))
        return _without(replace(bare, requests=requests), gone)

    def measure(texts: Sequence[str]) -> int:
        return count(written.render(with_texts(texts)))

    texts = quoted(bare.requests, max_tokens, count, measure)
    return with_texts(texts) if measure(texts) <= max_tokens else Ledger()


def _fitted(ledger: Ledger, max_tokens: int, count: Counter, wanted: Collection[str]) -> Ledger:
    excess = count(written.render(ledger)) - max_tokens
    if excess <= 0:
        return ledger
    order = sorted(_least_useful_first(ledger), key=lambda entry: _is_wanted(ledger, entry, wanted))
    text_of = _texts(ledger)
    fitted, dropped = ledger, 0
    while excess > 0 and dropped < len(order):
        while excess > 0 and dropped < len(order):
            excess -= count(text_of(order[dropped])) + 1
            dropped += 1
        fitted = _without(ledger, order[:dropped])
        excess = count(written.render(fitted)) - max_tokens
    return fitted if excess <= 0 else Ledger()


def _least_useful_first(ledger: Ledger) -> Iterator[_Entry]:
    went_well = [command.outcome in (OK, ENDED) and not command.error for command in ledger.commands]
    is_done = [todo.status in DONE for todo in ledger.todos]
    yield from (("read", number) for number in range(len(ledger.read)))
    yield from (("commands", number) for number, good in enumerate(went_well) if good)
    yield from (("todos", number) for number, done in enumerate(is_done) if done)
    yield from (("commands", number) for number, good in enumerate(went_well) if not good)
    yield from (("changed", number) for number in range(len(ledger.changed)))
    yield from (("todos", number) for number, done in enumerate(is_done) if not done)
    yield from (("requests", number) for number in range(len(ledger.requests)))


def _is_wanted(ledger: Ledger, entry: _Entry, wanted: Collection[str]) -> int:
    section, number = entry
    if section == "requests":
        return 2
    name = getattr(ledger, section)[number]
    return int((name.path if isinstance(name, FileEntry) else name.text) in wanted)


def _texts(ledger: Ledger) -> Callable[[_Entry], str]:
    folder = {"read": written.common_folder(ledger.read), "changed": written.common_folder(ledger.changed)}

    def text(entry: _Entry) -> str:
        section, number = entry
        match section:
            case "read" | "changed":
                return written.file_text(getattr(ledger, section)[number], folder[section])
            case "commands":
                return written.command_text(ledger.commands[number])
            case "todos":
                return written.todo_text(ledger.todos[number])
            case "requests":
                return written.request_text(ledger.requests[number])
            case other:
                assert_never(other)

    return text


def _without(ledger: Ledger, dropped: list[_Entry]) -> Ledger:
    gone = set(dropped)
    sections = {
        section: tuple(entry for number, entry in enumerate(getattr(ledger, section)) if (section, number) not in gone)
        for section in get_args(_Section)
    }
    amounts = {section: len(getattr(ledger, section)) - len(entries) for section, entries in sections.items()}
    left_out = ledger.left_out.plus(LeftOutEntries(**amounts))
    # A dropped list is only reported as dropped; an empty one would say that all is done.
    is_whole_list = ledger.is_whole_list and (bool(sections["todos"]) or not amounts["todos"])
    return replace(ledger, left_out=left_out, is_whole_list=is_whole_list, **sections)
