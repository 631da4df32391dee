"""Write a result to a file, to a new session or in place, and report it."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path
from typing import Final, assert_never

from msgspec import Struct

from . import formats
from .core.transcript import Transcript
from .core.wording import visible
from .errors import UsageError
from .report.run.facts import WrittenSession
from .storage.files import Stamp, is_compressed, packed, write_bytes
from .storage.session_databases import is_in_database, keeper_of


class Where(Enum):
    NOWHERE = auto()
    STDOUT = auto()
    FILE = auto()
    NEW_SESSION = auto()
    IN_PLACE = auto()


def check_place(file: str, output: str | None, *, in_place: bool, force: bool, new_session: bool = False) -> None:
    """Raise UsageError if options name several places to write to, or an impossible one."""
    places = {"-o": output is not None, "--new-session": new_session, "--in-place": in_place}
    named = [option for option, is_given in places.items() if is_given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} cannot be used together.", "Choose one place to write to.")
    if force and not in_place:
        raise UsageError("--force needs --in-place.", "Nothing else needs it.")
    if (in_place or new_session) and not os.path.lexists(file) and is_in_database(Path(file)):
        client, hint = keeper_of(Path(file))
        raise UsageError(f"{named[0]} is for files, and {client} keeps its sessions in a database.", hint)
    if in_place and (file == "-" or (Path(file).exists() and not Path(file).is_file())):
        raise UsageError(
            f"--in-place replaces FILE, and {file} is not a file.", "Name the file, or write to a new one with -o FILE."
        )


def replaced_at(output: str | None) -> str:
    """Return words for a report if a file at that path is about to be replaced."""
    return ", in place of the file that was there" if output is not None and os.path.isfile(output) else ""


class Delivery(Struct, frozen=True):
    """Written file, backup and session; warnings for the report, and lines after it."""

    output: str | None = None
    backup: str | None = None
    new_session: WrittenSession | None = None
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


TO_A_PIPE: Final = "The output went to the pipe; --dry-run prints the report alone."


class Destination(Struct, frozen=True):
    """Place for the output. `seen` is the input's stamp from before reading, `done` the work. A `dry_run` writes
    nothing.
    """

    where: Where
    source: str
    output: str | None
    dry_run: bool
    force: bool
    seen: Stamp | None
    done: str = "Condensed"

    @property
    def writes_stdout(self) -> bool:
        return self.where is Where.STDOUT

    @property
    def goes_to_a_pipe(self) -> bool:
        """Return whether output goes to a pipe that nobody named."""
        return self.writes_stdout and self.output is None and not self.dry_run

    @property
    def writes_anything(self) -> bool:
        return not self.dry_run and self.where is not Where.NOWHERE

    @property
    def is_in_a_script(self) -> bool:
        """Return whether output goes somewhere and nobody reads a long report."""
        return self.writes_stdout or (self.writes_anything and not sys.stdout.isatty())

    @property
    def reports_to_terminal(self) -> bool:
        """Return whether somebody reads the long report."""
        return sys.stdout.isatty() and not self.writes_stdout

    @property
    def replaced(self) -> str:
        """Words about the file to be replaced; empty if there is none."""
        return replaced_at(self.output) if self.where is Where.FILE else ""

    def check(self, transcript: Transcript) -> None:
        """Raise UsageError if the transcript cannot go there, before any work is done."""
        if not self.writes_anything:
            return
        formats.check_writable(transcript)
        if self.where in (Where.IN_PLACE, Where.NEW_SESSION) and is_compressed(self.source):
            raise UsageError(f"{self.source} is compressed.", "Unpack it first, or write to another file with -o FILE.")
        if self.where is Where.NEW_SESSION:
            from .clients.new_session import session_files

            session_files(transcript.format)

    def write(self, data: bytes, read: bytes, format_name: str) -> Delivery:
        """Write the bytes that take the place of those read, except to standard output, which the caller does.

        Raises OutputError; UsageError if there is no session to write.
        """
        if self.dry_run:
            return Delivery()
        match self.where:
            case Where.NOWHERE | Where.STDOUT:
                return Delivery(self.output)
            case Where.FILE:
                return self._write_file(data)
            case Where.NEW_SESSION | Where.IN_PLACE if data == read:
                return Delivery(said=("Nothing changed, so nothing was written.",))
            case Where.NEW_SESSION:
                return self._write_session(data, format_name)
            case Where.IN_PLACE:
                return self._replace(data, read, format_name)
            case other:
                assert_never(other)

    def _write_file(self, data: bytes) -> Delivery:
        output = str(self.output)
        written = packed(data, output)
        replaced = self.replaced
        write_bytes(Path(output), written)
        return Delivery(self.output, said=(f"Written: {visible(output)} ({len(written):,} bytes){replaced}",))

    def _replace(self, data: bytes, read: bytes, format_name: str) -> Delivery:
        from .clients.claude_code import running
        from .storage.backups import replace_in_place

        assert self.seen is not None
        written = formats.format_named(format_name).in_place(read, data)
        blanks = len(written) - len(data)
        backup = replace_in_place(
            Path(self.source),
            written,
            read=read,
            seen=self.seen,
            now=datetime.now(UTC),
            force=self.force,
        )
        name = visible(self.source)
        kept = f", {blanks:,} of them blanks: the client notes where records are" if blanks else ""
        said = (
            f"{self.done} in place: {name} ({len(written):,} bytes{kept})",
            f"The original is kept as {visible(backup.name)}; condense undo restores it.",
        )
        client = running(Path(self.source))
        warnings = (
            (f"{client} has this session open and keeps using the old content until you resume it.",) if client else ()
        )
        return Delivery(self.source, backup=str(backup), said=said, warnings=warnings)

    def _write_session(self, data: bytes, format_name: str) -> Delivery:
        from .clients.new_session import write_new_session

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
