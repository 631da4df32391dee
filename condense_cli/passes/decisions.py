"""`Decisions`: what a run came to, one frozen table with a row per block. All that reports tell is computed from it."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import Block, BlockPlace, Message, Transcript
from ..core.values import at_hand
from ..tokens.factor import AS_COUNTED, Factor
from .receipts import PRELUDE, REPLACING, Kept, PassReceipt, Receipt, positions_of

if TYPE_CHECKING:
    from .sheet import Sheet

REFER: Final = "refer"
"""The operation of a block that is written with a reference."""

REPEATED: Final = "repeats lines of another block"
MOVED: Final = "what it refers to changed"
"""Why a block is written with references, or no longer with those that it had."""


@at_hand
class Fate(StrEnum):
    """Outcomes for a block; FRAME is that of the tokens that a message costs besides its blocks."""

    KEPT = "kept"
    CHANGED = "changed"
    REFERENCE = "reference"
    REMOVED = "removed"
    INSERTED = "inserted"
    FRAME = "frame"


class DecisionRow(Struct, frozen=True):
    """The outcome for one block.

    `place` is where the input has it, or where the message was that an inserted block took the place of; `at` where the
    result has it, None where it is gone. A position of −1 is the message itself. `steps` are those of the passes
    that looked at it, in tokens without references. `before` are its tokens in the input, `plain` those of what is left
    of it without references, `after` as written; `restores` those that `restore` adds to it, less those that it would
    have added before.
    """

    place: BlockPlace
    at: BlockPlace | None
    old: Block | None
    new: Block | None
    fate: Fate
    steps: tuple[Receipt, ...]
    before: int
    plain: int
    after: int
    restores: int = 0

    @property
    def is_summarized(self) -> bool:
        """Whether a summary, or a note, is in its place."""
        last = next((step for step in reversed(self.steps) if step.is_change), None)
        return self.fate is Fate.REMOVED and last is not None and last.operation in REPLACING

    @property
    def why(self) -> str:
        """Why the block is what it is, for each step that changed it; what was done before it went matters no more."""
        said: dict[str, None] = {}
        for receipt in self.receipts():
            if receipt.is_change:
                if not receipt.tokens_after:
                    said.clear()
                said[receipt.why] = None
        return "; ".join(said)

    def receipts(self) -> Iterator[Receipt]:
        """The steps with tokens as in the files, and that of the prelude where references made the block what it is.

        The last step that changed the block has what is left of it as written. Where a reference says all of the
        block, no pass cut it.
        """
        last = max((number for number, step in enumerate(self.steps) if step.is_change), default=None)
        if self.fate is Fate.REFERENCE or (last is None and self.fate is Fate.CHANGED):
            yield self._referred(REPEATED if self.fate is Fate.REFERENCE else MOVED)
        if self.fate in (Fate.REFERENCE, Fate.KEPT) or last is None:
            for step in self.steps:
                why, reason = (Kept.REFERENCE, "") if step.is_change else (step.kept, step.reason)
                yield replace(
                    step, operation="keep", tokens_before=self.after, tokens_after=self.after, kept=why, reason=reason
                )
            return
        tokens = self.before
        for number, step in enumerate(self.steps):
            left = tokens
            if step.is_change:
                # What a step saw without references may be larger than the input.
                most = step.tokens_after if self.fate is Fate.INSERTED else min(step.tokens_after, self.before)
                left = self.after if number == last else most
            yield replace(step, tokens_before=tokens, tokens_after=left)
            tokens = left

    def _referred(self, reason: str) -> Receipt:
        assert self.old is not None
        index, number = self.place
        block = self.old
        return Receipt(
            PRELUDE, index, number, block.kind, block.content_type, block.tool, REFER, self.before, self.after,
            reason=reason,
        )  # fmt: skip


class Decisions(Struct, frozen=True, dict=True):
    """A run as a table. The difference of the tokens is the sum of the receipts that are changes.

    All tokens are as counted. `factor` gives the model's tokens for one of these, `asked` is the target in the
    model's tokens.
    """

    before: Transcript
    after: Transcript
    rows: tuple[DecisionRow, ...]
    ran: tuple[PassReceipt, ...]
    tokens_before: int
    tokens_after: int
    target: int | None = None
    factor: Factor = AS_COUNTED
    asked: int | None = None

    @cached_property
    def receipts(self) -> tuple[Receipt, ...]:
        """The steps of all passes, pass by pass, with tokens as in the files."""
        order = {receipt.id: number for number, receipt in enumerate(self.ran)}
        found = [receipt for row in self.rows for receipt in row.receipts()]
        return tuple(sorted(found, key=lambda receipt: order.get(receipt.pass_id, -1)))

    @cached_property
    def passes(self) -> tuple[PassReceipt, ...]:
        """The passes in order, with the tokens before and after each, and the number of blocks that it changed."""
        return tuple(_with_sums(self.ran, self.tokens_before, self.changes))

    @cached_property
    def changes(self) -> list[Receipt]:
        return [receipt for receipt in self.receipts if receipt.is_change]

    @cached_property
    def references(self) -> dict[BlockPlace, int]:
        """Tokens that `restore` adds to each block of the input, less those that it would have added before."""
        return {row.place: row.restores for row in self.rows if row.restores}


def unchanged(
    transcript: Transcript,
    tokens: int,
    passes: Iterable[PassReceipt],
    factor: Factor,
    asked: int | None = None,
    target: int | None = None,
) -> Decisions:
    """A run that leaves a transcript of so many tokens as it is."""
    return Decisions(transcript, transcript, (), tuple(passes), tokens, tokens, target, factor, asked)


def decided(
    before: Transcript,
    sheet: Sheet,
    log: Sequence[Receipt],
    passes: Sequence[PassReceipt],
    tokens_before: int,
    target: int | None,
    factor: Factor,
    asked: int | None,
) -> Decisions:
    """The table of a run that leaves a sheet; the `log` tells in order what passes did to blocks of the input."""
    after = sheet.finish(before)
    rows = tuple(_rows(before.messages, after.messages, sheet, log))
    return Decisions(before, after, rows, tuple(passes), tokens_before, sheet.tokens, target, factor, asked)


def _rows(
    before: Sequence[Message], after: Sequence[Message], sheet: Sheet, log: Sequence[Receipt]
) -> Iterator[DecisionRow]:
    count = sheet.count
    steps, put = _by_block(log)
    now = positions_of(after)
    restores = sheet.references()
    inserted = {
        message.index: (position, number)
        for position, message in enumerate(after)
        for number, block in enumerate(message.blocks)
        if block.is_inserted
    }
    for message in before:
        for number, old in enumerate(message.blocks):
            place, own = (message.index, number), tuple(steps.get((message.index, number), ()))
            tokens, where = count.block(old), now.get(old.key)
            if where is None or after[where[0]].blocks[where[1]].is_inserted:
                yield DecisionRow(place, None, old, None, Fate.REMOVED, own, tokens, 0, 0, restores.get(place, 0))
                continue
            position, at = where
            new, plain = after[position].blocks[at], sheet.messages[position].blocks[at]
            fate = _fate(old, new, is_reference=sheet.is_reference(position, at))
            left, plain_tokens = (tokens if block is old else count.block(block) for block in (new, plain))
            index = after[position].index
            yield DecisionRow(
                place, (index, at), old, new, fate, own, tokens, plain_tokens, left, restores.get(place, 0)
            )
        frame = message.index, -1
        for receipt in steps.get(frame, ()):
            yield DecisionRow(frame, None, None, None, Fate.FRAME, (receipt,), receipt.tokens_before, 0, 0)
        own_summaries = put.get(message.index, [])
        for summary in own_summaries:
            if summary is not own_summaries[-1] or message.index not in inserted:
                yield DecisionRow(frame, None, None, None, Fate.INSERTED, tuple(summary), 0, 0, 0)
                continue
            now_at, own_number = inserted[message.index]
            block, plain = after[now_at].blocks[own_number], sheet.messages[now_at].blocks[own_number]
            to = message.index, own_number
            yield DecisionRow(
                frame, to, None, block, Fate.INSERTED, tuple(summary), 0, count.block(plain), count.block(block)
            )


def _by_block(log: Iterable[Receipt]) -> tuple[dict[BlockPlace, list[Receipt]], dict[int, list[list[Receipt]]]]:
    """The steps of each block and frame of the input, and those of each summary that was put, by its message.

    A summary is one block in the place of its message: what is told of that place afterwards is told of the summary.
    """
    steps: defaultdict[BlockPlace, list[Receipt]] = defaultdict(list)
    put: defaultdict[int, list[list[Receipt]]] = defaultdict(list)
    for receipt in log:
        if receipt.block < 0 and not receipt.tokens_before:
            put[receipt.message].append([receipt])
        elif receipt.block >= 0 and receipt.message in put:
            put[receipt.message][-1].append(receipt)
        else:
            steps[receipt.message, receipt.block].append(receipt)
    return steps, put


def _fate(old: Block, new: Block, *, is_reference: bool) -> Fate:
    if new.reads_as(old) and new.kind is old.kind:
        return Fate.KEPT
    return Fate.REFERENCE if is_reference else Fate.CHANGED


def _with_sums(passes: Iterable[PassReceipt], tokens: int, changes: Iterable[Receipt]) -> Iterator[PassReceipt]:
    """The passes of a run that begins with so many tokens, with tokens before and after each, and blocks changed."""
    saved: Tally[str] = Tally()
    blocks: defaultdict[str, set[BlockPlace]] = defaultdict(set)
    for receipt in changes:
        saved[receipt.pass_id] += receipt.tokens_before - receipt.tokens_after
        blocks[receipt.pass_id].add((receipt.message, receipt.block))
    for one in passes:
        left = tokens - saved.pop(one.id, 0)
        number = len(blocks.pop(one.id, ()))
        worth = one.min_worth if number else None
        yield replace(one, tokens_before=tokens, tokens_after=left, changes=number, min_worth=worth)
        tokens = left
