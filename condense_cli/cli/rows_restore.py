"""`condense restore` on a set of rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from ..errors import ExitStatus
from ..parallel import usable_processors
from ..plurals import plural
from ..rows.condensing import for_each_row
from ..rows.reading import Lines
from ..rows.surveys import Restored, restore_row
from ..rows.tally import Tally
from ..rows.working import flow, results
from .reading import name_of
from .rows import StandardOutput
from .run_rows import bad_rows

if TYPE_CHECKING:
    from ..rows.row import Kind
    from ..transcript import Transcript


class Outcome(Struct, frozen=True):
    lines: list[bytes]
    tally: Tally
    found: Restored


def restore_rows(file: str, kind: Kind, output: str | None) -> tuple[Tally, Restored]:
    """Undo the references of every row; written to a file, to standard output for "-", or nowhere."""
    tally, found = Tally(), Restored()
    target: Path | IO[bytes] | None = None
    if output is not None:
        target = StandardOutput() if output == "-" else Path(output)
    with flow(file, kind, target) as (kind, lines, write):
        for done in results(partial(_restore, name_of(file), kind), lines, usable_processors()):
            tally.add(done.tally)
            found.add(done.found)
            write(done.lines)
    return tally, found


def _restore(name: str, kind: Kind, batch: Lines) -> Outcome:
    tally, found = Tally(), Restored()

    def restore(transcript: Transcript, line: int) -> bytes | None:
        return restore_row(transcript, tally, found)

    return Outcome(for_each_row(batch, name, kind, tally, restore), tally, found)


def as_facts(tally: Tally, found: Restored, source: str) -> dict[str, object]:
    from ..report import facts

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
