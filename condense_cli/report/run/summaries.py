"""Word who wrote the summaries of a run, and their cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from ...core.wording import plural
from ...passes.summaries import OFFLINE
from ..costs.money import digits, dollars
from .facts import Summarized

if TYPE_CHECKING:
    from ...llm.summarizer import ProfileUse, Summaries


def summarized(summaries: Summaries) -> list[Summarized]:
    return [
        one_summarized(used, is_planned=summaries.is_planned and used.profile != OFFLINE) for used in summaries.used
    ]


def one_summarized(used: ProfileUse, *, is_planned: bool = False) -> Summarized:
    """Return the facts of one profile."""
    return Summarized(
        used.profile,
        used.model or None,
        used.written,
        used.cached,
        used.refused,
        used.spent.calls,
        used.spent.tokens,
        digits(used.spent.cost) if used.spent.cost or not used.spent.unknown else None,
        used.spent.unknown > 0,
        is_planned,
    )


def known_cost(used: Sequence[Summarized]) -> Decimal:
    """Add up the known dollars of the calls."""
    return sum((each.cost for each in used if each.cost is not None), Decimal(0))


def sentences(used: Sequence[Summarized]) -> Iterator[str]:
    """Say what each profile wrote, in a line. The offline summarizer, which costs nothing, is left out."""
    for each in used:
        if each.profile == OFFLINE:
            continue
        cached = f" ({each.cached} from the cache)" if each.cached else ""
        bound = "about " if each.planned else "at least " if each.at_least else ""
        cost = "at an unknown cost" if each.cost is None else f"{bound}{dollars(each.cost)}"
        verb = "would be written" if each.planned else "written"
        yield (
            f"{plural(each.written, 'summary', 'summaries')} {verb} by {each.profile}{cached}: "
            f"{plural(each.calls, 'call')}, {each.tokens:,} tokens, {cost}."
        )
