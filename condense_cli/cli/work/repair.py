"""`condense repair`: mend what the API or the client refuses in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ...core.wording import plural, visible
from ...delivering import Destination, Where, check_place
from ...errors import UsageError
from ...plugins import Installed
from ...repair import mending
from ...repair.mending import Repair
from ...report.as_json import to_json
from ...report.lists.repair import as_facts
from ...storage import files
from ..commands.mend import RepairOptions
from ..console import tell_lines, write_out, write_text
from .reading import check_piped, input_file, name_of

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
        _show(file, found, lines, on_stderr=to.writes_stdout)


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


def _show(file: str, found: Repair, lines: Sequence[str], *, on_stderr: bool) -> None:
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
