"""Reading a file line by line: its beginning, and all of it in batches, whatever its size."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO, cast

from msgspec import Struct

from ..errors import UnreadableError
from ..formats.engine.container import BOM, is_json
from ..storage.files import LARGEST_STREAM, STDIO, ZSTD, input_errors, is_compressed, reading
from ..storage.opencode_database import is_in_database
from .archives import MAGIC, lines_of, samples_of

_HEAD_LINES: Final = 32
_HEAD_BYTES: Final = 1 << 20
"""At so many lines, or bytes, the beginning of a file has shown what it holds."""

_BATCH_BYTES: Final = 1 << 20
"""Bytes of rows that go to a process at once: enough to keep it busy for a while, little enough to hold several."""


class RowLines(Struct, frozen=True):
    """Lines of a file that follow one another, each with its line break; `first` is the number of the first, from 1."""

    first: int
    lines: list[bytes]


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """A file, or standard input, as a stream of decompressed bytes. Raises UnreadableError."""
    if file == STDIO:
        start = sys.stdin.buffer.read(len(ZSTD))
        put_back(start)
        with reading(cast("BinaryIO", sys.stdin.buffer), start, "standard input") as stream:
            yield stream
        return
    with input_errors(file):
        handle = Path(file).open("rb")  # noqa: SIM115 - closed below; errors of the block are not those of opening
    with handle:
        start = handle.peek(len(ZSTD))[: len(ZSTD)]
        samples = samples_of(handle) if start == MAGIC else []
        with lines_of(handle, samples, file) if samples else reading(handle, start, file) as stream:
            yield stream


def is_readable_twice(file: str) -> bool:
    """Whether a file is there as often as one reads it: no pipe, which gives its beginning once. Or is missing.

    A session in a database is no file.
    """
    path = Path(file)
    return path.is_file() or not (path.exists() or is_in_database(path))


def beginning(file: str) -> list[bytes]:
    """The first lines of a file: enough to see what it holds. Standard input can be read from the start afterwards.

    Raises UnreadableError.
    """
    if file != STDIO:
        with opened(file) as stream:
            return _first_lines(stream)
    start = sys.stdin.buffer.read(len(ZSTD))
    if is_compressed(start):
        start += sys.stdin.buffer.read(_HEAD_BYTES)
        put_back(start)
        with suppress(UnreadableError), reading(io.BytesIO(start), start, "standard input") as stream:
            return _first_lines(stream)
        return []
    put_back(start)
    lines = _first_lines(cast("BinaryIO", sys.stdin.buffer))
    put_back(b"".join(lines))
    return lines


def begins_as_array(lines: list[bytes]) -> bool:
    """Whether a file whose first lines these are is an array of rows, if it holds rows.

    Where the first line is a whole array and the next begins as one, each line is a row.
    """
    first, second = [*filter(None, (line.removeprefix(BOM).strip() for line in lines)), b"", b""][:2]
    return first.startswith(b"[") and not (second.startswith(b"[") and is_json(first))


def _first_lines(stream: BinaryIO) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    with suppress(EOFError):  # Of a compressed stream only the beginning may be there.
        while len(lines) < _HEAD_LINES and (size < _HEAD_BYTES or len(lines) < 2):
            line = stream.readline(LARGEST_STREAM)
            if not line:
                break
            lines.append(line)
            size += len(line)
            if len(line) == LARGEST_STREAM:
                break  # It may have no end: whoever reads it all says so.
    return lines


def put_back(start: bytes) -> None:
    """Let standard input begin with these bytes again."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Again(start, sys.stdin)))


class _Again(io.RawIOBase):
    """What was read from standard input already, and then the rest of it."""

    def __init__(self, start: bytes, rest: TextIO) -> None:
        self._start = io.BytesIO(start)
        self._rest = rest  # Not its buffer alone: that is closed with it.

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._start.read(len(buffer)) or self._rest.buffer.read1(len(buffer))  # type: ignore[attr-defined]
        buffer[: len(piece)] = piece
        return len(piece)


def batches(stream: BinaryIO, name: str, size: int = _BATCH_BYTES) -> Iterator[RowLines]:
    """All lines in batches of about `size` bytes. Only \\n ends a line: U+2028 does not. Raises UnreadableError."""
    first, lines, held = 1, list[bytes](), 0
    while line := _line(stream, name):
        if len(line) == LARGEST_STREAM:
            raise UnreadableError(
                f"{name}:{first + len(lines)}: the line is longer than {LARGEST_STREAM:,} bytes, and may have no end.",
                "Each row must be on its own line.",
            )
        lines.append(line)
        held += len(line)
        if held >= size:
            yield RowLines(first, lines)
            first, lines, held = first + len(lines), [], 0
    if lines:
        yield RowLines(first, lines)


def _line(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.readline(LARGEST_STREAM)
    except EOFError:
        raise  # A compressed file that is cut off: whoever opened it says so.
    except OSError as error:
        if type(error) is not OSError and error.errno is None:
            raise  # A compressed file that is broken.
        raise UnreadableError(f"Cannot read {name}: {error.strerror or error}.") from None
