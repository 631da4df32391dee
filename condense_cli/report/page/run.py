"""The page of a run, written by `condense run --html FILE`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ...core.lazy_pattern import lazy_pattern
from ...core.transcript import Transcript
from ...core.values import Role
from ...core.wording import brief, visible
from ...extractive.answers import is_typed
from ...passes.condensation import Condensation
from ...tokens.counting import Counter
from ..costs import Cost, dollars, pays_after, unknown_price
from ..counted import how_counted
from ..run import sections
from ..run.facts import Report
from ..run.sections import sentences
from ..sections import Table
from ..text import percent_text
from .conversation import ConversationPage, conversation_of
from .document import PageTable, html_document

_SEPARATOR: Final = re.compile(r"[/\\]")
_FOLDERS: Final = lazy_pattern(r"(?<![\w.~/\\-])(?:~|[A-Za-z]:)?[/\\](?:[\w.@-]+[/\\])+(?=[\w.@-])")
"""The folders of an absolute path."""
_READ: Final = 1_000
_LONGEST: Final = 80
"""Characters of the first request that are read for the title, and that it has."""


class RunPage(Struct, frozen=True):
    """The data of the page's script. All texts are safe to show as text, and none is markup."""

    title: str
    about: list[tuple[str, str]]
    before: int
    after: int
    by_references: int
    saved: str
    tables: list[PageTable]
    notes: list[str]
    warnings: list[str]
    conversation: ConversationPage


def run_page(result: Condensation, report: Report, count: Counter) -> str:
    """Return the HTML of a run's page."""
    title = visible(_first_request(result.before) or _name(report.input))
    tokens = report.tokens
    page = RunPage(
        title,
        [(label, visible(value)) for label, value in _about(report)],
        tokens.before,
        tokens.after,
        tokens.lossless_saved,
        percent_text(tokens.saved_percent),
        [PageTable.of(table) for table in _tables(report) if table.rows],
        [visible(note) for note in _notes(report)],
        [visible(warning) for warning in report.warnings],
        conversation_of(result, count),
    )
    return html_document("run", f"{title} ({tokens.before:,} → {tokens.after:,} tokens)", page)


def _first_request(transcript: Transcript) -> str:
    """Return the beginning of what the user asked for first, in one line and without the folders of paths."""
    typed = (
        block.text
        for message in transcript.messages
        for block in message.blocks
        if message.role is Role.USER and is_typed(message, block) and block.text.strip()
    )
    return brief(" ".join(_FOLDERS.sub("", next(typed, "")[:_READ]).split()), _LONGEST)


def _name(path: str) -> str:
    """Return the last name of a path: a page is shared, and folders tell of somebody's machine."""
    return _SEPARATOR.split(path)[-1]


def _about(report: Report) -> Iterator[tuple[str, str]]:
    yield "file", _name(report.input)
    yield "configuration", report.configuration
    yield "format", report.format
    yield "model", report.model or "unknown"
    if report.output:
        yield "written to", _name(report.output)
    if report.backup:
        yield "backup", _name(report.backup)
    yield "condense", report.condense


def _tables(report: Report) -> Iterator[Table]:
    yield sections.sizes_table(report, "bytes in the file")
    yield sections.savings_table(report.savings)
    yield Table(("", ""), list(_money(report.cost)), title="Money")
    yield from (part for part in sections.lost_things(report.lost) if isinstance(part, Table))
    yield sections.passes_table(report).of_columns((0, 1, 2))  # The same run writes the same page.


def _money(cost: Cost) -> Iterator[list[str]]:
    if cost.next_turn_before is None:
        return
    yield ["Next turn, before", dollars(cost.next_turn_before)]
    yield ["Next turn, after", dollars(cost.next_turn_after)]
    yield ["One-time cost", dollars(cost.one_off)]
    after = pays_after(cost)
    yield [
        "Pays for itself",
        f"after {after}" if after.endswith("turns") else f"with the {after}" if after == "next turn" else after,
    ]


def _notes(report: Report) -> Iterator[str]:
    cost = report.cost
    yield from sentences(report.summaries)
    yield from how_counted(report)
    yield from (line.text for line in sections.idle_passes(report))
    if cost.next_turn_before is not None:
        yield f"Prices: {cost.prices}."
        yield from cost.assumed
    elif cost.prices is not None:
        yield unknown_price(report.model, cost.prices)
