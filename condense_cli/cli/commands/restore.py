"""`condense restore`: undo the references of a condensed transcript."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.wording import plural
from ...errors import ExitStatus, UsageError
from ..console import console, exits, say, write_out, write_text
from ..options import File, FormatOption, Lenient, Session
from ..reading import input_file, name_of, read_transcript

if TYPE_CHECKING:
    from ...api import Restoration
    from ...rows.condensing import Restored

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense restore small.jsonl -o whole.jsonl\n"
    "cat small.jsonl | condense restore - | condense diff session.jsonl -\n"
    "condense restore small.jsonl --json | jq .resolved"
)


def restore(
    file: File = None,
    session: Session = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE|-", help="Write the restored transcript there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    format_name: FormatOption = None,
    lenient: Lenient = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
) -> None:
    """Put back the text that references replaced.

    Every reference points to text in the same file, so the file alone is enough. Text that was cut is not in it:
    `condense show ORIGINAL HASH` prints that from the original. Exit status 3 if the lines of a reference
    were changed or removed; it is left as it is, and everything else is restored.
    """
    with exits():
        if json and output == "-":
            raise UsageError(
                "--json and -o - both write to standard output.", "Write the transcript to a file with -o FILE."
            )
        file = input_file(file, session)
        writes_stdout = output == "-" or (output is None and not json and not sys.stdout.isatty())
        from ... import api, formats
        from ...delivering import replaced_at
        from ...report.run import facts
        from ...rows.reading import rows_in
        from ...storage.files import check_output, packed, write_bytes

        if output not in (None, "-"):
            check_output(file, Path(str(output)))
        replaced = replaced_at(output)
        kind = rows_in(file, format_name)
        if kind is not None:
            from ..rows import restore as rows_restore
            from ..rows.running import bad_rows

            found = rows_restore.restore_rows(file, kind, "-" if writes_stdout else output)
            if json:
                write_text(facts.to_json(rows_restore.as_facts(found, name_of(file))))
            elif not quiet:
                _show(found, writes_stdout, output, replaced, rows_restore.said(found, name_of(file)))
            if json or quiet:
                for line in (*bad_rows(found.problems, found.bad, name_of(file)), *_left(found)):
                    say(line)
            raise SystemExit(int(rows_restore.status_of(found, lenient=lenient)))
        transcript = read_transcript(file, format_name, lenient)
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


def _as_json(found: Restoration, source: str) -> str:
    from ...report.run import facts

    return facts.to_json(
        {
            "version": facts.SHAPE,
            "input": source,
            "resolved": found.resolved,
            "unresolved": found.unresolved,
            "elsewhere": found.elsewhere,
            "left_out": found.gaps,
            "look_alikes": found.look_alikes,
        }
    )


def _left(found: Restoration | Restored) -> Iterator[str]:
    """Which references were left, for which the status is not 0."""
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
    from ...report.text.visible import visible

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
    for line in lines:
        if writes_stdout:
            say(line)
        else:
            console().print(line, soft_wrap=True, highlight=False, markup=False)
