"""Which of what is asked still stands in a condensed conversation.

A fact or line stands where a line of the condensed conversation is a line of the original as it stood there, or
without the number that a tool put before it. A fact
also stands in a part of such a line: one that is marked by ellipses, or a beginning or an end of some length. A fact
that stands nowhere so, but that some text names, such as a ledger or the words of a summary, is `named`; that is
counted apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from msgspec import Struct

from ..core.facts import facts_of
from ..core.markers import ELLIPSIS, parse_gap
from ..core.transcript import Message
from ..ledger.entries import Ledger
from ..lossless.lines import read_lines
from .needs import TextReader, ask, said_lines, texts_in
from .touched import ledgers_in, still_told, touched

_LONG_PART: Final = 40
"""Characters of a part of a line that are enough to tell it from a few words that also stand there."""


class Score(Struct, frozen=True, rename={"asked": "needed", "standing": "kept"}):
    """How much was asked, how much of it stands, and how much of the rest is at least named."""

    asked: int
    standing: int
    named: int = 0

    @property
    def share(self) -> float | None:
        """Recall from 0 to 1; None where nothing was asked."""
        return self.standing / self.asked if self.asked else None

    @property
    def share_named(self) -> float | None:
        """The share that does not stand, but is named."""
        return self.named / self.asked if self.asked else None


RECALLS: Final = ("facts", "edits", "files")
"""The measures that are always worked out; witnesses come on top of them."""


class Recall(Struct, frozen=True):
    """Fact, edit and ledger recall: facts that the assistant later wrote, lines that its later edits had to match, and
    files that were touched, each with what became of it."""

    facts: Score
    edits: Score
    files: Score

    def shares(self) -> dict[str, float | None]:
        return {"facts": self.facts.share, "edits": self.edits.share, "files": self.files.share}


class StillThere(Struct, frozen=True):
    """Asked facts and lines that stand, and asked facts that are only named."""

    facts: frozenset[str]
    lines: frozenset[str]
    named: frozenset[str]


class Questions:
    """What the second part of a conversation asks of the first, put to as many condensed forms of it as wanted.

    Each text of the original is read once, and so is each that is only in a condensed form. `read` may be shared
    between cuts of one conversation.
    """

    def __init__(self, before: Sequence[Message], after: Sequence[Message], read: TextReader | None = None) -> None:
        read = read or TextReader()
        self.asked = ask(before, after, read)
        self.files = touched(before)
        # Of what each text says only what is asked is of use.
        self._texts: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._keys: dict[str, str] = {}
        self._on_line: dict[str, frozenset[str]] = {}
        for text in texts_in(before):
            if text not in self._texts:
                says = read(text)
                self._texts[text] = says.facts & self.asked.facts, says.lines & self.asked.lines
                self._keys.update(says.keys)

    def __call__(self, condensed: Sequence[Message]) -> Recall:
        return self.recall(condensed, self.standing(condensed))

    def recall(self, condensed: Sequence[Message], standing: StillThere) -> Recall:
        """The scores of a condensed form of which it is known what stands in it."""
        return Recall(
            Score(len(self.asked.facts), len(standing.facts), len(standing.named)),
            Score(len(self.asked.lines), len(standing.lines)),
            Score(len(self.files), still_told(self.files, touched(condensed))),
        )

    def standing(self, condensed: Sequence[Message]) -> StillThere:
        """What of the asked stands in a condensed form."""
        facts: set[str] = set()
        lines: set[str] = set()
        named: set[str] = set()
        for text in texts_in(condensed):
            whole = self._texts.get(text)
            if whole is not None:
                facts |= whole[0]
                lines |= whole[1]
                continue
            named |= self._facts(text)
            for line in text.split("\n"):
                self._read_line(line, facts, lines)
        for ledger in ledgers_in(condensed):
            named |= self._paths(ledger)
            for request in ledger.requests:
                for line in request.text.split("\n"):
                    self._read_line(line, facts, lines)
        return StillThere(frozenset(facts), frozenset(lines), frozenset(named - facts))

    def verbatim(self, condensed: Sequence[Message]) -> Iterator[str]:
        """What a condensed form still holds as it was: whole texts, otherwise lines, without the numbers of listings,
        and parts of lines."""
        quoted = (request.text for ledger in ledgers_in(condensed) for request in ledger.requests)
        for text in chain(texts_in(condensed), quoted):
            if text in self._texts:
                yield text
                continue
            for line in text.split("\n"):
                if self._is_line(line):
                    yield self._keys.get(line, line)
                elif line not in self._lines and self._is_part(line):
                    yield line

    def said(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """The asked facts and lines in a text of the original."""
        return self._texts[text]

    def _read_line(self, line: str, facts: set[str], lines: set[str]) -> None:
        if self._is_line(line):
            key = self._keys.get(line, line)
            if key not in self._on_line:
                self._on_line[key] = self._facts(key)
            facts |= self._on_line[key]
            lines |= self.asked.lines.intersection(said_lines((key,)))
        elif line not in self._lines and self._is_part(line):
            facts |= self._facts(line)

    def _is_line(self, line: str) -> bool:
        """Whether it is a line of the original, and no marker."""
        return line in self._lines and not parse_gap(line)

    def _is_part(self, line: str) -> bool:
        if line.startswith(ELLIPSIS) or line.endswith(ELLIPSIS):
            part = line.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
            return bool(part) and part in self._original
        # Who cuts at a number of characters often marks nothing on the line itself.
        return len(line) >= _LONG_PART and (
            _begins_one(line, self._sorted) or _begins_one(line[::-1], self._sorted_backwards)
        )

    def _facts(self, text: str) -> frozenset[str]:
        return self.asked.facts.intersection(facts_of("\n".join(read_lines(text).keys)))

    def _paths(self, ledger: Ledger) -> frozenset[str]:
        """What the paths of a ledger say, which may stand there without their folder."""
        return self._facts("\n".join(entry.path for entry in (*ledger.changed, *ledger.read)))

    @cached_property
    def _lines(self) -> frozenset[str]:
        whole = (line for text in self._texts for line in text.split("\n"))
        return frozenset(chain(whole, self._keys.values()))

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(line for line in self._lines if len(line) >= _LONG_PART)

    @cached_property
    def _sorted_backwards(self) -> list[str]:
        return sorted(line[::-1] for line in self._sorted)

    @cached_property
    def _original(self) -> str:
        return "\n".join(self._texts)


def _begins_one(part: str, lines: Sequence[str]) -> bool:
    """Whether one of the sorted lines begins so."""
    position = bisect_left(lines, part)
    return position < len(lines) and lines[position].startswith(part)
