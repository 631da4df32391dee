"""`condense restore`: undo the references of a condensed transcript, or of a set of rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ... import api, formats
from ...api import Restoration
from ...core.wording import plural, visible
from ...delivering import replaced_at
from ...errors import ExitStatus, UsageError
from ...report.sections import SHAPE, to_json
from ...rows.reading import rows_in
from ...storage.files import check_output, packed, write_bytes
from ..commands.shrink import RestoreOptions
from ..console import say, tell_lines, write_out, write_text
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
