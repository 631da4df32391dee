"""The body of a summary: lines picked from messages, under short headings that tell whose they are.

    Lines picked from 42 messages, as they stood. 17 texts are left out whole.

    ## assistant
    The cause is the missing await in load().
    ## Read
    src/app.py
    [… 11 lines #406167]
        12→def load():
    [… 140 lines #406167]
    ## Bash (failed)
    pytest -q
    E   AssertionError: 3 != 4
    ## Edit
    src/app.py
    new_string:
        return load(path)
    result:
    The file src/app.py has been updated.

A call whose path or command alone is worth its tokens has nothing else below its heading. What the user wrote and the
todos are not in it: the ledger has them, word for word.

A note on a few calls has no first line, and names the calls that it tells nothing of:

    ## Read
    src/app.py
        12→def load():
    ## left out
    Bash pytest -q; Read src/a.py, src/b.py
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from ..core.transcript import BlockPlace, Message
from ..core.wording import brief, plural
from ..toolcalls.outcomes import without_claims
from ..toolcalls.tools import TASK_TOOLS, TODO_LISTS, name_of
from .choice import Opening, Stretch
from .parts import HASHES, LEFT_OUT, Heading, Key, Part
from .survey import Survey
from .units import render


def addresses(messages: Sequence[Message], positions: Iterable[int]) -> list[BlockPlace]:
    """The blocks of the messages at some positions."""
    return [(position, number) for position in positions for number in range(len(messages[position].blocks))]


NOTHING: Final = "No lines of "
"""How a text begins that has no lines."""
_BRIEF: Final = 60
"""Characters of an argument where nothing else is told of its call."""


class _Section(Struct):
    """The lines under one heading, the heading too, and the part that they end with so far.

    None while the heading says all there is.
    """

    heading: Heading
    newest: Part | None
    lines: list[str]


class Sections:
    """The parts of blocks that may be told in summaries, one for each run of blocks, each with its heading.

    `keys` are those parts in order, `openings` what each costs besides its units, `headings` the tokens of the
    headings, by their numbers, and `tokens` what all of them take. Of parts that are `unsaid` nothing is told. With
    `are_notes`, the summaries are notes.
    """

    def __init__(self, survey: Survey, runs: Sequence[Collection[BlockPlace]], *, are_notes: bool = False) -> None:
        self._survey = survey
        self._are_notes = are_notes
        self._messages = [len({position for position, _ in run}) for run in runs]
        self._run_of = {address: number for number, run in enumerate(runs) for address in run}
        self.keys: list[Key] = []
        self.unsaid: list[Key] = []
        self._titles: set[Key] = set()
        """Parts that are in their headings, as the path of a call does."""
        self._headings: dict[Key, Heading] = {}
        self._replaced: set[Key] = set()
        self._known: dict[Key, tuple[bytes, str]] = {}
        self._named: list[list[str]] = [[] for _ in runs]
        """Calls that earlier notes of each run named, of which they told nothing."""
        self._calls: list[dict[int, Heading]] = [{} for _ in runs]
        """The calls of each run, by their identity, with their headings."""
        for key, part in survey.parts.items():
            if key[:2] not in self._run_of:
                continue
            heading = survey.headings.of(part)
            if part.heading and part.heading.tool == LEFT_OUT:
                self._named[self._run_of[key[:2]]].append(part.text)
                continue
            if part.call is not None:
                self._calls[self._run_of[key[:2]]][id(part.call)] = heading
            if not self._is_told(part):
                continue
            is_line = len(survey.bodies[key]) == 1 and not survey.gaps[key]
            if part.is_argument and is_line and heading.is_of(part):
                self._titles.add(key)
            elif part.is_argument and heading.says(part):
                self.unsaid.append(key)
                continue
            elif part.is_argument and part.text in heading.replaced:
                self._replaced.add(key)
            self.keys.append(key)
            self._headings[key] = heading
        # What an edit put into a file comes before what it replaced.
        self.keys.sort(key=lambda key: (key[:2], key in self._replaced))
        self.headings: list[int] = []
        self.openings: dict[Key, Opening] = {}
        self.tokens = 0
        numbers: dict[object, int] = {}
        for key in self.keys:
            part, heading = survey.parts[key], self._headings[key]
            owner = key if part.call is None else (self._run_of[key[:2]], id(part.call))
            number = numbers.setdefault(owner, len(self.headings))
            if number == len(self.headings):
                self.headings.append(survey.count(f"{heading}\n"))
            if key in self._titles:
                self.openings[key] = Opening(0, number, is_title=True)
                continue
            label = sum(survey.count(f"{line}\n") for line in _label(part))
            self.openings[key] = Opening(label, number)
            self.tokens += label + survey.count(part.content)
        self.tokens += sum(self.headings)

    def written(self, stretches: Sequence[Stretch], kept: Sequence[int]) -> list[str]:
        """The text of each run with the units that are kept, or that none are; `stretches` are those of `keys`."""
        chosen = {
            key: inside
            for key, stretch in zip(self.keys, stretches, strict=True)
            if any(inside := kept[stretch.start : stretch.stop])
        }
        told: list[list[Key]] = [[] for _ in self._messages]
        for key in self._without_replaced_alone(chosen):
            told[self._run_of[key[:2]]].append(key)
        left_out = Tally(self._run_of[key[:2]] for key in {*self.keys} - set(chain(*told)) - self._titles)
        return [self._text(number, keys, chosen, left_out[number]) for number, keys in enumerate(told)]

    def _text(self, run: int, told: Sequence[Key], chosen: Mapping[Key, Sequence[int]], left_out: int) -> str:
        """The text of a run, of which so many parts are left out whole."""
        survey = self._survey
        sections: list[_Section] = []
        of_call: dict[int, _Section] = {}
        for key in told:
            part, heading = survey.parts[key], self._headings[key]
            # All of a call is together, where its first is, and so does what one says before another has the word.
            if part.call is not None:
                section = of_call.get(id(part.call))
            else:
                section = sections[-1] if sections and sections[-1].heading == heading else None
            if section is None:
                section = _Section(heading, None, [str(heading)])
                sections.append(section)
                of_call[id(part.call)] = section
            if key in self._titles:
                continue
            lines = self._lines(key, bytes(chosen[key]))
            if section.newest is None:
                section.lines[0] = heading.over(lines)
            section.lines += [*_label(part, section.newest), lines]
            section.newest = part
        if self._are_notes:
            return "\n".join([*("\n".join(section.lines) for section in sections), *self._left_out(run, of_call)])
        missing = f"{plural(left_out, 'text is', 'texts are')} left out whole." if left_out else ""
        messages = plural(self._messages[run], "message")
        if not sections:
            return f"{NOTHING}{messages} were picked. {missing}".rstrip()
        opening = f"Lines picked from {messages}, as they stood. {missing}".rstrip()
        return "\n".join([opening, "", *("\n".join(section.lines) for section in sections)])

    def _lines(self, key: Key, kept: bytes) -> str:
        """The units of a part that are kept; from one budget to the next those of most parts are the same."""
        known = self._known.get(key)
        if known is None or known[0] != kept:
            part = self._survey.parts[key]
            lines = render(self._survey.units[key], kept, counts_lines=part.numbers_lines).removesuffix("\n")
            known = self._known[key] = kept, without_claims(lines) if part.is_result else lines
        return known[1]

    def _left_out(self, run: int, told: Collection[int]) -> list[str]:
        """The section that names the calls of a run of which nothing is told; no lines if there are none."""
        named: dict[str, dict[str, None]] = {}
        for call, heading in self._calls[run].items():
            if call not in told:
                named.setdefault(f"{heading.tool}{heading.ending}", {})[_brief(heading.argument)] = None
        calls = (f"{tool} {', '.join(filter(None, arguments))}".rstrip() for tool, arguments in named.items())
        all_calls = [*self._named[run], *calls]
        return [f"{HASHES}{LEFT_OUT}", "; ".join(all_calls)] if all_calls else []

    def _is_told(self, part: Part) -> bool:
        """Whether lines may be picked from a part: what the ledger holds is not told again, and a note has none."""
        if part.call is None:
            return not part.is_request
        return name_of(part.call) not in (TODO_LISTS if self._are_notes else TODO_LISTS | TASK_TOOLS)

    def _without_replaced_alone(self, chosen: Collection[Key]) -> list[Key]:
        """Return the chosen parts without replaced texts of which nothing is there that an edit put in their place."""
        parts = self._survey.parts
        puts = [
            key for key in chosen if parts[key].is_argument and key not in self._replaced and key not in self._titles
        ]
        edits = {id(parts[key].call) for key in puts}
        return [key for key in chosen if key not in self._replaced or id(parts[key].call) in edits]


def _brief(argument: str) -> str:
    """An argument in a few words; of a path its end."""
    if len(argument) > _BRIEF and "/" in argument and " " not in argument:
        return f"…{argument[1 - _BRIEF :]}"
    return brief(argument, _BRIEF)


def _label(part: Part, before: Part | None = None) -> list[str]:
    """Return the lines between a part and the one before it in a section: for an argument, its name."""
    if part.is_argument:
        name = next((str(key) for key in reversed(part.key[2]) if isinstance(key, str)), "")
        # The arguments of a command line go on where its heading ends.
        return [f"{name}:"] if name and not (name == "arguments" and part.block.span) else []
    if before is None or part.heading or (before.call is not None and before.is_result):
        return []
    return ["result:" if before.is_argument else ""]
