"""Baselines to compare with: blind ways to condense, and the extraction on its own.

All of them keep the standing instructions, the first request, and texts hardly longer than a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from msgspec.structs import replace

from ..config.models import ContentOperation, OperationParams, TruncateParams
from ..core.transcript import Block, BlockPlace, JsonPath, Message, Place, stretches
from ..core.values import BlockKind, Role
from ..extractive.parts import Key
from ..extractive.shorten import shorten_to_budget, summarize
from ..extractive.survey import Survey
from ..lossless.encode import with_blocks
from ..passes.blocks.operations import apply
from ..tokens.counting import MESSAGE_TOKENS
from ..toolcalls.tools import with_values
from .cases import Case, ToTarget, Way, fixed_messages

_MARKER: Final = 40
"""Texts of fewer tokens stay."""

_KEPT_RESULTS: Final = 10
_WIDTH: Final = 100
"""Characters of each line that stays, so that long lines are cut as well."""

_SUPPRESS: Final = ContentOperation(operation="suppress", min_tokens=_MARKER)


def _open_blocks(case: Case) -> Iterator[tuple[BlockPlace, Block]]:
    """Yield the blocks that a way may change."""
    fixed = {id(message) for message in fixed_messages(case.before.messages)}
    for position, message in enumerate(case.before.messages):
        if id(message) not in fixed:
            for number, block in enumerate(message.blocks):
                if block.kind in (BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT):
                    yield (position, number), block


def _masked(case: Case, block: Block) -> Block | None:
    found = apply(block, _SUPPRESS, case.count)
    return found if isinstance(found, Block) else None


def mask(case: Case, target: int) -> list[Message]:
    """Replace tool results by markers, oldest first; if that is not enough also arguments, then texts."""
    order = sorted(
        _open_blocks(case),
        key=lambda found: (found[1].kind is BlockKind.TEXT, found[1].kind is BlockKind.TOOL_CALL, found[0]),
    )
    tokens = case.tokens
    masked: dict[BlockPlace, tuple[Block, int]] = {}
    for place, block in order:
        if tokens <= target:
            break
        new = _masked(case, block)
        if new is not None:
            saved = case.count.block(block) - case.count.block(new)
            masked[place] = new, saved
            tokens -= saved
    # The last one may have been large: restore what still fits.
    for place, (_, saved) in reversed(list(masked.items())):
        if tokens + saved <= target:
            del masked[place]
            tokens += saved
    return with_blocks(case.before.messages, {place: block for place, (block, _) in masked.items()})


def mask_but_newest(case: Case, keep: int = _KEPT_RESULTS) -> list[Message]:
    """Replace all tool results but the newest by markers."""
    results = [found for found in _open_blocks(case) if found[1].kind is BlockKind.TOOL_RESULT]
    masked = {place: _masked(case, block) for place, block in results[:-keep]}
    return with_blocks(case.before.messages, {place: block for place, block in masked.items() if block is not None})


def oldest_dropped(case: Case, target: int) -> list[Message]:
    """Drop the oldest messages, calls together with their results."""
    messages = case.before.messages
    fixed = {id(message) for message in fixed_messages(messages)}
    tokens = case.tokens
    dropped: set[int] = set()
    for stretch in stretches(messages):
        if tokens <= target:
            break
        for position in stretch:
            if id(messages[position]) not in fixed:
                dropped.add(position)
                tokens -= case.count.message(messages[position])
    return [message for position, message in enumerate(messages) if position not in dropped]


def _first_lines(side: Literal["head", "both"]) -> ToTarget:
    """Keep the same number of first lines of every text, as many as fit."""

    def cut(case: Case, lines: int) -> dict[BlockPlace, Block]:
        limits = TruncateParams(max_lines=lines, max_chars=lines * _WIDTH, keep=side)
        operation = ContentOperation(operation="truncate", params=OperationParams(truncate=limits), min_tokens=_MARKER)
        found = {place: apply(block, operation, case.count) for place, block in _open_blocks(case)}
        return {place: block for place, block in found.items() if isinstance(block, Block)}

    def size(case: Case, lines: int) -> int:
        known = case.remembered.get((side, lines))
        if not isinstance(known, int):
            known = case.remembered[side, lines] = case.size_of(with_blocks(case.before.messages, cut(case, lines)))
        return known

    def way(case: Case, target: int) -> list[Message]:
        # Every target takes the same steps, so most sizes are known from the target before.
        low, high = 1, 4_096
        while low < high:
            middle = (low + high) // 2 + 1
            if size(case, middle) <= target:
                low = middle
            else:
                high = middle - 1
        return with_blocks(case.before.messages, cut(case, low))

    return way


MASK: Final = Way("mask old results", mask, ((f"all results but the newest {_KEPT_RESULTS}", mask_but_newest),))
BASELINES: Final[dict[str, Way]] = {
    "mask": MASK,
    "head": Way("first lines", _first_lines("head")),
    "ends": Way("first and last lines", _first_lines("both")),
    "oldest": Way("drop the oldest", oldest_dropped),
}
"""Baselines by their names on the command line."""


def _survey(case: Case) -> Survey:
    known = case.remembered.get(Survey)
    if not isinstance(known, Survey):
        known = case.remembered[Survey] = Survey(case.before.messages, case.count)
    return known


def lines(case: Case, target: int) -> list[Message]:
    """Choose the lines that later work needs over the whole conversation."""
    survey = _survey(case)
    fixed = {id(message) for message in fixed_messages(case.before.messages)}
    open_keys = [key for key in survey.parts if id(case.before.messages[key[0]]) not in fixed]
    others = case.tokens - sum(case.count(survey.parts[key].text) for key in open_keys)
    return _with_texts(case, survey, shorten_to_budget(survey, open_keys, target - others))


def summary(case: Case, target: int) -> list[Message]:
    """Write those lines as one text with headings, behind the standing instructions and the user's words."""
    survey = _survey(case)
    wanted = {id(message) for message in fixed_messages(case.before.messages)}
    requests = {key[:2] for key, part in survey.parts.items() if part.is_request}
    kept = []
    for position, message in enumerate(case.before.messages):
        if id(message) not in wanted:
            blocks = tuple(block for number, block in enumerate(message.blocks) if (position, number) in requests)
            message = replace(message, blocks=blocks)
        if message.blocks:
            kept.append(message)
    budget = target - case.size_of(kept) - MESSAGE_TOKENS
    text = summarize(survey, 0, len(case.before.messages), max(0, budget))
    block = Block(BlockKind.TEXT, Place(0, ("summary",)), (), content=text)
    return [*kept, Message(-1, Role.ASSISTANT, (block,))] if text else kept


def _with_texts(case: Case, survey: Survey, texts: dict[Key, str]) -> list[Message]:
    edits: dict[BlockPlace, dict[JsonPath, str]] = {}
    for key, text in texts.items():
        if text != survey.parts[key].text:
            edits.setdefault(key[:2], {})[key[2]] = text
    changed: dict[BlockPlace, Block] = {}
    for (position, number), texts_of_block in edits.items():
        block = case.before.messages[position].blocks[number]
        if () in texts_of_block:
            changed[position, number] = block.with_text(texts_of_block[()])
        else:
            changed[position, number] = with_values(block, texts_of_block)
    return with_blocks(case.before.messages, changed)


EXTRACTION: Final[dict[str, Way]] = {
    "lines": Way("lines that later work needs", lines),
    "summary": Way("the same as one text", summary),
}
"""The extraction's ways by their names on the command line."""
