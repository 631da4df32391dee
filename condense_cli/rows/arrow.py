"""Conversations in columns: Arrow cells, batches from engines, and Parquet files (pyarrow, extra `parquet`).

A cell holds a list of structs, or text that is JSON. It travels as a line of JSON with that one column; other columns,
and unchanged rows, never leave Arrow. A struct has every key, also in messages that never had it, so null and a missing
key are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

import msgspec

from ..core import json_text
from ..errors import CondenseError, UnreadableError, UsageError
from ..storage.extras import missing
from ..storage.files import input_errors
from .reading import RowKind, RowLines, find, partners_of

if TYPE_CHECKING:
    import pyarrow as pa


class Cells:
    """Cells of one column. `name` is the file, if any, for errors."""

    def __init__(self, arrow_type: pa.DataType, column: str, name: str = "") -> None:
        pyarrow, _ = _pyarrow()
        self._pa = pyarrow
        self._type = arrow_type
        self._column = column
        self._name = name
        self._is_text = pyarrow.types.is_string(arrow_type) or pyarrow.types.is_large_string(arrow_type)

    def line(self, cell: pa.Scalar[Any]) -> bytes:
        """Return the cell as a row of this column alone; a blank line without a value."""
        if not cell.is_valid:
            return b"\n"
        if self._is_text:
            return row_of(self._column, str(cell).encode("utf-8", "surrogatepass"))
        try:
            return row_holding(self._column, cell.as_py())
        except TypeError as error:  # Dates and bytes: the row is passed through and reported as not JSON.
            return f"{error}\n".encode()

    def cell(self, line: bytes) -> pa.Array[Any] | None:
        """Return an array with the one cell that a line holds; None if it lacks this column.

        Raises CondenseError if the column cannot hold it.
        """
        row = json_text.parse(line)
        if self._column not in row:
            return None
        if self._is_text:
            text = json_text.decode(line.rstrip(b"\n"))
            start, end = json_text.locate(text, [(self._column,)])[(self._column,)]
            return self._pa.array([text[start:end]], self._type)
        messages = row[self._column]
        try:
            cell = self._pa.array([messages], self._type)
        except (self._pa.ArrowException, TypeError, ValueError) as error:
            raise self._impossible(first_line(error)) from None
        # Compared as texts, because NaN is not equal to itself.
        held, meant = (json_text.dump_compact(without_nulls(value)) for value in (cell[0].as_py(), messages))
        if held != meant:
            raise self._impossible("a key is missing in its type")
        return cell

    def exchanged(self, column: Any, cells: Mapping[int, pa.Array[Any]]) -> Any:
        """Replace cells of a column (an Array or a ChunkedArray), keyed by position."""
        pieces: list[Any] = []
        done = 0
        for position in sorted(cells):
            pieces += [column.slice(done, position - done), cells[position]]
            done = position + 1
        pieces.append(column.slice(done))
        arrays = [array for piece in pieces for array in getattr(piece, "chunks", [piece])]
        return self._pa.concat_arrays(arrays)

    def _impossible(self, why: str) -> CondenseError:
        place = f"{self._name}: column" if self._name else "Column"
        return CondenseError(f"{place} {self._column} cannot hold what a condensed row says ({why}).")


def joined(rows: Sequence[bytes]) -> bytes:
    """Join rows of single columns to one row. If one is not JSON, return that one."""
    told = [row for row in rows if row != b"\n"]
    bad = next((row for row in told if not row.startswith(b"{")), None)
    if bad is not None or len(told) < 2:
        return bad or (told[0] if told else b"\n")
    return b"{" + b",".join(row[1:-2] for row in told) + b"}\n"


def row_holding(column: str, value: Any) -> bytes:
    """Return a row of one column as a line. Raises TypeError for a value that is not JSON."""
    return row_of(column, json_text.dump_compact(without_nulls(value)).encode("utf-8", "surrogatepass"))


def row_of(column: str, value: bytes) -> bytes:
    """Return a row of one column whose value is JSON already."""
    return b"{" + msgspec.json.encode(column) + b":" + value + b"}\n"


def without_nulls(value: Any) -> Any:
    """Remove keys whose value is null."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


_HINT = "Pass a dict of columns or a pyarrow Table: map(…, batched=True), map_batches(…, batch_format='pyarrow')."


class Batch(Protocol):
    """Rows with conversations in one column. `lines` are rows of that column alone, blank without a value."""

    lines: list[bytes]

    @property
    def columns(self) -> Iterable[str]: ...

    def exchange(self, row: int, line: bytes) -> None:
        """Put the conversation of a line into a row. Raises CondenseError if the column cannot hold it."""

    def finished(self, added: Mapping[str, list[Any]]) -> Any:
        """Return a batch of the given kind with the new conversations and `added` columns."""


def batch_of(given: Any, column: str) -> Batch:
    """Wrap a batch. Raises UsageError for other values, or without the column."""
    names = given.schema.names if _is_arrow(given) else [*given] if isinstance(given, Mapping) else None
    if names is None:
        raise UsageError(f"A {type(given).__name__} is not a batch of rows.", _HINT)
    if column not in names:
        raise UsageError(f"The rows have no column {column}.", f"Columns: {', '.join(map(str, names))}.")
    if _is_arrow(given):
        return ArrowBatch(given, column)
    return ColumnBatch(given, column, is_one=_is_one(given[column], given))


def _is_arrow(given: Any) -> bool:
    return hasattr(given, "schema") and hasattr(given, "set_column") and hasattr(given, "column")


def _is_one(value: Any, given: Mapping[str, Any]) -> bool:
    """Check if a column holds one conversation instead of one per row."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return True
    if len(value) == 0:
        return not all(hasattr(each, "__len__") and len(each) == 0 for each in given.values())
    first = [each for each in value if each is not None]
    return bool(first) and all(isinstance(each, Mapping) for each in first)


class ArrowBatch:
    """A pyarrow Table or RecordBatch; keeps types and other columns."""

    def __init__(self, table: Any, column: str) -> None:
        self._table = table
        self._position = table.schema.get_field_index(column)
        self._cells = Cells(table.schema.field(self._position).type, column)
        self._new: dict[int, Any] = {}
        self.lines = [self._cells.line(cell) for cell in table.column(self._position)]

    @property
    def columns(self) -> Iterable[str]:
        return list(self._table.schema.names)

    def exchange(self, row: int, line: bytes) -> None:
        self._new[row] = self._cells.cell(line)

    def finished(self, added: Mapping[str, list[Any]]) -> Any:
        pa, _ = _pyarrow()
        table = self._table
        if self._new:
            column = self._cells.exchanged(table.column(self._position), self._new)
            table = table.set_column(self._position, table.schema.field(self._position), column)
        for name, values in added.items():
            table = table.append_column(name, pa.array(values, pa.string() if name.endswith("error") else pa.int64()))
        return table


class ColumnBatch:
    """A dict of columns, each a list or a NumPy array; if it `is_one`, a single row. If it is a view of an Arrow table,
    new cells have to fit its type."""

    def __init__(self, given: Mapping[str, Any], column: str, *, is_one: bool) -> None:
        self._given, self._column, self._is_one = given, column, is_one
        self._values = [given[column]] if is_one else list(given[column])
        self._type = None if is_one else _type_of(given, column)
        self._is_changed = False
        self.lines = [_line(column, value) for value in self._values]

    @property
    def columns(self) -> Iterable[str]:
        return [*self._given]

    def exchange(self, row: int, line: bytes) -> None:
        if self._type is not None:
            Cells(self._type, self._column).cell(line)
        self._values[row] = _value(self._column, line, self._values[row])
        self._is_changed = True

    def finished(self, added: Mapping[str, list[Any]]) -> dict[str, Any]:
        columns = {name: self._given[name] for name in self._given}
        if self._is_one:
            return {**columns, self._column: self._values[0], **{name: added[name][0] for name in added}}
        if self._is_changed:
            columns[self._column] = _alike(columns[self._column], self._values)
        return {**columns, **added}


def _type_of(given: Mapping[str, Any], column: str) -> Any:
    """Return the Arrow type of lists in a column if the dict is a view of an Arrow table."""
    table = getattr(given, "pa_table", None)
    if table is None or column not in table.schema.names:
        return None
    found = table.schema.field(column).type
    return found if str(found).startswith(("list", "large_list")) else None


def _line(column: str, value: Any) -> bytes:
    """Return a value as a row of this column alone, or for a value that is not JSON a line with the reason."""
    if value is None:
        return b"\n"
    if isinstance(value, str):
        return row_of(column, value.encode("utf-8", "surrogatepass"))
    try:
        return row_holding(column, _plain(value))
    except (TypeError, ValueError, RecursionError) as error:
        return f"{error}\n".encode()


def _value(column: str, line: bytes, before: Any) -> Any:
    """Return the conversation of a line, as text if it was text before."""
    if isinstance(before, str):
        return json_text.decode(line.rstrip(b"\n"))[len(row_of(column, b"")) - 2 : -1]
    return json_text.parse(line)[column]


def _plain(value: Any) -> Any:
    """Turn NumPy arrays and numbers into lists and numbers."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else value


def _alike(before: Any, values: list[Any]) -> Any:
    """Make a column of the same kind as before."""
    if not hasattr(before, "dtype"):
        return values
    import numpy as np  # It is there if the column is NumPy's.

    found = np.empty(len(values), dtype=object)
    for number, value in enumerate(values):  # All at once, lists of one length would become further dimensions.
        found[number] = value
    return found


SUFFIX: Final = ".parquet"
_ROWS: Final = 1_000
"""Rows that are decoded at once."""
_GROUP_BYTES: Final = 64 << 20
"""Bytes at which a row group is written, if the input's does not end earlier: a group can be larger than memory."""
_SAMPLE: Final = 20


class ParquetRows:
    """Rows of one file, read and written by row groups. `writer` takes the lines of `batches` back, in the same
    order."""

    def __init__(self, file: str, kind: RowKind) -> None:
        self._pa, self._parquet = _pyarrow()
        self._file = file
        with input_errors(file):
            try:
                self._source = self._parquet.ParquetFile(file, pre_buffer=False)
            except self._pa.ArrowException as error:
                raise UnreadableError(f"{file} is not a complete Parquet file ({first_line(error)}).") from None
        self._schema: pa.Schema = self._source.schema_arrow
        self._column, format_name = self._conversation_column(kind)
        beside = () if kind.is_named else partners_of((self._column,))
        partners = tuple(column for column in beside if self._holds(column[0]))
        columns = [self._column, *(column[0] for column in partners)]
        self._cells = {name: Cells(self._schema.field(name).type, name, file) for name in columns}
        self.kind = RowKind((self._column,), format_name or kind.format, is_named=True, partners=partners)
        self._pending: deque[tuple[int, Any, list[bytes]]] = deque()

    def batches(self) -> Iterator[RowLines]:
        """Yield all rows as lines of JSON with the conversation alone, `_ROWS` at a time. Raises
        UnreadableError."""
        first = 1
        for group in range(self._source.num_row_groups):
            try:
                for batch in self._source.iter_batches(_ROWS, row_groups=[group]):
                    columns = [[*map(cells.line, batch.column(name))] for name, cells in self._cells.items()]
                    lines = [joined(row) for row in zip(*columns, strict=True)]
                    self._pending.append((group, batch, lines))
                    yield RowLines(first, lines)
                    first += len(lines)
            except (self._pa.ArrowException, OSError) as error:
                raise UnreadableError(f"{self._file}: row group {group} is broken ({first_line(error)}).") from None

    @contextmanager
    def writer(self, stream: IO[bytes] | None) -> Iterator[Callable[[list[bytes]], None]]:
        """Return a function that takes the lines back; with a stream, write a Parquet file of the same columns
        to it."""
        if stream is None:
            yield lambda lines: self._drop()
            return
        writer = self._parquet.ParquetWriter(stream, self._schema, compression=self._compression())
        held: list[Any] = []
        group = -1

        def flush() -> None:
            if held:
                writer.write_table(self._pa.Table.from_batches(held, self._schema))
                held.clear()

        def write(lines: list[bytes]) -> None:
            nonlocal group
            number, batch, before = self._pending.popleft()
            if number != group or sum(part.nbytes for part in held) >= _GROUP_BYTES:
                flush()
                group = number
            held.append(self._replaced(batch, before, lines))

        try:
            yield write
            flush()
        finally:
            writer.close()

    def _drop(self) -> None:
        self._pending.popleft()

    def _replaced(self, batch: Any, before: list[bytes], after: list[bytes]) -> Any:
        """Replace the conversations of changed rows in a batch."""
        changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        for name, cells in self._cells.items() if changed else ():
            position = batch.schema.get_field_index(name)
            new = {number: cell for number in changed if (cell := cells.cell(after[number])) is not None}
            column = cells.exchanged(batch.column(position), new)
            batch = batch.set_column(position, batch.schema.field(position), column)
        return batch

    def _conversation_column(self, kind: RowKind) -> tuple[str, str | None]:
        """Find the column to work on, and the format of its messages. Raises UnreadableError, UsageError."""
        if kind.is_named:
            if len(kind.column) != 1 or kind.column[0] not in self._schema.names:
                raise UsageError(
                    f"{self._file} has no column {'.'.join(kind.column)}.", f"Columns: {', '.join(self._schema.names)}."
                )
            return kind.column[0], kind.format
        for batch in self._source.iter_batches(_SAMPLE):
            for row in batch.to_pylist():
                found = find({key: _parsed(value) for key, value in row.items()}, kind)
                if found is not None and found[0] and found[1] is not None:  # The row itself is no column.
                    return found[0][0], found[1]
            break
        raise UnreadableError(
            f"No column of {self._file} holds conversations (columns: {', '.join(self._schema.names)}).",
            "Name it with --format rows:COLUMN.",
        )

    def _holds(self, column: str) -> bool:
        """Check if the first rows have conversations in a column."""
        if column not in self._schema.names:
            return False
        first = next(self._source.iter_batches(_SAMPLE, columns=[column]), None)
        kind = RowKind((column,), is_named=True)
        return first is not None and any(
            (found := find({column: _parsed(value)}, kind)) is not None and found[1] is not None
            for value in first.column(column).to_pylist()
        )

    def _compression(self) -> str | dict[str, str]:
        metadata = self._source.metadata
        if not metadata.num_row_groups:
            return "snappy"
        columns = [metadata.row_group(0).column(number) for number in range(metadata.num_columns)]
        known = {column.path_in_schema: column.compression.lower() for column in columns}
        return {path: "none" if codec == "uncompressed" else codec for path, codec in known.items()}


def _parsed(value: Any) -> Any:
    """Return the value of a cell, parsed if it is JSON text."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json_text.parse(value.encode())
        except (ValueError, RecursionError):
            return value
    return without_nulls(value)


def check_output(file: str, output: Path | IO[bytes] | None) -> None:
    """Raise UsageError if a Parquet file would be written to standard output or under another ending."""
    if output is None or (isinstance(output, Path) and output.suffix.lower() == SUFFIX):
        return
    where = str(output) if isinstance(output, Path) else "standard output"
    raise UsageError(f"{file} is written as Parquet, not to {where}.", f"Name a file with -o FILE{SUFFIX}.")


def check_no_parquet(output: Path) -> None:
    """Raise UsageError if lines would be written to a file named as Parquet."""
    if output.suffix.lower() == SUFFIX:
        raise UsageError(f"{output} would not be Parquet: the input is not.", "Name a .jsonl file.")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise missing("Parquet files need the package pyarrow", "parquet") from None
    return pyarrow, pyarrow.parquet
