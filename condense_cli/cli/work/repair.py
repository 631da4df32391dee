"""`condense repair`: mend what the API or the client refuses in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ...clients.claude_code import running
from ...core.wording import plural
from ...delivering import replaced_at
from ...errors import OutputError, UsageError
from ...formats import format_named
from ...plugins import Installed
from ...repair import mending
from ...repair.mending import Repair
from ...report.as_json import to_json
from ...report.lists.repair import as_facts
from ...report.text.visible import visible
from ...storage import backups, files
from ..commands.decide import RepairOptions
from ..console import console, say, write_out, write_text
from .reading import check_piped, input_file, name_of

_MOST: Final = 40
"""Changes that the report lists."""


def repair(options: RepairOptions) -> None:
    """Mend a file, write it where the options say, and report it. Raises CondenseError."""
    file = input_file(options.file, options.session)
    _check(file, options)
    check_piped(file)
    seen = files.stamp(Path(file))
    read = files.read_bytes(file)
    found = mending.repair(
        files.unpacked(read, name_of(file)),
        name=name_of(file),
        format_name=options.format,
        joined=options.join,
        others=Installed().formats,
    )
    lines, backup = _written(file, options, found, read, seen)
    if options.json:
        output = file if backup else None if options.dry_run or options.output == "-" else options.output
        write_text(to_json(as_facts(found, source=name_of(file), output=output, backup=backup)))
    elif not options.quiet:
        _show(file, found, lines, on_stderr=_writes_stdout(options))


def _check(file: str, options: RepairOptions) -> None:
    if options.in_place and options.output is not None:
        raise UsageError("-o and --in-place cannot be used together.", "Choose one place to write to.")
    if options.force and not options.in_place:
        raise UsageError("--force needs --in-place.", "Nothing else needs it.")
    if options.json and options.output == "-":
        raise UsageError(
            "--json and -o - both write to standard output.", "Write the transcript to a file with -o FILE."
        )
    if options.in_place and not Path(file).is_file():
        raise UsageError(f"--in-place replaces FILE, and {file} is not a file.", "Write to a new file with -o FILE.")
    if options.in_place and files.is_compressed(file):
        raise UsageError(f"{file} is compressed.", "Unpack it first, or write to another file with -o FILE.")
    if options.output not in (None, "-"):
        files.check_output(file, Path(str(options.output)), "Write to another file, or use --in-place (with a backup).")


def _writes_stdout(options: RepairOptions) -> bool:
    is_for_a_pipe = not (options.json or options.in_place or options.dry_run or sys.stdout.isatty())
    return not options.dry_run and (options.output == "-" or (options.output is None and is_for_a_pipe))


def _written(
    file: str, options: RepairOptions, found: Repair, read: bytes, seen: files.Stamp
) -> tuple[Sequence[str], str | None]:
    """Write the file where the options say; return what to say of it, and the path of the backup."""
    if options.dry_run:
        return (), None
    if _writes_stdout(options):
        write_out(found.data)
        return (), None
    if options.output is not None:
        replaced = replaced_at(options.output)
        data = files.packed(found.data, options.output)
        files.write_bytes(Path(options.output), data)
        return (f"Written: {visible(options.output)} ({len(data):,} bytes){replaced}",), None
    if not options.in_place:
        return ("Nothing was written; add --in-place, or -o FILE.",) if found.changes else (), None
    if not found.changes:
        return (), None
    try:
        data = format_named(found.transcript.format).in_place(read, found.data)
    except OutputError as error:
        raise OutputError(error.message, "Nothing was changed. Write to another file with -o FILE.") from None
    backup = backups.replace_in_place(
        Path(file), data, read=read, seen=seen, now=datetime.now(UTC), force=options.force
    )
    lines = [
        f"Mended in place: {visible(file)} ({len(data):,} bytes)",
        f"The original is kept as {visible(backup.name)}; condense undo restores it.",
    ]
    if client := running(Path(file)):
        lines.append(f"{client} has this session open and keeps using the old content until you resume it.")
    return lines, str(backup)


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
    for line in (*map(_on_one_line, changes), said, *lines):
        if on_stderr:
            say(line)
        else:
            console().print(line, soft_wrap=True, highlight=False, markup=False)


def _on_one_line(text: str) -> str:
    return visible(" ".join(text.split()))
