"""What fills a transcript, for people: tables and bars by Rich, each row in one line of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from .inspection import BlockShare, Inspection, percent
from .terminal import shortened
from .token_text import carried, counted
from .visible import visible

_GAP = 2
_WIDEST_BAR = 40
_SHORTEST_BAR = 4
_SHORTEST_LABEL = 8
_NAMES = {
    "display_copies": "copies for display",
    "not_live": "messages not in the live conversation",
    "keys": "ids, times, usage",
    "other_records": "other records",
}


def render(found: Inspection, width: int) -> Iterator[RenderableType]:
    """The report, section by section; no line is wider than `width`."""
    yield _headline(found)
    yield ""
    if found.messages:
        yield _content_types(found, width)
    if found.tools:
        yield ""
        yield _tools(found, width)
    if found.files:
        yield ""
        rows = [
            [share.name, f"{share.tokens:,}", _percent(share.percent), f"{share.blocks:,}"] for share in found.files
        ]
        yield _table(("file", "tokens", "share", "blocks"), rows, (1, 2, 3), width, flexible=0, is_path=True)
    if found.largest_messages:
        yield ""
        yield _messages(found, width)
    if found.largest_blocks:
        yield ""
        yield _blocks("block", found.largest_blocks, width)
    if found.messages:
        yield ""
        yield from _repeats(found, width)
    yield from _notes(found)


def _percent(value: float) -> str:
    return f"{value:.1f} %"


def _bar(part: int, largest: int, room: int) -> Text:
    cells = max(1, round(room * part / largest)) if part and largest else 0
    return Text("█" * cells, style="cyan")


def _headline(found: Inspection) -> Text:
    text = Text(f"{found.tokens.total:,} tokens", style="bold")
    text.append(f" in {found.messages:,} message{'' if found.messages == 1 else 's'}", style="not bold")
    tokens, window = found.tokens, found.window
    if tokens.overhead or window:
        text.append(f"\n{carried(tokens.overhead, tokens.overhead_source)}", style="not bold")
    if window:
        together = " together" if tokens.overhead else ""
        text.append(
            f"\n{_percent(window.percent)} of a context window of {window.tokens:,} tokens{together}", style="not bold"
        )
    return text


def _content_types(found: Inspection, width: int) -> Group:
    rows = [[share.name, f"{share.tokens:,}", _percent(share.percent)] for share in found.content_types]
    if found.tokens.constants:
        constants = found.tokens.constants
        rows.append(["per message", f"{constants:,}", _percent(percent(constants, found.tokens.total))])
    bars = [*(share.tokens for share in found.content_types), found.tokens.constants][: len(rows)]
    return _with_bars(("content", "tokens", "share"), rows, (1, 2), bars, width)


def _tools(found: Inspection, width: int) -> Group:
    rows = [
        [
            share.name or "(unknown)",
            f"{share.tokens:,}",
            _percent(share.percent),
            f"{share.calls:,}",
            f"{share.parameters:,}",
            f"{share.results:,}",
        ]
        for share in found.tools
    ]
    bars = [share.tokens for share in found.tools]
    columns = ("tool", "tokens", "share", "calls", "parameters", "results")
    return _with_bars(columns, rows, (1, 2, 3, 4, 5), bars, width)


def _messages(found: Inspection, width: int) -> Group:
    rows = [
        [f"#{share.message}", share.role, f"{share.tokens:,}", _percent(share.percent), share.label]
        for share in found.largest_messages
    ]
    return _table(("message", "", "tokens", "share", "largest part"), rows, (2, 3), width, flexible=4)


def _blocks(title: str, shares: Sequence[BlockShare], width: int) -> Group:
    rows = [
        [
            f"{share.message}:{share.block}",
            share.content_type,
            f"{share.tokens:,}",
            _percent(share.percent),
            f"= {share.first}  {share.label}" if share.first else share.label,
        ]
        for share in shares
    ]
    return _table((title, "", "tokens", "share", ""), rows, (2, 3), width, flexible=4)


def _repeats(found: Inspection, width: int) -> Iterator[RenderableType]:
    repeats = found.repeats
    if not repeats.tokens:
        yield Text("Nothing is repeated.")
        return
    yield Text(f"{repeats.tokens:,} tokens ({_percent(repeats.percent)}) stand earlier already", style="bold")
    yield Text(
        f"{repeats.block_tokens:,} in {repeats.whole_blocks:,} whole blocks, "
        f"{repeats.line_tokens:,} in {repeats.lines:,} lines of others",
        style="dim",
    )
    yield _blocks("repeated", repeats.largest, width)


def _notes(found: Inspection) -> Iterator[RenderableType]:
    tokens = found.tokens
    yield ""
    text = counted(found.model, tokens.encoding, exact=tokens.exact, estimated=tokens.estimated)
    sent = found.bytes.get("sent")
    if sent is not None:
        aside = ", ".join(f"{found.bytes[key]:,} {name}" for key, name in _NAMES.items() if found.bytes[key])
        text += f" Of {found.bytes['total']:,} bytes {sent:,} reach the model; the rest: {aside}."
    yield Text(visible(f"{found.input}: {found.format}. {text}"), style="dim")
    for warning in found.warnings:
        yield Text(visible(f"Warning: {warning}"), style="yellow")


def _with_bars(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    bars: Sequence[int],
    width: int,
) -> Group:
    """A table with a bar for every row in the room that is left."""
    taken = sum(_widths(columns, rows)) + _GAP * len(columns)
    room = min(_WIDEST_BAR, max(_SHORTEST_BAR, width - taken))
    largest = max(bars, default=0)
    cells = [_bar(part, largest, room) for part in bars]
    return _table(columns, rows, right, width - room - _GAP, flexible=0, bars=cells)


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(cell_len(column), *(cell_len(visible(row[index])) for row in rows)) for index, column in enumerate(columns)
    ]


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    width: int,
    *,
    flexible: int,
    is_path: bool = False,
    bars: Sequence[Text] = (),
) -> Group:
    """A table that fits: the flexible column gets the room that the others leave, and its texts are shortened to it.

    Not a Rich table: that would shorten every column alike, and fill each line up with spaces.
    """
    widths = _widths(columns, rows)
    others = sum(widths) - widths[flexible] + _GAP * (len(columns) - 1)
    room = max(_SHORTEST_LABEL, width - others)
    fitted = [_fitted(row[flexible], room, is_path) for row in rows]
    widths[flexible] = max(cell_len(label) for label in (columns[flexible], *fitted))
    lines = [Text(_line(columns, widths, right), style="dim")]
    for number, (row, label) in enumerate(zip(rows, fitted, strict=True)):
        cells = [label if index == flexible else visible(cell) for index, cell in enumerate(row)]
        line = Text(_line(cells, widths, right))
        if bars and bars[number]:
            line.pad_right(sum(widths) + _GAP * len(widths) - line.cell_len)
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
    return (" " * _GAP).join(padded).rstrip()


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
