"""`condense validate` on a set of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.wording import plural
from ...errors import ExitStatus
from ...report.run import facts
from ...report.text.visible import visible
from ...rows.condensing import CheckedRows, checking, survey
from ..console import console, print_lines, write_text
from ..reading import name_of
from .running import bad_rows

if TYPE_CHECKING:
    from ...rows.reading import RowKind


def validate_rows(file: str, kind: RowKind, *, json: bool, lenient: bool) -> ExitStatus:
    """Check every row against the rules of its API and say what is wrong. Raises CondenseError."""
    found = survey(file, name_of(file), kind, CheckedRows, checking)
    is_valid = not found.faulty and (lenient or not found.bad)
    if json:
        write_text(facts.to_json(_as_facts(found, name_of(file), is_valid=is_valid)))
    else:
        _show(found, name_of(file), is_valid=is_valid)
    return ExitStatus.DONE if is_valid else ExitStatus.INPUT


def _as_facts(found: CheckedRows, source: str, *, is_valid: bool) -> dict[str, object]:
    return {
        "version": facts.SHAPE,
        "input": source,
        "format": "rows",
        "formats": dict(sorted(found.formats.items())),
        "rows": {"total": found.rows, "faulty": found.faulty, "bad": found.bad},
        "messages": found.messages_before,
        "valid": is_valid,
        "rules": dict(found.rules.most_common()),
        "faults": found.listed,
        "problems": found.problems,
    }


def _show(found: CheckedRows, name: str, *, is_valid: bool) -> None:
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
    print_lines(bad_rows(found.problems, found.bad, name), "red")
    rows = plural(found.rows, "row")
    if is_valid:
        screen.print(Text(f"valid: {rows}, {plural(found.messages_before, 'message')}", style="green"))
        return
    bad = f", {found.bad:,} bad" if found.bad else ""
    screen.print(Text(f"not valid: {plural(found.faults, 'fault')} in {found.faulty:,} of {rows}{bad}", style="red"))
