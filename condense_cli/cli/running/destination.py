"""Where `condense run` writes: nowhere, to standard output, a file, a new session, or in place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from ...errors import OutputError, UsageError
from ..console import write_out

if TYPE_CHECKING:
    from ...core.transcript import Transcript
    from ...report.run.facts import WrittenSession
    from ...storage.files import Stamp
    from .options import Showing, Writing


class Where(Enum):
    NOWHERE = auto()
    STDOUT = auto()
    FILE = auto()
    NEW_SESSION = auto()
    IN_PLACE = auto()


class Delivery(Struct, frozen=True):
    """What was written: the file, its backup, the session; what the report warns of, and what is said after it."""

    output: str | None = None
    backup: str | None = None
    new_session: WrittenSession | None = None
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Destination(Struct, frozen=True):
    """`seen` is the stamp of the file from before it was read. A `dry_run` goes the same way and writes nothing."""

    where: Where
    source: str
    output: str | None
    dry_run: bool
    force: bool
    seen: Stamp | None

    @property
    def writes_stdout(self) -> bool:
        return self.where is Where.STDOUT

    @property
    def writes_anything(self) -> bool:
        return not self.dry_run and self.where is not Where.NOWHERE

    @property
    def is_in_a_script(self) -> bool:
        """Whether the transcript goes somewhere, and nobody is there to read a long report."""
        return self.writes_stdout or (self.writes_anything and not sys.stdout.isatty())

    @property
    def reports_to_terminal(self) -> bool:
        """Whether somebody is there to read the long report."""
        return sys.stdout.isatty() and not self.writes_stdout

    def check(self, transcript: Transcript) -> None:
        """Raises UsageError when the transcript cannot go there, before any work is done."""
        from ... import formats
        from ...storage.compressed import is_compressed

        if not self.writes_anything:
            return
        formats.check_writable(transcript)
        if self.where in (Where.IN_PLACE, Where.NEW_SESSION) and is_compressed(self.source):
            raise UsageError(f"{self.source} is compressed.", "Unpack it first, or write to another file with -o FILE.")
        if self.where is Where.NEW_SESSION:
            from ...formats.engine.session_ids import session_files

            session_files(transcript.format)

    def write(self, data: bytes, before: Transcript) -> Delivery:
        """Write the bytes. Raises OutputError; UsageError when there is no session to write."""
        if self.dry_run:
            return Delivery()
        match self.where:
            case Where.NOWHERE:
                return Delivery()
            case Where.STDOUT:
                write_out(data)
                return Delivery(self.output)
            case Where.FILE:
                return self._write_file(data)
            case Where.NEW_SESSION | Where.IN_PLACE if data == before.source.data:
                return Delivery(said=("Nothing changed, so nothing was written.",))
            case Where.NEW_SESSION:
                return self._write_session(data, before.format)
            case Where.IN_PLACE:
                return self._replace(data, before.source.data)
            case other:
                assert_never(other)

    def _write_file(self, data: bytes) -> Delivery:
        from ...report.text.visible import visible
        from ...storage.compressed import packed
        from ...storage.files import write_bytes

        output = str(self.output)
        written = packed(data, output)
        write_bytes(Path(output), written)
        return Delivery(self.output, said=(f"Written: {visible(output)} ({len(written):,} bytes)",))

    def _replace(self, data: bytes, read: bytes) -> Delivery:
        from datetime import UTC, datetime

        from ...report.text.visible import visible
        from ...storage.backups import replace_in_place
        from ...storage.open_files import running_client

        assert self.seen is not None
        backup = replace_in_place(
            Path(self.source),
            data,
            read=read,
            seen=self.seen,
            now=datetime.now(UTC),
            force=self.force,
        )
        name = visible(self.source)
        said = (
            f"Condensed in place: {name} ({len(data):,} bytes)",
            f"The original is kept as {visible(backup.name)}; condense undo restores it.",
        )
        client = running_client(Path(self.source))
        warnings = (
            (f"{client} has this session open and keeps using the old content until you resume it.",) if client else ()
        )
        return Delivery(self.source, backup=str(backup), said=said, warnings=warnings)

    def _write_session(self, data: bytes, format_name: str) -> Delivery:
        import os

        from ...report.run.facts import WrittenSession
        from ...report.text.visible import visible
        from ...storage.new_session import write_new_session

        session = write_new_session(Path(self.source), format_name, data)
        there = "New session" if session.is_new else "This session already exists"
        command = session.command_line(os.getcwd())
        said = [f"{there}: {visible(str(session.path))} ({session.size:,} bytes)", f"Resume it: {visible(command)}"]
        if not session.is_found:
            said.append(
                "The client does not look for sessions in this folder; move the file to its session folder first."
            )
        fact = WrittenSession(session.id, str(session.path), list(session.command), session.cwd, session.is_new)
        return Delivery(str(session.path), new_session=fact, said=tuple(said))


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
