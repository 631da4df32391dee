"""The conversation that opencode sends, from its messages in order.

It begins at the last compaction that was finished, or at the message which that names as the first to keep. A message
of the assistant with calls is two turns: what it said, and what came of the calls. Answers that failed are not sent.
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/message-v2.ts (filterCompacted)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core.transcript import Block, JsonPath, Message, Source, Transcript
from ...core.values import BlockKind, Family, Role, Usage, WindowSigns
from ..engine.base import SignsReader, recorded
from ..engine.container import as_lazy
from .parts import result_blocks, said_blocks

ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}


class OpencodePart(Struct, frozen=True):
    value: Any
    record: int
    path: JsonPath


class OpencodeEntry(Struct, frozen=True):
    """A message: what opencode notes about it, and its parts."""

    info: dict[str, Any]
    parts: list[OpencodePart]


def transcript(format_name: str, entries: list[OpencodeEntry], source: Source) -> Transcript:
    beginning, compaction = _beginning(entries)
    sent = [entry for entry in entries[beginning:] if not _has_failed(entry)]
    messages: list[Message] = []
    usages: list[Usage] = []
    for entry in sent:
        is_anchor = compaction is not None and _is_of(entry.info, compaction)
        for role, blocks in _turns(entry, source):
            if is_anchor:
                blocks = [replace(block, anchors=True) for block in blocks]
            if role is Role.ASSISTANT:
                usages += _usage(len(messages), entry.info)
            messages.append(Message(len(messages), role, tuple(blocks)))
    models = [entry.info.get("modelID") for entry in sent]
    model = next((model for model in reversed(models) if isinstance(model, str) and model), None)
    return Transcript(
        format_name,
        Family.OPENAI_CHAT,
        tuple(messages),
        source,
        model=model,
        usages=tuple(usages),
        window_signs=_window_signs(entries),
    )


def _window_signs(entries: list[OpencodeEntry]) -> tuple[WindowSigns, ...]:
    """What the answers and compactions show, those too that are not sent any more."""
    signs = SignsReader()
    for entry in entries:
        for usage in _usage(0, entry.info) if entry.info.get("role") == "assistant" else ():
            signs.used(usage.model, usage.input_tokens, usage.output_tokens)
        if any(part.get("type") == "compaction" and part.get("auto") is True for part in _values(entry)):
            signs.compacted(signs.last)
    return signs.found


def _beginning(entries: list[OpencodeEntry]) -> tuple[int, str | None]:
    """Position of the first message that is sent, and the id of the request whose compaction says so."""
    finished: set[str] = set()
    for position in reversed(range(len(entries))):
        info = entries[position].info
        if info.get("role") == "user" and str(info.get("id")) in finished:
            for part in _values(entries[position]):
                if part.get("type") == "compaction":
                    kept = part.get("tail_start_id")
                    ids = [entry.info.get("id") for entry in entries[:position]]
                    return ids.index(kept) if kept in ids else position, str(info.get("id"))
        if info.get("summary") is True and info.get("finish") and not info.get("error"):
            finished.add(str(info.get("parentID")))
    return 0, None


def _is_of(info: dict[str, Any], compaction: str) -> bool:
    """Whether it is the request of the compaction, or the summary that answers it."""
    return str(info.get("id")) == compaction or (
        info.get("summary") is True and str(info.get("parentID")) == compaction
    )


def _values(entry: OpencodeEntry) -> Iterator[dict[str, Any]]:
    return (part.value for part in entry.parts if isinstance(part.value, dict))


def _has_failed(entry: OpencodeEntry) -> bool:
    """Whether an answer ended in an error. One that the user stopped is sent as far as it got."""
    error = entry.info.get("error")
    if entry.info.get("role") != "assistant" or not error:
        return False
    was_stopped = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
    return not was_stopped or all(part.get("type") in ("step-start", "reasoning") for part in _values(entry))


def _turns(entry: OpencodeEntry, source: Source) -> Iterator[tuple[Role, list[Block]]]:
    role = ROLES[entry.info["role"]]
    said: list[Block] = []
    results: list[Block] = []
    for part in entry.parts:
        if isinstance(part.value, dict):
            said += as_lazy(said_blocks(part.value, part.record, part.path, role), source)
            results += as_lazy(result_blocks(part.value, part.record, part.path), source)
    if entry.info.get("summary") is True:
        said = [replace(block, summarizes=block.kind is BlockKind.TEXT) for block in said]
    if said:
        yield role, said
    if results:
        yield Role.TOOL, results


def _usage(message: int, info: dict[str, Any]) -> Iterator[Usage]:
    """The usage of an answer. That of a summary counted the messages that it takes the place of."""
    tokens = info.get("tokens")
    cache = tokens.get("cache") if isinstance(tokens, dict) else None
    numbers = [tokens.get("input")] if isinstance(tokens, dict) else []
    numbers += [cache.get("read"), cache.get("write")] if isinstance(cache, dict) else []
    yield from recorded(
        message,
        numbers,
        tokens.get("output") if isinstance(tokens, dict) else None,
        is_older=info.get("summary") is True,
        model=info.get("modelID"),
    )
