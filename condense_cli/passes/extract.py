"""A pass in mode extract: all that it selects is shortened together, to what is left of the target.

The lines that later work needs least go first, wherever they stand. Where the pass may summarize, the oldest messages
become one summary with lines of theirs, as far as more of what later work needs stays that way: a text in its place
costs its marker and the frame of its message, however little of it is left. A block is never larger than it was, and
what was cut once is recognised by its markers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ..config.models import ExtractConfig, PassConfig
from ..tools import arguments_of, replace_arguments, string_values
from ..transcript import Block, BlockKind, ContentType, JsonPath, Message, Text
from .approach import approach
from .draft import Draft, Saved
from .older import Older
from .operations import long_values
from .receipts import Kept, Receipt, changed, kept
from .selection import Protection, Selected
from .untouched import why_untouched

if TYPE_CHECKING:
    from ..extractive.parts import Key

EXTRACT: Final = "extract"

_LEAST: Final = 10
"""Fewer tokens than any marker has."""

_MOST_RECENT: Final = 1 / 3
"""Where the newest turns take more of the target, little of all that was before them would be left."""


class _Chosen(Struct):
    """The texts that may be shortened, by block, and the receipts of the blocks that stay for another reason."""

    keys: dict[tuple[int, int], list[Key]]
    stay: list[Receipt]


def run_extract(
    draft: Draft,
    config: PassConfig,
    selected: Selected,
    protection: Protection,
    target: int,
    freed: Callable[[], int],
    before_pass: Sequence[Message],
    format: str | None,
) -> list[Receipt]:
    """Shorten what the pass selects, and give a receipt for every block.

    `freed` tells how many tokens of the draft as it stands go besides, once the pass is done; `before_pass` are the
    messages as they are written before it. A summary is only written where the `format` is given that it is written in.
    """
    extraction = config.extract_config or ExtractConfig()
    older = Older(config, selected, protection, format, before_pass) if extraction.may_summarize and format else None
    chosen = _choose(draft, config, extraction, selected, protection)
    before = draft.saved()
    is_left = extraction.out_of_reach == "leave"
    if is_left and not _is_in_reach(draft, chosen, target, older):
        return [*chosen.stay, *_receipts(draft, config, selected, before, chosen.keys, {}, Kept.OUT_OF_REACH)]

    from .division import divide  # With the extraction: it is imported where a target is to be met.

    division = divide(draft, chosen.keys, target, older)
    put: dict[tuple[int, int], Block] = {}
    summarized: list[Receipt] = []

    def left_with(budget: int) -> int:
        """Tokens free of the target when the texts have so many; below 0 those that are too many."""
        draft.restore(before)
        shortened = division.together.within(budget)
        put.clear()
        put.update(_put(draft, chosen, shortened.texts))
        summarized[:] = (
            older.write(draft, division.end, division.room, shortened.summary) if older and division.end else []
        )
        draft.write()
        return target - (draft.tokens - freed())

    # References, and what JSON spells longer, make the whole another size than the texts: so it is tried.
    why = Kept.NEEDED
    if approach(target, left_with, division.budget, division.together.tokens) < 0:
        why = Kept.OUT_OF_REACH
        if is_left:
            put, summarized = {}, []
            draft.restore(before)
            draft.write()
    gone = {(receipt.message, receipt.block) for receipt in summarized}
    receipts = [*chosen.stay, *_receipts(draft, config, selected, before, chosen.keys, put, why)]
    return [receipt for receipt in receipts if (receipt.message, receipt.block) not in gone] + summarized


def _is_in_reach(draft: Draft, chosen: _Chosen, target: int, older: Older | None) -> bool:
    """Whether a target can be met that leaves enough room beside the newest turns."""
    recent = sum(receipt.tokens_after for receipt in chosen.stay if receipt.kept is Kept.RECENT)
    return recent <= _MOST_RECENT * target and draft.tokens - _most_saved(draft, chosen, older) <= target


def _most_saved(draft: Draft, chosen: _Chosen, older: Older | None) -> int:
    """No fewer tokens than shortening can save: every text is a marker, or all that may go is summarized."""
    summarized = set(older.positions(draft, len(draft.messages))) if older else set()
    blocks = (draft.messages[position].blocks[number] for position, number in chosen.keys if position not in summarized)
    saved = sum(max(0, draft.count.block(block) - _LEAST) for block in blocks)
    return saved + sum(draft.count.message(draft.messages[position]) for position in summarized)


def _choose(
    draft: Draft, config: PassConfig, extraction: ExtractConfig, selected: Selected, protection: Protection
) -> _Chosen:
    chosen = _Chosen({}, [])
    for position, message in enumerate(draft.messages):
        for number, block in enumerate(message.blocks):
            why = why_untouched(position, message, block, selected, protection) or _why_not(block, extraction)
            paths = [] if why else _paths(draft, block)
            if paths:
                chosen.keys[position, number] = [(position, number, path) for path in paths]
            else:
                why = why or Kept.SHORT_VALUES
                chosen.stay.append(kept(config.id, message, number, draft.count.block(block), why))
    return chosen


def _why_not(block: Block, extraction: ExtractConfig) -> Kept | None:
    """Why the block is none to shorten, whatever it says."""
    if block.content_type in (None, ContentType.IMAGES) or not block.text:
        return Kept.NO_CONTENT_TYPE
    if block.content_type.value not in extraction.content:
        return Kept.CONFIGURED
    if block.kind is BlockKind.TOOL_CALL and arguments_of(block) is None:
        return Kept.NOT_AN_OBJECT
    return None


def _paths(draft: Draft, block: Block) -> list[JsonPath]:
    """Where its texts stand: the long values in the arguments of a call; any other block is one text."""
    if block.kind is not BlockKind.TOOL_CALL:
        return [()]
    return [path for path, _ in long_values(block, draft.count)]


def _put(draft: Draft, chosen: _Chosen, texts: Mapping[Key, Text]) -> dict[tuple[int, int], Block]:
    """Put texts into the draft; the blocks that this makes smaller, as they are now."""
    put = {}
    for (position, number), keys in chosen.keys.items():
        block = draft.messages[position].blocks[number]
        new = _rewritten(block, {key[2]: texts[key] for key in keys if key in texts})
        if draft.count.block(new) < draft.count.block(block):
            draft.put(position, number, new)
            put[position, number] = new
    draft.settle()
    return put


def _rewritten(block: Block, texts: Mapping[JsonPath, Text]) -> Block:
    if not texts:
        return block
    if block.kind is not BlockKind.TOOL_CALL:
        return block if texts[()] is block.content else block.with_text(texts[()])
    old = dict(string_values(arguments_of(block)))
    edits = {path: text for path, text in zip(texts, map(str, texts.values()), strict=True) if text != old[path]}
    return block.with_edits(replace_arguments(block, edits), edits) if edits else block


def _receipts(
    draft: Draft,
    config: PassConfig,
    selected: Selected,
    before: Saved,
    places: Collection[tuple[int, int]],
    put: Mapping[tuple[int, int], Block],
    why: Kept,
) -> list[Receipt]:
    """Receipts for the blocks that may be shortened; `why` those stay that were not `put`."""
    receipts = []
    for position, number in places:
        message = before.messages[position]
        tokens = draft.count.block(message.blocks[number])
        if (position, number) in put:
            after = draft.count.block(put[position, number])
            receipts.append(changed(config.id, message, number, EXTRACT, tokens, after, selected.reason))
        else:
            receipts.append(kept(config.id, message, number, tokens, why))
    return receipts
