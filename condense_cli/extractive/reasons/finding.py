"""Why lines of a text went and why others stayed, in what the extraction knows of them and what is left of the rest.

A reason is a fact of the conversation that anybody can look up: where a message is named, that one names it. Of several
the one goes first that weighs most in the choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Final

from ...core.tokens import Counter
from ...core.transcript import Message
from ..coverage import AGAIN
from ..kinds import DECISION, tells_an_error
from ..parts import Key, Part
from ..pasted import Address
from ..restated import restated_units
from ..survey import Survey
from ..versions import SHORTEST_LINE
from .evidence import CopyEvidence
from .reason import LineReason, Reason, ReasonedLine
from .remaining import lines_of, unit_lines

_TELLING: Final = 20
"""A line of fewer characters that names nothing may be the same by chance."""

_NOTHING: Final = LineReason(Reason.UNNAMED)
_BESIDE: Final = LineReason(Reason.BESIDE)


class Reasons:
    """Why the lines of texts at some addresses went or stayed.

    `messages` are the conversation before the cut, without references. `left` has for every part of it that changed
    what is left of its text, None where nothing is; `added` are texts that came in. Only addresses that are `asked`
    are answered for.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        left: Mapping[Key, str | None],
        added: Iterable[str],
        asked: Collection[Address],
        count: Counter,
    ) -> None:
        self._survey = survey = Survey(messages, count)
        left = {key: text for key, text in left.items() if key in survey.parts}
        self._evidence = CopyEvidence(survey, left, added, asked)
        self._keys: dict[Address, list[Key]] = {}
        for key in self._evidence.remain:
            self._keys.setdefault(key[:2], []).append(key)

    def of(self, address: Address) -> list[ReasonedLine]:
        """The lines of a block's texts that were cut, each with its reason; none where nobody knows which are left."""
        return [line for key in self._keys.get(address, ()) for line in self._of_part(key)]

    def _of_part(self, key: Key) -> Iterator[ReasonedLine]:
        remain = self._evidence.remain[key]
        if remain is None:
            return
        part, units = self._survey.parts[key], self._survey.units[key]
        lines = lines_of(units)
        of_line: list[list[int]] = [[] for _ in lines]
        for unit, line in enumerate(unit_lines(units)):
            of_line[line].append(unit)
        found: list[LineReason | None] = []
        for own, stays in zip(of_line, remain, strict=True):
            body = "".join(units.bodies[unit] for unit in own)
            numbers = sorted({number for unit in own for number in self._survey.keys[key][unit]})
            decide = self._stays if stays else self._went
            found.append(decide(part, body, numbers, own[0]) if len(body.strip()) >= SHORTEST_LINE else None)
        for stays, run in groupby(range(len(lines)), key=remain.__getitem__):
            of_run = [*run]
            for line, why in zip(of_run, _filled([found[line] for line in of_run], stays=stays), strict=True):
                yield ReasonedLine(lines[line], stays, why)

    def _index(self, key: Key) -> int:
        return self._survey.messages[key[0]].index

    def _went(self, part: Part, body: str, numbers: Sequence[int], unit: int) -> LineReason:
        evidence, key = self._evidence, part.key
        facts = [number for number in numbers if number < len(self._survey.facts)]
        later = [*evidence.shown_again(body, key)]
        for again in later:
            if evidence.shows_same_file(part, self._survey.parts[again]):
                return LineReason(Reason.SEEN_AGAIN, self._index(again))
        if body not in self._survey.lines:
            for edit in evidence.files.edits_after(key, part.call):
                if body in edit.replaced:
                    return LineReason(Reason.REPLACED, self._index(edit.key))
                if edit.replaces_all and body not in edit.written:
                    return LineReason(Reason.OVERWRITTEN, self._index(edit.key))
        if later and later[0][0] != key[0] and (facts or len(body.strip()) >= _TELLING):
            return LineReason(Reason.REPEATED, self._index(later[0]))
        if unit in self._said_again.get(key, ()):
            return LineReason(Reason.REPEATED)
        named = [fact for fact in facts if evidence.is_named_after(fact, key)]
        if not named:
            return _NOTHING
        if all(fact in evidence.added or evidence.still_names(fact, key) for fact in named):
            for fact in sorted(named, key=self._survey.weights.__getitem__, reverse=True):
                if (other := evidence.still_names(fact, key)) and other[0] != key[0]:
                    return LineReason(Reason.NAMED_ELSEWHERE, self._index(other), self._survey.facts[fact])
        return LineReason(Reason.LESS_WORTH)

    def _stays(self, part: Part, body: str, numbers: Sequence[int], unit: int) -> LineReason | None:
        survey, evidence = self._survey, self._evidence
        key = part.key
        own = self._own.get(key[:2], ())
        if own is None or unit in own:
            return LineReason(Reason.OWN_WORDS)
        if tells_an_error(body) and evidence.failures.is_unsolved(part):
            return LineReason(Reason.UNSOLVED_ERROR)
        facts = sorted((number for number in numbers if number < len(survey.facts)), key=partial(self._adds, key))
        line = max((survey.weights[number] for number in numbers if number >= len(survey.facts)), default=0.0)
        if line and (not facts or line >= self._adds(key, facts[-1])) and (why := self._of_file(part, body)):
            return why
        if facts:
            return self._of_facts(part, facts[::-1])
        return LineReason(Reason.DECISION) if part.is_said and DECISION.search(body) else None

    def _of_file(self, part: Part, body: str) -> LineReason | None:
        """Why a line stays that an edit may have to match; None where it is another text that shows it last."""
        edits = [*self._evidence.files.edits_after(part.key, part.call)]
        if edits:
            return LineReason(Reason.EDITED_LATER, self._index(edits[-1].key))
        line = self._survey.lines.get(body)
        is_newest = line is not None and line.position == self._survey.positions[part.key]
        return LineReason(Reason.NEWEST_STATE) if is_newest else None

    def _of_facts(self, part: Part, facts: Sequence[int]) -> LineReason:
        """Why a line stays for what it names; the facts are in the order of what they add."""
        survey, evidence, key = self._survey, self._evidence, part.key
        for fact in facts:
            name = survey.facts[fact]
            if later := evidence.named_after(fact, key):
                return LineReason(Reason.NAMED_AGAIN, self._index(later), name)
            if earlier := evidence.written_before(fact, key):
                reason = Reason.ASKED_FOR if survey.parts[earlier].is_request else Reason.NAMED_BEFORE
                return LineReason(reason, self._index(earlier), name)
            if not evidence.is_said_elsewhere(fact, key):
                return LineReason(Reason.SAID_HERE_ONLY, None, name)
        return LineReason(Reason.LIKELY)

    def _adds(self, key: Key, fact: int) -> float:
        """What a fact is worth in a part: little where another part still names it."""
        is_said = fact in self._evidence.added or self._evidence.still_names(fact, key)
        return self._survey.weights[fact] * (AGAIN if is_said else 1.0)

    # Sets, since each line of a text that says the same thousands of times is looked for in them.
    @cached_property
    def _own(self) -> dict[Address, frozenset[int] | None]:
        return {address: None if units is None else frozenset(units) for address, units in self._survey.own.items()}

    @cached_property
    def _said_again(self) -> dict[Key, frozenset[int]]:
        found = restated_units(self._survey.parts, self._survey.units)
        return {key: frozenset(units) for key, units in found.items()}


def _filled(found: Sequence[LineReason | None], *, stays: bool) -> list[LineReason]:
    """The reasons of lines in a row that went, or that stay; those with none of their own go by the others."""
    known = next((why for why in found if why is not None), None)
    if stays:
        return [why or (_BESIDE if known else LineReason(Reason.LIKELY)) for why in found]
    filled: list[LineReason] = []
    for why in found:
        known = why or known or _NOTHING
        filled.append(known)
    return filled
