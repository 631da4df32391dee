"""Find compactions that clients made, and rebuild the conversation before and after each, or before a prompt.

Clients leave what they compacted in the file, and write behind it. So the file up to a compaction holds what was sent
before it, and the file up to the next one what was sent after it and what was said then. Notes in other files cannot be
seen: Cline keeps its truncations in one.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import value_in
from ..core.transcript import Block, Message, Source, Transcript
from ..core.values import BlockKind, Container, Role
from ..core.wording import brief, quoted
from ..errors import CondenseError, TranscriptError
from . import parse
from .claude_code.chain import shortened
from .engine.base import objects_with
from .engine.blocks import listed
from .engine.client_text import is_injected
from .engine.writing import join


class CompactionKind(StrEnum):
    """Way in which a client made the conversation smaller."""

    SUMMARY = "summary"
    CLEARED = "cleared"
    """Old results are sent as a short text from then on."""
    DROPPED = "dropped"
    """Old messages are left out, and no summary takes their place."""


class Compacted(Struct, frozen=True):
    """A compaction. The client `wrote` these records for it; all others before `end` were there when it was done.

    `is_auto` is None if the file does not tell who asked for it. `said_before` are the tokens that the client noted, 0
    if it noted none. `cleared` are ids of calls and the texts that were sent in place of their results, unless the
    reader of the format sees to that.
    """

    wrote: range
    end: int
    kind: CompactionKind = CompactionKind.SUMMARY
    is_auto: bool | None = None
    said_before: int = 0
    cleared: tuple[tuple[str, str], ...] = ()


def compactions(source: Source, format_name: str) -> list[Compacted] | None:
    """Return the compactions in a file, in its order; None if it is not known how clients of the format note them."""
    finder = _FINDERS.get(format_name)
    return None if finder is None else list(finder(source))


CLEARED: Final = "[Old tool result content cleared]"
"""Text that Claude Code sends in place of a result that it cleared."""


def _claude_code(source: Source) -> Iterator[Compacted]:
    for record, value in objects_with(source, "compact_boundary", "microcompact_boundary", "tool_results_cut"):
        if value.get("subtype") == "compact_boundary":
            end = _first_said(source, record, value)
            yield Compacted(range(record, end), end, **_noted(value.get("compactMetadata")))
        elif value.get("subtype") == "microcompact_boundary":
            noted = value.get("microcompactMetadata")
            cleared = tuple((str(call), CLEARED) for call in listed(noted, "compactedToolIds"))
            wrote = range(record, record + 1)
            yield Compacted(wrote, record + 1, CompactionKind.CLEARED, cleared=cleared, **_noted(noted))
        elif value_in(value, "attachment", "type") == "tool_results_cut":
            yield Compacted(range(record, record + 1), record + 1, CompactionKind.CLEARED, is_auto=True)


def _noted(about: Any) -> dict[str, Any]:
    """Return what Claude Code notes of a compaction."""
    trigger = value_in(about, "trigger")
    is_auto = trigger == "auto" if isinstance(trigger, str) else None
    return {"is_auto": is_auto, "said_before": _tokens(about, "preTokens")}


def _first_said(source: Source, boundary: int, written: Mapping[str, Any]) -> int:
    """Return the first record behind a boundary that is said anew: no summary, no word of the client, no copy.

    Copies of messages that stay keep their times.
    """
    for record in range(boundary + 1, len(source.spans)):
        value = None if record in source.unparsed else json_text.parse(source.raw(record))
        if not isinstance(value, dict) or value.get("type") not in ("user", "assistant"):
            continue
        if bool(value.get("isSidechain")) != bool(written.get("isSidechain")):
            continue
        content = value_in(value, "message", "content")
        is_of_client = value.get("isCompactSummary") is True or value.get("isMeta") is True
        is_of_client = is_of_client or (isinstance(content, str) and is_injected(content))
        times = [str(each.get("timestamp") or "") for each in (written, value)]
        if not is_of_client and (times[0] < times[1] or "" in times):
            return record
    return len(source.spans)


def _opencode(source: Source) -> Iterator[Compacted]:
    """Find requests with a part that says so, and the summary that answers each."""
    for record, value in objects_with(source, "compaction"):
        found = [part for part in listed(value, "parts") if value_in(part, "type") == "compaction"]
        summary = _summary_of(source, record, value_in(value, "info", "id")) if found else None
        if summary is not None:
            yield Compacted(range(record, summary + 1), summary + 1, is_auto=found[0].get("auto") is True)


def _summary_of(source: Source, request: int, record_id: Any) -> int | None:
    for record in range(request + 1, source.listed):
        value = None if record in source.unparsed else json_text.parse(source.raw(record))
        info = value_in(value, "info")
        is_answer = value_in(info, "summary") is True and info.get("parentID") == record_id
        if is_answer and info.get("finish") and not info.get("error"):
            return record
    return None


_KEPT_BY_ROO: Final = 3
"""Messages behind a summary in the assistant's name: https://github.com/RooCodeInc/Roo-Code/pull/3582
(N_MESSAGES_TO_KEEP). One in the user's name is at the end."""


def _roo(source: Source) -> Iterator[Compacted]:
    hidden = Tally(str(value.get("truncationParent")) for _, value in objects_with(source, "truncationParent"))
    for record, value in objects_with(source, "isSummary", "isTruncationMarker"):
        behind = min(record + 1 + _KEPT_BY_ROO, source.listed)
        if value.get("isTruncationMarker") is True:
            # The client hides half of the messages: as many stay, or a few more.
            behind = min(record + 1 + hidden[str(value.get("truncationId"))], source.listed)
            yield Compacted(range(record, record + 1), behind, CompactionKind.DROPPED, is_auto=True)
        elif value.get("isSummary") is True:
            end = behind if value.get("role") == "assistant" else record + 1
            yield Compacted(range(record, record + 1), end)


Finder = Callable[[Source], Iterator[Compacted]]


def _log(word: str, key: str) -> Finder:
    """Return the finder for logs in which a record is a compaction if it has `word` under that key."""

    def find(source: Source) -> Iterator[Compacted]:
        for record, value in objects_with(source, word):
            if value.get(key) == word and "observation" not in value:
                has_text = key == "type" or bool(value.get("summary", value_in(value, "args", "summary")))
                kind = CompactionKind.SUMMARY if has_text else CompactionKind.DROPPED
                said = _tokens(value, "tokensBefore")
                yield Compacted(range(record, record + 1), record + 1, kind, said_before=said)

    return find


_FINDERS: Final[dict[str, Finder]] = {
    "claude-code": _claude_code,
    "codex": _log("compacted", "type"),
    "kimi": _log("context.apply_compaction", "type"),
    "opencode": _opencode,
    "openhands": _log("condensation", "action"),
    "openhands-sdk": _log("Condensation", "kind"),
    "pi": _log("compaction", "type"),
    "roo": _roo,
}


_MOST_TOKENS: Final = 10**12
"""Tokens. A larger number is a mistake, and would not fit into a report."""


def _tokens(noted: Any, key: str) -> int:
    tokens = value_in(noted, key)
    return tokens if isinstance(tokens, int) and 0 <= tokens <= _MOST_TOKENS else 0


class CompactedStretch(Struct, frozen=True):
    """A compaction with what was sent `before` it, what it left of that, and what was said `later`.

    `before` is None if the file does not hold it. `is_undone`: the user went back, and the conversation goes on from
    before it.
    """

    compacted: Compacted
    before: Transcript | None
    after: tuple[Message, ...]
    later: tuple[Message, ...]
    is_undone: bool


def stretches(transcript: Transcript, found: Sequence[Compacted]) -> Iterator[CompactedStretch]:
    """Yield a stretch for each of the compactions that were found in the file of a transcript, in their order."""
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
    """Return the conversation without what a compaction wrote, and without everything later; None if it is lost."""
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
    """Put short texts in place of the results of these calls."""
    if not texts:
        return transcript
    messages = (replace(each, blocks=tuple(shortened(each.blocks, texts))) for each in transcript.messages)
    return replace(transcript, messages=tuple(messages))


def _part(messages: Iterable[Message], records: range) -> Iterator[Message]:
    """Keep the blocks that come from these records; one turn can mix a summary with later user text."""
    for message in messages:
        blocks: tuple[Block, ...] = tuple(block for block in message.blocks if block.place.record in records)
        if blocks:
            yield message if len(blocks) == len(message.blocks) else replace(message, blocks=blocks)


def before_compaction(transcript: Transcript) -> Transcript:
    """Return the conversation before the last compaction that made a summary, or dropped messages.

    Raises CondenseError if the file records none, or no longer holds what came before it.
    """
    found = compactions(transcript.source, transcript.format)
    if found is None:
        raise CondenseError(
            f"How clients compact files of the format {transcript.format} is not known.",
            "Leave out --before-compaction.",
        )
    made = [one for one in found if one.kind is not CompactionKind.CLEARED]
    if not made:
        raise CondenseError("The file records no compaction.", "Leave out --before-compaction.")
    before = next(stretches(transcript, made[-1:])).before
    if before is None:
        raise CondenseError("The file no longer holds what came before its last compaction.", "Use a backup of it.")
    return before


def before_prompt(transcript: Transcript, words: str) -> Transcript:
    """Return the conversation before the last prompt of the user that holds some words, whatever their case.

    Looks before compactions as well. Raises CondenseError if there is none, or nothing comes before it.
    """
    if transcript.source.container is not Container.LINES:
        raise CondenseError(f"--until works on files with a record a line, not on {transcript.format}.")
    prompts = dict(_prompts(transcript))
    record = max((at for at, text in prompts.items() if words.casefold() in text.casefold()), default=None)
    if record is None:
        last = "; ".join(quoted(brief(" ".join(text.split()), 40)) for _, text in sorted(prompts.items())[-3:])
        raise CondenseError(f"No prompt holds {quoted(words)}.", f"The last ones are: {last}." if last else "")
    total = len(transcript.source.spans)
    before = next(stretches(transcript, [Compacted(range(record, total), total)])).before
    if before is None:
        raise CondenseError(f"Nothing comes before the prompt {quoted(brief(prompts[record]))}.")
    return before


def _prompts(transcript: Transcript) -> Iterator[tuple[int, str]]:
    """Yield the record and the text of each prompt, also of those that were compacted away."""
    found = [
        one
        for one in compactions(transcript.source, transcript.format) or []
        if one.kind is not CompactionKind.CLEARED and one.end == one.wrote.stop
    ]
    conversations = [stretch.before.messages for stretch in stretches(transcript, found) if stretch.before is not None]
    for messages in (*conversations, transcript.messages):
        yield from _typed(messages)


def _typed(messages: tuple[Message, ...]) -> Iterator[tuple[int, str]]:
    for message in messages:
        for block in message.blocks if message.role is Role.USER else ():
            is_typed = block.kind is BlockKind.TEXT and block.answers is None
            if is_typed and not (block.injected or block.summarizes) and block.text.strip():
                yield block.place.record, block.text
