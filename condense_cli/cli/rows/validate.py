"""`condense validate` on a set of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.plurals import plural
from ...errors import ExitStatus
from ...report.run import facts
from ...report.text.visible import visible
from ...rows.surveys import CheckedRows, Look, check_row, survey
from ...rows.tally import Tally
from ..console import console, write_text
from ..reading import name_of
from .running import bad_rows

if TYPE_CHECKING:
    from ...rows.row import RowKind


def validate_rows(file: str, kind: RowKind, *, json: bool, lenient: bool) -> ExitStatus:
    """Check every row against the rules of its API and say what is wrong. Raises CondenseError."""
    tally, found = survey(file, name_of(file), kind, CheckedRows, _checking)
    is_valid = not found.faulty and (lenient or not tally.bad)
    if json:
        write_text(facts.to_json(_as_facts(tally, found, name_of(file), is_valid=is_valid)))
    else:
        _show(tally, found, name_of(file), is_valid=is_valid)
    return ExitStatus.DONE if is_valid else ExitStatus.INPUT


def _checking(tally: Tally, found: CheckedRows) -> Look:
    return lambda transcript, line: check_row(transcript, line, tally, found)


def _as_facts(tally: Tally, found: CheckedRows, source: str, *, is_valid: bool) -> dict[str, object]:
    return {
        "version": facts.SHAPE,
        "input": source,
        "format": "rows",
        "formats": dict(sorted(tally.formats.items())),
        "rows": {"total": tally.rows, "faulty": found.faulty, "bad": tally.bad},
        "messages": tally.messages_before,
        "valid": is_valid,
        "rules": dict(found.rules.most_common()),
        "faults": found.listed,
        "problems": tally.problems,
    }


def _show(tally: Tally, found: CheckedRows, name: str, *, is_valid: bool) -> None:
    from rich.text import Text

    screen = console()
    for fault in found.listed:
        message = f" #{fault.message}:" if fault.message is not None else ""
        text = Text(visible(f"{name}:{fault.line}:{message} "), style="bold")
        text.append(visible(" ".join(fault.said.split())), style="not bold")
        screen.print(text, soft_wrap=True)
    more = found.faults - len(found.listed)
    if more > 0:
        screen.print(f"… and {plural(more, 'more fault')}", style="dim", soft_wrap=True)
    for line in bad_rows(tally.problems, tally.bad, name):
        screen.print(visible(line), style="red", soft_wrap=True)
    rows = plural(tally.rows, "row")
    if is_valid:
        screen.print(Text(f"valid: {rows}, {plural(tally.messages_before, 'message')}", style="green"))
        return
    bad = f", {tally.bad:,} bad" if tally.bad else ""
    screen.print(Text(f"not valid: {plural(found.faults, 'fault')} in {found.faulty:,} of {rows}{bad}", style="red"))
