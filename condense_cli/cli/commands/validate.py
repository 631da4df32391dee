"""`condense validate`: whether an API would accept a transcript, and a client its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...core.wording import plural
from ...errors import ExitStatus
from ..console import console, exits, write_text
from ..options import File, FormatOption, LenientReading, Session
from ..reading import input_file, name_of, read_transcript

if TYPE_CHECKING:
    from ...report.lists.validation import ListedFault, Validation

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense validate session.jsonl\n"
    "condense run session.jsonl -o - | condense validate -\n"
    "condense validate --session latest\n"
    "condense validate session.jsonl --json | jq '.faults[].line'"
)


def validate(
    file: File = None,
    session: Session = None,
    json: Annotated[bool, typer.Option("--json", help="Print the faults as JSON.")] = False,
    format_name: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Check a transcript against the rules of its API.

    Faults are reported in the API's own words, with their line. For Claude Code sessions, the links between records are
    checked too. Exit status 0 if valid, 3 if not.
    """
    with exits():
        from ...report.lists import validation
        from ...report.run import facts
        from ...rows.reading import rows_in

        file = input_file(file, session)
        kind = rows_in(file, format_name)
        if kind is not None:
            from ..rows.validate import validate_rows

            raise SystemExit(int(validate_rows(file, kind, json=json, lenient=lenient)))
        found = validation.check(read_transcript(file, format_name, lenient), source=name_of(file))
        if json:
            write_text(facts.to_json(found))
        else:
            _show(found)
        raise SystemExit(int(ExitStatus.DONE if found.valid else ExitStatus.INPUT))


def _show(found: Validation) -> None:
    from rich.text import Text

    from ...report.text.visible import visible

    screen = console()
    for fault in found.faults:
        # One fault a line, for grep; the terminal wraps it by itself.
        text = Text(f"{_place(found, fault)}: ", style="bold")
        text.append(visible(" ".join(fault.said.split())), style="not bold")
        screen.print(text, soft_wrap=True)
    for note in found.notes:
        screen.print(Text(visible(f"{_place(found, note)}: note: {note.said}"), style="dim"), soft_wrap=True)
    for warning in found.warnings:
        screen.print(Text(visible(f"Warning: {warning}"), style="yellow"), soft_wrap=True)
    messages = plural(found.messages, "message")
    if found.valid and not found.messages:
        screen.print(Text(f"empty: {messages}, format {found.format}"))
    elif found.valid:
        screen.print(Text(f"valid: {messages}, format {found.format}"), style="green")
    else:
        number = len(found.faults)
        faults = plural(number, "fault")
        screen.print(Text(f"not valid: {faults} in {messages}, format {found.format}"), style="red")


def _place(found: Validation, fault: ListedFault) -> str:
    from ...report.text.visible import visible

    place = visible(found.input) + (f":{fault.line}" if fault.line is not None else "")
    return f"{place}: #{fault.message}" if fault.message is not None else place
