"""Reading texts into lines, each as seldom as memory allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from ..core.markers import REFERENCE_PREFIX
from ..core.values import Text, compact
from .addresses import Names
from .lines import Lines, read_lines
from .matching import Hashed, hash_lines

_REMEMBERED: Final = 1_000_000
"""So many characters of text are remembered as lines. They take many times that, and more of them save no time."""


class Reader:
    """Reads texts, each once: all hashes are remembered, and lines of the texts last asked for.

    `names` are those of calls, for `Addresses`.
    """

    def __init__(self) -> None:
        self.names: Names = {}
        self._hashed: dict[Text, Hashed] = {}
        self._lines: OrderedDict[Text, tuple[Lines, int]] = OrderedDict()
        self._size = 0
        self._plain: set[Text] = set()

    def may_refer(self, text: Text) -> bool:
        """Whether a text has the beginning of a reference in it."""
        if text in self._plain:
            return False
        found = REFERENCE_PREFIX in text
        if not (found or isinstance(text, str)):
            self._plain.add(text)
        return found

    def hashed(self, text: Text) -> Hashed:
        text = compact(text)
        found = self._hashed.get(text)
        if found is None:
            found = self._hashed[text] = hash_lines(str(text))
        return found

    def forget(self, but: Iterable[Text]) -> None:
        """Forget the hashes of all texts `but` some, and the lines of all."""
        known = self._hashed.get
        self._hashed = {text: hashed for text in but if (hashed := known(text)) is not None}
        self._lines.clear()
        self._size = 0

    def remembers(self, text: Text) -> bool:
        """Whether the lines of a text need not be read again."""
        return compact(text) in self._lines

    def lines(self, text: Text) -> Lines:
        text = compact(text)
        found = self._lines.get(text)
        if found is not None:
            self._lines.move_to_end(text)
            return found[0]
        string = str(text)
        hashed = self._hashed.get(text)
        lines = read_lines(string, hashed.shape if hashed else None)
        self._lines[text] = lines, len(string)
        self._size += len(string)
        while self._size > _REMEMBERED and len(self._lines) > 1:
            self._size -= self._lines.popitem(last=False)[1][1]
        return lines
