"""A JSON array of rows: its elements are the lines, and what stands between them stays.

An array is read whole, as JSON has no other way to its end; lines of JSON, and Parquet, are not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from ..core import json_text
from ..errors import UnreadableError
from ..formats.engine.container import BOM, open_document
from ..storage.files import LARGEST_STREAM, STDIO
from .reading import RowLines, beginning, begins_as_array, is_readable_twice, opened

_HEAD: Final = 8 << 20
"""Bytes in which the first elements of an array have to end."""
_FEW: Final = 8


def first_elements(file: str, lines: list[bytes]) -> list[bytes]:
    """Elements at the beginning of a file that is an array, whose first lines these are.

    Raises UnreadableError.
    """
    start = b"".join(lines).removeprefix(BOM).lstrip()
    if file != STDIO:
        with opened(file) as stream:
            start = stream.read(_HEAD).removeprefix(BOM).lstrip()
    # In Latin-1 every byte is one character.
    text = start.decode("latin-1")
    found: list[bytes] = []
    try:
        for first, end in json_text.elements(text, 0):
            found.append(start[first:end])
            if len(found) == _FEW:
                break
    except (ValueError, RecursionError):
        pass  # The beginning ends in the middle of an element, or is broken: whoever reads it all says so.
    return found


def is_array(file: str) -> bool:
    """Whether a file begins as an array does; a pipe begins only once, and holds lines. Raises UnreadableError."""
    if file != STDIO and not is_readable_twice(file):
        return False
    return begins_as_array(beginning(file))


class ArrayRows:
    """The rows of an array, and what writes them back with all that stands around them."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._data = stream.read(LARGEST_STREAM)
        if len(self._data) == LARGEST_STREAM:
            raise UnreadableError(f"{name} is longer than {LARGEST_STREAM:,} bytes.", "Put each row on a line.")
        self._spans = open_document(self._data, name).source.spans

    def batches(self, size: int = 1 << 20) -> Iterator[RowLines]:
        """All elements in batches of about `size` bytes; they are numbered from 1."""
        first, lines, held = 1, list[bytes](), 0
        for start, end in self._spans:
            lines.append(self._data[start:end])
            held += end - start
            if held >= size:
                yield RowLines(first, lines)
                first, lines, held = first + len(lines), [], 0
        if lines:
            yield RowLines(first, lines)

    @contextmanager
    def writer(self, write: Callable[[list[bytes]], Any]) -> Iterator[Callable[[list[bytes]], None]]:
        """What takes the elements in order, and writes what stands before each of them first."""
        position = number = 0

        def take(lines: list[bytes]) -> None:
            nonlocal position, number
            for line in lines:
                start, end = self._spans[number]
                write([self._data[position:start], line])
                position, number = end, number + 1

        yield take
        write([self._data[position:]])


def is_whole_conversation(element: bytes) -> bool:
    """Whether an array of this element alone is one conversation in a form of its own, as ShareGPT's are."""
    try:
        value = json_text.parse(element)
    except (json.JSONDecodeError, ValueError, RecursionError):
        return True
    return "conversations" in value if isinstance(value, dict) else not isinstance(value, list)
