"""Sessions of GitHub Copilot CLI (`~/.copilot/session-state/*/events.jsonl`): one event in each line.

{"type": "user.message", "data": {"content", "transformedContent"?, "source"?}, "id", "timestamp", "parentId"}
    {"type": "assistant.message", "data": {"content", "toolRequests": [{"toolCallId", "name", "arguments"}], ...}, ...}
    {"type": "tool.execution_complete", "data": {"toolCallId", "success", "result": {"content"} | "error"}, ...}
    {"type": "session.compaction_complete", "data": {"success", "summaryContent"}, ...}

`transformedContent` is what the model gets of a message, `content` what the user sees of it. What the model thought in
secret is bound to its session, and a resumed one does without it. A compaction puts its summary in place of all that
was said before it began. https://github.com/github/copilot-sdk (nodejs/src/generated/session-events.ts)
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import Block, JsonPath, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role
from .engine import client_text, repeats, writing
from .engine.base import Evidence, Format, RecordEdits, records_of, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy
from .engine.turns import Turn, joined

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


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    _copies_go(meant, edits, gone, style)
    for block in meant.removed:
        if block.owner == _SAID and block.place.record not in gone:
            edits[block.place.record][_SAID] = '""'  # The client takes no message without it.
    writing.relink(meant.source, edits, gone, key="id", parent=_PARENT)


def again(source: Source, gone: frozenset[int]) -> frozenset[int]:
    """The other events of calls whose results go: when they began, and who allowed them."""
    if not gone:
        return frozenset()
    found = [(record, *_call_of(value)) for record, value in records_of(source)]
    ids = {call for record, kind, call in found if kind == _DONE and record in gone} - {None}
    return frozenset(
        record for record, kind, call in found if call in ids and kind.startswith(("tool.", "permission."))
    )


def _call_of(value: Any) -> tuple[str, str | None]:
    """Type of an event, and the id of the call that it is about."""
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict):
        return "", None
    asked = data.get("permissionRequest")
    call = data.get("toolCallId") or (asked.get("toolCallId") if isinstance(asked, dict) else None)
    return str(value.get("type")), call if isinstance(call, str) else None


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    named = {key: json.dumps(old[key]) for key in ("id", "timestamp", _PARENT) if key in old}
    return {"type": '"user.message"', "data": f'{{"content": {literal}}}', **named}


def _shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    for record, value in records_of(transcript.source):
        kind = value.get("type") if isinstance(value, dict) else None
        data = value.get("data") if isinstance(kind, str) else None
        if not isinstance(data, dict):
            continue
        for key in _SHOWN.get(str(kind), ()):
            if key in data:
                yield record, ("data", key), data[key]
        if kind == "user.message" and data.get("transformedContent"):
            yield record, _SAID, data.get("content")
        result = data.get("result")
        if kind == _DONE and isinstance(result, dict):
            for key in result.keys() - {"content", "binaryResultsForLlm"}:
                yield record, ("data", "result", key), result[key]


_copies_go: Final = repeats.completing(_shown)
display: Final = repeats.displaying(_shown)


_PROOF: Final = frozenset({
    "assistant.message", "session.resume", "session.start", "tool.execution_complete", "tool.execution_start",
    "user.message",
})  # fmt: skip
_NOTIFIES: Final = "<system_notification"
"""How a notification begins that the model gets; others are for the user."""


_OF_SPEAKERS: Final = ("assistant.", "tool.", "user.")
"""How the types of events begin that may be part of the conversation."""
_SILENT: Final = frozenset({
    "assistant.idle", "assistant.intent", "assistant.message_delta", "assistant.message_start", "assistant.reasoning",
    "assistant.reasoning_delta", "assistant.streaming_delta", "assistant.turn_end", "assistant.turn_start",
    "assistant.usage", "tool.execution_partial_result", "tool.execution_progress", "tool.execution_start",
    "tool.user_requested",
})  # fmt: skip
"""Those that never are."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict) or "parentId" not in value:
        return Evidence.NO
    kind = value.get("type")
    if not isinstance(kind, str) or not isinstance(value.get("timestamp"), str):
        return Evidence.NO
    return Evidence.YES if kind in _PROOF else Evidence.MAYBE


def read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = _Reader(document.source)
    for record, value in enumerate(values):
        if isinstance(value, dict) and isinstance(value.get("data"), dict):
            reader.take(record, value)
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
    """The conversation as the client builds it, event by event."""

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
            self._say(_user(data, record))
        elif kind == "system.notification" and str(data.get("content")).startswith(_NOTIFIES):
            self._say([_text(data["content"], record, ("data", "content"), injected=True)])
        elif kind == "assistant.message":
            self._answer(list(self._assistant(data, record)), data)
        elif kind == "tool.execution_complete" and str(data.get("toolCallId")) in self._open:
            self._open.discard(data["toolCallId"])
            self.turns.append(self._turn(Role.TOOL, _result(data, record, self._tools)))
            self._let_go()
        elif kind == "session.compaction_start":
            self._compacted = len(self.turns)
        elif kind == "session.compaction_complete" and data.get("success") and data.get("summaryContent"):
            self._compact(str(data["summaryContent"]), record)
        elif kind == "tool.execution_complete":
            self.unknown["result without a call"] += str(data.get("toolCallId")) not in self._tools
        elif str(kind).startswith(_OF_SPEAKERS) and kind not in _SILENT:
            self.unknown[f"event {kind}"] += 1

    def _turn(self, role: Role, blocks: list[Block], answer: str | None = None) -> Turn:
        return Turn(role, list(as_lazy(blocks, self._source)), answer)

    def _say(self, blocks: list[Block]) -> None:
        if blocks:
            (self.waiting if self._open else self.turns).append(self._turn(Role.USER, blocks))

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
        path = ("data", "summaryContent")
        block = Block(BlockKind.TEXT, Place(record, path), path, content=summary, summarizes=True, anchors=True)
        later = self.turns[self._compacted :]
        while later and later[0].role is Role.TOOL:
            later = later[1:]  # Its call is in what was compacted.
        self.turns = [self._turn(Role.USER, [block]), *later]
        self.unknown.clear()  # What was not understood is in the summary, or nowhere.
        self._compacted = 0

    def _assistant(self, data: dict[str, Any], record: int) -> Iterator[Block]:
        for key, kind in (("reasoningText", BlockKind.THINKING), ("content", BlockKind.TEXT)):
            if isinstance(data.get(key), str) and data[key]:
                yield Block(kind, Place(record, ("data", key)), ("data", key), content=data[key])
        requests = data.get("toolRequests")
        for number, call in enumerate(requests if isinstance(requests, list) else ()):
            owner = ("data", "toolRequests", number)
            if not isinstance(call, dict) or not isinstance(call.get("toolCallId"), str) or "arguments" not in call:
                yield unknown_block(call, record, owner)
                continue
            tool = self._tools[call["toolCallId"]] = str(call.get("name") or "")
            arguments = call["arguments"]
            is_text = isinstance(arguments, str)
            yield Block(
                BlockKind.TOOL_CALL,
                Place(record, (*owner, "arguments")),
                owner,
                content=arguments if is_text else json_text.dump_compact(arguments),
                tool=tool,
                call_id=call["toolCallId"],
                is_object=not is_text,
                is_free_text=is_text,
            )


def _text(text: str, record: int, path: JsonPath, *, injected: bool) -> Block:
    return Block(BlockKind.TEXT, Place(record, path), path, content=text, injected=injected)


def _user(data: dict[str, Any], record: int) -> list[Block]:
    for key in ("transformedContent", "content"):
        text = data.get(key)
        if isinstance(text, str) and text:
            injected = str(data.get("source") or "user") != "user" or is_injected(text)
            return [_text(text, record, ("data", key), injected=injected)]
    return []


def _result(data: dict[str, Any], record: int, tools: dict[str, str]) -> list[Block]:
    result, error = data.get("result"), data.get("error")
    has_failed = data.get("success") is False
    holder, path = (error, ("error", "message")) if isinstance(error, dict) else (result, ("result", "content"))
    inside = holder if isinstance(holder, dict) else {}
    common: dict[str, Any] = {
        "call_id": data["toolCallId"],
        "tool": tools.get(data["toolCallId"]),
        "is_error": has_failed,
    }
    owner: JsonPath = ("data",)
    text = inside.get(path[1])
    place = Place(record, ("data", *path))
    found = [Block(BlockKind.TOOL_RESULT, place, owner, content=text if isinstance(text, str) else "", **common)]
    files = inside.get("binaryResultsForLlm")
    for number, file in enumerate(files if isinstance(files, list) else ()):
        if isinstance(file, dict):
            place = Place(record, ("data", "result", "binaryResultsForLlm", number))
            estimated = client_text.image if str(file.get("mimeType")).startswith("image/") else client_text.document
            found.append(Block(BlockKind.OPAQUE, place, owner, estimate=estimated(file.get("data")), **common))
    return found


FORMAT = Format(
    "copilot",
    Family.OPENAI_CHAT,
    "GitHub Copilot CLI session (~/.copilot/session-state/*/events.jsonl)",
    evidence,
    read,
    complete=complete,
    again=again,
    display=display,
    new_message=new_message,
    summary_role=Role.USER,
)
