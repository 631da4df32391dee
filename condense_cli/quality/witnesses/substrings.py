"""Facts as substrings: the asked facts that stand between word boundaries, also inside a longer fact.

`src/app.py` stands in `/home/me/src/app.py:12` although the fact there is another one. As with facts it has to stand on
a line of the original, or in a part of one. It does not see whether the longer fact means the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ...lossless.lines import read_lines
from ..recall import Questions
from .condensed import Condensed

_WORD: Final = re.compile(r"[A-Za-z0-9_]+")


class Substrings:
    """Finds the asked facts in condensed forms; each text is searched once."""

    def __init__(self, questions: Questions) -> None:
        self._find = Finder(questions.asked.facts)
        self._known: dict[str, frozenset[str]] = {}

    def __call__(self, kept: Condensed) -> frozenset[str]:
        """Those that stand."""
        found = set(kept.standing.facts)
        for text in kept.questions.verbatim(kept.messages):
            known = self._known.get(text)
            if known is None:
                known = self._known[text] = frozenset(self._find("\n".join(read_lines(text).keys)))
            found |= known
        return frozenset(found)


class Finder:
    """Finds strings between word boundaries, in a time that does not grow with their number.

    Each is looked for where its longest word stands.
    """

    def __init__(self, strings: Iterable[str]) -> None:
        self._strings = frozenset(strings)
        self._shapes: dict[str, set[tuple[int, int]]] = {}
        """By the longest word of strings: where it begins in them, and how long they are."""
        for string in self._strings:
            words = list(_WORD.finditer(string))
            if words:
                longest = max(words, key=lambda word: word.end() - word.start())
                self._shapes.setdefault(longest[0], set()).add((longest.start(), len(string)))

    def __call__(self, text: str) -> set[str]:
        found: set[str] = set()
        for word in _WORD.finditer(text):
            for offset, length in self._shapes.get(word[0], ()):
                start = word.start() - offset
                string = text[max(0, start) : start + length]
                if string in self._strings and _is_bounded(text, start, start + length):
                    found.add(string)
        return found


def _is_bounded(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start] if start > 0 else "", text[end : end + 1]
    return not (_WORD.match(before) or _WORD.match(after))
