"""Judge a compaction that a client made: what it kept of what later work needed, and what the work did after it.

The questions are those of a cut at the compaction. Other ways are held to the size that the client left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import Block, Message
from ..core.values import BlockKind, Role
from ..errors import CondenseError
from ..formats.compacted import Compacted, CompactedStretch, CompactionKind
from ..ledger.collect import collect
from ..ledger.entries import Ledger
from ..lossless.decode import decode
from ..passes.prefix import shared_prefix
from ..tokens.counting import Counter
from ..tokens.factor import Factor
from ..toolcalls.outcomes import Results, calls_with_results
from .cases import Case, Way
from .recall import Deed, Questions, Recall, texts_in
from .witnesses import Condensed

CLIENT = ""
"""Name of the client's own way."""


class Left(Struct, frozen=True):
    """Result of a way in tokens, with the part that was there before (`prefix`) and a model's `summary`. A way that
    failed has an `error` and no recall."""

    way: str
    tokens: int
    prefix: int
    recall: Recall | None
    summary: int = 0
    error: str = ""


class After(Struct, frozen=True):
    """The assistant's work after a compaction: `requests`, and `actions`, which are tool calls.

    Of the `files` touched before it, `read_again` were read once more, which took `tokens`. `to_edit` is the number
    of actions before the first that changed a file; None if none did.
    """

    requests: int
    actions: int
    files: int
    read_again: int
    tokens: int
    to_edit: int | None


class Judged(Struct, frozen=True):
    """A compaction of a conversation; all tokens are the model's. The client's own result comes first."""

    kind: CompactionKind
    is_auto: bool | None
    said_before: int
    is_readable: bool
    tokens: int
    facts: int
    lines: int
    files: int
    after: After
    left: tuple[Left, ...]


class NotJudged(Struct, frozen=True):
    """A compaction that cannot be judged, and the reason."""

    kind: CompactionKind
    is_auto: bool | None
    said_before: int
    reason: str


def judge(stretch: CompactedStretch, ways: Sequence[Way], count: Counter, factor: Factor) -> Judged | NotJudged:
    """Measure what a compaction kept, and what each way keeps at its size."""
    one, before = stretch.compacted, stretch.before
    if before is None:
        return _not_judged(one, "the file does not hold what came before it")
    if not stretch.later:
        return _not_judged(one, "nothing follows it")
    if stretch.is_undone:
        return _not_judged(one, "the conversation continued from before it")
    messages = decode(before.messages).messages
    size = sum(map(count.message, stretch.after))
    if size >= sum(map(count.message, messages)):
        return _not_judged(one, "it is no smaller than what the file holds of the original")
    questions = Questions(messages, stretch.later)
    case = Case(replace(before, messages=messages), questions, count, 1.0, after=stretch.later)
    left = [_left(CLIENT, stretch.after, case, factor, summary=_summary(stretch, messages, count))]
    left += [_of_way(way, case, size, factor) for way in ways]
    return Judged(
        one.kind,
        one.is_auto,
        one.said_before,
        is_readable=all(_can_be_read(block) for message in stretch.after for block in message.blocks),
        tokens=factor.shown(case.tokens),
        facts=len(questions.asked.facts),
        lines=len(questions.asked.lines),
        files=len(questions.files),
        after=_after(stretch.later, questions.files, count, factor),
        left=tuple(left),
    )


def _not_judged(one: Compacted, reason: str) -> NotJudged:
    return NotJudged(one.kind, one.is_auto, one.said_before, reason)


def _of_way(way: Way, case: Case, target: int, factor: Factor) -> Left:
    if way.to_target is None:
        return Left(way.name, 0, 0, None, error="it has no target")
    try:
        return _left(way.name, way.to_target(case, target), case, factor)
    except CondenseError as error:
        return Left(way.name, 0, 0, None, error=error.message)


def _left(way: str, messages: Sequence[Message], case: Case, factor: Factor, summary: int = 0) -> Left:
    prefix = shared_prefix(case.before.messages, messages, case.count)
    recall = Condensed(messages, case.questions).recall
    return Left(way, factor.shown(case.size_of(messages)), factor.shown(prefix), recall, factor.shown(summary))


def _summary(stretch: CompactedStretch, before: Sequence[Message], count: Counter) -> int:
    """Count the tokens of the summary: the text marked as one, or what the client added if it marks none."""
    one = stretch.compacted
    if one.kind is not CompactionKind.SUMMARY:
        return 0
    blocks = [block for message in stretch.after for block in message.blocks]
    marked = [block for block in blocks if block.summarizes]
    if not marked:
        known = set(texts_in(before))
        marked = [block for block in blocks if block.place.record in one.wrote and block.text not in known]
    return sum(map(count.block, marked))


def _can_be_read(block: Block) -> bool:
    """Check if the file shows what the model is sent: some providers encrypt their summaries."""
    return not (block.kind is BlockKind.OPAQUE and block.anchors and block.estimate)


def _after(later: Sequence[Message], files: Mapping[str, Deed], count: Counter, factor: Factor) -> After:
    actions = 0
    to_edit: int | None = None
    again: dict[str, int] = {}
    for did, results in _actions(later):
        if to_edit is None and any(entry.state not in ("failed", "denied") for entry in did.changed):
            to_edit = actions
        actions += 1
        for entry in did.read:
            if entry.path in files:
                again.setdefault(entry.path, sum(map(count.block, results.blocks)))
    return After(
        requests=sum(message.role is Role.ASSISTANT for message in later),
        actions=actions,
        files=len(files),
        read_again=len(again),
        tokens=factor.shown(sum(again.values())),
        to_edit=to_edit,
    )


def _actions(messages: Sequence[Message]) -> Iterator[tuple[Ledger, Results]]:
    """Yield the effects of each call, with its results."""
    for call, found in calls_with_results(messages):
        yield collect((Message(0, Role.ASSISTANT, (call,)), Message(1, Role.TOOL, found.blocks))), found
