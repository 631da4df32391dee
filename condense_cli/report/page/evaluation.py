"""The pages of `condense evaluate --html FILE`: curves and tables of an evaluation, or of recorded compactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from ...core.version import __version__
from ..evaluation.comparison import by_pair, in_words
from ..evaluation.comparison_terminal import differences_table, pair_title, stopped, used_table
from ..evaluation.curves_svg import draw
from ..evaluation.facts import Evaluation, NotRead
from ..evaluation.recorded import Recorded
from ..evaluation.recorded_terminal import (
    FOLLOWED,
    KEPT,
    followed_rows,
    judged_in,
    kept_rows,
    recorded_headline,
    recorded_notes,
)
from ..evaluation.terminal import failures, headline, notes, percent, share_of_size
from ..text.visible import visible
from .document import Table, html_document

_FIGURE: Final = (
    '<figure tabindex="0" role="img" aria-label="Curves; the tables have their figures">'
    '<div aria-hidden="true">{}</div></figure>\n'
)


class EvaluationPage(Struct, frozen=True):
    """What the script of the page shows. All texts are safe to show as text, and none is markup."""

    title: str
    about: list[tuple[str, str]]
    headline: str
    tables: list[Table]
    notes: list[str]
    warnings: list[str]


def evaluation_page(found: Evaluation) -> str:
    """The whole HTML of an evaluation."""
    tables = [*_tables(found), *_comparisons(found)] if found.total.cuts else []
    figure = _FIGURE.format(draw(found)) if found.total.cuts else ""
    told = chain(_verdicts(found), notes(found))
    return _document(
        "How much of what later work needed is still there", headline(found), tables, told, found.unread, figure
    )


def _comparisons(found: Evaluation) -> Iterator[Table]:
    """Ways whose summaries models write, side by side."""
    if found.models:
        yield Table("What the summaries cost", *used_table(found))
    for pair in by_pair(found.differences):
        yield Table(pair_title(pair), *differences_table(pair))


def _verdicts(found: Evaluation) -> Iterator[str]:
    """Whether they differ by more than chance, and which were tried no further."""
    yield from failures(found)
    yield from stopped(found)
    for pair in by_pair(found.differences):
        yield from in_words(pair)


def recorded_page(found: Recorded) -> str:
    """The whole HTML of what was judged of recorded compactions."""
    judged = judged_in(found)
    tables = [
        Table("What followed", ["", *FOLLOWED[1:]], followed_rows(judged)),
        Table("What was kept", ["", *KEPT[1:]], kept_rows(found, judged)),
    ]
    said = recorded_headline(found)
    return _document(
        "What recorded compactions kept", said, tables if judged else [], recorded_notes(found, judged), found.unread
    )


def _document(
    title: str, said: str, tables: Sequence[Table], told: Iterator[str], unread: Sequence[NotRead], figure: str = ""
) -> str:
    page = EvaluationPage(
        title,
        [("condense", __version__)],
        said,
        [Table(table.title, table.columns, [[*map(visible, row)] for row in table.rows]) for table in tables],
        [visible(sentence) for sentence in told],
        [visible(f"Not read: {one.reason}") for one in unread],
    )
    return html_document("evaluation", title, page, figure)


def _tables(found: Evaluation) -> Iterator[Table]:
    for measure in found.measures if found.budgets else ():
        rows = [
            [way, *(percent(at.share(measure)) for at in found.total.at_size if at.way == way)] for way in found.ways
        ]
        yield Table(f"{measure}, at the same size", ["", *map(share_of_size, found.budgets)], rows)
    has_failed = any(setting.failed for setting in found.total.settings)
    yield Table(
        "Settings",
        ["way", "setting", "size", *found.measures, *(["failed"] if has_failed else []), "seconds"],
        [
            [
                setting.way,
                setting.setting,
                percent(setting.size),
                *(percent(mean.recall if (mean := setting.mean(measure)) else None) for measure in found.measures),
                *([f"{setting.failed:,}"] if has_failed else []),
                f"{setting.seconds:.1f}",
            ]
            for setting in found.total.settings
        ],
    )
    measured = [(one, one.summary) for one in found.transcripts if one.cuts]
    yield Table(
        "Transcripts",
        ["", "tokens", "cuts", "facts", "lines", "files"],
        [
            [one.name, *(f"{number:,}" for number in (one.tokens, asked.cuts, asked.facts, asked.lines, asked.files))]
            for one, asked in measured
        ],
    )
