"""What a choice comes to, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from ..report.costs.money import cost_figures
from ..report.inspection.facts import Inspection
from ..report.text.labels import percent
from .choice import UserChoice
from .opened import ShownTotals


def totals_text(totals: ShownTotals) -> str:
    """Tokens, window and money, in that order."""
    return " · ".join(_totals(totals))


def _totals(totals: ShownTotals) -> Iterator[str]:
    saved = percent(totals.before - totals.after, totals.before)
    missed = "" if totals.target is None or totals.after <= totals.target else f", target {totals.target:,} missed"
    yield f"{totals.before:,} → {totals.after:,} tokens ({saved:.1f}% saved{missed})"
    if totals.window:
        before, after = (percent(used, totals.window) for used in (totals.used_before, totals.used_after))
        yield f"window {before:.0f}% → {after:.0f}% of {totals.window:,}"
    if totals.model is None:
        yield "no money, as the file names no model"
        return
    money = cost_figures(totals.cost, totals.model, is_changed=totals.before != totals.after)
    if money:
        yield money


def choice_text(choice: UserChoice) -> str:
    """What is chosen, in a line."""
    parts = [choice.name + (" (edited)" if choice.text else ""), f"target {choice.target or 'none'}"]
    parts += [f"{name} {', '.join(found)}" for name in ("keep", "cut") if (found := getattr(choice, name))]
    return " · ".join(parts)


def contents_text(found: Inspection) -> str:
    """What fills a session, the largest first, in a line."""
    largest = sorted(found.content_types, key=lambda share: -share.tokens)
    return " · ".join(f"{share.name} {share.percent:.0f}%" for share in largest if share.percent >= 1)
