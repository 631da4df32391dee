"""The body of a summary: lines picked from messages, under short headings that tell whose they are.

    Lines picked from 42 messages, as they stood. 17 texts are left out whole.

    ## assistant
    The cause is the missing await in load().
    ## Read src/app.py
    [condense: 11 lines left out #5f2c91d8]
        12→def load():
    [condense: 140 lines left out #5f2c91d8]
    ## Bash pytest -q (failed)
    E   AssertionError: 3 != 4

What the user wrote and the todos are not in it: the ledger has them, word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from ..plurals import plural
from ..tools import TASK_TOOLS, TODO_LISTS, has_failed, main_argument
from ..transcript import Block
from .choice import Stretch
from .parts import Key, Part
from .survey import Survey
from .units import render

_LONGEST_NAME: Final = 120


class Sections:
    """The parts of the messages at some positions that may be told in a summary, each with its heading.

    `keys` are those parts in order, `opening` the tokens of the heading of each. `titles` are parts that stand in a
    heading alone, as the path of a call does.
    """

    def __init__(self, survey: Survey, positions: Collection[int]) -> None:
        self._survey = survey
        self._messages = len(positions)
        self.keys: list[Key] = []
        self.titles: list[Key] = []
        self._headings: dict[Key, str] = {}
        name = _names()
        for key, part in survey.parts.items():
            if key[0] not in positions:
                continue
            if part.is_argument and part.call is not None and part.text.strip() in name(part.call):
                self.titles.append(key)
            elif _is_told(part):
                self.keys.append(key)
                self._headings[key] = _heading(part, name)
        self.opening = {
            key: survey.count("\n".join([heading, *_label(survey.parts[key]), ""]))
            for key, heading in self._headings.items()
        }

    def written(self, stretches: Sequence[Stretch], kept: Sequence[int]) -> str:
        """The text with the units that are kept; `stretches` are those of `keys`. Without any it says that alone."""
        survey = self._survey
        sections: dict[str, list[str]] = {}
        left_out = 0
        for key, stretch in zip(self.keys, stretches, strict=True):
            inside = kept[stretch.start : stretch.stop]
            if any(inside):
                part = survey.parts[key]
                # Arguments and result of a call stand together, where the first of them is.
                place = part.call.call_id if part.call and part.call.call_id else f"{key[0]} {key[1]}"
                lines = render(survey.units[key], inside).removesuffix("\n")
                sections.setdefault(place, [self._headings[key]]).extend([*_label(part), lines])
            else:
                left_out += 1
        missing = f"{plural(left_out, 'text is', 'texts are')} left out whole." if left_out else ""
        messages = plural(self._messages, "message")
        if not sections:
            return f"No lines of {messages} stand here. {missing}".rstrip()
        opening = f"Lines picked from {messages}, as they stood. {missing}".rstrip()
        return "\n".join([opening, "", *("\n".join(section) for section in sections.values())])


def _heading(part: Part, name: Callable[[Block], str]) -> str:
    if part.call is None:
        return f"## {part.role.value}"
    failed = part.is_result and has_failed(part.block)
    return f"## {name(part.call)}{' (failed)' if failed else ''}"


def _names() -> Callable[[Block], str]:
    """The names of calls, each made once."""
    known: dict[int, str] = {}
    return lambda call: known.get(id(call)) or known.setdefault(id(call), _name(call))


def _name(call: Block) -> str:
    argument = next(iter(main_argument(call).strip().split("\n")), "")
    if len(argument) > _LONGEST_NAME:
        argument = argument[:_LONGEST_NAME] + "…"
    return f"{call.tool or 'call'} {argument}".rstrip()


def _label(part: Part) -> list[str]:
    """The name of an argument, on a line before it."""
    name = next((str(key) for key in reversed(part.key[2]) if isinstance(key, str)), "")
    return [f"{name}:"] if part.is_argument and name else []


def _is_told(part: Part) -> bool:
    """Whether lines may be picked from a part: what the ledger holds is not told again."""
    if part.call is None:
        return not part.is_request
    return (part.call.tool or "").lower() not in TODO_LISTS | TASK_TOOLS
