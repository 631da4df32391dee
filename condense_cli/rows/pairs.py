"""Rows that hold several conversations, as sets of preferences do (the prompt, the better and the worse one): all are
worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ..core.transcript import Transcript
from ..errors import UnknownFormatError
from .row import Column, Row, RowKind, read_row

_BESIDE: Final = ("prompt", "chosen", "rejected")

New = bytes | Sequence[bytes] | None
"""The bytes of a conversation in place of one, or of several that each take a row; None where it stays."""


def partners_of(column: Column) -> tuple[Column, ...]:
    """The columns of the other conversations, where there may be some."""
    if not column or column[-1] not in _BESIDE:
        return ()
    return tuple((*column[:-1], name) for name in _BESIDE if name != column[-1])


def with_conversations(row: bytes, kind: RowKind, place: str, do: Callable[[Transcript], New]) -> bytes:
    """The row after something was done to its conversation, and to those beside it. Several rows are lines.

    Raises CondenseError, for a row without a conversation too.
    """
    found = read_row(row, kind, place)
    row = _exchanged(row, found, do)
    for column in kind.partners if kind.is_named else partners_of(found.column):
        if b"\n" in row or f'"{column[-1]}"'.encode() not in row:
            continue
        try:
            beside = read_row(row, replace(kind, column=column, is_named=True), place)
        except UnknownFormatError:  # The other column is no conversation.
            continue
        row = _exchanged(row, beside, do)
    return row


def _exchanged(row: bytes, found: Row, do: Callable[[Transcript], New]) -> bytes:
    new = do(found.transcript) if found.transcript is not None else None
    if new is None:
        return row
    return b"\n".join(map(found.holding, [new] if isinstance(new, bytes) else new))
