"""Whether a file is a set of rows, told from its first lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ..errors import NotJsonError
from ..formats.engine.container import BOM
from ..formats.table import TABLE, keys_of
from ..storage.files import STDIO, input_errors
from .arrays import first_elements, is_whole_conversation
from .reading import beginning, is_readable_twice
from .row import Kind, find, named_kind, parse_row

_PARQUET: Final = b"PAR1"


def rows_in(file: str, format: str | None) -> Kind | None:
    """What the rows of a file are like; None when it is no set of rows. Raises UnreadableError.

    `format` is the name that the user gave, if any.
    """
    named = named_kind(format)
    if named is None and format is not None:
        return None
    if is_parquet(file):
        return named or Kind()
    if named is not None and named.is_named:
        return named
    if file != STDIO and not is_readable_twice(file):
        return named
    lines = beginning(file)
    elements = first_elements(file, lines)
    if len(elements) == 1 and not is_whole_conversation(elements[0]):
        elements *= 2  # One is as good as several.
    return kind_of(elements or lines) or named


def is_parquet(file: str) -> bool:
    """Whether a file is Parquet. Raises UnreadableError."""
    if file == STDIO or not is_readable_twice(file):
        return False  # Its index is at the end: nothing that a pipe can give.
    with input_errors(file), Path(file).open("rb") as stream:
        return stream.read(len(_PARQUET)) == _PARQUET


def kind_of(lines: list[bytes]) -> Kind | None:
    """What the rows are like whose first lines these are; None when they are no rows.

    A file of one line is one conversation. A line that can only be a record of a known format is no row. Of the lines
    that are JSON at least half must be rows: logs have other lines between them, and a set may begin with a broken one.
    """
    lines = [line for line in lines if line.strip()]
    if len(lines) < 2:
        return None
    kind = Kind()
    fitting = others = 0
    for line in lines:
        value = _value(line)
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
            kind = Kind(*found) if kind.format is None else kind
    return kind if fitting >= max(others, 1) and kind.format is not None else None


def _value(line: bytes) -> Any:
    try:
        return parse_row(line.removeprefix(BOM), "")
    except NotJsonError:
        return None
