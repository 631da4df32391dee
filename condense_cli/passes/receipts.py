"""Receipts: what was changed and what was left alone, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import Block, BlockKey, Message
from ..core.values import BlockKind, ContentType, at_hand
from ..extractive.reason import LineReason
from ..tokens.counting import Counter


@at_hand
class Kept(StrEnum):
    """Why a block stayed as it is, in words that need no others."""

    CONFIGURED = "the pass keeps this kind"
    NO_CONTENT_TYPE = "this kind is never rewritten"
    STANDING = "standing instructions"
    FIRST = "protected at the start"
    BEFORE_REQUEST = "before the first request"
    FIRST_REQUEST = "part of the user's first request"
    NEXT_REQUEST = "part of the first request after a summary"
    PINNED = "pinned"
    MUST = "holds what must be kept"
    ANCHOR = "the conversation continues from here"
    RECENT = "among the preserved turns"
    NEWEST = "among the newest turns"
    WORDS = "the user's own words"
    NOT_SELECTED = "not selected by the pass"
    CUT = "already cut"
    SMALL = "smaller than min_tokens"
    WITHIN_LIMITS = "already within the limits"
    NOT_SMALLER = "no smaller when rewritten"
    NOT_AN_OBJECT = "its arguments are not a JSON object"
    SHORT_VALUES = "has no long value"
    AT_WORK = "shows a file at work"
    NEWEST_STATE = "holds the newest to-do list"
    TARGET_REACHED = "the target was already reached"
    UNIQUE = "has no lines to refer to"
    REFERENCE = "already replaced by a reference"
    SUMMARY = "in a summary of earlier messages"
    SUMMARIZED = "already summarized"
    NO_SUMMARY = "no summary was written"
    NOTHING_NEW = "nothing new to summarize"
    AT_END = "at the edge of the selection"
    EXCHANGE = "its call or result is kept"
    NEEDED = "worth their tokens"
    OUT_OF_REACH = "the pass alone cannot reach the target"
    NEWER_HALF = "in the newer half of the exchanges"


REQUEST: Final = frozenset({Kept.FIRST_REQUEST, Kept.NEXT_REQUEST})
PROTECTED: Final = REQUEST | {Kept.STANDING, Kept.FIRST, Kept.BEFORE_REQUEST, Kept.PINNED, Kept.MUST, Kept.RECENT}


EXTRACT: Final = "extract"
EMPTY: Final = "empty"
"""No line was worth its tokens: only a marker is left."""
SUMMARIZE: Final = "summarize"
NOTE: Final = "note"
"""Calls and results become a note, which has the lines of them that stay."""
LINES: Final = "lines of calls and results"
"""The reason in the receipt of a note."""
IN_NOTE: Final = "a note has its lines that later work needs"
IN_SUMMARY: Final = "the summary has what later work needs of it"
"""Why a block could go for which a note, or a summary, was written."""
REPLACING: Final = frozenset({SUMMARIZE, NOTE})
"""Operations that put a new message in place of blocks."""
PICKING: Final = REPLACING | {EXTRACT, EMPTY}
"""Operations that pick lines by what they are worth; of a summary that a model writes no line is one of the text."""

PRELUDE: Final = "lossless-prelude"
THINKING: Final = "thinking"
IMAGES: Final = "images"
LISTINGS: Final = "listings"
"""What receipts call the steps of a run that are no passes."""

SWITCHED_OFF: Final = "switched off by the configuration"
NO_TARGET: Final = "there is no target"
REACHED: Final = "the target was already reached"
KEEPS_ALL: Final = "it keeps everything"
UNDONE: Final = "undone: the run saved too little"
"""Why a step did nothing."""


@at_hand
class Status(StrEnum):
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"


class Receipt(Struct, frozen=True):
    """One block and one pass. `kept` is None where the block changed; then `reason` says why it was chosen.

    Where it stayed, `reason` is empty, or says what a flag of the run had to do with it.
    `message` is the message's index in the input, `block` the block's position in that message. `went` and `stayed` are
    why single lines did, where somebody asked and lines were picked.
    """

    pass_id: str
    message: int
    block: int
    kind: BlockKind | None
    content_type: ContentType | None
    tool: str | None
    operation: str
    tokens_before: int
    tokens_after: int
    kept: Kept | None = None
    reason: str = ""
    went: tuple[LineReason, ...] = ()
    stayed: tuple[LineReason, ...] = ()

    @property
    def is_change(self) -> bool:
        return self.kept is None

    @property
    def why(self) -> str:
        return self.reason or (self.kept.value if self.kept else "")


class PassReceipt(Struct, frozen=True):
    """One pass (or the prelude): whether it ran, and the transcript's tokens before and after it."""

    id: str
    name: str
    status: Status
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    changes: int = 0
    seconds: float = 0.0
    calls: int = 0
    cost: Decimal = Decimal(0)
    """Calls of models for its summaries, and their dollars, as far as known."""
    preserved_turns: int | None = None
    """How many of the newest turns the pass could not touch; None when it selects otherwise."""
    min_worth: float | None = None
    """What lines had to be worth to stay, where that decided which ones went; None where anything else did."""


def kept(pass_id: str, message: Message, position: int, tokens: int, why: Kept) -> Receipt:
    block = message.blocks[position]
    return Receipt(
        pass_id, message.index, position, block.kind, block.content_type, block.tool, "keep", tokens, tokens, kept=why
    )


def changed(
    pass_id: str, message: Message, position: int, operation: str, before: int, after: int, reason: str
) -> Receipt:
    block: Block = message.blocks[position]
    return Receipt(
        pass_id,
        message.index,
        position,
        block.kind,
        block.content_type,
        block.tool,
        operation,
        before,
        after,
        reason=reason,
    )


def all_kept(pass_id: str, messages: Sequence[Message], stay: Mapping[int, Kept], count: Counter) -> list[Receipt]:
    """Receipts for all blocks of the messages at some positions, which stay, each for its reason."""
    return [
        kept(pass_id, messages[position], number, count.block(block), why)
        for position, why in stay.items()
        for number, block in enumerate(messages[position].blocks)
    ]


def tokens_in(messages: Iterable[Message], count: Counter) -> dict[tuple[int, int], int]:
    """Tokens of every block of some messages, by the message's index and the block's position in it."""
    return {
        (message.index, number): count.block(block)
        for message in messages
        for number, block in enumerate(message.blocks)
    }


def undone(receipt: PassReceipt) -> PassReceipt:
    """The receipt of a pass in a run that comes to nothing."""
    if not receipt.changes:
        return receipt
    return replace(receipt, tokens_after=receipt.tokens_before, changes=0, reason=UNDONE)


def places(messages: Iterable[Message]) -> dict[BlockKey, tuple[int, int]]:
    """Return the index of each block's message, and the block's number in it."""
    return {block.key: (message.index, number) for message in messages for number, block in enumerate(message.blocks)}


def positions_of(messages: Sequence[Message]) -> dict[BlockKey, tuple[int, int]]:
    """Return the position of each block's message, and the block's number in it."""
    return {
        block.key: (position, number)
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
    }


def at_place(receipt: Receipt, place: tuple[int, int] | None) -> Receipt:
    if place is None or place == (receipt.message, receipt.block):
        return receipt
    return replace(receipt, message=place[0], block=place[1])
