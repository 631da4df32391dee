"""Reading the transcript that a command was given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from ..errors import UsageError

if TYPE_CHECKING:
    from ..transcript import Transcript

_LARGE: Final = 4_000_000
"""Bytes of a file that takes seconds to work on."""


def read_transcript(file: str, format: str | None, lenient: bool = False) -> Transcript:
    """The transcript in a file, or on standard input for "-". Raises UsageError and TranscriptError."""
    if file == "-" and sys.stdin.isatty():
        raise UsageError("- reads standard input, which is a terminal.", "Pipe a transcript into it, or name a file.")
    from .. import formats
    from ..files import read_bytes

    data = read_bytes(file)
    if len(data) >= _LARGE:
        from .memory import give_back_large_blocks

        give_back_large_blocks()
    return formats.parse(data, name=name_of(file), format=format, lenient=lenient)


def name_of(file: str) -> str:
    """How the input is called in reports and errors."""
    return "standard input" if file == "-" else file
