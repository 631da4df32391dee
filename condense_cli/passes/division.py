"""Where an extraction divides the conversation: what is before becomes one summary, the rest stays in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ..exchanges import cut_before
from ..extractive.parts import Key
from ..extractive.shorten import Priced
from ..extractive.summary import Sections
from ..extractive.survey import Survey
from ..extractive.together import Together
from .draft import Draft
from .older import Older

_SHARES: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of the messages that are tried. More of them find little more."""

_MORE: Final = 1.03
"""A summary has to be worth so much more than texts that stay in their places: a reader finds those more easily."""


class Division(Struct, frozen=True):
    """The messages before `end` are summarized, the texts share `budget` tokens."""

    end: int
    together: Together
    budget: int
    room: int = 0


def divide(
    draft: Draft, keys: Mapping[tuple[int, int], Sequence[Key]], target: int, older: Older | None = None
) -> Division:
    """The division that leaves most of what later work is expected to need in a draft of `target` tokens.

    `keys` are the texts that may be shortened, by block. Without `older` nothing is summarized.
    """
    survey = Survey(older.read(draft.messages) if older else draft.messages, draft.count)
    priced = Priced(survey)
    whole = Together(priced, [key for placed in keys.values() for key in placed])
    best = Division(0, whole, whole.tokens - (draft.plain_tokens - target))
    if older is None:
        return best
    first = next((position for position, _ in keys), 0)
    ends = {cut_before(draft.messages, first + round(share * (older.selected.end - first))) for share in _SHARES}
    most = whole.worth(best.budget)
    if most is not None:
        most *= _MORE
    for end in sorted(ends):
        positions = older.positions(draft, end)
        if not positions:
            continue
        gone = set(positions)
        placed = [key for (position, _), found in keys.items() if position not in gone for key in found]
        free = sum(draft.count.message(draft.messages[position]) for position in positions)
        free += sum(draft.count(survey.parts[key].content) for key in placed)
        room = target - (draft.plain_tokens - free)
        together = Together(priced, placed, Sections(survey, gone))
        division = Division(end, together, room - older.frame(draft, positions, room), room)
        worth = together.worth(division.budget)
        # Where nothing reaches the target, the largest summary comes closest.
        if most is None or (worth is not None and worth > most):
            best, most = division, worth
    return best
