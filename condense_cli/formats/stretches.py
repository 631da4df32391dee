"""The conversation before and after each compaction that a file records, up to the next one.

Clients leave what they compacted in the file, and write behind it. So the file up to a compaction holds what was sent
before it, and the file up to the next one what was sent after it and what was said then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import Block, Message, Transcript
from ..core.values import Container
from ..errors import TranscriptError
from . import parse
from .claude_code.cut import shortened
from .compacted import Compacted, CompactionKind
from .engine.writing import join


class CompactedStretch(Struct, frozen=True):
    """A compaction, what was sent `before` it, what it left of that, and what was said `later`.

    `before` is None where the file does not hold it. `is_undone`: the user went back, and the conversation goes on
    from before it.
    """

    compacted: Compacted
    before: Transcript | None
    after: tuple[Message, ...]
    later: tuple[Message, ...]
    is_undone: bool


def stretches(transcript: Transcript, found: Sequence[Compacted]) -> Iterator[CompactedStretch]:
    """One for each of the compactions that were found in the file of a transcript, in their order."""
    cleared: dict[str, str] = {}
    before = _before(transcript, found[0]) if found else None
    for one, following in zip_longest(found, found[1:]):
        cleared |= dict(one.cleared)
        whole = transcript if following is None else _before(transcript, following)
        whole = whole and _cleared(whole, cleared)
        messages = whole.messages if whole else ()
        end = one.end if following is None else min(one.end, following.wrote.start)
        places = {block.place.record for message in messages for block in message.blocks}
        yield CompactedStretch(
            one,
            before,
            tuple(_part(messages, range(end))),
            tuple(_part(messages, range(end, len(transcript.source.spans)))),
            is_undone=one.kind is CompactionKind.SUMMARY and places.isdisjoint(one.wrote),
        )
        before = whole


def _before(transcript: Transcript, one: Compacted) -> Transcript | None:
    """The conversation in the file without what a compaction wrote, and without all that came later."""
    source = transcript.source
    if source.container is Container.LINES and one.end == one.wrote.stop:
        data = source.data[: source.spans[one.wrote.start][0]]
    else:
        gone = frozenset((*one.wrote, *range(one.end, source.listed)))
        data = join(source, (), source.raw, gone)
    try:
        found = parse(data, format=transcript.format, lenient=True)
    except TranscriptError:
        return None
    # The model may be named only later, and what each of its tokens costs does not change.
    return replace(found, model=found.model or transcript.model) if found.messages else None


def _cleared(transcript: Transcript, texts: Mapping[str, str]) -> Transcript:
    """A conversation with short texts in place of the results of these calls."""
    if not texts:
        return transcript
    messages = (replace(each, blocks=tuple(shortened(each.blocks, texts))) for each in transcript.messages)
    return replace(transcript, messages=tuple(messages))


def _part(messages: Iterable[Message], records: range) -> Iterator[Message]:
    """The messages as far as they stand in these records: a later word of the user may be one turn with a summary."""
    for message in messages:
        blocks: tuple[Block, ...] = tuple(block for block in message.blocks if block.place.record in records)
        if blocks:
            yield message if len(blocks) == len(message.blocks) else replace(message, blocks=blocks)
