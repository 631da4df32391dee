"""Rows that hold two conversations, the better and the worse one, as sets of preferences do: both are worked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ..core.transcript import Transcript
from ..errors import UnknownFormatError
from .row import Column, Row, RowKind, read_row

PAIRS: Final = {"chosen": "rejected", "rejected": "chosen"}


New = bytes | Sequence[bytes] | None
"""The bytes of a conversation in place of one, or of several that each take a row; None where it stays."""


def partner_of(column: Column) -> Column | None:
    """The column of the other conversation, where there may be one."""
    other = PAIRS.get(column[-1]) if column else None
    return None if other is None else (*column[:-1], other)


def with_conversations(row: bytes, kind: RowKind, place: str, do: Callable[[Transcript], New]) -> bytes:
    """The row after something was done to its conversation, and to that beside it. Several rows are lines.

    Raises CondenseError, for a row without a conversation too.
    """
    found = read_row(row, kind, place)
    row = _exchanged(row, found, do)
    other = kind.partner if kind.is_named else partner_of(found.column)
    if other is None or b"\n" in row:
        return row
    try:
        beside = read_row(row, replace(kind, column=other, is_named=True), place)
    except UnknownFormatError:  # The other column is no conversation, or not there.
        return row
    return _exchanged(row, beside, do)


def _exchanged(row: bytes, found: Row, do: Callable[[Transcript], New]) -> bytes:
    new = do(found.transcript) if found.transcript is not None else None
    if new is None:
        return row
    return b"\n".join(map(found.holding, [new] if isinstance(new, bytes) else new))
