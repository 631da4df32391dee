"""Read sets of rows: recognise them, and find the conversation in each row.

A row is a JSON object with a whole conversation in one of its columns, or the conversation alone. The conversation is
an array of messages in any format that knows such arrays; column and format are found in the row itself. All other
bytes of a row stay. Rows are lines, or elements of a JSON array; an array is read whole, because JSON has no other way
to its end.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..core import json_text
from ..core.transcript import Transcript
from ..errors import NotJsonError, UnknownFormatError, UnreadableError
from ..formats.engine.base import Evidence
from ..formats.engine.container import BOM, OPENING, is_json, open_document
from ..formats.table import TABLE, keys_of
from ..storage.files import LARGEST_STREAM, STDIO, ZSTD, PieceStream, input_errors, is_compressed, reading
from ..storage.session_databases import is_in_database

_ARCHIVE: Final = b"PK\x03\x04"
"""Beginning of a zip file."""

_HEAD_LINES: Final = 32
_HEAD_BYTES: Final = 1 << 20
"""Lines, and bytes, of a file's beginning that show what it holds."""

_PIECE: Final = 1 << 16
_BATCH_BYTES: Final = 1 << 20
"""Bytes of rows that go to a process at once: enough to keep it busy, few enough to hold several."""


class RowLines(Struct, frozen=True):
    """Consecutive lines of a file with their line breaks; `first` is the number of the first, from 1."""

    first: int
    lines: list[bytes]


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input, as a stream of decompressed bytes. Raises UnreadableError."""
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
        if start == _ARCHIVE:
            from .archives import lines_of, samples_of

            samples = samples_of(handle)
            if samples:
                with lines_of(handle, samples, file) as stream:
                    yield stream
                return
        with reading(handle, start, file) as stream:
            yield stream


def is_readable_twice(file: str) -> bool:
    """Check that a file can be read again: a pipe gives its beginning once, and a database session is no file. True
    if it is missing."""
    path = Path(file)
    return path.is_file() or not (path.exists() or is_in_database(path))


def beginning(file: str) -> list[bytes]:
    """Read the first lines of a file. Standard input can be read from its start afterwards. Raises UnreadableError."""
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
    """Check if a file of rows with these first lines is an array of them.

    If the first line is a whole array and the second begins as one, each line is a row.
    """
    first, second = [*filter(None, (line.removeprefix(BOM).strip() for line in lines)), b"", b""][:2]
    return first.startswith(b"[") and not (second.startswith(b"[") and is_json(first))


def _first_lines(stream: BinaryIO) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    with suppress(EOFError):  # Of a compressed stream only the beginning may have been read.
        while len(lines) < _HEAD_LINES and (size < _HEAD_BYTES or len(lines) < 2):
            line = stream.readline(LARGEST_STREAM)
            if not line:
                break
            lines.append(line)
            size += len(line)
            if len(line) == LARGEST_STREAM:
                break  # It may have no end; reading all of it raises the error.
    return lines


def put_back(start: bytes) -> None:
    """Make standard input begin with these bytes again."""
    rest = sys.stdin  # Held by the pieces, because its buffer is closed with it.
    pieces = chain([start], iter(lambda: rest.buffer.read1(_PIECE), b""))  # type: ignore[union-attr]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(PieceStream(pieces)))


def batches(stream: BinaryIO, name: str) -> Iterator[RowLines]:
    """Yield all lines in batches. Only \\n ends a line, not U+2028. Raises UnreadableError."""
    return _in_batches(_lines(stream, name))


def _in_batches(rows: Iterable[bytes]) -> Iterator[RowLines]:
    first, lines, held = 1, list[bytes](), 0
    for row in rows:
        lines.append(row)
        held += len(row)
        if held >= _BATCH_BYTES:
            yield RowLines(first, lines)
            first, lines, held = first + len(lines), [], 0
    if lines:
        yield RowLines(first, lines)


def _lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    number = 1
    while line := _line(stream, name):
        if len(line) == LARGEST_STREAM:
            raise UnreadableError(
                f"{name}:{number}: the line is longer than {LARGEST_STREAM:,} bytes, and may have no end.",
                "Each row must be on its own line.",
            )
        yield line
        number += 1


def _line(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.readline(LARGEST_STREAM)
    except EOFError:
        raise  # A compressed file that is cut off; `opened` reports it.
    except OSError as error:
        if type(error) is not OSError and error.errno is None:
            raise  # A broken compressed file.
        raise UnreadableError(f"Cannot read {name}: {error.strerror or error}.") from None


FORMAT: Final = "rows"
"""Name of a set of rows as a format; `rows:KEY` also names the column, `rows:a.b` one inside another."""

Column = tuple[str, ...]
"""Keys that lead to the list of messages."""

_USUAL: Final = ("messages", "conversations", "conversation")
"""Columns to try first; the others follow in the row's order."""


class RowKind(Struct, frozen=True):
    """Likely column and format of a set's rows: tried first in every row, although each may differ."""

    column: Column = ()
    """Empty also if rows are lists of messages."""
    format: str | None = None
    is_named: bool = False
    """The user named the column: no other is tried."""
    partners: tuple[Column, ...] = ()
    """Columns of other conversations beside a named one."""


class Row(Struct, frozen=True):
    """Conversation of one row, and the bytes around it. `transcript` is None without messages."""

    transcript: Transcript | None
    before: bytes = b""
    after: bytes = b""
    column: Column = ()

    def holding(self, messages: bytes) -> bytes:
        """Put other messages into the row, escaping non-ASCII characters if the row does."""
        was_ascii = self.transcript is not None and self.transcript.source.data.isascii()
        if was_ascii and not messages.isascii() and json_text.Style.of(self.before + self.after).escapes_non_ascii:
            messages = json_text.in_ascii(messages)
        return self.before + messages + self.after


def named_kind(format_name: str | None) -> RowKind | None:
    """Parse `--format rows` or `--format rows:KEY`; None for other formats."""
    name, _, column = (format_name or "").partition(":")
    if name != FORMAT:
        return None
    return RowKind(tuple(column.split(".")) if column else (), is_named=bool(column))


def read_row(line: bytes, kind: RowKind, name: str) -> Row:
    """Read the row in a line. `name` is the file with the line's number, for errors.

    Raises NotJsonError, and UnknownFormatError for an object without a conversation.
    """
    found = _located(line, kind, name)
    if found is None:
        return Row(None)
    start, end, format_name, model, column = found
    transcript = formats.parse(line[start:end], name=name, format=format_name)
    return Row(replace(transcript, model=transcript.model or model), line[:start], line[end:], column)


def _located(line: bytes, kind: RowKind, name: str) -> tuple[int, int, str, str | None, Column] | None:
    """Find the span of the messages in a line, their format, the row's model and the column; None without messages.

    A function of its own, so that the parsed line is freed before the messages are read: a row may be large.
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
    """Parse a line. Raises NotJsonError."""
    try:
        return json_text.parse(line)
    except json.JSONDecodeError as error:
        reason = json_text.reason_of(error)
        raise NotJsonError(f"{name}: not JSON ({reason}, column {error.colno}).") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
        raise NotJsonError(f"{name}: not JSON ({reason}).") from None


def find(value: Any, kind: RowKind) -> tuple[Column, str | None] | None:
    """Find the column of a row's conversation and its format (None for an empty list).

    None if the row has no conversation.
    """
    if not isinstance(value, dict | list):
        return None
    if not kind.is_named:
        keys = keys_of(value)
        whole = next((row.name for row in TABLE if row.in_sets and row.is_proved(value, keys)), None)
        if whole is not None:
            return (), whole
    empty: Column | None = None
    for column in [kind.column] if kind.is_named else _columns(value, kind):
        messages = json_text.value_in(value, *column)
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
    """Return the format of a list of messages: the likely one if all may be its records, else what they prove."""
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
    if isinstance(value, list):  # The row is the conversation.
        yield ()
        return
    if kind.column:
        yield kind.column
    yield from ((key,) for key in _USUAL if key in value)
    yield from ((key,) for key in value if key not in _USUAL)
    for key, inner in value.items():  # Exported traces have {"input": {"messages": […]}}.
        if isinstance(inner, dict):
            yield from ((key, name) for name in _USUAL if name in inner)


def _model(value: Mapping[str, Any] | list[Any]) -> str | None:
    """Return the model that a row names, as exported traces and many data sets do."""
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


_OWN: Final = frozenset(("conversations", "mapping", "chat_messages"))
"""Keys of conversations that are a file by themselves: ShareGPT's, ChatGPT's, Claude's."""
_HEAD: Final = 8 << 20
"""Bytes within which the first elements of an array have to end."""
_FEW: Final = 8


def first_elements(file: str, lines: list[bytes]) -> list[bytes]:
    """Return the first elements of a file that is an array and begins with `lines`. Raises UnreadableError."""
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
        pass  # The beginning is cut inside an element, or broken; reading all of it raises the error.
    return found


def is_array(file: str) -> bool:
    """Check if a file begins as an array. A pipe holds lines, because it can be read only once. Raises
    UnreadableError."""
    if file != STDIO and not is_readable_twice(file):
        return False
    return begins_as_array(beginning(file))


class ArrayRows:
    """Rows of an array, written back with everything around them."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._data = stream.read(LARGEST_STREAM)
        if len(self._data) == LARGEST_STREAM:
            raise UnreadableError(f"{name} is longer than {LARGEST_STREAM:,} bytes.", "Put each row on a line.")
        self._spans = open_document(self._data, name).source.spans

    def batches(self) -> Iterator[RowLines]:
        """Yield all elements in batches, numbered from 1."""
        return _in_batches(self._data[start:end] for start, end in self._spans)

    @contextmanager
    def writer(self, write: Callable[[list[bytes]], Any]) -> Iterator[Callable[[list[bytes]], None]]:
        """Return a function that takes the elements in order and writes each after the bytes before it."""
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
    """Check if an array of this element alone is one conversation in a form of its own, such as an export's."""
    try:
        value = json_text.parse(element)
    except (json.JSONDecodeError, ValueError, RecursionError):
        return True
    return not _OWN.isdisjoint(value) if isinstance(value, dict) else not isinstance(value, list)


_PARQUET: Final = b"PAR1"


def rows_in(file: str, format_name: str | None) -> RowKind | None:
    """Return the kind of a file's rows; None if it is no set of rows. Raises UnreadableError.

    `format_name` is the user's, if any.
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
            elements *= 2  # `kind_of` wants more than one line.
        lines = elements or lines
    return kind_of(lines) or named


def is_parquet(file: str) -> bool:
    """Check if a file is Parquet. Raises UnreadableError."""
    if file == STDIO or not is_readable_twice(file):
        return False  # Its index is at the end, so a pipe cannot be Parquet.
    with input_errors(file), Path(file).open("rb") as stream:
        return stream.read(len(_PARQUET)) == _PARQUET


def kind_of(lines: list[bytes]) -> RowKind | None:
    """Return the kind of rows that begin with these lines; None if they are no rows.

    A file of one line is one conversation. A line that can only be a record of a known format is no row. At least
    half of the JSON lines must be rows: logs have other lines in between, and a set may begin with a broken row. Where
    a line only opens a value, and the next one is none, the file holds values of several lines.
    """
    lines = [line for line in lines if line.strip()]
    if len(lines) < 2:
        return None
    kind = RowKind()
    fitting = others = 0
    for number, line in enumerate(lines):
        try:
            value = json_text.parse(line.removeprefix(BOM))
        except (ValueError, RecursionError):
            if line.strip() in OPENING and not all(map(is_json, lines[number + 1 : number + 2])):
                return None
            continue
        if value is None:
            continue
        keys = keys_of(value)
        if any(row.is_proved(value, keys) for row in TABLE if not row.in_sets):
            return None
        found = find(value, kind)
        if found is None:
            others += 1
        else:
            fitting += 1
            kind = RowKind(*found) if kind.format is None else kind
    return kind if fitting >= max(others, 1) and kind.format is not None else None


_BESIDE: Final = ("prompt", "chosen", "rejected")


def partners_of(column: Column) -> tuple[Column, ...]:
    """Return the columns in which other conversations of the row may be."""
    if not column or column[-1] not in _BESIDE:
        return ()
    return tuple((*column[:-1], name) for name in _BESIDE if name != column[-1])
