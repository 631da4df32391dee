"""Lines of the screens: a conversation, its strip of tokens, and the help."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from rich._wrap import divide_line
from rich.cells import cell_len, set_cell_size

from ..core.transcript import BlockPlace
from ..errors import CondenseError
from ..report.page.conversation import NOTED, SUMMARIZED, UNCHANGED, CutReason, PageBlock, PageMessage
from .opened import View

GONE: Final = "red"
NEW: Final = "green"
QUIET: Final = "dim"
LOUD: Final = "bold"
_ROLES: Final = {"assistant": "asst", "developer": "dev", "system": "sys"}
_KINDS: Final = {"tool_call": "call", "tool_result": "result", "message_text": "text"}
_EXPANDED: Final = "▾"
_FOLDED: Final = "▸"


class ShownLine(Struct, frozen=True):
    """A line with its style. The style adds nothing to the text: there may be no colours. The cursor passes over a line
    that `continues` the one before."""

    text: str
    style: str = ""
    continues: bool = False


class ShownPlace(Struct, frozen=True):
    """Place of a line in the list: a message by its position in the view, or a block of it."""

    position: int
    number: int | None = None


def place_lines(view: View, expanded: Collection[int]) -> list[tuple[ShownPlace, ShownLine]]:
    """List the messages, with the blocks of expanded ones (their positions)."""
    found = []
    for position, message in enumerate(view.conversation.messages):
        is_open = position in expanded
        found.append((ShownPlace(position), _message_line(message, view, is_open)))
        if is_open:
            lines = (_block_line(message, number, view) for number in range(len(message.blocks)))
            found += [(ShownPlace(position, number), line) for number, line in enumerate(lines)]
    return found


def _message_line(message: PageMessage, view: View, is_open: bool) -> ShownLine:
    addresses = [(message.number, number) for number in range(len(message.blocks))]
    mark = "+" if message.is_new else _mark(addresses, message.tokens, message.blocks, view)
    fold = " " if len(message.blocks) < 2 else _EXPANDED if is_open else _FOLDED
    role = _ROLES.get(message.role, message.role)[:4]
    label = _label(message.blocks)
    return ShownLine(f"{mark}{fold}{message.number:>4} {role:<4} {_sizes(message.tokens)} {label}", _style(mark))


def _block_line(message: PageMessage, number: int, view: View) -> ShownLine:
    block = message.blocks[number]
    mark = "+" if message.is_new else _mark([(message.number, number)], block.tokens, [block], view)
    kind = _KINDS.get(block.kind, block.kind)[:8]
    return ShownLine(f"{mark}     .{number:<2} {kind:<8}{_sizes(block.tokens)} {_label([block])}", _style(mark))


def _mark(addresses: Sequence[BlockPlace], tokens: tuple[int, int], blocks: Sequence[PageBlock], view: View) -> str:
    """Return two marks: K or X if the user keeps or cuts it, then - if it is gone, or ~ if it is cut in part or
    summarized."""
    if addresses and view.kept.issuperset(addresses):
        return "K"
    if addresses and view.cut.issuperset(addresses):
        return "X"
    before, after = tokens
    if view.kept.intersection(addresses):
        return "k"
    if view.cut.intersection(addresses):
        return "x"
    is_gone = before and not after and not any(block.outcome in (SUMMARIZED, NOTED) for block in blocks)
    return "-" if is_gone else "~" if after != before else " "


def _style(mark: str) -> str:
    return {"K": LOUD, "k": LOUD, "X": GONE, "x": GONE, "-": QUIET, "+": NEW, "~": "yellow"}.get(mark, "")


def _sizes(tokens: tuple[int, int]) -> str:
    before, after = (short_number(size) for size in tokens)
    return f"{before:>5}" + ("      " if tokens[0] == tokens[1] else f"→{after:<5}")


def short_number(number: int) -> str:
    """Write a number in at most five characters: 950, 3.1k, 120k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}{unit}" if value < 100 else f"{value:.0f}{unit}"
    return str(number)


def _label(blocks: Sequence[PageBlock]) -> str:
    """Label a message by its first call, or the beginning of its text."""
    named = next((block for block in blocks if block.label), None)
    if named is not None:
        tool, _, rest = named.label.partition(" ")
        # Paths begin alike and the list is narrow; the whole path is beside it.
        return f"{tool} {rest.rpartition('/')[2] or rest}" if rest.startswith("/") else named.label
    return next((" ".join(block.text[:200].split()) for block in blocks if block.text.strip()), "")


def message_lines(view: View, place: ShownPlace, width: int) -> list[ShownLine]:
    """Return the text of a message or block after condensing, wrapped to a width."""
    message = view.conversation.messages[place.position]
    numbers = range(len(message.blocks)) if place.number is None else [place.number]
    found: list[ShownLine] = []
    reasons = view.conversation.reasons
    if place.number is None:
        found += _why(message.reasons, reasons, width)
    for number in numbers:
        if found:
            found.append(ShownLine(""))
        found += _block_lines(message, number, reasons, width)
    return found


def _block_lines(message: PageMessage, number: int, reasons: Sequence[CutReason], width: int) -> Iterator[ShownLine]:
    block = message.blocks[number]
    before, after = block.tokens
    sizes = f"{before:,}" if before == after else f"{before:,} → {after:,}"
    outcome = "" if block.outcome == UNCHANGED else f", {block.outcome}"
    name = "summary" if message.is_new else f"{message.number}.{number}"
    kind = block.kind.replace("_", " ")
    yield from wrapped("", f"{name} {kind} {block.label or block.tool}".rstrip(), width, LOUD)
    yield ShownLine(f"{sizes} tokens{outcome}"[:width], QUIET)
    yield from _why(block.reasons, reasons, width)
    for sign, line in _edited(block):
        yield from wrapped(f"{sign} ", line, width, {"-": GONE, "+": NEW, "└": QUIET}.get(sign, ""))


def _why(numbers: Sequence[int], reasons: Sequence[CutReason], width: int) -> Iterator[ShownLine]:
    for number in numbers:
        reason = reasons[number]
        by = f"{reason.operation} by {reason.by}" if reason.is_change else "stays"
        yield from wrapped("", f"{by}: {reason.why}", width, QUIET)


def _edited(block: PageBlock) -> Iterator[tuple[str, str]]:
    """Mark each line of a block: " " stays, "-" goes, "+" is new; "└" gives the reason, below those."""
    lines = block.text.split("\n")
    if not block.edits:
        sign = "+" if block.tokens[0] == 0 and block.outcome != UNCHANGED else " "
        yield from ((sign, line) for line in lines)
        return
    at = 0
    for number, edit in enumerate(block.edits):
        if isinstance(edit, list):
            yield from (("+", line) for line in edit)
            continue
        yield from ((" " if edit > 0 else "-", line) for line in lines[at : at + abs(edit)])
        at += abs(edit)
        if why := block.whys.get(str(number)):
            yield "└", f"{'stays' if edit > 0 else 'gone'}: {why}"


def wrapped(lead: str, text: str, width: int, style: str) -> Iterator[ShownLine]:
    """Wrap a line, between words if possible; each part begins with the lead."""
    room = max(8, width - cell_len(lead))
    text = text.replace("\t", "    ")
    if cell_len(text) <= room:
        yield ShownLine(f"{lead}{text}", style)
        return
    breaks = divide_line(text, room)
    for start, end in zip([0, *breaks], [*breaks, len(text)], strict=True):
        yield ShownLine(f"{lead}{text[start:end].rstrip()}", style)


def error_text(error: CondenseError) -> str:
    return f"! {error.told}"


def fitted(text: str, width: int) -> str:
    """Fit a text into exactly `width` cells, shortened with an ellipsis."""
    if cell_len(text) > width:
        return set_cell_size(text, max(0, width - 1)) + "…"
    return set_cell_size(text, width)


KEPT: Final = " ▁▂▃▄▅▆▇█"
"""Cells by the number of eighths that are kept."""
CUT, PARTLY, CURSOR = "░", "▒", "▲"


class Column(Struct, frozen=True):
    """A column of the strip: tokens before and after of its messages, and if the cursor is on one of them."""

    before: int
    after: int
    is_current: bool


def columns(sizes: Sequence[tuple[int, int]], width: int, current: int) -> list[Column]:
    """Spread messages, given by their tokens before and after, evenly over at most `width` columns."""
    number = min(len(sizes), max(1, width))
    edges = [len(sizes) * place // number for place in range(number + 1)] if number else []
    found = []
    for start, end in pairwise(edges):
        before, after = (sum(size[side] for size in sizes[start:end]) for side in (0, 1))
        found.append(Column(before, after, start <= current < end))
    return found


def strip_lines(found: Sequence[Column], height: int) -> list[str]:
    """Draw `height` rows and one for the cursor: kept tokens are solid, cut ones shaded."""
    largest = max((max(column.before, column.after) for column in found), default=0) or 1
    share = largest / height
    lines = ["".join(_cell(column, row * share, share) for column in found) for row in reversed(range(height))]
    return [*lines, "".join(CURSOR if column.is_current else " " for column in found)]


def _cell(column: Column, least: float, share: float) -> str:
    """Draw the cell of a column for `share` tokens from `least` on. The lowest row shows any number."""
    kept, before = (min(8, max(0, round(8 * (tokens - least) / share))) for tokens in (column.after, column.before))
    if not least:
        kept, before = max(kept, int(column.after > 0)), max(before, int(column.before > 0))
    if before > kept:
        return PARTLY if kept else CUT
    return KEPT[kept]


SESSION_KEYS: Final = (
    ("up down pgup pgdn", "move through the messages; the text beside them follows"),
    ("tab", "go to the text, and back"),
    ("enter left right", "show the blocks of a message, or hide them"),
    ("n N", "next and previous message that is cut"),
    ("k", "keep: this block or message, its tool, its file, everything before"),
    ("x", "cut, likewise"),
    ("space", "keep what is under the cursor, cut it, or leave it to the passes"),
    ("p", "another preset"),
    ("v", "another provider"),
    ("t", "a target: 60000, 60k or 40%"),
    ("e", "edit the configuration"),
    ("w", "write: a new session, in place, a file, or a configuration"),
    ("u r", "undo any step, including what was written; redo"),
    ("i", "what fills the session"),
    ("q escape", "back; twice where what you chose is not written"),
)
EDITOR_KEYS: Final = (
    ("tab", "from the passes to a pass's settings, and back"),
    ("enter", "change a setting"),
    ("delete backspace", "reset a setting to its default"),
    ("a", "add a pass"),
    ("d", "remove a pass"),
    ("K J", "move a pass up or down"),
    ("space", "switch a pass off or on"),
    ("u r", "undo, do again"),
    ("s", "save as YAML"),
    ("q escape", "back; valid changes apply to the open session"),
)
MARKS: Final = (
    ("K X", "kept and cut by you (lower case: in part)"),
    ("~ - +", "cut in part or summarized, gone, new"),
)


def help_lines(keys: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the keys in two columns."""
    return [f"{key:<18} {what}" for key, what in keys]
