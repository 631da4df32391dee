"""`condense validate` and `repair`: check a transcript against the rules of its API and client, and mend it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.text import Text

from ...core.wording import plural, visible
from ...delivering import Destination, Where, check_place
from ...errors import ExitStatus, UsageError
from ...formats import format_named
from ...plugins import Installed
from ...repair import mending
from ...repair.mending import Repair
from ...report.lists.validation import ListedFault, Validation, as_facts, check
from ...report.sections import to_json
from ...rows.reading import rows_in
from ...storage import files
from ..commands.mend import RepairOptions, ValidateOptions
from ..console import console, print_lines, tell_lines, write_out, write_text
from .reading import check_piped, input_file, name_of, read_transcript


def validate(options: ValidateOptions) -> None:
    """Print the faults and exit with the status. Raises CondenseError."""
    file = input_file(options.file, options.session)
    kind = rows_in(file, options.format)
    if kind is not None:
        from ..running.rows import validate_rows  # With processes to read rows.

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


_MOST: Final = 40
"""Changes that the report lists."""


def repair(options: RepairOptions) -> None:
    """Mend a file, write it where the options say, and report it. Raises CondenseError."""
    file = input_file(options.file, options.session)
    to = _destination(file, options)
    check_piped(file)
    read = files.read_bytes(file)
    found = mending.repair(
        files.unpacked(read, name_of(file)),
        name=name_of(file),
        format_name=options.format,
        joined=options.join,
        others=Installed().formats,
    )
    if to.writes_stdout and not to.dry_run:
        write_out(found.data)
    done = to.write(found.data, read, found.transcript.format)
    if options.json:
        write_text(to_json(as_facts(found, source=name_of(file), output=done.output, backup=done.backup)))
    elif not options.quiet:
        lines = [*done.said, *done.warnings]
        if found.changes and to.where is Where.NOWHERE and not to.dry_run:
            lines.append("Nothing was written; add --in-place, or -o FILE.")
        _show_repair(file, found, lines, on_stderr=to.writes_stdout)


def _destination(file: str, options: RepairOptions) -> Destination:
    """Return the place that the options name. Raises UsageError if they name several, or an impossible one."""
    output, in_place = options.output, options.in_place
    check_place(file, output, in_place=in_place, force=options.force)
    if options.json and output == "-":
        raise UsageError(
            "--json and -o - both write to standard output.", "Write the transcript to a file with -o FILE."
        )
    if in_place and files.is_compressed(file):
        raise UsageError(f"{file} is compressed.", "Unpack it first, or write to another file with -o FILE.")
    if in_place:
        where = Where.IN_PLACE
    elif output is not None:
        where = Where.STDOUT if output == "-" else Where.FILE
    else:
        where = Where.NOWHERE if options.json or options.dry_run or sys.stdout.isatty() else Where.STDOUT
    if where is Where.FILE:
        files.check_output(file, Path(str(output)), "Write to another file, or use --in-place (with a backup).")
    seen = files.stamp(Path(file)) if in_place else None
    return Destination(where, file, output, options.dry_run, options.force, seen, done="Mended")


def _show_repair(file: str, found: Repair, lines: Sequence[str], *, on_stderr: bool) -> None:
    changes = [
        f"{visible(name_of(file))}{'' if change.line is None else f':{change.line}'}: {change.said} ({change.why})"
        for change in found.changes[:_MOST]
    ]
    if len(found.changes) > _MOST:
        changes.append(f"… and {plural(len(found.changes) - _MOST, 'more change')}; --json lists all")
    messages = plural(len(found.transcript.messages), "message")
    if found.changes:
        said = f"Valid after {plural(len(found.changes), 'change')}: {messages}, format {found.transcript.format}"
    else:
        said = f"Nothing to mend: {messages}, format {found.transcript.format}"
    tell_lines((*(" ".join(change.split()) for change in changes), said, *lines), on_stderr=on_stderr)
