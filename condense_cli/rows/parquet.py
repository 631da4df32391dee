"""Rows in a Parquet file: read and written row group by row group, with pyarrow (the extra `parquet`).

A column with a conversation holds either a list of structs or text that is JSON. A row travels as a line of JSON with
that one column; all other columns, and rows that nothing changed, never leave Arrow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ..core import json_text
from ..errors import CondenseError, UnreadableError, UsageError
from ..storage.files import input_errors
from .cells import Cells, first_line, joined, without_nulls
from .pairs import partners_of
from .reading import RowLines
from .row import Column, RowKind, find

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX: Final = ".parquet"
_ROWS: Final = 1_000
"""Rows that are decoded at once."""
_GROUP_BYTES: Final = 64 << 20
"""A row group is written where one of the input ends, or at so many bytes: one may be larger than memory."""
_SAMPLE: Final = 20


class ParquetRows:
    """The rows of one file. Lines that `batches` gave come back, condensed or not, to `writer` in the same order."""

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
        """All rows as lines of JSON that hold the conversation alone, `_ROWS` at a time. Raises UnreadableError."""
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
        """What takes the lines back; with a stream, a Parquet file with the same columns is written to it."""
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
        """The batch with the conversations of changed rows exchanged."""
        changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        for name, cells in self._cells.items() if changed else ():
            position = batch.schema.get_field_index(name)
            new = {number: cell for number in changed if (cell := cells.cell(after[number])) is not None}
            column = cells.exchanged(batch.column(position), new)
            batch = batch.set_column(position, batch.schema.field(position), column)
        return batch

    def _conversation_column(self, kind: RowKind) -> tuple[str, str | None]:
        """The column to work on, and the format of its messages. Raises UnreadableError, UsageError."""
        if kind.is_named:
            if len(kind.column) != 1 or kind.column[0] not in self._schema.names:
                raise UsageError(
                    f"{self._file} has no column {'.'.join(kind.column)}.", f"Columns: {', '.join(self._schema.names)}."
                )
            return kind.column[0], kind.format
        for batch in self._source.iter_batches(_SAMPLE):
            for row in batch.to_pylist():
                found = find({key: _parsed(value) for key, value in row.items()}, kind)
                if found is not None and found[1] is not None:
                    column: Column = found[0]
                    return column[0], found[1]
            break
        raise UnreadableError(
            f"No column of {self._file} holds conversations (columns: {', '.join(self._schema.names)}).",
            "Name it with --format rows:COLUMN.",
        )

    def _holds(self, column: str) -> bool:
        """Whether there are conversations in a column of the first rows."""
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
    """The value of a cell; of text that is JSON that value."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json_text.parse(value.encode())
        except (ValueError, RecursionError):
            return value
    return without_nulls(value)


def check_output(file: str, output: Path | IO[bytes] | None) -> None:
    """Raises UsageError where a Parquet file cannot go: it is written as Parquet, to a file of that name."""
    if output is None or (isinstance(output, Path) and output.suffix.lower() == SUFFIX):
        return
    where = str(output) if isinstance(output, Path) else "standard output"
    raise UsageError(f"{file} is written as Parquet, not to {where}.", f"Name a file with -o FILE{SUFFIX}.")


def check_no_parquet(output: Path) -> None:
    """Raises UsageError where lines would be written to a file whose name promises Parquet."""
    if output.suffix.lower() == SUFFIX:
        raise UsageError(f"{output} would not be Parquet: the input is not.", "Name a .jsonl file.")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise CondenseError(
            "Parquet files need the package pyarrow, which is not installed.", "pip install 'condense-cli[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet
