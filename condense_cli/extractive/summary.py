"""The body of a summary: lines picked from a run of messages, under short headings that tell whose they are.

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

from collections.abc import Callable, Sequence
from typing import Final

from ..tools import TASK_TOOLS, TODO_LISTS, has_failed, main_argument
from ..transcript import Block
from .choice import Choice, Stretch, fit
from .parts import Key, Part
from .shorten import candidates_of, stretches_of
from .survey import Survey
from .units import render

_LONGEST_NAME: Final = 120


def summarise(survey: Survey, first: int, stop: int, budget: int) -> str:
    """Lines of the messages at positions `[first, stop)` that have at most `budget` tokens with their headings.

    What the messages outside say, and what the user wrote, counts as said. Empty where nothing fits.
    """
    inside = [key for key in survey.parts if first <= key[0] < stop]
    name = _names()
    keys = [key for key in inside if _is_told(survey.parts[key], name)]
    chosen_from = set(keys)
    said = survey.said_by(key for key in survey.parts if key not in chosen_from)
    headings = {key: _heading(survey.parts[key], name) for key in keys}
    opening = {
        key: survey.count("\n".join([heading, *_label(survey.parts[key]), ""])) for key, heading in headings.items()
    }
    stretches = stretches_of(survey, keys, opening)
    choice = Choice(candidates_of(survey, keys, stretches), said)

    def text() -> str:
        return _written(survey, keys, headings, stretches, choice, stop - first)

    fit(choice, budget, lambda: survey.count(text()))
    found = text()
    return found if survey.count(found) <= budget else ""


def _written(
    survey: Survey,
    keys: Sequence[Key],
    headings: dict[Key, str],
    stretches: Sequence[Stretch],
    choice: Choice,
    messages: int,
) -> str:
    sections: dict[str, list[str]] = {}
    left_out = 0
    for key, stretch in zip(keys, stretches, strict=True):
        kept = choice.kept[stretch.start : stretch.stop]
        if any(kept):
            part = survey.parts[key]
            # Arguments and result of a call stand together, where the first of them is.
            place = part.call.call_id if part.call and part.call.call_id else f"{key[0]} {key[1]}"
            lines = render(survey.units[key], kept).removesuffix("\n")
            sections.setdefault(place, [headings[key]]).extend([*_label(part), lines])
        else:
            left_out += 1
    if not sections:
        return ""
    noun = "text is" if left_out == 1 else "texts are"
    missing = f" {left_out} {noun} left out whole." if left_out else ""
    opening = f"Lines picked from {messages} messages, as they stood.{missing}\n"
    return "\n".join([opening, *("\n".join(section) for section in sections.values())])


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


def _is_told(part: Part, name: Callable[[Block], str]) -> bool:
    """Whether lines may be picked from a part: what the ledger holds, or the heading, is not told again."""
    if part.call is None:
        return not part.is_request
    if (part.call.tool or "").lower() in TODO_LISTS | TASK_TOOLS:
        return False
    return not (part.is_argument and part.text.strip() in name(part.call))
