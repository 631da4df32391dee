"""Reading the transcript that a command was given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..transcript import Transcript


def read_transcript(file: str, format: str | None, lenient: bool = False) -> Transcript:
    """The transcript in a file, or on standard input for "-". Raises UsageError and TranscriptError."""
    if file == "-" and sys.stdin.isatty():
        raise UsageError("- reads standard input, which is a terminal.", "Pipe a transcript into it, or name a file.")
    from .. import formats
    from ..files import read_bytes

    return formats.parse(read_bytes(file), name=name_of(file), format=format, lenient=lenient)


def name_of(file: str) -> str:
    """How the input is called in reports and errors."""
    return "standard input" if file == "-" else file
