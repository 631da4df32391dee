"""Batches of rows as engines hand them over: dicts of columns, one row as a dict, Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ..core import json_text
from ..errors import UsageError
from .cells import Cells, row_holding, row_of

_HINT = "Pass a dict of columns or a pyarrow Table: map(…, batched=True), map_batches(…, batch_format='pyarrow')."


class Batch(Protocol):
    """Rows of which one column holds conversations: `lines` are rows of that column alone, blank without a value."""

    lines: list[bytes]

    @property
    def columns(self) -> Iterable[str]: ...

    def exchange(self, row: int, line: bytes) -> None:
        """Put the conversation of a line into a row. Raises CondenseError where the column cannot hold it."""

    def finished(self, added: Mapping[str, list[Any]]) -> Any:
        """What was handed over, with the new conversations and more columns."""


def batch_of(given: Any, column: str) -> Batch:
    """Raises UsageError for what is no batch, or has no such column."""
    names = given.schema.names if _is_arrow(given) else [*given] if isinstance(given, Mapping) else None
    if names is None:
        raise UsageError(f"A {type(given).__name__} is not a batch of rows.", _HINT)
    if column not in names:
        raise UsageError(f"The rows have no column {column}.", f"Columns: {', '.join(map(str, names))}.")
    if _is_arrow(given):
        return ArrowBatch(given, column)
    return OneRow(given, column) if _is_one(given[column], given) else ColumnBatch(given, column)


def _is_arrow(given: Any) -> bool:
    return hasattr(given, "schema") and hasattr(given, "set_column") and hasattr(given, "column")


def _is_one(value: Any, given: Mapping[str, Any]) -> bool:
    """Whether a column holds one conversation, and not one for each row."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return True
    if len(value) == 0:
        return not all(hasattr(each, "__len__") and len(each) == 0 for each in given.values())
    first = [each for each in value if each is not None]
    return bool(first) and all(isinstance(each, Mapping) for each in first)


class ArrowBatch:
    """A pyarrow Table or RecordBatch. Types and all other columns stay."""

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
        import pyarrow as pa

        table = self._table
        if self._new:
            column = self._cells.exchanged(table.column(self._position), self._new)
            table = table.set_column(self._position, table.schema.field(self._position), column)
        for name, values in added.items():
            table = table.append_column(name, pa.array(values, pa.string() if name.endswith("error") else pa.int64()))
        return table


class ColumnBatch:
    """A dict of columns, each a list or a NumPy array. Whoever made it from Arrow needs the type to hold a new cell."""

    def __init__(self, given: Mapping[str, Any], column: str) -> None:
        self._given = given
        self._column = column
        self._values = list(given[column])
        self._type = _type_of(given, column)
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
        if self._is_changed:
            columns[self._column] = _alike(columns[self._column], self._values)
        return {**columns, **added}


class OneRow:
    """A row as a dict."""

    def __init__(self, given: Mapping[str, Any], column: str) -> None:
        self._batch = ColumnBatch({column: [given[column]]}, column)
        self._given = given
        self.lines = self._batch.lines
        self.exchange = self._batch.exchange

    @property
    def columns(self) -> Iterable[str]:
        return [*self._given]

    def finished(self, added: Mapping[str, list[Any]]) -> dict[str, Any]:
        new = self._batch.finished(added)
        return {name: self._given[name] for name in self._given} | {name: new[name][0] for name in new}


def _type_of(given: Mapping[str, Any], column: str) -> Any:
    """The Arrow type of lists in a column, where the dict is a view of an Arrow table."""
    table = getattr(given, "pa_table", None)
    if table is None or column not in table.schema.names:
        return None
    found = table.schema.field(column).type
    return found if str(found).startswith(("list", "large_list")) else None


def _line(column: str, value: Any) -> bytes:
    """A value as a row of this column alone. One that is no JSON gives a line that says so, and is no JSON."""
    if value is None:
        return b"\n"
    if isinstance(value, str):
        return row_of(column, value.encode("utf-8", "surrogatepass"))
    try:
        return row_holding(column, _plain(value))
    except (TypeError, ValueError, RecursionError) as error:
        return f"{error}\n".encode()


def _value(column: str, line: bytes, before: Any) -> Any:
    """The conversation of a line, as text where it was text."""
    if isinstance(before, str):
        return json_text.decode(line.rstrip(b"\n"))[len(row_of(column, b"")) - 2 : -1]
    return json_text.parse(line)[column]


def _plain(value: Any) -> Any:
    """A value in dicts and lists: NumPy's arrays and numbers are none."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else value


def _alike(before: Any, values: list[Any]) -> Any:
    """The values as a column of the kind that it was."""
    if not hasattr(before, "dtype"):
        return values
    import numpy as np

    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
