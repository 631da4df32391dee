"""Which place the options of `condense run` name to write to, and which they may not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ...delivering import Destination, Where
from ...errors import OutputError, UsageError

if TYPE_CHECKING:
    from .options import Showing, Writing


def destination(file: str, writing: Writing, showing: Showing) -> Destination:
    """The one place that the options name. Raises UsageError when they name several, or one that makes no sense."""
    output, in_place = writing.output, writing.in_place
    named = [
        option
        for option, is_given in (
            ("-o", output is not None),
            ("--new-session", writing.new_session),
            ("--in-place", in_place),
        )
        if is_given
    ]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} cannot be used together.", "Choose one place to write to.")
    if writing.force and not in_place:
        raise UsageError("--force needs --in-place.", "Nothing else needs it.")
    if (in_place or writing.new_session) and not os.path.lexists(file):
        from ...storage.opencode_database import HINT, is_in_database

        if is_in_database(Path(file)):
            raise UsageError(f"{named[0]} is for files, and opencode keeps its sessions in a database.", HINT)
    if in_place and (file == "-" or (Path(file).exists() and not Path(file).is_file())):
        raise UsageError(
            f"--in-place replaces FILE, and {file} is not a file.", "Name the file, or write to a new one with -o FILE."
        )
    if writing.new_session and file == "-":
        raise UsageError(
            "--new-session writes next to FILE, and - is not a file.",
            "Name the session, or write to a file with -o FILE.",
        )
    if showing.json and output == "-":
        raise UsageError("--json and -o - both write to standard output.", "Use --report FILE for the report.")
    if showing.report is not None and str(showing.report) == "-":
        raise UsageError("--report writes a file.", "Use --json for the report on standard output.")
    if showing.html is not None and str(showing.html) == "-":
        raise UsageError("--html writes a file.", "Name one, such as page.html.")
    _check_output(file, output, showing.report, showing.html)
    seen = None
    if in_place:
        from ...storage.files import stamp

        seen = stamp(Path(file))
    return Destination(_where(writing, showing), file, output, writing.dry_run, writing.force, seen)


def _where(writing: Writing, showing: Showing) -> Where:
    if writing.new_session:
        return Where.NEW_SESSION
    if writing.in_place:
        return Where.IN_PLACE
    if writing.output is not None:
        return Where.STDOUT if writing.output == "-" else Where.FILE
    wants_report = showing.json or showing.explain or showing.diff
    is_for_a_pipe = not (wants_report or writing.dry_run or sys.stdout.isatty())
    return Where.STDOUT if is_for_a_pipe else Where.NOWHERE


def _check_output(file: str, output: str | None, report: Path | None, html: Path | None) -> None:
    from itertools import combinations

    from ...storage.files import check_output

    targets = (
        (
            "--output",
            Path(output) if output and output != "-" else None,
            "Write to another file, or use --in-place (with a backup).",
        ),
        ("--report", report, "Write the report to another file."),
        ("--html", html, "Write the page to another file."),
    )
    for _, target, hint in targets:
        if target is not None:
            check_output(file, target, hint)
            if not target.absolute().parent.is_dir():
                raise OutputError(f"There is no folder {target.parent} to write {target} in.", "Nothing was written.")
    for (one, path, _), (other, same, _) in combinations(targets, 2):
        if path is not None and same is not None and path.resolve() == same.resolve():
            raise UsageError(f"{one} and {other} name the same file.", "Name two files.")


def check_configurations(files: Iterable[str], targets: Iterable[str | Path | None]) -> None:
    """Refuse to write over a file that the settings of the run are from. Raises UsageError."""
    from ...storage.files import is_same_file

    known = list(files)
    for target in targets:
        for file in known:
            if target is not None and is_same_file(file, Path(target)):
                raise UsageError(f"The output {target} is a configuration file of this run.", "Write to another file.")


def proposal(source: str, format_name: str, *, is_writable: bool, is_more: bool) -> str:
    """What to do to get the condensed transcript, where nothing was written; and to see more, if there `is_more`."""
    from ...formats.engine.session_ids import SESSION_FILES

    more = "; --diff shows every change." if is_more else "."
    if not is_writable:
        return f"Nothing was written: this format can only be read. Add --to anthropic -o FILE{more}"
    if format_name in SESSION_FILES and source != "-":
        return f"Nothing was written: add --new-session or -o FILE{more}"
    return f"Nothing was written: add -o FILE{more}"
