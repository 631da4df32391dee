"""Reading the transcript that a command was given."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from ..core.lazy_pattern import lazy_pattern
from ..errors import UnreadableError, UsageError
from .console import say

if TYPE_CHECKING:
    from ..core.transcript import Transcript

LATEST: Final = "latest"
"""The newest session, where a session is named."""
_LARGE: Final = 4_000_000
"""Bytes of a file that takes seconds to work on."""
_SESSION: Final = lazy_pattern(r"latest|[0-9a-f]{6,8}(?:-[0-9a-f-]{0,28})?")
"""What a session is called: `latest`, or its id, or enough of that."""
_TITLE: Final = 50
"""Characters of a session's title in the line that says which it is."""


def input_file(file: str | None, session: str | None, *, is_latest_said: bool = True) -> str:
    """The file that a command was given, by name or as a session. Raises UsageError and UnreadableError.

    Which session is the latest is said on standard error.
    """
    if file is not None and session is not None:
        raise UsageError("FILE and --session cannot be used together.", "Use one of them.")
    if file is not None:
        check_piped(file)  # Before anything looks whether it is a set of rows, which would wait for it.
        _check_session(file)
        return file
    if session is None:
        raise UsageError(
            "No transcript given: name a FILE, or a session of this machine with --session ID.",
            "--session latest is the newest; condense sessions lists them; - reads standard input.",
        )
    from ..clients.choices import tilde
    from ..clients.listing import choose
    from ..clients.table import session_places
    from ..report.text.fitted_table import shortened

    choice = choose(session, session_places(), Path.cwd())
    if session == LATEST and is_latest_said:
        where = " (this project has none)" if choice.is_elsewhere else ""
        title = f" {shortened(choice.title, _TITLE)!r}" if choice.title else ""
        say(f"condense: the newest session{where} is{title} ({choice.file.client}): {tilde(choice.file.path)}")
        say_origin(choice.file.path)
    return choice.file.path


def say_origin(file: str) -> None:
    """Tell that a session was condensed before, and from which one."""
    if not os.path.lexists(f"{file}.condense-origin"):  # A look that costs nothing: `storage` is not loaded for it.
        return
    from ..clients.choices import tilde
    from ..clients.new_session import origin_of

    original = origin_of(file)
    if original is not None:
        say(f"condense: this session is already condensed; its original is {tilde(str(original))}")


def _check_session(file: str) -> None:
    """Raises UnreadableError where there is no such file, and what was given looks like a session."""
    if _SESSION.fullmatch(file) and not os.path.lexists(file):
        raise UnreadableError(f"There is no file {file}.", f"To name a session: --session {file}.")


def check_piped(file: str) -> None:
    """Raises UsageError when the file is standard input and nothing is piped into it."""
    if file == "-" and sys.stdin.isatty():
        raise UsageError("- reads standard input, but that is a terminal.", "Pipe a transcript in, or name a file.")


def read_transcript(file: str, format_name: str | None, lenient: bool = False) -> Transcript:
    """The transcript in a file, or on standard input for "-". Raises UsageError and TranscriptError."""
    check_piped(file)
    from .. import formats
    from ..plugins import Installed
    from ..storage.files import read_bytes, unpacked

    data = unpacked(read_bytes(file), name_of(file))
    if len(data) >= _LARGE:
        from .memory import give_back_large_blocks

        give_back_large_blocks()
    return formats.parse(data, name=name_of(file), format=format_name, lenient=lenient, others=Installed().formats)


def name_of(file: str) -> str:
    """How the input is called in reports and errors."""
    return "standard input" if file == "-" else file


def input_files(transcripts: list[str] | None, session: str | None) -> list[str]:
    """The files that are named, and those in folders that are. Raises UsageError and UnreadableError."""
    from ..rows.many_files import TRANSCRIPTS, files_in

    if session is not None or not transcripts:
        return [input_file(transcripts[0] if transcripts else None, session)]
    names: list[str] = []
    for name in transcripts:
        folder = Path(name)
        if folder.is_dir():
            inside = [str(path) for path in files_in(folder)]
            if not inside:
                raise UsageError(f"There is no transcript in {name}.", f"Looked for {', '.join(sorted(TRANSCRIPTS))}.")
            names += inside
        else:
            check_piped(name)
            names.append(name)
    return list(dict.fromkeys(names))


def list_formats(name: str | None) -> str | None:
    """Print all formats where the name of one is to be `list`."""
    if name != "list":
        return name
    from ..formats import known_formats

    listed = [
        ("rows", "Sets of conversations, one on a line"),
        *((each.name, each.description) for each in known_formats()),
    ]
    for each, what in listed:
        typer.echo(f"{each:<18}  {what}")
    raise typer.Exit
