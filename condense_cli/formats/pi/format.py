"""Sessions of pi (`~/.pi/agent/sessions/*/*.jsonl`) and Oh My Pi: a header, then entries that form a tree.

    {"type": "session", "version": 3, "id", "timestamp", "cwd"}
    {"type": "message" | "compaction" | "branch_summary" | "custom_message" | ..., "id", "parentId", "timestamp", ...}

The conversation is the path to the last entry (`path`). Version 1 has no ids: its entries form a line.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Message, Place, Transcript
from ...core.values import BlockKind, Family, Role, Usage
from ..anthropic import attachment_block
from ..engine import client_text
from ..engine.base import Evidence, Format, recorded
from ..engine.client_text import is_injected
from ..engine.container import Document, as_lazy
from ..engine.writing import not_reached, parents_exist
from . import writing
from .path import PiEntry, is_tree, path, sent

_TYPES: Final = frozenset({
    "message", "compaction", "branch_summary", "custom_message", "model_change", "thinking_level_change", "custom",
    "label", "session_info",
})  # fmt: skip
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "toolResult": Role.TOOL}
_OTHERS: Final = ("bashExecution", "branchSummary", "compactionSummary", "custom", "hookMessage")
"""Further roles of messages."""
_TEXT_OF_SUMMARY: Final = "summary"


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if value.get("type") == "title" and isinstance(value.get("updatedAt"), str):
        return Evidence.MAYBE  # Oh My Pi, a fork, writes it before the header.
    if not isinstance(value.get("timestamp"), str):
        return Evidence.NO
    if value.get("type") == "session":
        # Session traces, which name the agent, have such a header as well, but no version of pi's format.
        is_own = "harness" not in value or isinstance(value.get("version"), int)
        return Evidence.YES if isinstance(value.get("id"), str) and "cwd" in value and is_own else Evidence.NO
    return Evidence.MAYBE if value.get("type") in tuple(_TYPES) else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = [
        PiEntry(record, value)
        for record, value in enumerate(values)
        if record not in document.source.unparsed and isinstance(value, dict)
    ]
    unknown = Tally(f"entry {kind}" for kind in map(_unknown, entries) if kind)
    turns: list[tuple[Role, list[Block]]] = []
    model = None
    usages: list[Usage] = []
    sent_entries = sent(entries)
    broken_at = _broken_at(entries, sent_entries)
    compaction = sent_entries[0] if sent_entries and sent_entries[0].is_compaction else None
    for entry in sent_entries:
        message = entry.value.get("message") if entry.value.get("type") == "message" else None
        for role, found in _turn(entry.record, entry.value):
            blocks = list(as_lazy(found, document.source))
            if role is Role.TOOL and turns and turns[-1][0] is Role.TOOL:
                turns[-1][1].extend(blocks)
                continue
            if role is Role.ASSISTANT and isinstance(message, dict):
                model = message["model"] if isinstance(message.get("model"), str) else model
                usages += _usage(len(turns), message.get("usage"), model, is_older=_is_older(entry, compaction))
            if blocks:  # An empty message is not sent.
                turns.append((role, blocks))
    messages = tuple(Message(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(turns))
    return Transcript(
        "pi",
        Family.OPENAI_CHAT,
        messages,
        document.source,
        model=model,
        begins_in_middle=broken_at is not None,
        usages=tuple(usages),
        unknown=tuple(unknown.items()),
        warnings=() if broken_at is None else _not_reached(entries, broken_at),
    )


def _unknown(entry: PiEntry) -> str:
    """The kind of an entry that nobody knows; empty for one that is known."""
    kind, message = entry.value.get("type"), entry.value.get("message")
    if kind in ("compaction", "branch_summary") and not isinstance(entry.value.get(_TEXT_OF_SUMMARY), str):
        return f"{kind} without a summary"
    if kind != "message":
        return "" if kind in ("session", "title", "leaf", *_TYPES) else str(kind)
    role = message.get("role") if isinstance(message, dict) else None
    return "" if role in (*_ROLES, *_OTHERS) else f"message of {role}"


def _broken_at(entries: list[PiEntry], sent: list[PiEntry]) -> int | None:
    """The record of the path's first entry, where it hangs on a missing one from which on messages would be sent.

    What a compaction left out may be missing, but not the first entry that it kept.
    """
    if not sent or not is_tree(entries):
        return None
    on_path = path(entries)
    kept = sent[0].value.get("firstKeptEntryId") if sent[0].is_compaction else None
    is_whole = sent[0].is_compaction and (kept is None or any(entry.id == kept for entry in on_path))
    return None if is_whole or on_path[0].value.get("parentId", 0) is None else on_path[0].record


def _not_reached(entries: list[PiEntry], start: int) -> tuple[str, ...]:
    earlier = sum(entry.record < start and entry.value.get("type") == "message" for entry in entries)
    return not_reached(start, "parentId", earlier)


def _is_older(entry: PiEntry, compaction: PiEntry | None) -> bool:
    """Whether an entry was there before the compaction. Copies of such entries follow it, and keep their times."""
    if compaction is None:
        return False
    times = [str(each.value.get("timestamp") or "") for each in (entry, compaction)]
    return entry.record < compaction.record or (times[0] != "" and times[0] <= times[1])


def _usage(message: int, usage: Any, model: str | None, *, is_older: bool) -> Iterator[Usage]:
    if isinstance(usage, dict):
        numbers = [usage.get(key) for key in ("input", "cacheRead", "cacheWrite")]
        yield from recorded(message, numbers, usage.get("output"), is_older=is_older, model=model)


def _turn(record: int, value: dict[str, Any]) -> Iterator[tuple[Role, Iterator[Block]]]:
    """Who speaks in an entry, and what; nothing for an entry that is not sent."""
    kind, message = value.get("type"), value.get("message")
    if kind in ("compaction", "branch_summary") and isinstance(value.get(_TEXT_OF_SUMMARY), str):
        yield Role.USER, iter([_summary(value[_TEXT_OF_SUMMARY], record, (_TEXT_OF_SUMMARY,))])
    elif kind == "custom_message":
        yield Role.USER, _injected(_content(value.get("content"), record, ("content",), is_user=True))
    elif kind == "message" and isinstance(message, dict):
        role, path = message.get("role"), ("message", "content")
        if role == "bashExecution":
            if message.get("excludeFromContext") is not True:
                yield Role.USER, _command(message, record)
        elif role in ("custom", "hookMessage"):
            yield Role.USER, _injected(_content(message.get("content"), record, path, is_user=True))
        elif role == "assistant" and message.get("stopReason") in ("error", "aborted"):
            return  # Not sent again: it may be cut off anywhere.
        elif role == "toolResult":
            yield Role.TOOL, _result(message, record, path)
        elif isinstance(role, str) and role in _ROLES:
            yield _ROLES[role], _content(message.get("content"), record, path, is_user=role == "user")


def _summary(text: str, record: int, path: JsonPath) -> Block:
    return Block(BlockKind.TEXT, Place(record, path), path, content=text, injected=True, summarizes=True)


def _injected(blocks: Iterator[Block]) -> Iterator[Block]:
    return (replace(block, injected=True) for block in blocks)


def _command(message: dict[str, Any], record: int) -> Iterator[Block]:
    """A command that the user ran; pi sends it and what it printed as a message of the user."""
    said = f"Ran `{message.get('command')}`"
    place = Place(record, ("message", "command"))
    yield Block(BlockKind.OPAQUE, place, ("message",), content=said, api_type="bashExecution", is_readable=True)
    output = message.get("output")
    if isinstance(output, str) and output:
        place = Place(record, ("message", "output"))
        yield Block(BlockKind.TOOL_RESULT, place, ("message",), content=output, tool="bash", injected=True)


def _result(message: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    call_id, tool = message.get("toolCallId"), message.get("toolName")
    common: dict[str, Any] = {
        "call_id": call_id if isinstance(call_id, str) else None,
        "tool": tool if isinstance(tool, str) else None,
        "is_error": message.get("isError") is True,
    }
    blocks = list(_content(message.get("content"), record, path, is_user=False))
    if not blocks:
        yield Block(BlockKind.TOOL_RESULT, Place(record, path), ("message",), **common)
    for block in blocks:
        kind = BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind
        yield replace(block, kind=kind, owner=("message",), **common)


def _content(content: Any, record: int, path: JsonPath, *, is_user: bool) -> Iterator[Block]:
    if isinstance(content, str):
        injected = is_user and is_injected(content)
        yield Block(BlockKind.TEXT, Place(record, path), path, content=content, injected=injected)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        yield _part(part, record, (*path, number), is_user)


def _part(part: Any, record: int, owner: JsonPath, is_user: bool) -> Block:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        text = part["text"]
        injected = is_user and is_injected(text)
        return Block(BlockKind.TEXT, Place(record, (*owner, "text")), owner, content=text, injected=injected)
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        text, signature = part["thinking"], part.get("thinkingSignature")
        encrypted = _encrypted(signature)
        if encrypted is not None:
            text, signature = "", encrypted  # What is shown is a summary, which is not sent.
        estimate = 0 if text else client_text.encrypted_thinking(signature)
        place = Place(record, (*owner, "thinking"))
        return Block(BlockKind.THINKING, place, owner, content=text, estimate=estimate)
    if kind == "toolCall" and isinstance(part.get("id"), str) and "arguments" in part:
        return Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "arguments")),
            owner,
            content=json_text.dump_compact(part["arguments"]),
            tool=str(part.get("name") or ""),
            call_id=part["id"],
            is_object=True,
        )
    if kind == "image":
        return attachment_block({"type": "image", "source": {"data": part.get("data")}}, record, owner)
    return attachment_block(part, record, owner)


def _encrypted(signature: Any) -> str | None:
    """The encrypted text of a reasoning item of OpenAI's, which pi keeps as JSON; None for any other signature."""
    if not isinstance(signature, str) or not signature.startswith("{"):
        return None
    try:
        item = json_text.parse_text(signature)
    except ValueError:
        return None
    is_item = isinstance(item, dict) and item.get("type") == "reasoning"
    return str(item.get("encrypted_content") or "") if is_item else None


FORMAT = Format(
    "pi",
    Family.OPENAI_CHAT,
    "pi session file (~/.pi/agent/sessions/*/*.jsonl)",
    evidence,
    read,
    complete=writing.complete,
    fixed=writing.fixed,
    rules=(parents_exist("parentId"),),
    compaction=writing.write,
    summary_role=Role.USER,
)
