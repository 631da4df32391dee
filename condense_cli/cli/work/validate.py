"""`condense validate`: check a transcript against its API's rules and its client's file rules."""

from __future__ import annotations

from rich.text import Text

from ...core.wording import plural, visible
from ...errors import ExitStatus
from ...formats import format_named
from ...report.as_json import to_json
from ...report.lists.validation import ListedFault, Validation, check
from ...rows.reading import rows_in
from ..commands.mend import ValidateOptions
from ..console import console, print_lines, write_text
from .reading import input_file, name_of, read_transcript


def validate(options: ValidateOptions) -> None:
    """Print the faults and exit with the status. Raises CondenseError."""
    file = input_file(options.file, options.session)
    kind = rows_in(file, options.format)
    if kind is not None:
        from ..running.rows_reports import validate_rows  # With processes to read rows.

        raise SystemExit(int(validate_rows(file, kind, json=options.json, lenient=options.lenient)))
    found = check(read_transcript(file, options.format, options.lenient), source=name_of(file))
    if options.json:
        write_text(to_json(found))
    else:
        _show(found)
    raise SystemExit(int(ExitStatus.DONE if found.valid else ExitStatus.INPUT))


def _show(found: Validation) -> None:
    screen = console()
    for fault in found.faults:  # One on a line, for grep.
        text = Text(f"{_place(found, fault)}: ", style="bold")
        print_lines([text.append(visible(" ".join(fault.said.split())), style="not bold")])
    print_lines((f"{_place(found, note)}: note: {note.said}" for note in found.notes), "dim")
    print_lines((f"Warning: {warning}" for warning in found.warnings), "yellow")
    messages = plural(found.messages, "message")
    if found.valid and not found.messages:
        screen.print(Text(f"empty: {messages}, format {found.format}"))
    elif found.valid:
        screen.print(Text(f"valid: {messages}, format {found.format}"), style="green")
    else:
        number = len(found.faults)
        faults = plural(number, "fault")
        screen.print(Text(f"not valid: {faults} in {messages}, format {found.format}"), style="red")
        if found.input != "standard input" and format_named(found.format).is_writable:
            hint = f"condense repair {found.input} mends what can be mended without a guess."
            print_lines([hint])


def _place(found: Validation, fault: ListedFault) -> str:
    place = visible(found.input) + (f":{fault.line}" if fault.line is not None else "")
    return f"{place}: #{fault.message}" if fault.message is not None else place
