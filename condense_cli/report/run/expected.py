"""Estimate how much a run keeps of what later work needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...passes.condensation import Condensation
from ...passes.decisions import REFER
from ...passes.summaries import OFFLINE
from ...quality.evaluation import KeptShare, expected_of
from ...tokens.counting import Counter
from .facts import Summarized

Ended = tuple[str, Condensation, Sequence[Summarized]]
"""The name of a run, what came of it, and who wrote its summaries."""


def loses(result: Condensation) -> bool:
    """Whether anything was cut that references do not bring back."""
    return any(change.operation != REFER for change in result.changes)


def expected_by_name(runs: Iterable[Ended], count: Counter) -> dict[str, KeptShare]:
    """Return the expected kept share of each lossy run on one transcript.

    Runs with summaries by a model are left out: lines do not tell what a model's own words keep.
    """
    lossy = {
        name: result
        for name, result, summaries in runs
        if loses(result) and all(each.profile == OFFLINE or not each.written for each in summaries)
    }
    if not lossy:
        return {}
    before = next(iter(lossy.values())).before.messages
    return expected_of(before, {name: result.transcript.messages for name, result in lossy.items()}, count)


def expected_line(kept: KeptShare, *, is_whole: bool) -> str:
    """Word the expected share; with `is_whole` for facts and edit lines too."""
    low, high = f"{kept.low:.0f}", f"{kept.high:.0f}"
    within = "" if low == high else f" (in 8 of 10 cases {low}–{high}%)"
    said = f"Expected to keep {kept.percent:.0f}% of what later work needs{within}"
    parts = [
        f"{share:.0f}% of the {what}"
        for share, what in ((kept.facts, "facts"), (kept.edits, "edit lines"))
        if share is not None
    ]
    return f"{said}: {' and '.join(parts)}." if is_whole and len(parts) == 2 else f"{said}."
