"""The body of a summary: lines picked from messages, under short headings that tell whose they are.

    Lines picked from 42 messages, as they stood. 17 texts are left out whole.

    ## assistant
    The cause is the missing await in load().
    ## Read src/app.py
    [… 11 lines #406167]
        12→def load():
    [… 140 lines #406167]
    ## Bash pytest -q (failed)
    E   AssertionError: 3 != 4
    ## Edit src/app.py
    new_string:
        return load(path)
    result:
    The file src/app.py has been updated.

What the user wrote and the todos are not in it: the ledger has them, word for word.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from ..core.plurals import plural
from ..toolcalls.tools import TASK_TOOLS, TODO_LISTS, name_of
from .choice import Stretch
from .headings import Heading
from .parts import Key, Part
from .survey import Survey
from .units import render


class _Section(Struct):
    """What stands under one heading: its lines, the heading too, and the part that they ended with so far."""

    heading: Heading
    newest: Part
    lines: list[str]


class Sections:
    """The parts of the messages at some positions that may be told in a summary, each with its heading.

    `keys` are those parts in order, `opening` the tokens of the heading of each. `titles` are parts that a heading is
    enough for, as for the path of a call.
    """

    def __init__(self, survey: Survey, positions: Collection[int]) -> None:
        self._survey = survey
        self._messages = len(positions)
        self.keys: list[Key] = []
        self.titles: list[Key] = []
        self._headings: dict[Key, Heading] = {}
        self._replaced: set[Key] = set()
        for key, part in survey.parts.items():
            if key[0] not in positions:
                continue
            heading = survey.headings.of(part)
            if not _is_told(part):
                continue
            if part.is_argument and heading.says(part):
                self.titles.append(key)
            else:
                self.keys.append(key)
                self._headings[key] = heading
                if part.is_argument and part.text in heading.replaced:
                    self._replaced.add(key)
        # What an edit put into a file stands before what it replaced.
        self.keys.sort(key=lambda key: (key[:2], key in self._replaced))
        self.opening = {
            key: survey.count("\n".join([str(heading), *_label(survey.parts[key]), ""]))
            for key, heading in self._headings.items()
        }

    def written(self, stretches: Sequence[Stretch], kept: Sequence[int]) -> str:
        """The text with the units that are kept; `stretches` are those of `keys`. Without any it says that alone."""
        survey = self._survey
        chosen = {
            key: inside
            for key, stretch in zip(self.keys, stretches, strict=True)
            if any(inside := kept[stretch.start : stretch.stop])
        }
        told = self._without_replaced_alone(chosen)
        left_out = len(self.keys) - len(told)
        sections: list[_Section] = []
        of_call: dict[int, _Section] = {}
        for key in told:
            part, heading = survey.parts[key], self._headings[key]
            lines = render(survey.units[key], chosen[key], counts_lines=part.numbers_lines).removesuffix("\n")
            # All of a call stands together, where its first is, and so does what one says before another has the word.
            if part.call is not None:
                section = of_call.get(id(part.call))
            else:
                section = sections[-1] if sections and sections[-1].heading == heading else None
            if section is None:
                section = _Section(heading, part, [heading.over(lines), *_label(part), lines])
                sections.append(section)
                of_call[id(part.call)] = section
            else:
                section.lines += [*_label(part, section.newest), lines]
                section.newest = part
        missing = f"{plural(left_out, 'text is', 'texts are')} left out whole." if left_out else ""
        messages = plural(self._messages, "message")
        if not sections:
            return f"No lines of {messages} were picked. {missing}".rstrip()
        opening = f"Lines picked from {messages}, as they stood. {missing}".rstrip()
        return "\n".join([opening, "", *("\n".join(section.lines) for section in sections)])

    def _without_replaced_alone(self, chosen: Collection[Key]) -> list[Key]:
        """What is chosen but for replaced texts where nothing stands of what an edit put in their place."""
        parts = self._survey.parts
        edits = {id(parts[key].call) for key in chosen if parts[key].is_argument and key not in self._replaced}
        return [key for key in chosen if key not in self._replaced or id(parts[key].call) in edits]


def _label(part: Part, before: Part | None = None) -> list[str]:
    """What stands between a part and the one before it in a section: of an argument its name."""
    if part.is_argument:
        name = next((str(key) for key in reversed(part.key[2]) if isinstance(key, str)), "")
        # The arguments of a command line go on where its heading ends.
        return [f"{name}:"] if name and not (name == "arguments" and part.block.span) else []
    if before is None or (before.call is not None and before.is_result):
        return []
    return ["result:" if before.is_argument else ""]


def _is_told(part: Part) -> bool:
    """Whether lines may be picked from a part: what the ledger holds is not told again."""
    if part.call is None:
        return not part.is_request
    return name_of(part.call) not in TODO_LISTS | TASK_TOOLS
