"""The page that shows what the proxy does: figures and reasons, and nothing of what was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Final

from .conversations import Conversations
from .record import Record, money_words, summary
from .savings import Sums

HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Nothing is loaded, and the address with its token goes nowhere."""

_STYLE: Final = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top }
td.n, th.n { text-align: right }
"""


def page(record: Record, conversations: Conversations, *, watches: bool) -> str:
    """The whole page. It asks for itself again every few seconds."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5>",
        f"<title>condense proxy</title><style>{_STYLE}</style><h1>condense proxy</h1>",
        f"<p>{escape(summary(record, conversations.number, watches=watches)).capitalize()}.</p>",
    ]
    if watches:
        parts.append("<p>Nothing is changed; the figures show what would be saved.</p>")
    rows = [_row(each.label, each.savings.sums) for each in reversed(conversations.all())]
    parts += _table("Conversations", ("conversation", "requests", "sent", "not sent", "cache kept", "money"), rows, 1)
    decisions = [
        (_time(each.at), each.conversation, each.model, each.decision.kind.value, _sizes(each.decision),
         each.decision.reason)
        for each in reversed(record.decisions)
    ]  # fmt: skip
    parts += _table("Decisions", ("time", "conversation", "model", "", "tokens", "why"), decisions)
    faults = [(_time(each.at), each.words) for each in reversed(record.faults)]
    parts += _table("Proxy errors", ("time", ""), faults)
    return "\n".join(parts) + "\n"


def _row(label: str, sums: Sums) -> tuple[str, ...]:
    kept = f"{sums.read / sums.sent:.0%}" if sums.sent else ""
    money = "" if sums.money is None else money_words(sums.money)
    return label, f"{sums.requests:,}", f"{sums.sent:,}", f"{sums.saved:,}", kept, money


def _sizes(decision: object) -> str:
    before, after = getattr(decision, "tokens_before", 0), getattr(decision, "tokens_after", 0)
    return f"{before:,} → {after:,}" if before != after else ""


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Iterable[str]], numbers_from: int | None = None
) -> list[str]:
    """A table with its title; figures are aligned to the right from a column on."""
    if not rows:
        return [f"<h2>{title}</h2><p>None.</p>"]

    def line(tag: str, cells: Iterable[str]) -> str:
        right = [numbers_from is not None and number >= numbers_from for number in range(len(columns))]
        return "".join(
            f"<{tag}{' class=n' if is_right else ''}>{escape(cell)}</{tag}>"
            for cell, is_right in zip(cells, right, strict=True)
        )

    body = (f"<tr>{line('td', row)}</tr>" for row in rows)
    return [f"<h2>{title}</h2><table><tr>{line('th', columns)}</tr>", *body, "</table>"]
