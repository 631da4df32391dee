"""How much a run is expected to keep of what later work needs, and how sure that is.

Known where a threshold alone decided what went, and was measured on projects that the weights were not fitted to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from ...extractive.weights import KEPT
from ...passes.receipts import PRELUDE, THINKING, PassReceipt

_MEASURED: Final = "claude-code"
"""The format of the sessions that were measured."""
_TURNS: Final = 5
"""So many of the newest turns stayed whole where the thresholds were measured."""


class Expected(Struct, frozen=True):
    """Percent of facts and of edit lines kept on so many projects: means over all cuts, and the worst project's.

    `with_edits` are the projects where edits had to match lines. Any of n projects that nothing was fitted to may be
    the worst, and so may the next one: with a chance of 1 in n + 1.
    """

    facts: float
    worst_facts: float
    projects: int
    edits: float
    worst_edits: float
    with_edits: int
    cuts: int


def expected_of(passes: Iterable[PassReceipt]) -> Expected | None:
    """None where anything else than a threshold that was measured decided what went."""
    cutting = [one for one in passes if one.changes and one.id not in (PRELUDE, THINKING)]
    if len(cutting) != 1 or (cutting[0].preserved_turns or 0) < _TURNS:
        return None
    found = KEPT.get(cutting[0].min_worth or 0.0)
    return Expected(*found) if found else None


def expected_line(expected: Expected, format_name: str, *, is_whole: bool) -> str:
    """Percent rounded down: a promise should not be rounded up. `is_whole` says what was measured, for any format."""
    worst = f"{int(expected.worst_facts)}% and {int(expected.worst_edits)}%"
    kept = f"Usually keeps {int(expected.facts)}% of needed facts and {int(expected.edits)}% of edit lines"
    if is_whole:
        return f"{kept}, as on sessions of Claude Code ({worst} in the worst of {expected.projects} projects)."
    measured = "" if format_name == _MEASURED else ", measured on Claude Code"
    return f"{kept} (worst: {worst}){measured}."
