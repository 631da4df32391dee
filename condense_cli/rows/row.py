"""One row: a JSON object that holds a whole conversation in one of its columns, beside other columns; or the
conversation alone.

The column's value is an array of messages in any format that knows such files; which column that is, and which format,
is found in the row itself. Everything else of the row, down to the last byte, is none of our business.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..core import json_text
from ..core.transcript import Transcript
from ..errors import NotJsonError, UnknownFormatError
from ..formats.engine.base import Evidence

FORMAT: Final = "rows"
"""What a set of rows is called where a format is named; `rows:KEY` names the column as well, `rows:a.b` one inside."""

Column = tuple[str, ...]
"""Keys that lead to the list of messages."""

_USUAL: Final = ("messages", "conversations", "conversation")
"""Columns that are asked first; after them come the others as they stand in the row."""


class RowKind(Struct, frozen=True):
    """What the rows of a set are likely to be: tried first in every row, which may be different all the same."""

    column: Column = ()
    """Empty also where rows are lists of messages."""
    format: str | None = None
    is_named: bool = False
    """The user named the column: no other is taken."""
    partners: tuple[Column, ...] = ()
    """The columns of other conversations beside a named one."""


class Row(Struct, frozen=True):
    """The conversation of one row, and the bytes of the row around it. Without messages there is no transcript."""

    transcript: Transcript | None
    before: bytes = b""
    after: bytes = b""
    column: Column = ()

    def holding(self, messages: bytes) -> bytes:
        """The row with these bytes in place of its conversation; what is not ASCII in them as the row spells it."""
        was_ascii = self.transcript is not None and self.transcript.source.data.isascii()
        if was_ascii and not messages.isascii() and json_text.Style.of(self.before + self.after).escapes_non_ascii:
            messages = json_text.in_ascii(messages)
        return self.before + messages + self.after


def named_kind(format_name: str | None) -> RowKind | None:
    """What `--format rows` or `--format rows:KEY` says; None for any other format."""
    name, _, column = (format_name or "").partition(":")
    if name != FORMAT:
        return None
    return RowKind(tuple(column.split(".")) if column else (), is_named=bool(column))


def read_row(line: bytes, kind: RowKind, name: str) -> Row:
    """The row in a line. `name` is the file with the number of the line, for errors.

    Raises NotJsonError, and UnknownFormatError for an object without a conversation.
    """
    found = _located(line, kind, name)
    if found is None:
        return Row(None)
    start, end, format_name, model, column = found
    transcript = formats.parse(line[start:end], name=name, format=format_name)
    return Row(replace(transcript, model=transcript.model or model), line[:start], line[end:], column)


def _located(line: bytes, kind: RowKind, name: str) -> tuple[int, int, str, str | None, Column] | None:
    """Where the messages stand in a line, their format, the model that the row names, and the column; None without any.

    A function of its own: what it makes of the line is gone when the messages are read, and a row may be large.
    """
    value = parse_row(line, name)
    found = find(value, kind)
    if found is None:
        raise _no_conversation(value, kind, name)
    column, format_name = found
    if format_name is None:
        return None
    model = _model(value)
    del value
    text = json_text.decode(line)
    start, end = json_text.locate(text, [column])[column]
    if not line.isascii():
        start, end = len(json_text.encode(text[:start])), len(line) - len(json_text.encode(text[end:]))
    return start, end, format_name, model, column


def parse_row(line: bytes, name: str) -> Any:
    """The value of a line. Raises NotJsonError."""
    try:
        return json_text.parse(line)
    except json.JSONDecodeError as error:
        reason = json_text.reason_of(error)
        raise NotJsonError(f"{name}: not JSON ({reason}, column {error.colno}).") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
        raise NotJsonError(f"{name}: not JSON ({reason}).") from None


def find(value: Any, kind: RowKind) -> tuple[Column, str | None] | None:
    """The column of a row's conversation and its format, which is None for a list without messages.

    None when there is no conversation in the row.
    """
    if not isinstance(value, dict | list):
        return None
    empty: Column | None = None
    for column in [kind.column] if kind.is_named else _columns(value, kind):
        messages = _at(value, column)
        if not isinstance(messages, list):
            continue
        if not messages:
            if empty is None and (column in (kind.column, ()) or column[-1] in _USUAL):
                empty = column
            continue
        format_name = format_of(messages, kind.format)
        if format_name is not None:
            return column, format_name
    return None if empty is None else (empty, None)


def format_of(messages: list[Any], likely: str | None) -> str | None:
    """The format of a list of messages: the likely one if all of them may be its records, or else what they prove."""
    if not all(isinstance(message, dict) for message in messages):
        return None
    proved = default = None
    strongest = Evidence.MAYBE
    for form in sorted(formats.FORMATS, key=lambda form: form.name != likely):
        verdicts = {form.evidence(message) for message in messages}
        if Evidence.NO in verdicts:
            continue
        if form.name == likely:
            return form.name
        if Evidence.YES in verdicts:
            proved = proved or form.name
        elif form.is_default and max(verdicts) >= strongest:
            default, strongest = form.name, max(verdicts)
    return proved or default


def _columns(value: Mapping[str, Any] | list[Any], kind: RowKind) -> Iterator[Column]:
    if isinstance(value, list):  # The conversation itself.
        yield ()
        return
    if kind.column:
        yield kind.column
    yield from ((key,) for key in _USUAL if key in value)
    yield from ((key,) for key in value if key not in _USUAL)
    for key, inner in value.items():  # As in {"input": {"messages": […]}}, which exported traces have.
        if isinstance(inner, dict):
            yield from ((key, name) for name in _USUAL if name in inner)


def _at(value: Any, column: Column) -> Any:
    for key in column:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _model(value: Mapping[str, Any] | list[Any]) -> str | None:
    """The model that a row names, as exported traces and many data sets do."""
    if isinstance(value, list):
        return None
    places = (value, *(inner for inner in value.values() if isinstance(inner, dict)))
    return next((place["model"] for place in places if isinstance(place.get("model"), str)), None)


def _no_conversation(value: Any, kind: RowKind, name: str) -> UnknownFormatError:
    if kind.is_named:
        return UnknownFormatError(f"{name}: its column {'.'.join(kind.column)} holds no messages in a known format.")
    if not isinstance(value, dict):
        return UnknownFormatError(f"{name}: neither an object nor a list of messages, so not a row.")
    keys = ", ".join(json.dumps(str(key))[:40] for key in list(value)[:6])
    return UnknownFormatError(f"{name}: none of its columns holds messages in a known format (columns: {keys}).")
