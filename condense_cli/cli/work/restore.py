"""`condense restore`, `undo` and `show`: bring back what references, cuts or a replaced file took away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ... import api, formats
from ...api import Restoration
from ...core import json_text
from ...core.transcript import Block, Transcript, calls_by_id
from ...core.wording import plural, visible
from ...delivering import replaced_at
from ...errors import CondenseError, ExitStatus, UsageError
from ...report.inspection.lookup import Hit, HitKind, build, find, is_query
from ...report.sections import SHAPE, to_json
from ...report.text import call_label, kind_label
from ...rows.reading import rows_in
from ...storage import backups
from ...storage.backups import Backup, Undone
from ...storage.files import check_output, packed, write_bytes
from ..commands.look import ShowOptions
from ..commands.shrink import RestoreOptions, UndoOptions
from ..console import console, say, tell_lines, write_out, write_text
from .reading import input_file, name_of, read_transcript

if TYPE_CHECKING:
    from ...rows.condensing import Restored


def restore(options: RestoreOptions) -> None:
    """Write the restored transcript and exit with the status. Raises CondenseError."""
    output, json, quiet = options.output, options.json, options.quiet
    if json and output == "-":
        raise UsageError(
            "--json and -o - both write to standard output.", "Write the transcript to a file with -o FILE."
        )
    file = input_file(options.file, options.session)
    writes_stdout = output == "-" or (output is None and not json and not sys.stdout.isatty())
    if output not in (None, "-"):
        check_output(file, Path(str(output)))
    replaced = replaced_at(output)
    kind = rows_in(file, options.format)
    if kind is not None:
        from ..running import rows  # With processes to read rows.

        found = rows.restore_rows(file, kind, "-" if writes_stdout else output)
        if json:
            write_text(_as_json(found, name_of(file)))
        elif not quiet:
            _show(found, writes_stdout, output, replaced, rows.said_of_restored(found, name_of(file)))
        if json or quiet:
            for line in (*rows.bad_rows(found.problems, found.bad, name_of(file)), *_left(found)):
                say(line)
        raise SystemExit(int(rows.status_of_restored(found, lenient=options.lenient)))
    transcript = read_transcript(file, options.format, options.lenient)
    if writes_stdout or output is not None:
        formats.check_writable(transcript)
    restored = api.restore(transcript)
    if writes_stdout:
        write_out(api.dump(restored))
    elif output is not None:
        write_bytes(Path(output), packed(api.dump(restored), output))
    if json:
        write_text(_as_json(restored, name_of(file)))
    elif not quiet:
        _show(restored, writes_stdout, None if output in (None, "-") else output, replaced)
    if json or quiet:  # A status that is not 0 needs a reason.
        for line in _left(restored):
            say(line)
    raise SystemExit(int(ExitStatus.INPUT if restored.unresolved or restored.elsewhere else ExitStatus.DONE))


def _as_json(found: Restoration | Restored, source: str) -> str:
    rows, problems = {}, {}
    if not isinstance(found, Restoration):
        rows = {"rows": {"total": found.rows, "changed": found.changed, "bad": found.bad}}
        problems = {"problems": found.problems}
    counts = {
        "resolved": found.resolved,
        "unresolved": found.unresolved,
        "elsewhere": found.elsewhere,
        "left_out": found.gaps,
        "look_alikes": found.look_alikes,
    }
    return to_json({"version": SHAPE, "input": source, **rows, **counts, **problems})


def _left(found: Restoration | Restored) -> Iterator[str]:
    """Say which references were left; the status is not 0 for them."""
    if found.unresolved:
        whose = "its lines" if found.unresolved == 1 else "their lines"
        references = plural(found.unresolved, "reference")
        yield f"{references} cannot be undone: {whose} were changed or removed; left as is."
    if found.elsewhere:
        references = plural(found.elsewhere, "reference")
        yield f"{references} outside this conversation (other branches, or before a compaction); left as is."


def _show(
    found: Restoration | Restored, writes_stdout: bool, output: str | None, replaced: str, first: Sequence[str] = ()
) -> None:
    lines = [*first, f"{plural(found.resolved, 'reference')} restored." if found.resolved else "Nothing to restore."]
    lines += _left(found)
    if found.look_alikes == 1:
        lines.append("1 line looks like a reference and points to nothing here; it stays as text.")
    elif found.look_alikes:
        lines.append(f"{found.look_alikes:,} lines look like references and point to nothing here; they stay as text.")
    if found.gaps:
        cuts = plural(found.gaps, "cut remains", "cuts remain")
        lines.append(f"{cuts}: condense show ORIGINAL HASH prints what was cut.")
    if output is not None:
        lines.append(f"Written: {visible(output)}{replaced}")
    elif not writes_stdout and found.resolved:
        lines.append("Nothing was written; add -o FILE to write the restored transcript.")
    tell_lines(lines, on_stderr=writes_stdout)


def undo(options: UndoOptions) -> None:
    """Restore a backup, or list all. Raises CondenseError."""
    if options.lists and (options.backup is not None or options.force):
        raise UsageError("--list cannot be used with --backup or --force.")
    if options.file is None and options.session is None:
        raise UsageError("No file given.", "Name the FILE that was replaced in place, or use --session.")
    file = input_file(options.file, options.session)
    if options.lists:
        _list(file, backups.backups_of(Path(file)), options.json)
        return
    if (
        options.backup is None
        and not backups.backups_of(Path(file))
        and (original := next(_originals(file), None)) is not None
    ):
        if options.json:
            _print_json(file, restored=None, kept=None, original=str(original))
        elif not options.quiet:
            console().print(
                f"Nothing to undo: this session was written beside its original, which is unchanged:\n"
                f"{visible(str(original))}",
                soft_wrap=True,
            )
        return
    done = backups.undo(Path(file), now=datetime.now(UTC), name=options.backup, force=options.force)
    if options.json:
        _print_json(file, restored=_backup_as_json(done.restored), kept=done.kept.name if done.kept else None)
    elif not options.quiet:
        _show_undone(file, done)


def _originals(file: str) -> Iterator[Path]:
    """Yield the sessions that a file was condensed from, the nearest first."""
    from ...clients.new_session import origins_of  # With all clients.

    return origins_of(file)


def _list(file: str, found: list[Backup], json: bool) -> None:
    if json:
        _print_json(file, backups=[_backup_as_json(backup) for backup in found])
        return
    screen = console()
    if not found:
        screen.print(f"There is no backup of {visible(file)}.", soft_wrap=True)
    for backup in found:
        made = backup.made.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        kind = "undone" if backup.kind == "undone" else "backup"
        screen.print(f"{made}  {backup.size:>13,} bytes  {kind}  {visible(backup.path.name)}", soft_wrap=True)


def _show_undone(file: str, done: Undone) -> None:
    screen = console()
    made = done.restored.made.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    screen.print(
        f"Restored {visible(file)} to its state before {made} ({done.restored.size:,} bytes).",
        style="bold",
        soft_wrap=True,
    )
    if done.kept is not None:
        screen.print(f"Its previous content is kept as {visible(done.kept.name)}", soft_wrap=True)


def _backup_as_json(backup: Backup) -> dict[str, object]:
    return {
        "name": backup.path.name,
        "kind": backup.kind,
        "made": backup.made.isoformat(),
        "bytes": backup.size,
    }


def _print_json(file: str, **values: object) -> None:
    write_text(to_json({"version": SHAPE, "input": file, **values}))


_NO_TEXT: Final = "(no text; --raw prints the record)"


def show(options: ShowOptions) -> None:
    """Print the content that is named. Raises CondenseError."""
    file, what = options.file, options.what
    if options.json and options.raw:
        raise UsageError("--json and --raw cannot be used together.", "Use one of them.")
    if options.session is not None and what is None:
        file, what = None, file
    if what is None:
        if file is not None and is_query(file) and not os.path.lexists(file):
            raise UsageError(f"show needs the transcript that has {file}.", f"Name it: condense show FILE {file}")
        raise UsageError("show needs a hash or a position.", "For example: condense show session.jsonl 12.0")
    file = input_file(file, options.session)
    transcript = read_transcript(file, options.format, options.lenient)
    file, transcript, hits = _found(file, transcript, what, options.format, lenient=options.lenient)
    if options.json:
        write_text(to_json(build(transcript, hits, source=name_of(file), query=what)))
    elif options.raw:
        records = dict.fromkeys(hit.block.place.record for hit in hits)
        _print_lines(json_text.decode(transcript.source.raw(record)) for record in records)
    else:
        _print(transcript, hits)


def _found(
    file: str, transcript: Transcript, what: str, format_name: str | None, *, lenient: bool
) -> tuple[str, Transcript, Sequence[Hit]]:
    """Find the content in the file or in the one it was condensed from; return that file too. Raises CondenseError."""
    hits: Sequence[Hit] = ()
    error: CondenseError | None = None
    try:
        hits = find(transcript, what)
        if hits and hits[0].found is not HitKind.MARKER:
            return file, transcript, hits
    except UsageError:
        raise
    except CondenseError as nothing:
        error = nothing
    for original in _originals(file):
        older = read_transcript(str(original), format_name, lenient)
        with suppress(CondenseError):
            found = find(older, what)
            if found and found[0].found is not HitKind.MARKER:
                say(f"condense: from the original, {original.name}")
                return str(original), older, found
    if error is not None:
        raise error
    return file, transcript, hits


def _print(transcript: Transcript, hits: Sequence[Hit]) -> None:
    calls = calls_by_id([*transcript.messages, *(hit.message for hit in hits if hit.message and hit.is_before)])
    if not hits:
        say("condense: the message has no content.")
    elif hits[0].found is HitKind.SUMMARIZED or (hits[0].found is HitKind.POSITION and len(hits) > 1):
        _print_lines(f"--- {_heading(hit, calls)}\n{hit.text or _NO_TEXT}" for hit in hits)
    elif len({hit.text for hit in hits}) > 1:
        say("condense: several blocks match; choose one by its position:")
        _print_lines(_heading(hit, calls) for hit in hits)
    else:
        if hits[0].found is HitKind.MARKER:
            say("condense: the original text is not in this file; this block holds its marker.")
        if len(hits) > 1:
            say(f"condense: the same text occurs {len(hits)} times: {', '.join(hit.position for hit in hits)}")
        if not hits[0].text:
            say(f"condense: {_NO_TEXT[1:-1]}.")
        _print_text(hits[0].text)


def _heading(hit: Hit, calls: Mapping[str, Block]) -> str:
    label = " ".join(call_label(hit.block, calls).split())
    kind = kind_label(hit.block, hit.message.role if hit.message else None)
    return f"{hit.position}  {kind}  {label}".rstrip()


def _print_lines(pieces: Iterable[str]) -> None:
    _print_text("".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces))


def _print_text(text: str) -> None:
    """Print a text: as it is in a pipe, made safe on a terminal."""
    if sys.stdout.isatty():
        write_text(visible(text) + ("\n" if text and not text.endswith("\n") else ""))
        return
    try:
        write_out(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        write_text(text)
