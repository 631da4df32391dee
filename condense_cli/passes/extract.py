"""A pass in mode extract: all that it selects is shortened together, to what is left of the target.

The lines that later work needs least go first, wherever they stand. A block is never larger than it was, and what was
cut once is recognised by its markers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ..config.models import ExtractConfig, PassConfig
from ..tools import arguments_of, replace_arguments, string_values
from ..transcript import Block, BlockKind, ContentType, JsonPath
from .approach import approach
from .draft import Draft, Saved
from .operations import long_values
from .receipts import Kept, Receipt, changed, kept
from .selection import Protection, Selected

if TYPE_CHECKING:
    from ..extractive.parts import Key

EXTRACT: Final = "extract"

_LEAST: Final = 10
"""Fewer tokens than any marker has."""


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
) -> list[Receipt]:
    """Shorten what the pass selects, and give a receipt for every block.

    `freed` tells how many tokens of the draft as it stands go besides, once the pass is done.
    """
    extraction = config.extract_config or ExtractConfig()
    chosen = _choose(draft, config, extraction, selected, protection)
    before = draft.saved()
    is_left = extraction.out_of_reach == "leave"
    if is_left and draft.tokens - _most_saved(draft, chosen) > target:
        return [*chosen.stay, *_receipts(draft, config, selected, before, chosen, Kept.OUT_OF_REACH)]

    from ..extractive.shorten import Together
    from ..extractive.survey import Survey

    keys = [key for keys in chosen.keys.values() for key in keys]
    together = Together(Survey(draft.messages, draft.count), keys)

    def left_with(budget: int) -> int:
        """Tokens free of the target when the texts have so many; below 0 those that are too many."""
        _put(draft, before, chosen, together.within(budget))
        return target - (draft.tokens - freed())

    # References, and what JSON spells longer, make the whole another size than the texts: so it is tried.
    budget = together.tokens - (draft.plain_tokens - target)
    why = Kept.NEEDED
    if approach(target, left_with, budget, together.tokens) < 0:
        why = Kept.OUT_OF_REACH
        if is_left:
            draft.restore(before)
            draft.write()
    return [*chosen.stay, *_receipts(draft, config, selected, before, chosen, why)]


def _most_saved(draft: Draft, chosen: _Chosen) -> int:
    """No fewer tokens than shortening can save: every text is a marker."""
    blocks = (draft.messages[position].blocks[number] for position, number in chosen.keys)
    return sum(max(0, draft.count.block(block) - _LEAST) for block in blocks)


def _choose(
    draft: Draft, config: PassConfig, extraction: ExtractConfig, selected: Selected, protection: Protection
) -> _Chosen:
    chosen = _Chosen({}, [])
    for position, message in enumerate(draft.messages):
        for number, block in enumerate(message.blocks):
            why = protection.of(message, block)
            if why is None and position >= selected.end:
                why = Kept.RECENT
            elif why is None and not selected.test(message, block):
                why = Kept.NOT_SELECTED
            elif why is None:
                why = _why_not(block, extraction)
            paths = [()] if why or block.kind is not BlockKind.TOOL_CALL else _paths(draft, block)
            if why is None and not paths:
                why = Kept.SHORT_VALUES
            if why is not None:
                chosen.stay.append(kept(config.id, message, number, draft.count.block(block), why))
            else:
                chosen.keys[position, number] = [(position, number, path) for path in paths]
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
    return [path for path, _ in long_values(block, draft.count)]


def _put(draft: Draft, before: Saved, chosen: _Chosen, texts: Mapping[Key, str]) -> None:
    """Make the draft what it was before the pass, with these texts."""
    draft.restore(before)
    for (position, number), keys in chosen.keys.items():
        block = draft.messages[position].blocks[number]
        new = _rewritten(block, {key[2]: texts[key] for key in keys})
        if draft.count.block(new) < draft.count.block(block):
            draft.put(position, number, new)
    draft.settle()
    draft.write()


def _rewritten(block: Block, texts: Mapping[JsonPath, str]) -> Block:
    if block.kind is not BlockKind.TOOL_CALL:
        return block if texts[()] == block.text else block.with_text(texts[()])
    old = dict(string_values(arguments_of(block)))
    edits = {path: text for path, text in texts.items() if text != old[path]}
    return block.with_edits(replace_arguments(block, edits), edits) if edits else block


def _receipts(
    draft: Draft, config: PassConfig, selected: Selected, before: Saved, chosen: _Chosen, why: Kept
) -> list[Receipt]:
    """Receipts for the blocks that may be shortened; `why` those stay that do."""
    receipts = []
    for position, number in chosen.keys:
        message = draft.messages[position]
        old, new = before.messages[position].blocks[number], message.blocks[number]
        tokens = draft.count.block(old)
        if new is not old:
            after = draft.count.block(new)
            receipts.append(changed(config.id, message, number, EXTRACT, tokens, after, selected.reason))
        else:
            receipts.append(kept(config.id, message, number, tokens, why))
    return receipts
