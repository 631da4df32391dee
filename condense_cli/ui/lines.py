"""A conversation as lines of a terminal: the list of messages, and the text of one with its cuts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec import Struct
from rich._wrap import divide_line
from rich.cells import cell_len, set_cell_size

from ..passes.selection import Address
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
    """A line with its style, which tells nothing that the text does not: there may be no colours."""

    text: str
    style: str = ""


class ShownPlace(Struct, frozen=True):
    """What a line of the list is: a message by its position in the view, or a block of it."""

    position: int
    number: int | None = None


def place_lines(view: View, expanded: Collection[int]) -> list[tuple[ShownPlace, ShownLine]]:
    """The list of messages, with the blocks of those that are expanded (their positions)."""
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


def _mark(addresses: Sequence[Address], tokens: tuple[int, int], blocks: Sequence[PageBlock], view: View) -> str:
    """K and X for what a person keeps and cuts, then what happens: - gone, ~ cut in part or in a summary."""
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
    """A number in at most five characters: 950, 3.1k, 120k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}{unit}" if value < 100 else f"{value:.0f}{unit}"
    return str(number)


def _label(blocks: Sequence[PageBlock]) -> str:
    """What tells a person which message it is: the first call, or how a text begins."""
    named = next((block for block in blocks if block.label), None)
    if named is not None:
        tool, _, rest = named.label.partition(" ")
        # Paths begin alike, and the list is narrow; the whole is beside it.
        return f"{tool} {rest.rpartition('/')[2] or rest}" if rest.startswith("/") else named.label
    return next((" ".join(block.text[:200].split()) for block in blocks if block.text.strip()), "")


def message_lines(view: View, place: ShownPlace, width: int) -> list[ShownLine]:
    """The text of a message, or of one of its blocks, as the choice makes it, wrapped to a width."""
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
    """The lines of a block with what becomes of each: " " stays, "-" goes, "+" is new; "└" is why, below those."""
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
    """A line in as many as it takes, broken between words where that is possible; each begins with the lead."""
    room = max(8, width - cell_len(lead))
    text = text.replace("\t", "    ")
    if cell_len(text) <= room:
        yield ShownLine(f"{lead}{text}", style)
        return
    breaks = divide_line(text, room)
    for start, end in zip([0, *breaks], [*breaks, len(text)], strict=True):
        yield ShownLine(f"{lead}{text[start:end].rstrip()}", style)


def fitted(text: str, width: int) -> str:
    """A text in exactly so many cells, shortened with an ellipsis."""
    if cell_len(text) > width:
        return set_cell_size(text, max(0, width - 1)) + "…"
    return set_cell_size(text, width)
