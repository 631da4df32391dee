"""Tables that fit the terminal: each row takes one line, and one column gives way to the others."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from .visible import shortened, visible

GAP = 2
_SHORTEST_LABEL = 8


def column_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(cell_len(column), *(cell_len(visible(row[index])) for row in rows)) for index, column in enumerate(columns)
    ]


def fits(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether no text of a table would be shortened."""
    return sum(column_widths(columns, rows)) + GAP * (len(columns) - 1) <= width


def fitted_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    width: int,
    *,
    flexible: int,
    is_path: bool = False,
    wraps: bool = False,
    bars: Sequence[Text] = (),
    styles: Sequence[str] = (),
) -> Group:
    """A table that fits: the flexible column gets the room that the others leave, and its texts are shortened to it.

    `bars` and `styles` are those of the rows. With `wraps` the texts of the flexible column, which is the last one, go
    on in further lines instead.

    Not a Rich table: that would shorten every column alike, and fill each line up with spaces.
    """
    widths = column_widths(columns, rows)
    others = sum(widths) - widths[flexible] + GAP * (len(columns) - 1)
    room = max(_SHORTEST_LABEL, width - others)
    fitted = [_wrapped(row[flexible], room, others) if wraps else _fitted(row[flexible], room, is_path) for row in rows]
    widths[flexible] = max(cell_len(line) for label in (columns[flexible], *fitted) for line in label.split("\n"))
    lines = [Text(_line(columns, widths, right), style="dim")]
    for number, (row, label) in enumerate(zip(rows, fitted, strict=True)):
        cells = [label if index == flexible else visible(cell) for index, cell in enumerate(row)]
        line = Text(_line(cells, widths, right), style=styles[number] if styles else "")
        if bars and bars[number]:
            line.pad_right(sum(widths) + GAP * len(widths) - line.cell_len)
            line.append_text(bars[number])
        lines.append(line)
    text = Text("\n").join(lines)
    text.no_wrap, text.overflow = True, "ellipsis"
    return Group(text)  # Printed by itself a Text forgets that it must not be wrapped.


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - cell_len(cell))
        padded.append(space + cell if index in right else cell + space)
    return (" " * GAP).join(padded).rstrip()


def _wrapped(label: str, room: int, indent: int) -> str:
    """A label in lines of at most `room` characters, all but the first of them behind the other columns."""
    return f"\n{' ' * indent}".join(wrap(" ".join(visible(label).split()), room, break_on_hyphens=False))


def _fitted(label: str, room: int, is_path: bool) -> str:
    """A label in at most `room` cells: of a path the end stays."""
    label = " ".join(visible(label).split())
    if not is_path:
        label = shortened(label, room)
    elif cell_len(label) > room:
        label = label[-room:]
        while cell_len(label) >= room:
            label = label[1:]
        label = f"…{label}"
    text = Text(label)
    text.truncate(room, overflow="ellipsis")
    return text.plain
