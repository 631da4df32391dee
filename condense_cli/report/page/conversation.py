"""The conversation of a run as its page and the terminal app show it: each text once, what became of it, and why."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ...core.markers import REFERENCE_PREFIX
from ...core.transcript import Block, BlockKey, BlockPlace, Message, calls_by_id
from ...core.values import BlockKind
from ...core.wording import visible
from ...extractive.reason import ReasonedLine
from ...lossless import references
from ...lossless.decode import Decoded, decode, texts_of
from ...lossless.lines import find_above, find_place
from ...lossless.matching import Reader
from ...lossless.references import ABOVE, Addresses, Reference, TextPlace, parse_reference, tag_of
from ...passes.condensation import Condensation
from ...passes.decisions import REFER
from ...passes.receipts import NOTE, REPLACING, SUMMARIZE, Receipt
from ...tokens.counting import MESSAGE_TOKENS, Counter
from ..difference import line_hunks, lines_of_summaries, moved_hunks
from ..text import call_label, lines_text, operation_label, readable, receipt_text

_Target = tuple[BlockPlace, int, int]
"""The block of a reference and the lines of its text: the first, counted from 0, and their number.

That is 0 if there are no whole lines: an argument of a call, or a part of a text.
"""


def _links_in(messages: Sequence[Message]) -> tuple[dict[BlockPlace, dict[str, _Target]], Sequence[Message]]:
    """Return the targets of each block's references by the lines that spell them, and the messages without references.

    A line that imitates a reference and names no block is none.
    """
    reader = Reader()
    decoded = decode(messages, reader)
    addresses = Addresses(messages, reader.names)
    targets: dict[BlockPlace, dict[str, _Target]] = {}
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if reader.may_refer(block.content):
                found = dict(_of_block(TextPlace(position, number), block, decoded, addresses, reader))
                if found:
                    targets[position, number] = found
    return targets, decoded.messages


def _of_block(
    here: TextPlace, block: Block, decoded: Decoded, addresses: Addresses, reader: Reader
) -> Iterator[tuple[str, _Target]]:
    named = decoded.named.get(here[:2], frozenset())
    for text in texts_of(block):
        offset = 0
        for line in text.split("\n"):
            reference = parse_reference(line) if line.startswith(REFERENCE_PREFIX) else None
            if reference is not None:
                from_here = here._replace(part=_part(text, offset, reference))
                there = here if reference.address == ABOVE else addresses.find(from_here, reference.address)
                if there is not None and (there[:2] in named or there[:2] == here[:2]):
                    yield line, (there[:2], *_lines(reference, decoded, there, reader))
            offset += len(line) + 1


def _part(text: str, offset: int, reference: Reference) -> int:
    """Return the index of the element in its tag that holds a reference to state."""
    tag = tag_of(reference.address.what)
    return sum(element.end <= offset for element in references.by_tag(text).get(tag, ())) if tag else 0


def _lines(reference: Reference, decoded: Decoded, there: TextPlace, reader: Reader) -> tuple[int, int]:
    block = decoded.messages[there.message].blocks[there.block]
    if block.kind is BlockKind.TOOL_CALL or reference.address.field or tag_of(reference.address.what):
        return 0, 0
    shape = reader.lines(block.content).shape
    if reference.address == ABOVE:
        return find_above(shape.length, reference.where) or (0, 0)
    return find_place(shape, reference.where) or (0, 0)


class AlignedBlock(Struct, frozen=True):
    """A block before and after the run; `number` is its position in its message, `position` that in the result."""

    number: int
    before: Block | None
    after: Block | None
    position: BlockPlace | None


class AlignedMessage(Struct, frozen=True):
    """A message of the input, or one that the run wrote. `remains` tells how many messages of the result it is now."""

    message: Message
    is_new: bool
    remains: int
    blocks: tuple[AlignedBlock, ...]


def align(before: Sequence[Message], after: Sequence[Message]) -> list[AlignedMessage]:
    """All messages of both. New ones are where they took the place of others: in front of these."""
    known = {block.key: position for position, message in enumerate(before) for block in message.blocks}
    empty = {message.index: position for position, message in enumerate(before) if not message.blocks}
    now: dict[BlockKey, tuple[BlockPlace, Block]] = {}
    added: dict[int, list[tuple[BlockPlace, Block]]] = {}
    remains = [0] * len(before)
    new: list[tuple[int, AlignedMessage]] = []
    for position, message in enumerate(after):
        old = [known[block.key] for block in message.blocks if _is_old(block, known)]
        if not message.blocks and message.index in empty:
            old = [empty[message.index]]
        if not old:
            # The line between a summary and the next message follows the summary.
            follows = bool(new) and new[-1][1].blocks[0].position == (position - 1, 0)
            new.append((new[-1][0] if follows else _place_of(message, before), _new(position, message)))
            continue
        remains[old[0]] += 1
        for number, block in enumerate(message.blocks):
            if _is_old(block, known):
                now[block.key] = (position, number), block
            else:
                added.setdefault(old[0], []).append(((position, number), block))
    aligned = [
        AlignedMessage(message, False, remains[position], tuple(_blocks(message, now, added.get(position, ()))))
        for position, message in enumerate(before)
    ]
    for place, inserted in reversed(new):
        aligned.insert(place, inserted)
    return aligned


def _is_old(block: Block, known: dict[BlockKey, int]) -> bool:
    return not block.is_inserted and block.key in known


def _place_of(message: Message, before: Sequence[Message]) -> int:
    return next((place for place, other in enumerate(before) if other.index >= message.index), len(before))


def _new(position: int, message: Message) -> AlignedMessage:
    blocks = (AlignedBlock(number, None, block, (position, number)) for number, block in enumerate(message.blocks))
    return AlignedMessage(message, True, 1, tuple(blocks))


def _blocks(
    message: Message, now: dict[BlockKey, tuple[BlockPlace, Block]], added: Sequence[tuple[BlockPlace, Block]]
) -> Iterator[AlignedBlock]:
    for number, block in enumerate(message.blocks):
        position, after = now.get(block.key, (None, None))
        yield AlignedBlock(number, block, after, position)
    for number, (position, block) in enumerate(added, len(message.blocks)):
        yield AlignedBlock(number, None, block, position)


_LABEL: Final = 160
"""Characters of a label: a line of a wide window."""

UNCHANGED: Final = "unchanged"
SUMMARIZED: Final = "summarized"
NOTED: Final = "in a note"
_ADDED: Final = "added"
_REMOVED: Final = "removed"
_OUTCOMES: Final = {
    REFER: "reference",
    SUMMARIZE: SUMMARIZED,
    NOTE: NOTED,
    "truncate": "truncated",
    "extract": "shortened",
    "empty": _REMOVED,
    "suppress": _REMOVED,
    "remove": _REMOVED,
    "drop": _REMOVED,
}
"""The result of an operation, in a word."""

Edits = list[int | list[str]]
"""From the old text to the new one: a number of lines that stay, a negative number that go, or new lines."""


class CutReason(Struct, frozen=True):
    """The reason for a cut, or for leaving a block alone; `kind` leaves out the fate of single lines."""

    operation: str
    by: str
    why: str
    kind: str
    is_change: bool


class PageLink(Struct, frozen=True):
    """The id of the block that a reference names, and the lines of its text, counted from 0; `size` may be 0."""

    to: str
    start: int = 0
    size: int = 0


class PageBlock(Struct, frozen=True, omit_defaults=True):
    """One block. `text` is its old text, or an added one; `reasons` are numbers in the page's list.

    `tokens` are the model's, before and after. `links` are by the lines that are references, `whys` (why those lines
    went or stayed) by the numbers of the edits.
    """

    id: str
    kind: str
    tokens: tuple[int, int]
    outcome: str = UNCHANGED
    tool: str = ""
    label: str = ""
    text: str = ""
    edits: Edits = []
    reasons: list[int] = []
    links: dict[str, PageLink] = {}
    whys: dict[str, str] = {}


class PageMessage(Struct, frozen=True, omit_defaults=True):
    """One message; `by_references` of its tokens were saved by references. A new one is a summary."""

    id: str
    number: int
    role: str
    tokens: tuple[int, int]
    blocks: list[PageBlock]
    by_references: int = 0
    is_new: bool = False
    reasons: list[int] = []


class ConversationPage(Struct, frozen=True):
    messages: list[PageMessage]
    reasons: list[CutReason]


def conversation_of(result: Condensation, count: Counter) -> ConversationPage:
    """Return the conversation before and after a run. Tokens of the messages add up to those of the report."""
    aligned = align(result.before.messages, result.transcript.messages)
    builder = _Builder(result, aligned)
    sizes = _sizes(aligned, result, count)
    return ConversationPage([builder.message(message, sizes) for message in aligned], builder.reasons)


def _sizes(aligned: Sequence[AlignedMessage], result: Condensation, count: Counter) -> Iterator[tuple[int, int]]:
    """Tokens before and after of each message's frame, and of each of its blocks, in order."""
    before: list[int] = []
    after: list[int] = []
    for message in aligned:
        before.append(0 if message.is_new else MESSAGE_TOKENS)
        after.append(MESSAGE_TOKENS * message.remains)
        for block in message.blocks:
            before.append(count.block(block.before) if block.before else 0)
            after.append(count.block(block.after) if block.after else 0)
    left = result.factor.parts(after, result.shown_after)
    # Differences are rounded together, so that a block that nobody touched has one size; what is new had none before.
    less = [old - new if old else 0 for old, new in zip(before, after, strict=True)]
    added = sum(new for old, new in zip(before, left, strict=True) if not old)
    saved = result.factor.parts(less, result.shown_before - result.shown_after + added)
    yield from ((new + gone if old else 0, new) for old, new, gone in zip(before, left, saved, strict=True))


class _Builder:
    def __init__(self, result: Condensation, aligned: Sequence[AlignedMessage]) -> None:
        self._result = result
        self._in_summaries = lines_of_summaries(result.transcript.messages)
        self._links, self._whole = _links_in(result.transcript.messages)
        self._calls = {**calls_by_id(result.transcript.messages), **calls_by_id(result.before.messages)}
        self._receipts: dict[BlockPlace, list[Receipt]] = {}
        for receipt in result.receipts:
            self._receipts.setdefault((receipt.message, receipt.block), []).append(receipt)
        self._ids: dict[BlockPlace, str] = {}
        self._blocks: dict[BlockPlace, AlignedBlock] = {}
        for message in aligned:
            for block in message.blocks:
                if block.position is not None:
                    self._ids[block.position] = f"{_id(message)}-{block.number}"
                    self._blocks[block.position] = block
        self.reasons: list[CutReason] = []
        self._numbers: dict[CutReason, int] = {}

    def message(self, aligned: AlignedMessage, sizes: Iterator[tuple[int, int]]) -> PageMessage:
        index = aligned.message.index
        before, after = next(sizes)
        blocks = [self._block(aligned, block, next(sizes)) for block in aligned.blocks]
        saved = sum(self._result.by_references.get((index, block.number), 0) for block in aligned.blocks)
        tokens = before + sum(block.tokens[0] for block in blocks), after + sum(block.tokens[1] for block in blocks)
        is_new = aligned.is_new
        # A summary has the number of the first message that it replaces, and so have the reasons about it.
        about = [
            receipt for receipt in self._receipts.get((index, -1), ()) if (receipt.operation in REPLACING) is is_new
        ]
        return PageMessage(
            _id(aligned),
            index,
            aligned.message.role.value,
            tokens,
            blocks,
            0 if is_new else min(max(0, self._result.factor.shown(saved)), max(0, tokens[0] - tokens[1])),
            is_new,
            self._reasons(about),
        )

    def _block(self, message: AlignedMessage, block: AlignedBlock, tokens: tuple[int, int]) -> PageBlock:
        shown = block.before or block.after
        assert shown is not None
        receipts = [] if message.is_new else self._receipts.get((message.message.index, block.number), [])
        call = self._calls.get(shown.answers or "", shown)
        outcome = _outcome(block, receipts)
        has_moved = block.after is None and outcome in (SUMMARIZED, NOTED)
        edits, text = _edits(block, self._in_summaries if has_moved else ()), visible(readable(shown))
        return PageBlock(
            f"{_id(message)}-{block.number}",
            shown.kind.value,
            tokens,
            outcome if edits or block.before is None else UNCHANGED,
            visible(call.tool or shown.tool or ""),
            visible(" ".join(call_label(shown, self._calls)[: 2 * _LABEL].split())[:_LABEL]),
            text,
            edits,
            self._reasons(receipts),
            self._links_of(block.position) if block.position is not None else {},
            _whys(
                edits,
                text.split("\n"),
                self._result.lines.get((message.message.index, block.number), ()),
                has_moved=has_moved,
            ),
        )

    def _reasons(self, receipts: Sequence[Receipt]) -> list[int]:
        """Numbers of the reasons for what was changed, or else for why nothing was."""
        told = [receipt for receipt in receipts if receipt.is_change] or receipts
        found = []
        for receipt in told:
            operation, why = operation_label(receipt.operation), visible(receipt_text(receipt))
            reason = CutReason(operation, visible(receipt.pass_id), why, visible(receipt.why), receipt.is_change)
            number = self._numbers.setdefault(reason, len(self.reasons))
            if number == len(self.reasons):
                self.reasons.append(reason)
            found.append(number)
        return list(dict.fromkeys(found))

    def _links_of(self, position: BlockPlace) -> dict[str, PageLink]:
        found = {}
        for line, (target, *lines) in self._links.get(position, {}).items():
            old = self._blocks[target].before
            # Lines are counted without references: the page shows such a text where the input held none.
            is_shown = old is not None and self._whole[target[0]].blocks[target[1]].reads_as(old)
            found[visible(line)] = PageLink(self._ids[target], *(lines if is_shown else ()))
        return found


def _id(message: AlignedMessage) -> str:
    """Return the name of a message in the page: its number for `condense show`, or its index in the result."""
    if not message.is_new:
        return f"m{message.message.index}"
    position = message.blocks[0].position
    assert position is not None
    return f"new{position[0]}"


def _edits(block: AlignedBlock, in_summaries: Container[str]) -> Edits:
    """Return the edits of a block, or none if it is unchanged or new. Lines that a summary has stay."""
    old, new = block.before, block.after
    if old is None or (new is not None and (old is new or readable(old) == readable(new))):
        return []
    if new is None:
        hunks = moved_hunks(readable(old).split("\n"), in_summaries)
    else:
        hunks = line_hunks(visible(readable(old)).split("\n"), visible(readable(new)).split("\n"))
    return [
        [*hunk.lines] if hunk.sign == "+" else -len(hunk.lines) if hunk.sign == "-" else len(hunk.lines)
        for hunk in hunks
    ]


def _whys(
    edits: Edits, lines: Sequence[str], found: Sequence[ReasonedLine], *, has_moved: bool = False
) -> dict[str, str]:
    """Return the reasons for the lines of each edit by its number, if the run recorded them."""
    known = {stays: {visible(line.text): line.why for line in found if line.stays is stays} for stays in (True, False)}
    whys, at = {}, 0
    for number, edit in enumerate(edits if found or has_moved else ()):
        if isinstance(edit, int):
            part = lines[at : at + abs(edit)]
            why = lines_text(known[edit > 0][line] for line in part if line in known[edit > 0])
            at += abs(edit)
            why = "in the summary" if has_moved and edit > 0 else why
            if why:
                whys[str(number)] = why
    return whys


def _outcome(block: AlignedBlock, receipts: Sequence[Receipt]) -> str:
    if block.before is None:
        return _ADDED
    operations = [receipt.operation for receipt in receipts if receipt.is_change]
    outcome = _OUTCOMES.get(operations[-1], "changed") if operations else "changed"
    return _REMOVED if block.after is None and outcome not in (SUMMARIZED, NOTED) else outcome
