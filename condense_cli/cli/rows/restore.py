"""`condense restore` on a set of rows."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...core.plurals import plural
from ...errors import ExitStatus
from ...rows.surveys import Look, Restored, restore_row, survey
from ...rows.tally import Tally
from ..reading import name_of
from .condensing import StandardOutput
from .running import bad_rows

if TYPE_CHECKING:
    from ...rows.row import RowKind


def restore_rows(file: str, kind: RowKind, output: str | None) -> tuple[Tally, Restored]:
    """Undo the references of every row; written to a file, to standard output for "-", or nowhere."""
    target: Path | IO[bytes] | None = None
    if output is not None:
        target = StandardOutput() if output == "-" else Path(output)
    return survey(file, name_of(file), kind, Restored, _restoring, target)


def _restoring(tally: Tally, found: Restored) -> Look:
    return lambda transcript, line: restore_row(transcript, tally, found)


def as_facts(tally: Tally, found: Restored, source: str) -> dict[str, object]:
    from ...report.run import facts

    return {
        "version": facts.SHAPE,
        "input": source,
        "rows": {"total": tally.rows, "changed": tally.changed, "bad": tally.bad},
        "resolved": found.resolved,
        "unresolved": found.unresolved,
        "elsewhere": found.elsewhere,
        "left_out": found.gaps,
        "problems": tally.problems,
    }


def said(tally: Tally, name: str) -> list[str]:
    """What comes before the counts of references."""
    rows = f"{plural(tally.rows, 'row')}, {tally.changed:,} restored"
    return [rows + (f", {tally.bad:,} bad" if tally.bad else "") + ".", *bad_rows(tally.problems, tally.bad, name)]


def status_of(tally: Tally, found: Restored, *, lenient: bool) -> ExitStatus:
    has_bad = tally.bad and not lenient
    return ExitStatus.INPUT if found.unresolved or found.elsewhere or has_bad else ExitStatus.DONE
