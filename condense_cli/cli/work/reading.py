"""Find and read the transcripts that a command is given."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import Final

from ... import formats
from ...clients.choices import tilde
from ...core.lazy_pattern import lazy_pattern
from ...core.transcript import Transcript
from ...core.wording import shortened
from ...errors import UnreadableError, UsageError
from ...plugins import Installed
from ...rows.reading import is_array, is_parquet
from ...storage.files import read_bytes, unpacked
from ..console import say

LATEST: Final = "latest"
"""The newest session, where a session is named."""
_LARGE: Final = 4_000_000
"""Bytes of a file that takes seconds to work on."""
_SESSION: Final = lazy_pattern(r"latest|[0-9a-f]{6,8}(?:-[0-9a-f-]{0,28})?")
"""The name of a session: `latest`, its id, or the beginning of that."""
_TITLE: Final = 50
"""Characters of a session's title that are said."""

_MMAP_THRESHOLD: Final = -3
_LARGE_BLOCK: Final = 1_000_000


def input_file(file: str | None, session: str | None, *, is_latest_said: bool = True) -> str:
    """Return the file that is named, or that of a session. Raises UsageError and UnreadableError.

    Unless `is_latest_said` is off, standard error says which session is the latest.
    """
    if file is not None and session is not None:
        raise UsageError("FILE and --session cannot be used together.", "Use one of them.")
    if file is not None:
        check_piped(file)  # Before anything looks whether it is a set of rows, which would wait for it.
        if _SESSION.fullmatch(file) and not os.path.lexists(file):
            raise UnreadableError(f"There is no file {file}.", f"To name a session: --session {file}.")
        return file
    if session is None:
        raise UsageError(
            "No transcript given: name a FILE, or a session of this machine with --session ID.",
            "--session latest is the newest; condense sessions lists them; - reads standard input.",
        )
    from ...clients import listing, table  # Slow to import, and few runs name a session.

    choice = listing.choose(session, table.session_places(), Path.cwd())
    if session == LATEST and is_latest_said:
        where = " (this project has none)" if choice.is_elsewhere else ""
        title = f" {shortened(choice.title, _TITLE)!r}" if choice.title else ""
        say(f"condense: the newest session{where} is{title} ({choice.file.client}): {tilde(choice.file.path)}")
        say_origin(choice.file.path)
    return choice.file.path


def say_origin(file: str) -> None:
    """Say so if a session was condensed before, and from which one."""
    if not os.path.lexists(f"{file}.condense-origin"):
        return
    from ...clients.new_session import origin_of  # Few runs need it, and it imports shlex.

    original = origin_of(file)
    if original is not None:
        say(f"condense: this session is already condensed; its original is {tilde(str(original))}")


def check_piped(file: str) -> None:
    """Raise UsageError if the file is standard input and nothing is piped into it."""
    if file == "-" and sys.stdin.isatty():
        raise UsageError("- reads standard input, but that is a terminal.", "Pipe a transcript in, or name a file.")


def read_transcript(file: str, format_name: str | None, lenient: bool = False) -> Transcript:
    """Read the transcript in a file, or on standard input for "-". Raises UsageError and TranscriptError."""
    check_piped(file)
    data = unpacked(read_bytes(file), name_of(file))
    if len(data) >= _LARGE:
        give_back_large_blocks()
    return formats.parse(data, name=name_of(file), format=format_name, lenient=lenient, others=Installed().formats)


def give_back_large_blocks() -> None:
    """Have the C library take blocks of a megabyte from the system one by one and give each back once it is freed.

    Left alone, glibc takes the size of the first large block that is freed for one that comes and goes, and puts later
    ones into its heap, where the holes between them are never given back: a fifth of what a run on 50 MB takes. See
    M_MMAP_THRESHOLD in mallopt(3). Other C libraries have no such setting. This is for a whole process to decide, so
    the Python API leaves it alone.
    """
    import ctypes  # Slow to import, and few transcripts are that large.

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (TypeError, OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


def name_of(file: str) -> str:
    """Return the name of the input in reports and errors."""
    return "standard input" if file == "-" else file


def check_rows(file: str, refused: Mapping[str, object]) -> None:
    """Raise UsageError for options that make no sense on a set of rows."""
    for option, value in refused.items():
        if value:
            one, each = ("jq '.[0]'", "jq -c '.[]'") if is_array(file) else ("sed -n 1p", "cat")
            hint = "" if is_parquet(file) else f"For the first row alone: {one} FILE | condense run -"
            if hint and option == "--to":
                files = f"{each} FILE | split -l 1 -a 4 --additional-suffix=.json - chats/"
                hint += f" --to FORMAT\nFor all: mkdir chats; {files}; condense run chats --to FORMAT --out-dir DIR"
            raise UsageError(f"{name_of(file)} is a set of rows, and {option} works on one transcript.", hint)


def check_thresholds(threshold: float | None, above: int | None, *, if_needed: bool) -> None:
    """Raise UsageError for a threshold that is no number, or has no effect because the run is not conditional."""
    if threshold is not None and isnan(threshold):
        raise UsageError("--threshold needs a percentage from 5 to 100, not nan.")
    for flag, value in (("--threshold", threshold), ("--above", above)):
        if value is not None and not if_needed:
            raise UsageError(f"{flag} needs --if-needed.", "Without it, a run always condenses.")


def check_targets(tokens: int | None, percent: float | None) -> None:
    """Raise UsageError for two targets, or a percentage that is not between 0 and 100."""
    if tokens is not None and percent is not None:
        raise UsageError("--target-tokens and --target-percent cannot be used together.", "Use only one.")
    if percent is not None and not 0 < percent < 100:
        raise UsageError(f"--target-percent must be more than 0 and less than 100, not {percent:g}.")
