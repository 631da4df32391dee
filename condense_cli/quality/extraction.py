"""The extraction without a model as ways of their own: what chooses lines, without passes, windows and markers."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..core.tokens import MESSAGE_TOKENS
from ..core.transcript import Block, JsonPath, Message, Place
from ..core.values import BlockKind, Role
from ..extractive.parts import Key
from ..extractive.shorten import shorten_to_budget, summarize
from ..extractive.survey import Survey
from ..lossless.encode import Positions, with_blocks
from ..toolcalls.tools import with_values
from .cases import Case, Way, fixed_messages


def _survey(case: Case) -> Survey:
    known = case.remembered.get(Survey)
    if not isinstance(known, Survey):
        known = case.remembered[Survey] = Survey(case.before.messages, case.count)
    return known


def lines(case: Case, target: int) -> list[Message]:
    """The lines that later work needs, chosen over the whole conversation."""
    survey = _survey(case)
    fixed = {id(message) for message in fixed_messages(case.before.messages)}
    open_keys = [key for key in survey.parts if id(case.before.messages[key[0]]) not in fixed]
    others = case.tokens - sum(case.count(survey.parts[key].text) for key in open_keys)
    return _with_texts(case, survey, shorten_to_budget(survey, open_keys, target - others))


def summary(case: Case, target: int) -> list[Message]:
    """The same as one text with headings, behind the standing instructions and what the user wrote."""
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
    edits: dict[Positions, dict[JsonPath, str]] = {}
    for key, text in texts.items():
        if text != survey.parts[key].text:
            edits.setdefault(key[:2], {})[key[2]] = text
    changed: dict[Positions, Block] = {}
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
"""By the names that a command line gives them."""
