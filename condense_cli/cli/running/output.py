"""What a run tells in the end: a report as JSON, to standard output or a file, or one for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...report.run.facts import to_json
from ..console import write_text

if TYPE_CHECKING:
    from msgspec import Struct

    from .options import Showing


def is_silent(showing: Showing) -> bool:
    """Whether nothing is told of the run."""
    files = (showing.report, showing.html)
    return showing.quiet and not (showing.json or showing.log_json or any(file is not None for file in files))


def tell_report(showing: Showing, report: Callable[[], Struct], show: Callable[[], None]) -> None:
    """Write the report as JSON where that was asked for; `show` is how people see it. Raises OutputError.

    `report` gives it, and is not called where nobody asked.
    """
    if showing.report is not None:
        from ...storage.files import write_bytes

        write_bytes(showing.report, to_json(report()).encode())
    if showing.json:
        write_text(to_json(report()))
    elif not showing.quiet:
        show()
