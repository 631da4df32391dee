"""List without a model what a summary must still hold of its source, and measure how much it holds.

For a text the list is its facts, most frequent first. For messages the ledger's entries come before the facts: files
changed last, the last errors, open todos, the user's last requests. For a text with hardly any facts, such as plain
prose, the list is its words.

A good short summary names few facts of many, and another one might choose others. So any item counts, and the required
share is of no more facts than a short summary has room for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Final, TypeVar

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.text_facts import facts_of
from ..core.transcript import Message
from ..core.values import BlockKind
from ..toolcalls.outcomes import DENIED, ENDED, OK
from ..toolcalls.tools import arguments_of, string_values
from .entries import Ledger
from .text import DONE

T = TypeVar("T")

MOST: Final = 20
_TOKENS_OF_A_FACT: Final = 10
"""A share is of at most MOST items, and of one per this many tokens that the summary may have."""

_FEWEST: Final = 5
"""Texts with fewer facts are also asked for their words."""

_FILES, _ERRORS, _TODOS, _REQUESTS = 10, 3, 10, 5
"""Newest entries of each kind on the list."""

_LONGEST: Final = 200
"""Characters of an item."""

_STEM: Final = 6
_NAME: Final = lazy_pattern(r"\w+(?:[.-]\w+)*")
_WORD: Final = lazy_pattern("[A-Za-z\u00c0-\u052f]{5,}")
"""Words of languages that separate them by blanks: Latin, Greek and Cyrillic letters."""

_ROUNDING: Final = 1e-9
HAS_LETTER: Final = lazy_pattern("[A-Za-z]")


class CheckItem(Struct, frozen=True):
    """An item that a summary holds if it contains at least half of the `signs`. `entry` names the ledger's entry
    that says it: a path, a command, a todo, a request."""

    text: str
    signs: frozenset[str]
    entry: str = ""


class Checklist(Struct, frozen=True):
    """Items, most important first, the required `share`, and the number it is a share of (`at_most`)."""

    items: tuple[CheckItem, ...]
    share: float
    at_most: int = MOST

    def missing(self, text: str) -> list[CheckItem]:
        """List the items that a text does not hold."""
        signs = signs_in(text)
        return [item for item in self.items if 2 * len(item.signs & signs) < len(item.signs)]

    def holds_enough(self, text: str, ledger: str = "") -> bool:
        """Check if a summary says enough; items that the ledger behind it says do not count.

        A summary that says nothing of the list is never enough.
        """
        missing = self.missing(text)
        if len(missing) == len(self.items) and missing:
            return False
        rest = self.missing(ledger) if ledger else list(self.items)
        held = len(rest) - len(set(rest) & set(missing))
        return held >= ceil(self.share * min(len(rest), self.at_most) - _ROUNDING)


def of_text(text: str, share: float, max_tokens: int) -> Checklist | None:
    """List what a summary of one text, in `tokens` tokens, must hold; None if there is nothing to ask for."""
    if not share:
        return None
    facts = [fact for fact, _ in Counter(_facts(text)).most_common()]
    return _checklist([], facts, text, share, max_tokens)


def of_messages(
    messages: Sequence[Message], ledger: Ledger, share: float, max_tokens: int, previous: str = ""
) -> Checklist | None:
    """List what one summary of messages must hold, with what was done in them, and of an earlier summary.

    Facts count by how many texts of user and assistant, and calls, name them, then by how many results do. Among
    equals the first comes first: the same messages always give the same list, by which answers are found in the
    cache.
    """
    if not share:
        return None
    said, printed = Counter(_facts(previous)), Counter[str]()
    words = [previous]
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL:
                values = "\n".join(value for _, value in string_values(arguments_of(block)))
                said.update(dict.fromkeys(_facts(values), 1))
            elif block.kind is BlockKind.TOOL_RESULT:
                printed.update(dict.fromkeys(_facts(block.text), 1))
            elif block.kind is BlockKind.TEXT and not block.injected:
                words.append(block.text)
                said.update(dict.fromkeys(_facts(words[-1]), 1))
    facts = sorted({**said, **printed}, key=lambda fact: (-said[fact], -printed[fact]))
    return _checklist(list(_entries(ledger)), facts, "\n".join(words), share, max_tokens)


def signs_in(text: str) -> set[str]:
    """Return the facts of a text without folders, its names, and the beginnings of its words."""
    signs = {_base(fact) for fact in facts_of(text)}
    for name in _NAME.findall(text):
        signs.update((name, *name.split(".")))
    signs.update(_stems(text))
    return signs


def _checklist(
    entries: list[CheckItem], facts: Sequence[str], words: str, share: float, max_tokens: int
) -> Checklist | None:
    signs: dict[str, str] = {}
    for fact in facts:
        signs.setdefault(_base(fact), fact)
    items = entries + [CheckItem(fact[:_LONGEST], frozenset({sign})) for sign, fact in signs.items()]
    if len(signs) < _FEWEST:
        whole = {word[:_STEM].casefold(): word for word in reversed(_WORD.findall(words))}
        stems = Counter(_stems(words))
        items += [CheckItem(whole[stem], frozenset({stem})) for stem, _ in stems.most_common() if stem not in signs]
    at_most = max(1, min(MOST, max_tokens // _TOKENS_OF_A_FACT))
    return Checklist(tuple(items), share, at_most) if items else None


def _entries(ledger: Ledger) -> Iterator[CheckItem]:
    """Yield items for the ledger's entries, newest first."""
    for file in _newest(ledger.changed, _FILES):
        yield CheckItem(_shown(file.path), frozenset({_base(file.path)}), file.path)
    failed = [each for each in ledger.commands if each.outcome not in (OK, ENDED, DENIED) and each.error]
    for command in _newest(failed, _ERRORS):
        yield from _item(command.error, command.text)
    for todo in _newest([todo for todo in ledger.todos if todo.status not in DONE], _TODOS):
        yield from _item(todo.text, todo.text)
    for request in _newest(ledger.requests, _REQUESTS):
        yield from _item(request.text, request.text)


def _newest(entries: Sequence[T], most: int) -> Iterable[T]:
    return reversed(entries[max(0, len(entries) - most) :])


def _item(text: str, entry: str) -> Iterator[CheckItem]:
    shown = _shown(text)
    signs = {_base(fact) for fact in _facts(shown)} or set(_stems(shown))
    if signs:
        yield CheckItem(shown, frozenset(signs), entry)


def _shown(text: str) -> str:
    """Return the beginning of a text in one line, without control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text[:_LONGEST]).split())


def _facts(text: str) -> Iterator[str]:
    """Yield facts with a letter: bare numbers are too many, and occur in any text."""
    return (fact for fact in facts_of(text) if HAS_LETTER.search(fact))


def _base(path: str) -> str:
    """Return the last part of a fact: summaries name files without their folders."""
    whole = path.rstrip("/\\") or path
    return whole[max(whole.rfind("/"), whole.rfind("\\")) + 1 :]


def _stems(text: str) -> Iterator[str]:
    """Yield beginnings of words, which most of their forms share."""
    return (word[:_STEM].casefold() for word in _WORD.findall(text))
