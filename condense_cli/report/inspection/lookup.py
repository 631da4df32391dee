"""Find a block by its position, or by the hash in a marker, for `condense show`. Documented in docs/json-report.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.markers import ELLIPSIS, content_hash, find_stretch, gaps_in, is_same, parse_gap, parse_summary
from ...core.transcript import Block, JsonPath, Message, Transcript, calls_by_id
from ...core.values import BlockKind, Container
from ...core.wording import plural
from ...errors import CondenseError, TranscriptError, UsageError
from ...formats import format_named, parse
from ...ledger.text import said_by_summaries
from ...lossless.decode import decode
from ...toolcalls import tools
from ...toolcalls.tools import arguments_of, string_values
from ..sections import SHAPE
from ..text import block_label, readable


class HitFacts(msgspec.Struct, frozen=True):
    """`found` is one of `lookup.Found`; `path` leads to the argument or display data.

    `message` is null if the record is no part of the conversation, `role` too if it is no message.
    """

    found: str
    message: int | None
    block: int
    record: int
    role: str | None
    kind: str
    tool: str | None
    call_id: str | None
    label: str
    path: list[str | int]
    text: str


class Lookup(msgspec.Struct, frozen=True):
    version: int
    input: str
    query: str
    blocks: list[HitFacts]


def build(transcript: Transcript, hits: Sequence[Hit], *, source: str, query: str) -> Lookup:
    calls = calls_by_id([*transcript.messages, *(hit.message for hit in hits if hit.message and hit.is_before)])
    return Lookup(
        SHAPE,
        source,
        query,
        [
            HitFacts(
                hit.found.value,
                hit.message.index if hit.message and not hit.is_before else None,
                hit.number,
                hit.block.place.record,
                hit.message.role.value if hit.message else None,
                hit.block.kind.value,
                hit.block.tool,
                hit.block.call_id,
                block_label(hit.block, calls),
                list(hit.path),
                hit.text,
            )
            for hit in hits
        ],
    )


_HASH: Final = re.compile(r"#?([0-9a-fA-F]{8}|[0-9]{6})")
_POSITION: Final = re.compile(r"(#?\d{1,7}|-[1-9]\d{0,6})(?:[:.](\d{1,7}))?", re.ASCII)
_OF_REFERENCE: Final = "If it belongs to a reference, condense restore puts the lines back."


class HitKind(StrEnum):
    """The kind of a hit.

    The block itself; its text, an argument or display data with the hash; a message that a summary replaced; a marker
    with the hash.
    """

    POSITION = "position"
    CONTENT = "content"
    ARGUMENT = "argument"
    DISPLAY = "display"
    SUMMARIZED = "summarized"
    MARKER = "marker"


class Hit(Struct, frozen=True):
    """A block that was found; `number` is its position in the message, `text` what to print.

    `path` leads to the argument of a call that is meant, or to display data in the record; it is empty when the
    whole block is. Display data may be in a record outside the conversation: then there is no message.
    """

    message: Message | None
    number: int
    block: Block
    found: HitKind
    text: str
    path: JsonPath = ()
    is_before: bool = False
    """It is in the file before a summary that replaced it, and no longer in the conversation."""

    @property
    def position(self) -> str:
        if self.is_before:
            return f"record {self.block.place.record}"
        return f"{self.message.index}.{self.number}" if self.message else f"record {self.block.place.record}"


def is_query(text: str) -> bool:
    """True if the text may be a hash or a position."""
    return bool(_HASH.fullmatch(text) or _POSITION.fullmatch(text))


def find(transcript: Transcript, query: str) -> list[Hit]:
    """Blocks that the query means: a hash, a message number (negative from the end), or message.block.

    A hash finds what it is the hash of, and only if there is nothing the blocks with a marker that
    names it. Six digits that are no hash here may be a position. Raises UsageError for anything else, and
    CondenseError when nothing is found.
    """
    digest, position = _HASH.fullmatch(query), _POSITION.fullmatch(query)
    if digest:
        wanted = digest[1].lower()
        hits: list[Hit] = []
        for look in (_said, _behind_references, _in_summaries, _shown):
            # Two texts may share six digits, and the one that is meant be found last.
            known = {hit.text for hit in hits}
            hits += [hit for hit in look(transcript, wanted) if hit.text not in known]
        hits = hits or _summarized(transcript, wanted)
        # A marker that names it by mistake, or by intent, may mean any other text.
        hits = [*hits, *_marked_otherwise(transcript, wanted, hits)] if hits else _marked(transcript, wanted)
        if hits:
            return hits
        if not position or int(wanted) >= len(transcript.messages):
            raise CondenseError(
                f"Nothing in the transcript has the hash {wanted}, and no marker names it.",
                "Look in the original file, the one that was condensed." + (f" {_OF_REFERENCE}" if position else ""),
            )
    if position:
        return _by_position(transcript, int(position[1].removeprefix("#")), int(position[2]) if position[2] else None)
    raise UsageError(
        f"{query!r} is neither a hash nor a position.",
        "Give the digits of a marker (406167), a message (12), or one of its blocks (12.0).",
    )


def _by_position(transcript: Transcript, index: int, number: int | None) -> list[Hit]:
    total = len(transcript.messages)
    if not -total <= index < total:
        there = f"it has {total:,}, counted from 0" if total else "it has none"
        hint = _OF_REFERENCE if index > 99_999 else ""
        raise CondenseError(f"There is no message {index} in the transcript: {there}.", hint)
    message = transcript.messages[index]
    hits = [
        Hit(message, position, block, HitKind.POSITION, readable(block))
        for position, block in enumerate(message.blocks)
    ]
    if number is None:
        return hits
    if number >= len(hits):
        raise CondenseError(
            f"There is no block {number} in message {index}: it has {plural(len(hits), 'block')}, counted from 0."
        )
    return hits[number : number + 1]


def _said(transcript: Transcript, wanted: str) -> list[Hit]:
    """Texts and images that have the hash."""
    return [
        hit
        for hit in _contents(transcript)
        if is_same(wanted, content_hash(hit.text)) or (hit.block.digest and is_same(wanted, hit.block.digest))
    ]


def _marked(transcript: Transcript, wanted: str) -> list[Hit]:
    """Blocks with a marker that names the hash, each once."""
    hits = [hit for hit in _contents(transcript) if any(is_same(gap.hash, wanted) for gap in gaps_in(hit.text))]
    return [
        Hit(hit.message, hit.number, hit.block, HitKind.MARKER, readable(hit.block))
        for hit in {hit.position: hit for hit in hits}.values()
    ]


def _marked_otherwise(transcript: Transcript, wanted: str, hits: Sequence[Hit]) -> list[Hit]:
    """Blocks with a marker that names the hash although they were not cut from what has it."""
    if hits[0].found not in (HitKind.CONTENT, HitKind.ARGUMENT):
        return []
    marked = [hit for hit in _marked(transcript, wanted) if not hit.block.summarizes]  # A summary says anything.
    return [hit for hit in marked if not any(_is_cut_from(hit.text, found.text) for found in hits)]


def _is_cut_from(text: str, whole: str) -> bool:
    """Whether the text around the markers may be the rest of another text."""
    gaps = gaps_in(text)
    kept = (line.strip(ELLIPSIS) for line in text.split("\n") if not parse_gap(line))
    return any(gap.is_summary for gap in gaps) or all(line in whole for line in kept)


def _behind_references(transcript: Transcript, wanted: str) -> list[Hit]:
    """Blocks as written whose texts have the hash without their references: from those markers are made."""
    decoded = decode(transcript.messages)
    if not decoded.resolved:
        return []
    by_index = {message.index: message for message in transcript.messages}
    return [
        replace(hit, message=by_index[hit.message.index], block=by_index[hit.message.index].blocks[hit.number])
        for hit in _contents(replace(transcript, messages=decoded.messages))
        if hit.message and is_same(wanted, content_hash(hit.text))
    ]


def _in_summaries(transcript: Transcript, wanted: str) -> list[Hit]:
    """Return the words of a summary, or of several up to one: a later summary left lines of it out."""
    summaries = [message for message in decode(transcript.messages).messages if message.is_summary]
    for end, message in enumerate(summaries, 1):
        for told in ([message], summaries[:end]):
            text = said_by_summaries(told)
            if is_same(wanted, content_hash(text)):
                return [Hit(message, 0, message.blocks[0], HitKind.CONTENT, text)]
    return []


def _summarized(transcript: Transcript, wanted: str) -> list[Hit]:
    """Return all blocks of the messages that a summary replaced. Raises CondenseError if only the summary is in the
    file.
    """
    conversation, messages = summarized(transcript, wanted)
    count = summary_counts(transcript, wanted)
    if count and not messages:
        raise CondenseError(
            f"The {plural(count, 'message')} of this summary are not in the file.",
            f"Look in the original file: condense show ORIGINAL {wanted}",
        )
    is_before = conversation is not transcript
    return [
        Hit(message, number, block, HitKind.SUMMARIZED, readable(block), is_before=is_before)
        for message in messages
        for number, block in enumerate(message.blocks)
    ]


def _shown(transcript: Transcript, wanted: str) -> list[Hit]:
    """Texts that only a client shows, and that a slimmed file has a marker for."""
    display = format_named(transcript.format).shown
    if display is None:
        return []
    messages = decode(transcript.messages).messages
    texts = [
        (value.place, value.text)
        for value in display(replace(transcript, messages=messages))
        if value.text is not None and is_same(wanted, content_hash(value.text))
    ]
    blocks: dict[int, tuple[Message, int, Block]] = {}
    for message in transcript.messages if texts else ():
        for number, block in enumerate(message.blocks):
            blocks.setdefault(block.place.record, (message, number, block))
    hits = []
    for place, text in texts:
        outside = Block(BlockKind.OPAQUE, place, place.path)
        message_of, number, block = blocks.get(place.record, (None, 0, outside))
        hits.append(Hit(message_of, number, block, HitKind.DISPLAY, text, place.path))
    return hits


def _contents(transcript: Transcript) -> Iterator[Hit]:
    """Yield every text that a marker can refer to: blocks, and single arguments of calls."""
    for message in transcript.messages:
        for number, block in enumerate(message.blocks):
            if block.text or block.digest:
                yield Hit(message, number, block, HitKind.CONTENT, block.text or readable(block))
            if block.kind is BlockKind.TOOL_CALL:
                for path, value in string_values(arguments_of(block)):
                    yield Hit(message, number, block, HitKind.ARGUMENT, value, path)
                path = tools.path_of(block)
                if path and isinstance(listed := tools.value_of(block, path), list):
                    yield Hit(message, number, block, HitKind.ARGUMENT, tools.text_of(listed), path)


# --- Messages that a summary replaced ---------------------------------------------------------------------------------


def summarized(transcript: Transcript, wanted: str) -> tuple[Transcript, tuple[Message, ...]]:
    """Return the messages that the summary with this hash replaced and their conversation, or no messages."""
    for conversation in (transcript, *_before_summaries(transcript)):
        hashes = [message.hash for message in decode(conversation.messages).messages]
        found = find_stretch(hashes, wanted)
        if found:
            return conversation, conversation.messages[found[0] : found[1] + 1]
    return transcript, ()


def summary_counts(transcript: Transcript, wanted: str) -> int:
    """Return the number of messages that the summary with this hash replaced; 0 without it."""
    marks = (parse_summary(block.text) for _, block in transcript.blocks() if block.summarizes)
    return next((mark.messages for mark in marks if mark and mark.hash == wanted), 0)


def _before_summaries(transcript: Transcript) -> Iterator[Transcript]:
    """Yield the conversation before each of its summaries: some clients keep it in the file and append to it."""
    end = _end_before_summary(transcript)
    if end <= 0 or transcript.source.container is not Container.LINES:
        return
    data = transcript.source.data[: transcript.source.spans[end][0]]
    with suppress(TranscriptError):
        before = parse(data, format=transcript.format, lenient=True)
        yield before
        yield from _before_summaries(before)


def _end_before_summary(transcript: Transcript) -> int:
    """Return the first record written with a summary; 0 without one."""
    records = [block.place.record for _, block in transcript.blocks()]
    summaries = [block.place.record for _, block in transcript.blocks() if block.summarizes]
    if not summaries:
        return 0
    # Claude Code sends what follows the last boundary; there copies of earlier messages may precede the summary.
    return min(records) - 1 if transcript.format == "claude-code" else summaries[0]
