"""Parts of opencode's messages as blocks.

A tool part holds the call and what came of it: {"type": "tool", "callID", "tool", "state": {"status", "input",
"output" | "error", "metadata", "attachments"?}}. What opencode sends of each part:
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/message-v2.ts (toModelMessages)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core import json_text
from ...core.transcript import Block, JsonPath, Place
from ...core.values import BlockKind, Role
from ..anthropic import attachment_block
from ..engine import client_text
from ..engine.base import unknown_block
from ..engine.client_text import is_injected

CLEARED: Final = "[Old tool result content cleared]"
INTERRUPTED: Final = "[Tool execution was interrupted]"
"""What opencode sends in place of an output that it cleared, or for a call that has none."""

_SAID: Final = {
    "compaction": "What did we do so far?",
    "subtask": "The following tool was executed by the user",
}
"""What it says for parts that are no text."""

_TEXT_FILES: Final = ("text/plain", "application/x-directory")
"""Files whose text opencode puts into a text part of its own."""

_SILENT: Final = frozenset({"agent", "file", "patch", "retry", "snapshot", "step-finish", "step-start"})
"""Parts that say nothing to the model where they are not read."""
_ENCRYPTED: Final = ("signature", "redactedData", "reasoningEncryptedContent", "encryptedContent")


def said_blocks(part: dict[str, Any], record: int, owner: JsonPath, role: Role) -> Iterator[Block]:
    """What a part of a message says itself, calls included. Snapshots and the like are not sent."""
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        if part.get("ignored") is True and role is Role.USER:
            return
        injected = role is Role.USER and (part.get("synthetic") is True or is_injected(part["text"]))
        yield Block(BlockKind.TEXT, Place(record, (*owner, "text")), owner, content=part["text"], injected=injected)
    elif kind == "reasoning" and isinstance(part.get("text"), str):
        place = Place(record, (*owner, "text"))
        estimate = 0 if part["text"] else _encrypted(part.get("metadata"))
        yield Block(BlockKind.THINKING, place, owner, content=part["text"], estimate=estimate)
    elif (
        kind == "tool"
        and isinstance(part.get("callID"), str)
        and isinstance(part.get("state"), dict)
        and "input" in part["state"]
    ):
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "state", "input")),
            owner,
            content=json_text.dump_compact(part["state"]["input"]),
            tool=str(part.get("tool") or ""),
            call_id=part["callID"],
            is_object=True,
        )
    elif kind == "file" and role is Role.USER:
        if part.get("mime") not in _TEXT_FILES:
            yield _file(part, record, owner)
    elif not isinstance(kind, str) or kind not in _SILENT | _SAID.keys():
        yield unknown_block(part, record, owner)
    elif kind in _SAID and role is Role.USER:
        yield Block(BlockKind.OPAQUE, Place(record, owner), owner, content=_SAID[kind], injected=True)


def _encrypted(metadata: Any) -> int:
    """Tokens of reasoning that only its provider can read; each provider has its own object in the metadata."""
    found = metadata.values() if isinstance(metadata, dict) else ()
    inner = [value for value in found if isinstance(value, dict)]
    return sum(client_text.encrypted_thinking(value.get(key)) for value in inner for key in _ENCRYPTED)


def _file(part: dict[str, Any], record: int, owner: JsonPath, **common: Any) -> Block:
    mime, url = str(part.get("mime")), part.get("url")
    if mime.startswith("image/"):
        link = {"type": "image_url", "image_url": {"url": url}}
        return attachment_block(link, record, owner, place=owner, **common)
    data = url.partition(",")[2] if isinstance(url, str) and url.startswith("data:") else None
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=client_text.document(data), **common)


def result_blocks(part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
    """What came of the call in a part; nothing for other parts."""
    state = part.get("state")
    if part.get("type") != "tool" or not isinstance(part.get("callID"), str) or not isinstance(state, dict):
        return
    common: dict[str, Any] = {"call_id": part["callID"], "tool": str(part.get("tool") or "")}
    path = (*owner, "state")
    time = state.get("time")
    cleared = bool(time.get("compacted")) if isinstance(time, dict) else False
    lacks_output = state.get("status") == "completed" and "output" not in state
    if not cleared and ("status" not in state or lacks_output):
        yield unknown_block(state, record, path, owner, **common)
        return
    key = {"completed": "output", "error": "error"}.get(str(state.get("status")), "")
    text = state.get(key)
    if cleared or not isinstance(text, str):
        said = CLEARED if cleared else INTERRUPTED
        yield Block(BlockKind.OPAQUE, Place(record, path), owner, content=said, **common)
        return
    is_error = key == "error"
    yield Block(BlockKind.TOOL_RESULT, Place(record, (*path, key)), owner, content=text, is_error=is_error, **common)
    attachments = state.get("attachments")
    for index, file in enumerate(attachments if isinstance(attachments, list) and key == "output" else ()):
        if isinstance(file, dict):
            # A file part has to stay one there: no text can take the place of an image.
            place = Place(record, (*path, "attachments", index))
            image = _file(file, record, place.path)
            yield Block(BlockKind.OPAQUE, place, owner, estimate=image.estimate, **common)
