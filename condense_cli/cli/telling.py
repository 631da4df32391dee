"""What a run tells in the end: a report as JSON, to standard output or a file, or one for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from ..report.facts import to_json
from .console import write_text


class Telling(Struct, frozen=True):
    """What the report says and where it goes. `configuration` is a name to show; the last four are for one transcript.

    `log_json` is a line about the run on standard error, in place of other messages there.
    """

    configuration: str
    json: bool
    report: Path | None
    quiet: bool
    explain: bool = False
    cost: bool = False
    verbose: bool = False
    log_json: bool = False

    @property
    def is_silent(self) -> bool:
        return self.quiet and not (self.json or self.report is not None or self.log_json)

    def tell(self, report: Struct, show: Callable[[], None]) -> None:
        """Write the report as JSON where that was asked for; `show` is how people see it. Raises OutputError."""
        if self.report is not None:
            from ..files import write_bytes

            write_bytes(self.report, to_json(report).encode())
        if self.json:
            write_text(to_json(report))
        elif not self.quiet:
            show()
