"""Reading texts into lines, each as seldom as memory allows."""

from __future__ import annotations

from typing import Final

from ..transcript import Text, compact
from .lines import Lines, read_lines
from .matching import Hashed, hash_lines

_REMEMBERED: Final = 1_000_000
"""So many characters of text are remembered as lines. They take many times that, and more of them save no time."""


class Reader:
    """Reads texts, each once: all hashes are remembered, and lines up to an amount of text."""

    def __init__(self) -> None:
        self._hashed: dict[Text, Hashed] = {}
        self._lines: dict[Text, Lines] = {}
        self._size = 0

    def hashed(self, text: Text) -> Hashed:
        text = compact(text)
        found = self._hashed.get(text)
        if found is None:
            found = self._hashed[text] = hash_lines(self.lines(text))
        return found

    def lines(self, text: Text) -> Lines:
        text = compact(text)
        lines = self._lines.get(text)
        if lines is None:
            string = str(text)
            self._size += len(string)
            if self._size > _REMEMBERED:
                self._lines, self._size = {}, len(string)
            lines = self._lines[text] = read_lines(string)
        return lines
