"""Sessions of GitHub Copilot CLI (`~/.copilot/session-state/*/events.jsonl`): one event in each line.

{"type": "user.message", "data": {"content", "transformedContent"?, "source"?}, "id", "timestamp", "parentId"}
{"type": "assistant.message", "data": {"content", "toolRequests": [{"toolCallId", "name", "arguments"}], ...}, ...}
{"type": "tool.execution_complete", "data": {"toolCallId", "success", "result": {"content"} | "error"}, ...}
{"type": "session.compaction_complete", "data": {"success", "summaryContent"}, ...}

The model gets `transformedContent`; `content` is what the user sees. Encrypted thinking is bound to its session, and a
resumed one does without it. A compaction puts its summary in place of everything that was said before it began.
https://github.com/github/copilot-sdk (nodejs/src/generated/session-events.ts)
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import text_in, value_in
from ..core.transcript import Block, JsonPath, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role
from .engine import beside, client_text, writing
from .engine.base import Evidence, Format, RecordEdits, records_of
from .engine.blocks import Turn, call_block, joined, kept_members, listed, of_call, text_block, thinking_blocks
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy

_PARENT: Final = "parentId"
_SAID: Final[JsonPath] = ("data", "content")
_DONE: Final = "tool.execution_complete"
_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "tool.execution_start": ("arguments",),
    "tool.execution_partial_result": ("partialOutput",),
    "permission.requested": ("permissionRequest", "promptRequest"),
    "hook.start": ("input",),
    "hook.end": ("output",),
    "session.task_complete": ("summary",),
}
"""Keys of an event's data that repeat the conversation for the user or for programs beside the client."""
_PROOF: Final = frozenset({
    "assistant.message", "session.resume", "session.start", "tool.execution_complete", "tool.execution_start",
    "user.message",
})  # fmt: skip
_NOTIFIES: Final = "<system_notification"
"""Beginning of a notification that the model gets; others are for the user."""
_OF_SPEAKERS: Final = ("assistant.", "tool.", "user.")
"""Beginnings of the types of events that may be part of the conversation."""
_SILENT: Final = frozenset({
    "assistant.idle", "assistant.intent", "assistant.message_delta", "assistant.message_start", "assistant.reasoning",
    "assistant.reasoning_delta", "assistant.streaming_delta", "assistant.turn_end", "assistant.turn_start",
    "assistant.usage", "tool.execution_partial_result", "tool.execution_progress", "tool.execution_start",
    "tool.user_requested",
})  # fmt: skip
"""Those among them that never are."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict) or _PARENT not in value:
        return Evidence.NO
    kind = value.get("type")
    if not isinstance(kind, str) or not isinstance(value.get("timestamp"), str):
        return Evidence.NO
    return Evidence.YES if kind in _PROOF else Evidence.MAYBE


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = _Reader(document.source)
    for record, value in enumerate(values):
        if isinstance(value, dict) and isinstance(value.get("data"), dict):
            reader.take(record, value)
        elif isinstance(value, dict):
            reader.unknown[f"event {value.get('type')} without data"] += 1
    return Transcript(
        "copilot",
        Family.OPENAI_CHAT,
        joined([*reader.turns, *reader.waiting]),
        document.source,
        model=reader.model,
        envelope=reader.system_prompt,
        unknown=tuple(reader.unknown.items()),
    )


class _Reader:
    """Build the conversation as the client does, event by event."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.turns: list[Turn] = []
        self.waiting: list[Turn] = []
        """Messages that came between calls and their results; they are sent behind these."""

        self._tools: dict[str, str] = {}
        self._open: set[str] = set()
        self._compacted = 0
        self.unknown = Tally[str]()
        self.model: str | None = None
        self.system_prompt = ""

    def take(self, record: int, value: dict[str, Any]) -> None:
        kind, data = value.get("type"), value["data"]
        if value.get("agentId") or data.get("parentToolCallId"):
            return  # A sub-agent's.
        model = data.get("newModel") if kind == "session.model_change" else data.get("model")
        self.model = model if isinstance(model, str) and model else self.model
        if kind == "system.message" and isinstance(data.get("content"), str):
            self.system_prompt = data["content"]
        elif kind == "user.message":
            for key in ("transformedContent", "content"):
                text = data.get(key)
                if isinstance(text, str) and text:
                    injected = str(data.get("source") or "user") != "user" or is_injected(text)
                    self._say(text_block(text, record, ("data", key), injected=injected))
                    break
        elif kind == "system.notification" and str(data.get("content")).startswith(_NOTIFIES):
            self._say(text_block(data["content"], record, _SAID, injected=True))
        elif kind == "assistant.message":
            self._answer(list(self._assistant(data, record)), data)
        elif kind == _DONE and str(data.get("toolCallId")) in self._open:
            self._open.discard(data["toolCallId"])
            self.turns.append(self._turn(Role.TOOL, self._result(data, record)))
            self._let_go()
        elif kind == "session.compaction_start":
            self._compacted = len(self.turns)
        elif kind == "session.compaction_complete" and data.get("success") and data.get("summaryContent"):
            self._compact(str(data["summaryContent"]), record)
        elif kind == _DONE:
            self.unknown["result without a call"] += str(data.get("toolCallId")) not in self._tools
        elif not isinstance(kind, str):
            self.unknown["event without a type"] += 1
        elif kind.startswith(_OF_SPEAKERS) and kind not in _SILENT:
            self.unknown[f"event {kind}"] += 1

    def _turn(self, role: Role, blocks: list[Block], answer: str | None = None) -> Turn:
        return Turn(role, as_lazy(blocks, self._source), answer)

    def _say(self, block: Block) -> None:
        (self.waiting if self._open else self.turns).append(self._turn(Role.USER, [block]))

    def _let_go(self) -> None:
        if not self._open:
            self.turns += self.waiting
            self.waiting = []

    def _answer(self, blocks: list[Block], data: dict[str, Any]) -> None:
        if not blocks:
            return
        answer = data.get("apiCallId")
        last = self.turns[-1] if self.turns else None
        if last is None or answer is None or last.answer != answer:
            self._open.clear()  # What is still without a result never gets one.
            self._let_go()
        self.turns.append(self._turn(Role.ASSISTANT, blocks, answer if isinstance(answer, str) else None))
        self._open |= {block.call_id for block in blocks if block.call_id}

    def _compact(self, summary: str, record: int) -> None:
        block = text_block(summary, record, ("data", "summaryContent"), summarizes=True, anchors=True)
        later = self.turns[self._compacted :]
        while later and later[0].role is Role.TOOL:
            later = later[1:]  # Its call is in what was compacted.
        self.turns = [self._turn(Role.USER, [block]), *later]
        self.unknown.clear()  # What was not understood is in the summary, or nowhere.
        self._compacted = 0

    def _assistant(self, data: dict[str, Any], record: int) -> Iterator[Block]:
        yield from thinking_blocks(data, "reasoningText", record, ("data",))
        if isinstance(data.get("content"), str) and data["content"]:
            yield text_block(data["content"], record, _SAID)
        for number, call in enumerate(listed(data, "toolRequests")):
            owner, keys = ("data", "toolRequests", number), ("toolCallId", "name", "arguments")
            block = call_block(call, record, owner, self._tools, *keys, may_be_text=True)
            is_text = block.kind is BlockKind.TOOL_CALL and not block.is_object
            yield replace(block, is_free_text=True) if is_text else block

    def _result(self, data: dict[str, Any], record: int) -> list[Block]:
        error, owner = data.get("error"), ("data",)
        holder, path = (error, ("error", "message")) if isinstance(error, dict) else (data.get("result"), _RESULT)
        common = of_call(data["toolCallId"], self._tools, is_error=data.get("success") is False)
        text = text_in(holder, path[1]) or ""
        found = [text_block(text, record, ("data", *path), owner, kind=BlockKind.TOOL_RESULT, **common)]
        for number, file in enumerate(listed(holder, "binaryResultsForLlm")):
            if isinstance(file, dict):
                place = Place(record, ("data", "result", "binaryResultsForLlm", number))
                is_image = str(file.get("mimeType")).startswith("image/")
                estimate = (client_text.image if is_image else client_text.document)(file.get("data"))
                found.append(Block(BlockKind.OPAQUE, place, owner, estimate=estimate, **common))
        return found


_RESULT: Final = ("result", "content")


def _copies(transcript: Transcript) -> Iterator[beside.Shown]:
    for record, value in records_of(transcript.source):
        kind, data = value_in(value, "type"), value_in(value, "data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            continue
        for key in _SHOWN.get(kind, ()):
            if key in data:
                yield record, ("data", key), data[key]
        if kind == "user.message" and data.get("transformedContent"):
            yield record, _SAID, data.get("content")
        result = data.get("result")
        if kind == _DONE and isinstance(result, dict):
            for key in result.keys() - {"content", "binaryResultsForLlm"}:
                yield record, ("data", "result", key), result[key]


def _complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    for block in meant.removed:
        if block.owner == _SAID and block.place.record not in gone:
            edits[block.place.record][_SAID] = '""'  # The client takes no message without it.
    writing.relink(meant.source, edits, gone, key="id", parent=_PARENT)


def _going(transcript: Transcript, gone: frozenset[int]) -> frozenset[int]:
    """Delete the other events of calls whose results go: that they began, and who allowed them."""
    if not gone:
        return gone
    found = []
    for record, value in records_of(transcript.source):
        data = value_in(value, "data")
        if isinstance(data, dict):
            call = data.get("toolCallId") or value_in(data, "permissionRequest", "toolCallId")
            found.append((record, str(value.get("type")), call if isinstance(call, str) else None))
    ids = {call for record, kind, call in found if kind == _DONE and record in gone} - {None}
    return gone | {record for record, kind, call in found if call in ids and kind.startswith(("tool.", "permission."))}


def _new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    kept = kept_members(replaced, "id", "timestamp", _PARENT)
    return {"type": '"user.message"', "data": f'{{"content": {literal}}}', **kept}


FORMAT: Final = Format(
    "copilot",
    Family.OPENAI_CHAT,
    "GitHub Copilot CLI session (~/.copilot/session-state/*/events.jsonl)",
    evidence,
    _read,
    beside=beside.copies(_copies),
    complete=_complete,
    going=_going,
    new_message=_new_message,
    summary_role=Role.USER,
)
