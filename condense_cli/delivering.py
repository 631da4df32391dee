"""Writing what came of a run: to a file, a new session, or in place; and what is told of that."""

from __future__ import annotations

import os
import sys
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from .errors import UsageError

if TYPE_CHECKING:
    from .core.transcript import Transcript
    from .report.run.facts import WrittenSession
    from .storage.files import Stamp


class Where(Enum):
    NOWHERE = auto()
    STDOUT = auto()
    FILE = auto()
    NEW_SESSION = auto()
    IN_PLACE = auto()


def replaced_at(output: str | None) -> str:
    """What a line on a written file says besides, where a file was at that place before it."""
    return ", in place of the file that was there" if output is not None and os.path.isfile(output) else ""


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

    @property
    def replaced(self) -> str:
        """Words on the file that is there before the output is written, empty where there is none."""
        return replaced_at(self.output) if self.where is Where.FILE else ""

    def check(self, transcript: Transcript) -> None:
        """Raises UsageError when the transcript cannot go there, before any work is done."""
        from . import formats
        from .storage.files import is_compressed

        if not self.writes_anything:
            return
        formats.check_writable(transcript)
        if self.where in (Where.IN_PLACE, Where.NEW_SESSION) and is_compressed(self.source):
            raise UsageError(f"{self.source} is compressed.", "Unpack it first, or write to another file with -o FILE.")
        if self.where is Where.NEW_SESSION:
            from .formats.engine.session_ids import session_files

            session_files(transcript.format)

    def write(self, data: bytes, before: Transcript) -> Delivery:
        """Write the bytes, but for standard output, which is the caller's.

        Raises OutputError; UsageError when there is no session to write.
        """
        if self.dry_run:
            return Delivery()
        match self.where:
            case Where.NOWHERE | Where.STDOUT:
                return Delivery(self.output)
            case Where.FILE:
                return self._write_file(data)
            case Where.NEW_SESSION | Where.IN_PLACE if data == before.source.data:
                return Delivery(said=("Nothing changed, so nothing was written.",))
            case Where.NEW_SESSION:
                return self._write_session(data, before.format)
            case Where.IN_PLACE:
                return self._replace(data, before)
            case other:
                assert_never(other)

    def _write_file(self, data: bytes) -> Delivery:
        from .report.text.visible import visible
        from .storage.files import packed, write_bytes

        output = str(self.output)
        written = packed(data, output)
        replaced = self.replaced
        write_bytes(Path(output), written)
        return Delivery(self.output, said=(f"Written: {visible(output)} ({len(written):,} bytes){replaced}",))

    def _replace(self, data: bytes, before: Transcript) -> Delivery:
        from datetime import UTC, datetime

        from .clients.claude_code import running
        from .formats import format_named
        from .report.text.visible import visible
        from .storage.backups import replace_in_place

        assert self.seen is not None
        read = before.source.data
        written = format_named(before.format).in_place(read, data)
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
            f"Condensed in place: {name} ({len(written):,} bytes{kept})",
            f"The original is kept as {visible(backup.name)}; condense undo restores it.",
        )
        client = running(Path(self.source))
        warnings = (
            (f"{client} has this session open and keeps using the old content until you resume it.",) if client else ()
        )
        return Delivery(self.source, backup=str(backup), said=said, warnings=warnings)

    def _write_session(self, data: bytes, format_name: str) -> Delivery:
        from .report.run.facts import WrittenSession
        from .report.text.visible import visible
        from .storage.new_session import write_new_session

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
