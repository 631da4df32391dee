"""The report of a run as JSON, to a file and to standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...report.run.facts import to_json
from ..console import write_text

if TYPE_CHECKING:
    from msgspec import Struct

    from .options import Showing


def write_report(showing: Showing, report: Struct) -> None:
    """Write the report where it was asked for. Raises OutputError."""
    if showing.report is not None:
        from ...storage.files import write_bytes

        write_bytes(showing.report, to_json(report).encode())
    if showing.json:
        write_text(to_json(report))
