"""Conversations in the cells of an Arrow column: each as a line of JSON that holds it alone, and back.

A cell holds a list of structs, or text that is JSON. A struct has every key, in messages that never had it too, so null
and a key that is not there are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..core import json_text
from ..errors import CondenseError

if TYPE_CHECKING:
    import pyarrow as pa


class Cells:
    """The cells of one column. `name` is the file, if any, for errors."""

    def __init__(self, arrow_type: pa.DataType, column: str, name: str = "") -> None:
        import pyarrow

        self._pa = pyarrow
        self._type = arrow_type
        self._column = column
        self._name = name
        self._is_text = pyarrow.types.is_string(arrow_type) or pyarrow.types.is_large_string(arrow_type)

    def line(self, cell: pa.Scalar[Any]) -> bytes:
        """The cell as a row of this column alone; a blank line where it has no value."""
        if not cell.is_valid:
            return b"\n"
        if self._is_text:
            return row_of(self._column, str(cell).encode("utf-8", "surrogatepass"))
        try:
            return row_holding(self._column, cell.as_py())
        except TypeError as error:  # Dates and bytes: the row is passed through, and told of as no JSON.
            return f"{error}\n".encode()

    def cell(self, line: bytes) -> pa.Array[Any] | None:
        """An array of the one cell that a line holds, None where it has none of this column.

        Raises CondenseError where the column cannot hold it.
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
        # As texts: they compare what is no number, too.
        held, meant = (json_text.dump_compact(without_nulls(value)) for value in (cell[0].as_py(), messages))
        if held != meant:
            raise self._impossible("a key is missing in its type")
        return cell

    def exchanged(self, column: Any, cells: Mapping[int, pa.Array[Any]]) -> Any:
        """The column, an Array or a ChunkedArray, with the cells at some positions exchanged."""
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
    """Rows of a column each as one row; one that is no JSON stands for all."""
    told = [row for row in rows if row != b"\n"]
    bad = next((row for row in told if not row.startswith(b"{")), None)
    if bad is not None or len(told) < 2:
        return bad or (told[0] if told else b"\n")
    return b"{" + b",".join(row[1:-2] for row in told) + b"}\n"


def row_holding(column: str, value: Any) -> bytes:
    """A row of one column as a line. Raises TypeError for a value that is no JSON."""
    return row_of(column, json_text.dump_compact(without_nulls(value)).encode("utf-8", "surrogatepass"))


def row_of(column: str, value: bytes) -> bytes:
    """A row of one column with a value that is JSON already."""
    return b"{" + msgspec.json.encode(column) + b":" + value + b"}\n"


def without_nulls(value: Any) -> Any:
    """A value without keys whose value is null."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
