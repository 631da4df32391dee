"""The pages of `condense evaluate --html FILE`: curves and tables of an evaluation, or of recorded compactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from ...core.version import __version__
from ...core.wording import visible
from .. import evaluation, recorded
from ..evaluation import Evaluation, NotRead
from ..recorded import Recorded
from ..sections import Part, Table
from .curves_svg import draw
from .document import PageTable, html_document

_FIGURE: Final = (
    '<figure tabindex="0" role="img" aria-label="Curves; the tables have their figures">'
    '<div aria-hidden="true">{}</div></figure>\n'
)


class EvaluationPage(Struct, frozen=True):
    """The data of the page's script. All texts are safe to show as text, and none is markup."""

    title: str
    about: list[tuple[str, str]]
    headline: str
    tables: list[PageTable]
    notes: list[str]
    warnings: list[str]


def evaluation_page(found: Evaluation) -> str:
    """Return the HTML of an evaluation."""
    return _document(
        "How much of what later work needed is still there",
        evaluation.headline(found),
        evaluation.body(found, has_all=True),
        evaluation.notes(found),
        found.unread,
        _FIGURE.format(draw(found)) if found.total.cuts else "",
    )


def recorded_page(found: Recorded) -> str:
    """Return the HTML of judged compactions."""
    return _document(
        "What recorded compactions kept",
        recorded.headline(found),
        recorded.body(found),
        recorded.notes(found),
        found.unread,
    )


def _document(
    title: str, headline: str, body: Iterable[Part], notes: Iterable[str], unread: Sequence[NotRead], figure: str = ""
) -> str:
    parts = [*body]
    tables = [PageTable.of(table) for part in parts if isinstance(part, Table) for table in part.by_head()]
    verdicts = [part.text for part in parts if not isinstance(part, Table)]
    page = EvaluationPage(
        title,
        [("condense", __version__)],
        headline,
        tables,
        [visible(sentence) for sentence in (*verdicts, *notes)],
        [visible(f"Not read: {one.reason}") for one in unread],
    )
    return html_document("evaluation", title, page, figure)
