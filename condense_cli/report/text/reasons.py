"""Reasons in plain words: of single lines, of the lines in a row that share one fate, and of a whole block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...core.wording import plural
from ...extractive.reason import LineReason, Reason, tally
from ...passes.receipts import SUMMARIZE, Receipt

_WORDS: Final = {
    Reason.SEEN_AGAIN: "read again in {}",
    Reason.REPEATED: "repeated in {}",
    Reason.REPLACED: "replaced by the edit in {}",
    Reason.OVERWRITTEN: "file rewritten in {}",
    Reason.UNNAMED: "nothing later names it",
    Reason.NAMED_ELSEWHERE: "also named in {}",
    Reason.LESS_WORTH: "worth less than its tokens",
    Reason.OWN_WORDS: "the user's own words",
    Reason.UNSOLVED_ERROR: "an error not yet solved",
    Reason.EDITED_LATER: "edited later in this file, {}",
    Reason.NEWEST_STATE: "the newest state of this file",
    Reason.NAMED_AGAIN: "named again in {}",
    Reason.ASKED_FOR: "asked for in {}",
    Reason.NAMED_BEFORE: "named before in {}",
    Reason.SAID_HERE_ONLY: "found nowhere else",
    Reason.DECISION: "a decision",
    Reason.BESIDE: "next to kept lines",
    Reason.LIKELY: "likely needed later",
}
_NOWHERE: Final = "a later message"
"""Where nobody knows which one it is."""

_LONGEST: Final = 30
"""Names of more characters are not told."""

_SHOWN: Final = 2
"""So many reasons are told, those of the most lines."""


def lines_text(reasons: Iterable[LineReason]) -> str:
    """Why lines in a row went or stayed; how many of them, where not all have one reason."""
    by_reason = _grouped(reasons)
    if len(by_reason) == 1:
        return _words(by_reason[0])
    return "; ".join(f"{_words(group)} ({_lines(group)})" for group in by_reason[:_SHOWN])


def main_reason(reasons: Iterable[LineReason]) -> str:
    """Why most of these lines went or stayed; empty where nobody asked."""
    by_reason = _grouped(reasons)
    return _words(by_reason[0]) if by_reason else ""


def receipt_text(receipt: Receipt) -> str:
    """Why a block was changed or stayed: by its lines, where lines were picked."""
    fates = [
        "; ".join(
            f"{_words(group)} ({plural(_lines(group), 'line') if not number else _lines(group)})"
            for number, group in enumerate(_grouped(found)[:_SHOWN])
        )
        for found in (receipt.went, receipt.stayed)
    ]
    cut, kept = fates
    if receipt.operation == SUMMARIZE and not receipt.tokens_after:
        return ". ".join(filter(None, (receipt.why, cut and f"Cut: {cut}", kept and f"In the summary: {kept}")))
    return ". ".join(filter(None, (cut, kept and f"Kept: {kept}"))) or receipt.why


def _grouped(reasons: Iterable[LineReason]) -> list[list[LineReason]]:
    """What has one reason, wherever it points, that of the most lines first."""
    groups: dict[Reason, list[LineReason]] = {}
    for why in tally(reasons):
        groups.setdefault(why.reason, []).append(why)
    return sorted(groups.values(), key=_lines, reverse=True)


def _lines(group: Sequence[LineReason]) -> int:
    return sum(why.lines for why in group)


def _words(group: Sequence[LineReason]) -> str:
    messages = dict.fromkeys(why.message for why in group if why.message is not None)
    first = next(iter(messages), None)
    where = _NOWHERE if first is None else f"message {first}" + (" and others" if len(messages) > 1 else "")
    names = {why.name for why in group}
    name = names.pop() if len(names) == 1 else ""
    # The name is that of one line; the others may have their own.
    example = "e.g. " if _lines(group) > 1 else ""
    return _WORDS[group[0].reason].format(where) + (f" ({example}{name})" if 0 < len(name) <= _LONGEST else "")
