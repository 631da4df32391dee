"""`condense restore` on a set of rows."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...core.wording import plural
from ...errors import ExitStatus
from ...rows.condensing import Restored, restoring, survey
from ..reading import name_of
from .condensing import StandardOutput
from .running import bad_rows

if TYPE_CHECKING:
    from ...rows.reading import RowKind


def restore_rows(file: str, kind: RowKind, output: str | None) -> Restored:
    """Undo the references of every row; written to a file, to standard output for "-", or nowhere."""
    target: Path | IO[bytes] | None = None
    if output is not None:
        target = StandardOutput() if output == "-" else Path(output)
    return survey(file, name_of(file), kind, Restored, restoring, target)


def as_facts(found: Restored, source: str) -> dict[str, object]:
    from ...report.run import facts

    return {
        "version": facts.SHAPE,
        "input": source,
        "rows": {"total": found.rows, "changed": found.changed, "bad": found.bad},
        "resolved": found.resolved,
        "unresolved": found.unresolved,
        "elsewhere": found.elsewhere,
        "left_out": found.gaps,
        "look_alikes": found.look_alikes,
        "problems": found.problems,
    }


def said(found: Restored, name: str) -> list[str]:
    """What comes before the counts of references."""
    rows = f"{plural(found.rows, 'row')}, {found.changed:,} restored"
    return [rows + (f", {found.bad:,} bad" if found.bad else "") + ".", *bad_rows(found.problems, found.bad, name)]


def status_of(found: Restored, *, lenient: bool) -> ExitStatus:
    has_bad = found.bad and not lenient
    return ExitStatus.INPUT if found.unresolved or found.elsewhere or has_bad else ExitStatus.DONE
