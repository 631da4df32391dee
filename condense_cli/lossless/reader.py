"""Reading texts into lines, each as seldom as memory allows."""

from __future__ import annotations

from typing import Final

from .lines import Lines, read_lines
from .matching import Hashed, hash_lines

_REMEMBERED: Final = 8_000_000
"""So many characters of text are remembered as lines."""


class Reader:
    """Reads texts, each once: all hashes are remembered, and lines up to an amount of text."""

    def __init__(self) -> None:
        self._hashed: dict[str, Hashed] = {}
        self._lines: dict[str, Lines] = {}
        self._size = 0

    def hashed(self, text: str) -> Hashed:
        found = self._hashed.get(text)
        if found is None:
            found = self._hashed[text] = hash_lines(self.lines(text))
        return found

    def lines(self, text: str) -> Lines:
        lines = self._lines.get(text)
        if lines is None:
            self._size += len(text)
            if self._size > _REMEMBERED:
                self._lines, self._size = {}, len(text)
            lines = self._lines[text] = read_lines(text)
        return lines
