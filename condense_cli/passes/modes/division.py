"""Where an extraction divides the conversation: what is before is summarized, the rest stays in its place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from msgspec import Struct

from ...core.transcript import cut_before
from ...extractive.remembered import priced_of
from ...extractive.shorten import SharedBudget
from ...extractive.summary import Sections
from ..sheet import Sheet
from .head_summary import HeadSummary
from .shortening import Shortening

_SHARES: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of the messages that are tried. More of them find little more."""

_SHARES_OF_MANY: Final = (0.8, 1.0)
_MANY: Final = 20_000
"""Of more units fewer shares are tried, as each takes long. Where five can be compared, the best of none and 0.8 leaves
0.1 % less of what later work is expected to need than the best of all (means over 84 cuts of recorded sessions)."""

_MOST: Final = 0.8
"""One summary of more is only written where texts that stay in their places cannot reach the target."""


class Division(Struct, frozen=True):
    """The messages before `end` are summarized, the texts share `budget` tokens."""

    end: int
    shared: SharedBudget
    budget: int
    room: int = 0


def divisions(sheet: Sheet, shortening: Shortening, target: int, head: HeadSummary | None = None) -> Iterator[Division]:
    """Ways to divide a sheet that is to have `target` tokens, as long as the one before misses it.

    The first leaves most of what later work is expected to need, the last summarizes most. Without a `head` nothing is
    summarized.
    """
    keys = shortening.keys
    priced = priced_of(head.read(sheet.messages) if head else sheet.messages, sheet.count)
    survey = priced.survey
    whole = SharedBudget(priced, [key for placed in keys.values() for key in placed], fixed=shortening.fixed)
    in_place = Division(0, whole, whole.tokens - (sheet.plain_tokens - target))
    if head is None:
        yield in_place
        return
    first = next((position for position, _ in keys), 0)

    def divided(share: float) -> Division | None:
        """Where this share of the messages is summarized; None where that is nothing."""
        end = cut_before(sheet.messages, first + round(share * (head.step.selected.end - first)))
        runs = head.runs(sheet, end)
        if not runs:
            return None
        gone = set(chain(*runs))
        placed = [key for (position, _), found in keys.items() if position not in gone for key in found]
        free = sum(sheet.count.message(sheet.messages[position]) for position in gone)
        free += sum(sheet.count(survey.parts[key].content) for key in placed)
        room = target - (sheet.plain_tokens - free)
        shared = SharedBudget(priced, placed, Sections(survey, runs), shortening.fixed)
        return Division(end, shared, room - head.frame(sheet, runs, room), room)

    if head.gives_up_words and (all_of_it := divided(_SHARES[-1])):
        # More of the user's words fit into one ledger than into many messages, each of which has a frame and a marker.
        yield all_of_it
        yield in_place
        return
    best, most = in_place, whole.value_within(in_place.budget)
    is_in_reach = most is not None
    tried: set[int] = set()
    for share in _SHARES if whole.size <= _MANY else _SHARES_OF_MANY:
        division = None if is_in_reach and share > _MOST else divided(share)
        if division is None or division.end in tried:
            continue
        tried.add(division.end)
        worth = division.shared.value_within(division.budget)
        # Where nothing reaches the target, the largest summary comes closest.
        if most is None or (worth is not None and worth > most):
            best.shared.forget()
            best, most = division, worth
        else:
            division.shared.forget()
    yield best
    if is_in_reach and best.end:
        yield in_place
    last = divided(_SHARES[-1])
    if last is not None and last.end != best.end:
        yield last
