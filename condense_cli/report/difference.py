"""Compare two transcripts block by block: cut, removed, referenced. Documented in docs/json-report.md."""

from __future__ import annotations

import difflib
from collections import Counter as Tally
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import content_hash, gaps_in, parse_gap, short
from ..core.transcript import Block, BlockPlace, Message, Transcript, calls_by_id
from ..core.values import BlockKind, Role
from ..core.wording import plural
from ..extractive.reason import LineReason, ReasonedLine, tally
from ..lossless.lines import numbering_of
from ..lossless.references import parse_reference
from ..passes.condensation import Condensation
from ..passes.decisions import Fate
from ..passes.explained import SHORTEST, lines_between
from ..tokens.counting import BUILT_IN, Counter, CounterName, Encoding, encoding_for
from ..tokens.factor import Factor
from ..toolcalls import tools
from ..toolcalls.tools import changed_texts, is_emptied
from .run.facts import Counting, ExplainedLines, LostReport, Pair, estimated_tokens, lines_of
from .sections import SHAPE
from .text import call_label, kind_label, readable


class CountedDifference(Pair, frozen=True):
    """Tokens before and after, and how they were counted."""

    encoding: str
    exact: bool
    counting: Counting
    counter: CounterName = BUILT_IN


class LineRun(msgspec.Struct, frozen=True):
    """Neighbouring lines with one fate: `sign` is "-" or "+", `line` counts from 1 in the older text."""

    sign: str
    line: int
    lines: list[str]
    why: list[ExplainedLines]


class ChangedBlock(msgspec.Struct, frozen=True):
    message: int
    role: str
    kind: str
    what: str
    label: str
    tokens: Pair
    reason: str
    lines: list[LineRun] | msgspec.UnsetType = msgspec.UNSET
    stayed: list[ExplainedLines] | msgspec.UnsetType = msgspec.UNSET


class DiffReport(msgspec.Struct, frozen=True):
    version: int
    messages: Pair
    messages_changed: int
    tokens: CountedDifference
    counts: dict[str, int]
    blocks: list[ChangedBlock]
    lost: LostReport


def build(diff: Diff, lost: LostReport, *, with_lines: bool) -> DiffReport:
    return DiffReport(
        SHAPE,
        Pair(diff.messages_before, diff.messages_after),
        diff.messages_changed,
        CountedDifference(
            diff.tokens_before,
            diff.tokens_after,
            diff.encoding,
            diff.exact,
            Counting.of(diff.factor),
            diff.counter,
        ),
        {what.value: diff.count(what) for what in What},
        [
            ChangedBlock(
                block.message,
                block.role.value,
                block.kind.value,
                block.what.value,
                block.label,
                Pair(block.tokens_before, block.tokens_after),
                block.said,
                _runs(block) if with_lines else msgspec.UNSET,
                lines_of(tally(line.why for line in block.lines if line.stays)) if with_lines else msgspec.UNSET,
            )
            for block in diff.blocks
        ],
        lost,
    )


def _runs(block: BlockDiff) -> list[LineRun]:
    return [
        LineRun(hunk.sign, hunk.line, list(hunk.lines), lines_of(tally(block.why(hunk))))
        for hunk in block.hunks()
        if hunk.sign != " "
    ]


_DIFFLIB_LINES = 5_000
"""Lines of both texts, above which difflib takes too long; rapidfuzz finds the same edits in linear memory."""


class What(StrEnum):
    CUT = "cut"
    REMOVED = "removed"
    """Its whole text is a marker, or it is gone."""
    SUMMARIZED = "summarized"
    REFERENCED = "referenced"
    CHANGED = "changed"
    ADDED = "added"


class Hunk(Struct, frozen=True):
    """Neighbouring lines with one fate: " " stays, "-" is gone, "+" is new. `line` counts from 1 in the older text."""

    sign: str
    line: int
    lines: tuple[str, ...]


class BlockDiff(Struct, frozen=True, dict=True):
    """One block that differs. `message` is its message's index in the older transcript (in the newer, if added).

    A report shows few of many: what is said about one is worked out when somebody asks. `calls` are those of both
    transcripts, by their ids. Where somebody asked, `lines` say why single lines went or stayed, or `reason` why the
    block was changed. One that `is_summarized` is gone from its place; `in_summaries` are the lines of the summaries.
    """

    message: int
    role: Role
    kind: BlockKind
    tokens_before: int
    tokens_after: int
    old: Block | None
    new: Block | None
    calls: dict[str, Block]
    is_summarized: bool = False
    lines: tuple[ReasonedLine, ...] = ()
    reason: str = ""
    in_summaries: frozenset[str] = frozenset()

    @cached_property
    def what(self) -> What:
        return What.SUMMARIZED if self.is_summarized else _what(self.old, self.new)

    @cached_property
    def label(self) -> str:
        block = self.old or self.new
        return call_label(block, self.calls) if block else ""

    @property
    def kind_label(self) -> str:
        """Return the kind of the block with its author, such as client text."""
        block = self.old or self.new
        return kind_label(block, self.role) if block else self.kind.value.replace("_", " ")

    @cached_property
    def before(self) -> str:
        return readable(self.old) if self.old else ""

    @cached_property
    def after(self) -> str:
        return readable(self.new) if self.new else ""

    @property
    def is_new(self) -> bool:
        """Whether the block has no older version."""
        if self.old and self.old.kind is BlockKind.TOOL_CALL:
            return self.old.content == "{}" if self.old.is_object else not self.before
        return not (self.old and self.old.content)

    @property
    def has_moved(self) -> bool:
        """Whether a summary replaced the block, with any of its lines."""
        return self.is_summarized and self.new is None

    @property
    def said(self) -> str:
        """Say why the block was changed, and how many of its lines a summary has."""
        stay = self.moved_lines
        return "; ".join(filter(None, (self.reason, f"{plural(stay, 'line')} of it in the summary" if stay else "")))

    @cached_property
    def moved_lines(self) -> int:
        """Count the lines, other than blank ones, that a summary has."""
        if not self.has_moved:
            return 0
        return sum(bool(line.strip()) for hunk in self.hunks() if hunk.sign == " " for line in hunk.lines)

    def hunks(self) -> list[Hunk]:
        """Return its lines by their fate; those that a summary has are not gone."""
        if self.has_moved:
            return list(moved_hunks(_lines(self.before), self.in_summaries))
        return list(line_hunks(_lines(self.before), _lines(self.after)))

    def why(self, hunk: Hunk) -> list[LineReason]:
        """Return the known reasons for the lines of a hunk; a line that says nothing goes with the one before it."""
        known = self._reasons.get(hunk.sign, {})
        found: list[LineReason] = []
        leading = 0
        for line in hunk.lines:
            if line in known:
                found.append(known[line])
            elif len(line.strip()) < SHORTEST and found:
                found.append(found[-1])
            elif len(line.strip()) < SHORTEST:
                leading += 1
        return [*found[:1] * leading, *found]

    @cached_property
    def _reasons(self) -> dict[str, dict[str, LineReason]]:
        return {
            sign: {line.text: line.why for line in self.lines if line.stays is stays}
            for sign, stays in ((" ", True), ("-", False))
        }


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


class Diff(Struct, frozen=True):
    """Tokens are the model's. `exact`: its own vocabulary counted, and nothing was estimated."""

    blocks: tuple[BlockDiff, ...]
    messages_before: int
    messages_after: int
    messages_changed: int
    tokens_before: int
    tokens_after: int
    encoding: str
    exact: bool
    factor: Factor
    counter: CounterName = BUILT_IN

    def count(self, what: What) -> int:
        return sum(block.what is what for block in self.blocks)


def of_run(result: Condensation, count: Counter) -> Diff:
    """Return the difference of a run from its decisions: each changed block with its reason."""
    before, after, shown = result.before, result.transcript, result.factor.shown
    calls = {**calls_by_id(after.messages), **calls_by_id(before.messages)}
    messages = {message.index: message for message in (*after.messages, *before.messages)}
    put = [row.new for row in result.decisions.rows if row.fate is Fate.INSERTED and row.new]
    in_summaries = frozenset(line for block in put for line in block.text.split("\n"))
    blocks = [
        BlockDiff(
            row.place[0],
            messages[row.place[0]].role
            if row.old
            else next(message.role for message in after.messages if any(block is row.new for block in message.blocks)),
            block.kind,
            shown(row.before),
            shown(row.after),
            row.old,
            row.new,
            calls,
            is_summarized=row.is_summarized or block.summarizes,
            lines=tuple(result.lines.get(row.place, ())),
            reason="" if row.place in result.lines and row.new else row.why,
            in_summaries=in_summaries,
        )
        for row in result.decisions.rows
        if row.fate is not Fate.KEPT and (block := row.old or row.new)
    ]
    return _diff(blocks, before, after, count, result.factor)


def compare(before: Transcript, after: Transcript, count: Counter, factor: Factor) -> Diff:
    """Difference of two transcripts. Messages are aligned by their calls and content, then by their shape."""

    def size(block: Block) -> int:
        return factor.shown(count.block(block))

    calls = {**calls_by_id(after.messages), **calls_by_id(before.messages)}
    aligned = list(_aligned(before.messages, after.messages))
    summaries = [new for old, new in aligned if new and new.is_summary and not (old and _content(old) == _content(new))]
    in_summaries = lines_of_summaries(summaries)
    blocks = [
        difference
        for old, new in aligned
        for difference in _compare_messages(old, new, calls, size, in_summaries if summaries else None)
    ]
    return _diff(blocks, before, after, count, factor)


def _diff(blocks: Sequence[BlockDiff], before: Transcript, after: Transcript, count: Counter, factor: Factor) -> Diff:
    own = Encoding(count.encoding, exact=True, counter=count.counter)
    return Diff(
        tuple(blocks),
        len(before.messages),
        len(after.messages),
        len({block.message for block in blocks if block.old or block.is_summarized}),
        factor.shown(count.transcript(before)),
        factor.shown(count.transcript(after)),
        count.encoding,
        encoding_for(before.model, count.counter) == own and not estimated_tokens(before),
        factor,
        count.counter,
    )


_Aligned = Iterator[tuple[Message | None, Message | None]]


def _aligned(old: Sequence[Message], new: Sequence[Message]) -> _Aligned:
    if len(old) == len(new) and all(a is b or _shape(a) == _shape(b) for a, b in zip(old, new, strict=True)):
        yield from zip(old, new, strict=True)
        return

    yield from _aligned_by(old, new, (_content, _texts, _words, _shape))


def _aligned_by(
    old: Sequence[Message], new: Sequence[Message], keys: Sequence[Callable[[Message], Hashable]]
) -> _Aligned:
    """Align messages that are equal by the first key, those between them by the next, and so on; the rest by lines."""
    if not keys:
        yield from _aligned_by_lines(old, new)
        return
    matched = difflib.SequenceMatcher(None, [*map(keys[0], old)], [*map(keys[0], new)], autojunk=False)
    for tag, i1, i2, j1, j2 in matched.get_opcodes():
        if tag == "equal":
            yield from zip(old[i1:i2], new[j1:j2], strict=True)
        else:
            yield from _aligned_by(old[i1:i2], new[j1:j2], keys[1:])


def _aligned_by_lines(old: Sequence[Message], new: Sequence[Message]) -> _Aligned:
    """Align messages of which the newer one has mostly lines of the older, in order: it was cut and lost its calls."""
    having: dict[tuple[Role, str], list[int]] = {}
    for position, message in enumerate(old):
        for line in _telling_lines(message):
            having.setdefault((message.role, line), []).append(position)
    start = 0
    for message in new:
        lines = _telling_lines(message) if having else set()
        shared = Tally(
            position for line in lines for position in having.get((message.role, line), ()) if position >= start
        )
        best = max(shared, key=lambda position: (shared[position], -position), default=None)
        if best is None or 2 * shared[best] < len(lines):
            yield None, message
            continue
        yield from ((gone, None) for gone in old[start:best])
        yield old[best], message
        start = best + 1
    yield from ((gone, None) for gone in old[start:])


def _telling_lines(message: Message) -> set[str]:
    """Return the lines of a message that are long enough to tell it from others; a summary is like no other.

    A text and the marker that took its place have the same hash.
    """
    if message.is_summary:
        return set()
    texts = [block.text for block in message.blocks]
    hashes = {short(gap.hash if (gap := parse_gap(text)) else content_hash(text)) for text in texts if text}
    lines = {line.strip() for text in texts for line in text.split("\n")}
    return {line for line in lines if len(line) >= SHORTEST and not parse_gap(line)} | hashes


def _words(message: Message) -> tuple[str, str | int]:
    """Return the role and the text of a message, which stay where its calls become a note; without text it is alone."""
    text = "\0".join(block.text for block in message.blocks if block.kind is BlockKind.TEXT and not block.summarizes)
    return message.role.value, text or id(message)


def _shape(message: Message) -> tuple[str, tuple[str, ...]]:
    """Return what condensing keeps of a message: role and ids of calls. A summary matches no other message."""
    role = "summary" if message.is_summary else message.role.value
    return role, tuple(sorted(block.call_id for block in message.blocks if block.call_id))


def _content(message: Message) -> tuple[str, str]:
    return message.role.value, content_hash("\0".join(f"{block.call_id} {block.text}" for block in message.blocks))


def _texts(message: Message) -> tuple[str, str]:
    """Return the role and all texts of a message without ids: some formats number their calls anew."""
    return message.role.value, content_hash("\0".join(block.text for block in message.blocks))


def _compare_messages(
    old: Message | None,
    new: Message | None,
    calls: dict[str, Block],
    size: Callable[[Block], int],
    in_summaries: frozenset[str] | None,
) -> Iterator[BlockDiff]:
    """Yield the blocks of a message that differ. `in_summaries` are the lines of new summaries, or None."""
    if old is new:
        return
    message = old or new
    assert message is not None
    for before, after in _aligned_blocks(old.blocks if old else (), new.blocks if new else ()):
        block = before or after
        if before is after or block is None:
            continue
        # Encrypted thinking has no text, and its size is estimated.
        if not any(each.content or each.estimate for each in (before, after) if each):
            continue
        tokens_before, tokens_after = size(before) if before else 0, size(after) if after else 0
        if before and after:
            # The tokens of a block are those of its text, its tool and its estimate: where these two are the same,
            # texts of different length in tokens need not be compared.
            is_counted_alike = before.tool == after.tool and before.estimate == after.estimate
            if (tokens_before == tokens_after or not is_counted_alike) and before.reads_as(after):
                continue
        yield BlockDiff(
            message.index,
            message.role,
            block.kind,
            tokens_before,
            tokens_after,
            before,
            after,
            calls,
            # A call that goes beside words that stay is in a note.
            is_summarized=in_summaries is not None
            and (new is None or block.summarizes or (after is None and block.kind is BlockKind.TOOL_CALL)),
            in_summaries=in_summaries or frozenset(),
        )


def _aligned_blocks(old: Sequence[Block], new: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    old_ids, new_ids = ({block.call_id for block in blocks if block.call_id} for blocks in (old, new))
    by_id = not (old_ids and new_ids and old_ids.isdisjoint(new_ids))
    old_keys, new_keys = _keys(old, by_id=by_id), _keys(new, by_id=by_id)
    new_by_key = dict(zip(new_keys, new, strict=True))
    for key, block in zip(old_keys, old, strict=True):
        yield block, new_by_key.pop(key, None)
    yield from ((None, block) for block in new_by_key.values())


def _keys(blocks: Sequence[Block], *, by_id: bool) -> list[tuple[str, str | None, int]]:
    """Kind, call id, and the how-manieth of these in the message. An image that was left out counts as one.

    Calls that a format numbered anew are told apart by their order alone.
    """
    seen: dict[tuple[str, str | None], int] = {}
    keys = []
    for block in blocks:
        # The marker of an image is short, and all of its text.
        gap = parse_gap(block.content) if isinstance(block.content, str) else None
        kind = BlockKind.IMAGE if gap and gap.is_image else block.kind
        key = (kind.value, block.call_id if by_id else None)
        seen[key] = seen.get(key, -1) + 1
        keys.append((*key, seen[key]))
    return keys


def lines_of_summaries(messages: Iterable[Message]) -> frozenset[str]:
    """Return the lines of all summaries in these messages."""
    return frozenset(
        line for message in messages for block in message.blocks if block.summarizes for line in block.text.split("\n")
    )


def moved_hunks(lines: Sequence[str], in_summaries: Container[str]) -> Iterator[Hunk]:
    """Lines of what a summary took the place of: those that it has stay. Short ones go with the line before them."""
    fates: list[bool] = []
    for line in lines:
        is_told = line in in_summaries if len(line.strip()) >= SHORTEST else bool(fates) and fates[-1]
        fates.append(is_told)
    start = 0
    for stays, run in groupby(fates):
        end = start + len(list(run))
        yield Hunk(" " if stays else "-", start + 1, tuple(lines[start:end]))
        start = end


def _what(old: Block | None, new: Block | None) -> What:
    if new is None:
        return What.REMOVED
    if old is None:
        return What.ADDED
    texts = changed_texts(old, new)
    lines = [line for before, after in texts for line in _new_lines(before, after)]
    gaps = [gap for gap in map(parse_gap, lines) if gap]
    if any(gap.is_summary for gap in gaps):
        return What.SUMMARIZED
    if gaps:
        return What.REMOVED if is_emptied(old, new) else What.CUT
    return What.REFERENCED if lines and all(map(parse_reference, lines)) else What.CHANGED


def _new_lines(old: str, new: str) -> list[str]:
    known = set(old.split("\n"))
    return [line for line in new.split("\n") if line not in known]


def line_hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    """Edits that make the new lines of the old. What both begin and end with is never searched.

    A line that only loses the number that a tool printed before it stays.
    """
    left = set(new)
    named = [
        line if line in left or (body := line.removeprefix(str(numbering_of(line) or ""))) not in left else body
        for line in old
    ]
    start = 0
    while start < min(len(old), len(new)) and named[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and named[-1 - end] == new[-1 - end]:
        end += 1
    if start:
        yield Hunk(" ", 1, tuple(old[:start]))
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    for tag, i1, i2, j1, j2 in _opcodes(named[start : len(old) - end], middle_new):
        if tag == "equal":
            yield Hunk(" ", start + i1 + 1, tuple(middle_old[i1:i2]))
            continue
        if i2 > i1:
            yield Hunk("-", start + i1 + 1, tuple(middle_old[i1:i2]))
        if j2 > j1:
            yield Hunk("+", start + i2 + 1, tuple(middle_new[j1:j2]))
    if end:
        yield Hunk(" ", len(old) - end + 1, tuple(old[len(old) - end :]))


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    if not old or not new:
        return [("replace", 0, len(old), 0, len(new))]
    if len(old) + len(new) <= _DIFFLIB_LINES:
        return list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    from rapidfuzz.distance import Indel

    return [
        (code.tag, code.src_start, code.src_end, code.dest_start, code.dest_end) for code in Indel.opcodes(old, new)
    ]


_SEVERAL: Final = 2


def between(diff: Diff, before: Transcript, after: Transcript, count: Counter) -> Diff:
    """Add reasons to the diff of two transcripts, if the newer one looks as if lines were picked for it.

    That leaves several gaps in a text; a limit, which asks nothing of a line, leaves one.
    """
    if not any(map(_is_picked, diff.blocks)):
        return diff
    # A list of todos goes because a later call replaces it.
    cut = {
        id(block.old)
        for block in diff.blocks
        if block.what in (What.CUT, What.REMOVED) and block.old and block.new and not tools.path_of(block.old)
    }
    asked = {address for block, address in _places(before) if id(block) in cut}
    pairs = [(block.old, block.new) for block in diff.blocks]
    lines = lines_between(before.messages, after.messages, pairs, asked, count)
    found = {id(block): lines.get(address, ()) for block, address in _places(before)}
    return replace(
        diff, blocks=tuple(replace(block, lines=tuple(found.get(id(block.old), ()))) for block in diff.blocks)
    )


def _places(transcript: Transcript) -> Iterator[tuple[Block, BlockPlace]]:
    for message in transcript.messages:
        for number, block in enumerate(message.blocks):
            yield block, (message.index, number)


def _is_picked(block: BlockDiff) -> bool:
    """Whether a text of a block has several new gaps."""
    if block.old is None or block.new is None or block.what is not What.CUT:
        return False
    texts = changed_texts(block.old, block.new)
    return any(len(gaps_in(after)) - len(gaps_in(before)) >= _SEVERAL for before, after in texts)
