"""Whether a file is a set of rows, told from its first lines."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..core import json_text
from ..formats.engine.container import BOM
from ..formats.table import TABLE, keys_of
from ..storage.files import STDIO, input_errors
from .arrays import first_elements, is_whole_conversation
from .reading import beginning, begins_as_array, is_readable_twice
from .row import RowKind, find, named_kind

_PARQUET: Final = b"PAR1"


def rows_in(file: str, format_name: str | None) -> RowKind | None:
    """What the rows of a file are like; None when it is no set of rows. Raises UnreadableError.

    `format` is the name that the user gave, if any.
    """
    named = None
    if format_name is not None:
        named = named_kind(format_name)
        if named is None:
            return None
    if is_parquet(file):
        return named or RowKind()
    if named is not None and named.is_named:
        return named
    if file != STDIO and not is_readable_twice(file):
        return named
    lines = beginning(file)
    if begins_as_array(lines):
        elements = first_elements(file, lines)
        if len(elements) == 1 and not is_whole_conversation(elements[0]):
            elements *= 2  # One is as good as several.
        lines = elements or lines
    return kind_of(lines) or named


def is_parquet(file: str) -> bool:
    """Whether a file is Parquet. Raises UnreadableError."""
    if file == STDIO or not is_readable_twice(file):
        return False  # Its index is at the end: nothing that a pipe can give.
    with input_errors(file), Path(file).open("rb") as stream:
        return stream.read(len(_PARQUET)) == _PARQUET


def kind_of(lines: list[bytes]) -> RowKind | None:
    """What the rows are like whose first lines these are; None when they are no rows.

    A file of one line is one conversation. A line that can only be a record of a known format is no row. Of the lines
    that are JSON at least half must be rows: logs have other lines between them, and a set may begin with a broken one.
    """
    lines = [line for line in lines if line.strip()]
    if len(lines) < 2:
        return None
    kind = RowKind()
    fitting = others = 0
    for line in lines:
        try:
            value = json_text.parse(line.removeprefix(BOM))
        except (ValueError, RecursionError):
            continue
        if value is None:
            continue
        keys = keys_of(value)
        if any(row.is_proved(value, keys) for row in TABLE):
            return None
        found = find(value, kind)
        if found is None:
            others += 1
        else:
            fitting += 1
            kind = RowKind(*found) if kind.format is None else kind
    return kind if fitting >= max(others, 1) and kind.format is not None else None
