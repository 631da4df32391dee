"""The parts of a report, declared once, lines and tables that `terminal.py` and `page/` render; and reports as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec import Struct


class Sentence(Struct, frozen=True):
    """A sentence, or an empty line. Its text may come from a transcript: it is made safe when it is rendered."""

    text: str = ""
    style: str = ""


BLANK = Sentence()


class Table(Struct, frozen=True):
    """A table of which each row takes one line.

    `right` are the positions of columns that are flush right. The `flexible` column gets the room that the others
    leave: its texts are shortened, those of a path at their beginning (`is_path`), or go on in further lines (`wraps`).
    Where the table is still too wide, the columns in `gives_way` are left out, in this order, or with `splits` the
    columns become several tables, each with the first one.

    `bars` are numbers that are drawn behind the rows, `styles` those of rows, `column_styles` of columns. `heads` are
    titles above the columns after the first, each with the number of its columns. Pages show every `title`, terminals
    that of a table that `is_titled`.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    flexible: int = 0
    title: str = ""
    is_path: bool = False
    wraps: bool = False
    splits: bool = False
    gives_way: Sequence[int] = ()
    bars: Sequence[int] = ()
    styles: Sequence[str] = ()
    column_styles: dict[int, str] = {}
    heads: Sequence[tuple[str, int]] = ()
    is_titled: bool = False

    def of_columns(self, shown: Sequence[int]) -> Table:
        """Return the table with these columns alone, without `heads`."""
        return Table(
            [self.columns[index] for index in shown],
            [[row[index] for index in shown] for row in self.rows],
            [position for position, index in enumerate(shown) if index in self.right],
            shown.index(self.flexible),
            self.title,
            self.is_path,
            self.wraps,
            bars=self.bars,
            styles=self.styles,
            column_styles={shown.index(index): style for index, style in self.column_styles.items() if index in shown},
        )

    def by_head(self) -> list[Table]:
        """Return a table for each of the `heads`, with its title, or this one if there are none."""
        tables, start = [], 1
        for title, number in self.heads:
            part = self.of_columns([0, *range(start, start + number)])
            named = [f"{title} {part.columns[0]}", *part.columns[1:]]
            tables.append(
                Table(
                    named,
                    part.rows,
                    part.right,
                    title=f"{title}, {self.columns[0]}",
                    is_path=self.is_path,
                    styles=self.styles,
                )
            )
            start += number
        return tables or [self]


Part = Sentence | Table


def as_warnings(warnings: Sequence[str]) -> list[Sentence]:
    return [Sentence(f"Warning: {warning}", "yellow") for warning in warnings]


SHAPE: Final = 2
"""Version of the JSON report; it rises when a key goes or changes its meaning."""


_encode: Final = msgspec.json.Encoder(decimal_format="number").encode
"""Money is a number, as exact as it is known."""


def to_json_line(value: Any) -> str:
    """JSON text in one line, without a line break."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return _escaped(value)


def _escaped(value: Any, indent: int | None = None) -> str:
    """JSON text of a name or a text with a lone surrogate: JSON can spell it."""
    return json.dumps(msgspec.to_builtins(value, builtin_types=(Decimal,)), indent=indent, default=float)


def to_json(value: Any) -> str:
    """Indented JSON text with a final line break."""
    try:
        return msgspec.json.format(_encode(value), indent=2).decode() + "\n"
    except UnicodeEncodeError:
        return _escaped(value, indent=2) + "\n"
