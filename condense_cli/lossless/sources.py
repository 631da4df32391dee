"""The texts that references name, and how much may be read for all of them."""

from __future__ import annotations

from msgspec import Struct

from ..core.transcript import Block
from ..core.values import Text, compact, size_of
from ..toolcalls import tools
from ..toolcalls.tools import arguments_of, string_values
from . import states
from .addresses import field_of
from .lines import Lines
from .reader import Reader


class Allowance(Struct):
    """How many characters may still be read, compared or given."""

    left: int

    def covers(self, characters: int) -> bool:
        """Use some of it up, and tell whether there was enough."""
        self.left -= characters
        return self.left >= 0


class Sources:
    """Texts by what names them in a block; the last ones are remembered. What is read again uses up the allowance."""

    def __init__(self, reader: Reader, allowance: Allowance) -> None:
        self._reader, self._allowance = reader, allowance
        self._values: tuple[Block, dict[str, Text]] | None = None
        self._block: tuple[Block, str, dict[str, list[states.Element]]] | None = None
        self._element: tuple[Block, str, int, Text, int] | None = None

    def lines(self, text: Text) -> Lines:
        if not self._reader.remembers(text):
            self._allowance.covers(size_of(text))
        return self._reader.lines(text)

    def values(self, call: Block) -> dict[str, Text]:
        """The values of a call by the names that references use."""
        if self._values is None or self._values[0] is not call:
            self._allowance.covers(size_of(call.content))
            values = {field_of(path): compact(value) for path, value in string_values(arguments_of(call))}
            if listed := tools.list_in(call):
                values[field_of(listed[0])] = compact(tools.text_of(listed[1]))
            self._values = (call, values)
        return self._values[1]

    def element(self, block: Block, tag: str, part: int) -> tuple[Text, int] | None:
        """An element of a text, by its number among those of its tag, and the line of the text where it begins."""
        known = self._element
        if known is None or known[0] is not block or known[1:3] != (tag, part):
            if self._block is None or self._block[0] is not block:
                self._allowance.covers(size_of(block.content))
                self._block = (block, block.text, states.by_tag(block.text))
            _, whole, by_tag = self._block
            found = by_tag.get(tag, ())[part : part + 1]
            if part < 0 or not found:
                return None
            self._allowance.covers(found[0].end - found[0].start)
            text = compact(whole[found[0].start : found[0].end])
            self._element = known = (block, tag, part, text, whole.count("\n", 0, found[0].start))
        return known[3:]
