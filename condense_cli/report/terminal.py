"""Render the parts of a report with Rich, for a terminal of some width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from ..core.wording import shortened, visible
from .sections import Part, Sentence, Table

_GAP: Final = 2
_SHORTEST_LABEL: Final = 8
_SHORTEST_NAME: Final = 16
"""Cells of the flexible column for which other columns give way, or move to another table."""
_SHORTEST_FIRST: Final = 12
"""Cells of it for which columns with heads stay side by side."""
_WIDEST_BAR: Final = 40
_SHORTEST_BAR: Final = 4


def render(parts: Iterable[Part | RenderableType], width: int) -> Iterator[RenderableType]:
    """Yield each part for Rich to print; what Rich can print already stays as it is."""
    for part in parts:
        if isinstance(part, Sentence):
            yield Text(visible(part.text), style=part.style)
        elif isinstance(part, Table):
            yield from _tables(part, width)
        else:
            yield part


def table_lines(table: Table, width: int) -> list[str]:
    """Return the lines of a table as plain text, that of the columns' names first."""
    return [line.rstrip() for part in _tables(table, width) for line in str(part.renderables[0]).split("\n")]


def _tables(table: Table, width: int) -> Iterator[Group]:
    if table.is_titled:
        yield Group(visible(table.title))
    if table.heads:
        yield from _with_heads(table, width)
        return
    shown = [*range(len(table.columns))]
    for index in table.gives_way:
        if _needed(table, shown, _SHORTEST_NAME) > width:
            shown.remove(index)
    if len(shown) < len(table.columns):
        table = table.of_columns(shown)
    for number, part in enumerate(_split(table, width) if table.splits else [table]):
        if number:
            yield Group("")
        yield _table(part, width)


def _with_heads(table: Table, width: int) -> Iterator[Group]:
    """Set the columns side by side below their heads, or below each other if that is too wide."""
    every = [*range(len(table.columns))]
    if _needed(table, every, _SHORTEST_FIRST) > width:
        for number, part in enumerate(table.by_head()):
            if number:
                yield Group("")
            yield _table(part, width)
        return
    name, *widths = _widths(table)
    titles, start = "", 0
    for title, number in table.heads:
        first, *others = widths[start : start + number]
        titles += f"{'':{_GAP}}{title:>{first}}{'':{sum(others) + _GAP * len(others)}}"
        start += number
    rest = sum(widths) + _GAP * len(widths)
    yield Group(Text(" " * min(name, width - rest) + titles.rstrip(), style="dim"))
    yield _table(table.of_columns(every), width)


def _widths(table: Table) -> list[int]:
    return [
        max(cell_len(column), *(cell_len(visible(row[index])) for row in table.rows), 0)
        for index, column in enumerate(table.columns)
    ]


def _needed(table: Table, shown: Sequence[int], shortest: int) -> int:
    """Return the width of a table with these columns, the flexible one no wider than `shortest`."""
    widths = _widths(table)
    widths[table.flexible] = min(widths[table.flexible], shortest)
    return sum(widths[index] for index in shown) + _GAP * (len(shown) - 1)


def _split(table: Table, width: int) -> Iterator[Table]:
    shown = [0]
    for index in range(1, len(table.columns)):
        if len(shown) > 1 and _needed(table, [*shown, index], 2 * _SHORTEST_FIRST) > width:
            yield table.of_columns(shown)
            shown = [0]
        shown.append(index)
    yield table.of_columns(shown)


def _table(table: Table, width: int) -> Group:
    """Lay out one table. A table of Rich would shorten every column alike, and fill each line up with spaces."""
    bars: list[Text] = []
    if table.bars:
        taken = sum(_widths(table)) + _GAP * len(table.columns)
        room = min(_WIDEST_BAR, max(_SHORTEST_BAR, width - taken))
        bars = [_bar(number, max(table.bars), room) for number in table.bars]
        width -= room + _GAP
    widths, flexible = _widths(table), table.flexible
    others = sum(widths) - widths[flexible] + _GAP * (len(widths) - 1)
    room = max(_SHORTEST_LABEL, width - others)
    labels = [
        _wrapped(row[flexible], room, others) if table.wraps else _fitted(row[flexible], room, table.is_path)
        for row in table.rows
    ]
    widths[flexible] = max(cell_len(line) for label in (table.columns[flexible], *labels) for line in label.split("\n"))
    lines = [Text(_line(table.columns, widths, table.right), style="dim")] if any(table.columns) else []
    for number, (row, label) in enumerate(zip(table.rows, labels, strict=True)):
        cells = [label if index == flexible else visible(cell) for index, cell in enumerate(row)]
        line = Text(_line(cells, widths, table.right), style=table.styles[number] if table.styles else "")
        for index, style in table.column_styles.items():
            start = sum(widths[:index]) + _GAP * index
            line.stylize(style, start, start + widths[index])
        if bars and bars[number]:
            line.pad_right(sum(widths) + _GAP * len(widths) - line.cell_len)
            line.append_text(bars[number])
        lines.append(line)
    text = Text("\n").join(lines)
    text.no_wrap, text.overflow = True, "ellipsis"
    return Group(text)  # Printed by itself a Text forgets that it must not be wrapped.


def _bar(part: int, largest: int, room: int) -> Text:
    return Text("█" * (max(1, round(room * part / largest)) if part and largest else 0), style="cyan")


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - cell_len(cell))
        padded.append(space + cell if index in right else cell + space)
    return (" " * _GAP).join(padded).rstrip()


def _wrapped(label: str, room: int, indent: int) -> str:
    """Wrap a label to `room` characters; all lines but the first begin behind the other columns."""
    return f"\n{' ' * indent}".join(wrap(" ".join(visible(label).split()), room, break_on_hyphens=False))


def _fitted(label: str, room: int, is_path: bool) -> str:
    """Shorten a label to `room` cells; of a path the end stays."""
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
