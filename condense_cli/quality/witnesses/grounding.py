"""Grounding: of the next calls, the share whose arguments that came from before the cut all still stand.

Of the next 20 calls those count that took a fact or a line to match from before the cut. One is grounded where all of
these stand: facts as substrings, lines as lines. It sees that half of what a call needs is not enough. It does not see
that a model could find the rest out, nor calls that it would rather have made.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..needs import Need


def grounded(needs: Sequence[Need], facts: frozenset[str], lines: frozenset[str]) -> float | None:
    """The share of calls all of whose needs stand; None where none took anything from before the cut."""
    if not needs:
        return None
    return sum(need.facts <= facts and need.lines <= lines for need in needs) / len(needs)
