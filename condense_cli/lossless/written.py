"""One text with references in it: which runs of its lines are replaced, and what is written for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from ..core.markers import short_hash
from ..core.tokens import Counter
from .excerpt import above, describe_numbering, describe_place
from .lines import Lines, Shape
from .matching import ITSELF, EqualRun, disjoint
from .references import ABOVE, SHORTEST, Address, Reference

MIN_SAVING: Final = 12
"""A reference has to save so many tokens. With less, short references cut up runs that older texts could use: over
real transcripts 10 to 12 saves most (benchmarks/prelude.py), and fewer references are easier to read."""
_NEAR: Final = 3
"""Counting further than this is asking much of a reader: each step has to save a token more."""
_LONG: Final = 2_000
"""Characters of a run whose words are counted first: mostly they are enough."""


class NumberedTexts(Protocol):
    """The texts that runs name, by their numbers."""

    def lines_of(self, number: int) -> Lines: ...

    def shape_of(self, number: int) -> Shape: ...


class WrittenText:
    """A text on its way to references. `gone` marks the lines that a reference replaces, `fixed` those that stay.

    `text` is what is written, once anything was taken.
    """

    def __init__(
        self, lines: Lines, sizes: Sequence[int], count: Counter, sources: NumberedTexts, head: int = 0, tail: int = 0
    ):
        self.lines, self._sizes, self._sources = lines, sizes, sources
        length = len(lines.lines)
        self.gone, self.fixed = bytearray(length), bytearray(length)
        self._count = count.anew
        self._taken: dict[int, tuple[EqualRun, Reference]] = {}
        mark(self.fixed, 0, min(head, length))
        mark(self.fixed, max(0, length - tail), length)
        self.text = ""

    @property
    def is_changed(self) -> bool:
        return bool(self._taken)

    @property
    def named(self) -> Iterator[EqualRun]:
        """The runs of other texts that references name."""
        return (run for run, _ in self._taken.values() if run.source != ITSELF)

    def take(self, runs: Iterable[EqualRun], address_of: Callable[[int], Address]) -> list[EqualRun]:
        """Replace the runs that are worth it, longest first, and tell which they are."""
        taken: list[EqualRun] = []
        for run in disjoint(runs, self._sizes, self.fixed, SHORTEST):
            if run.source == ITSELF and 1 in self.gone[run.start : run.start + run.size]:
                continue
            reference = self._reference(run, address_of)
            if reference is None:
                continue
            self._taken[run.at] = (run, reference)
            mark(self.fixed, run.at, run.at + run.size)
            mark(self.gone, run.at, run.at + run.size)
            if run.source == ITSELF:
                mark(self.fixed, run.start, run.start + run.size)
            taken.append(run)
        if taken:
            self._write()
        return [run for run in taken if run.at in self._taken]

    def _reference(self, run: EqualRun, address_of: Callable[[int], Address]) -> Reference | None:
        """The reference for a run, if it has words and saves enough."""
        text = self.lines.text(run.at, run.size)
        if run.source == ITSELF:
            reference = Reference(above(run.start, run.size), ABOVE, short_hash(text))
        else:
            where = describe_place(self._sources.shape_of(run.source), run.start, run.size)
            if where is None:
                return None
            reference = Reference(where, address_of(run.source), short_hash(text))
        return reference if self._is_worth_it(text, reference) else None

    def _is_worth_it(self, text: str, reference: Reference) -> bool:
        written, least = str(reference), MIN_SAVING + max(0, reference.address.ordinal - _NEAR)
        # A word has at least one token, and a token at least one byte, so most long runs need not be counted.
        words = len(text[:_LONG].split())
        if words >= len(written.encode("utf-8", "surrogatepass")) + least:
            return True
        tokens = self._count(written) + least
        return words >= tokens or self._count(text) >= tokens

    def _write(self) -> None:
        """How lines are numbered is said where nothing beside them tells; a run that then saves too little stays."""
        lines = self.lines.lines
        written: list[str] = []
        position = 0
        for at, (run, reference) in sorted(self._taken.items()):
            written += lines[position:at]
            position = at + run.size
            text = self.lines.text(at, run.size)
            numbering: str | None = ""
            if run.source != ITSELF:
                before = written[-1] if written else ""
                after = lines[position] if position < len(lines) else ""
                source = self._sources.lines_of(run.source)
                numbering = describe_numbering(text, source, run.start, run.size, before, after)
            if numbering:
                reference = replace(reference, numbering=numbering)
            if numbering is None or (numbering and not self._is_worth_it(text, reference)):
                written += lines[at:position]
                del self._taken[at]
                mark(self.gone, at, position, 0)
            else:
                written.append(str(reference))
        self.text = "\n".join([*written, *lines[position:]])


def mark(marks: bytearray, start: int, end: int, value: int = 1) -> None:
    marks[start:end] = bytes((value,)) * (end - start)
