"""Wire logs of Kimi Code (`agents/*/wire.jsonl`): typed events, from which the client builds its context.

That is done with the client's own events, behind all others: `context.clear`, and then once more the events of what is
left. All lines before stay as they are.

{"type": "metadata", "protocol_version", "created_at"}
    {"type": "context.append_message", "message": {"role", "content": [part, ...], "origin": {"kind"}}, "time"}
    {"type": "context.append_loop_event", "time",
     "event": {"type": "step.begin" | "content.part" | "tool.call" | "tool.result" | "step.end", ...}}
    {"type": "context.apply_compaction", "summary", "compactedCount", "keptUserMessageCount"?, ...}
    {"type": "context.clear" | "context.undo" | ...}

After a compaction the client chooses the requests that stay by their sizes, each time that it reads the log; an undo
counts messages back, and branches name lines by their numbers. So no line goes (`writing`).
https://github.com/MoonshotAI/kimi-code/tree/main/packages/agent-core/src/agent/context
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from itertools import chain, groupby
from typing import Any, Final

import msgspec

from ..core import json_text
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from .anthropic import attachment_block
from .engine import client_text, repeats
from .engine.base import Evidence, Format, Rewrite, SignsReader, recorded, records_of, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy

MESSAGE: Final = "context.append_message"
EVENT: Final = "context.append_loop_event"
SUMMARY: Final = "compaction_summary"
"""The origin of a message that stands for earlier ones."""
_COUNTED: Final = "usage"
"""Of a step: what was counted is not the size of what is left."""


def _shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    """What a log holds beside the context: prompts, messages as events, how a call is shown."""
    for record, value in records_of(transcript.source):
        if not isinstance(value, dict) or value.get("type") == MESSAGE:
            continue
        event = value.get("event") if value.get("type") == EVENT else None
        if isinstance(event, dict):
            yield record, ("event", "display"), event.get("display")
        elif not str(value.get("type")).startswith("context."):
            yield record, (), value


complete: Final = repeats.completing(_shown)


def write(rewrite: Rewrite) -> bytes:
    source = rewrite.transcript.source
    steps: dict[Any, dict[str, dict[str, Any]]] = {}
    about: dict[str, Any] = {}
    for _, value in records_of(source):
        if isinstance(value, dict):
            about = {key: value[key] for key in ("agentId", "time") if key in value} or about
            event = value.get("event")
            if isinstance(event, dict) and event.get("type") in ("step.begin", "step.end"):
                steps.setdefault(event.get("uuid"), {})[event["type"]] = value
    lines = [{"type": "context.clear", **about}, *_said(rewrite, steps, about)]
    texts = "".join(f"{rewrite.style.dump(line)}\n" for line in lines)
    return source.data + (b"" if source.data.endswith(b"\n") else b"\n") + json_text.encode(texts)


def _said(rewrite: Rewrite, steps: dict[Any, dict[str, Any]], about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of what is left, in order. A step ends behind the results of its calls."""
    step: dict[str, dict[str, Any]] = {}
    for message in rewrite.transcript.messages:
        values = [_summary(message, about)] if message.is_inserted else list(_records(message, rewrite, about))
        begun = next((steps.get(value["event"].get("stepUuid")) for value in values if value["type"] == EVENT), None)
        if not message.answers_calls:
            yield from _end(step)
            step = begun or {}
            yield from (value for kind, value in step.items() if kind == "step.begin")
        yield from values
    yield from _end(step)


def _end(step: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if value := step.get("step.end"):
        yield {**value, "event": {key: known for key, known in value["event"].items() if key != _COUNTED}}


def _records(message: Message, rewrite: Rewrite, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for record, _ in groupby(message.blocks, key=lambda block: block.place.record):
        value = json_text.parse_text(rewrite.record(record))
        yield value if value["type"] in (MESSAGE, EVENT) else _summary(message, about)


def _summary(message: Message, about: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "text", "text": message.blocks[0].text}
    said = {"role": "user", "content": [text], "toolCalls": [], "origin": {"kind": SUMMARY}}
    return {"type": MESSAGE, "message": said, **about}


_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}


_SILENT: Final = ("context.apply_compaction", "context.clear", "context.undo")
"""Records that change the context without a text, or without one where they lack it."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return Evidence.NO
    if value["type"] in (MESSAGE, EVENT) or (value["type"] == "metadata" and "protocol_version" in value):
        return Evidence.YES
    return Evidence.MAYBE if isinstance(value.get("time"), int) and "." in value["type"] else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    context = _Context(document.source)
    for record, value in enumerate(values):
        if isinstance(value, dict):
            context.take(record, value)
    messages: list[Message] = []
    usages: list[Usage] = []
    for turn in [*context.turns, *context.deferred]:
        usages += recorded(len(messages), *turn.usage) if turn.usage and turn.blocks else ()
        if turn.role is Role.TOOL and messages and messages[-1].role is Role.TOOL:
            messages[-1] = msgspec.structs.replace(messages[-1], blocks=(*messages[-1].blocks, *turn.blocks))
        elif turn.blocks:
            messages.append(Message(len(messages), turn.role, tuple(turn.blocks)))
    if not messages:
        raise UnknownFormatError("It holds no message.", "Name a log that has messages.")
    return Transcript(
        "kimi",
        Family.OPENAI_CHAT,
        tuple(messages),
        document.source,
        model=context.model,
        envelope=context.system_prompt,
        begins_in_middle=not context.has_beginning,
        usages=tuple(usages),
        window_signs=context.signs.found,
        unknown=tuple(context.unknown.items()),
    )


class _Turn(msgspec.Struct):
    role: Role
    blocks: list[Block]
    origin: str = ""
    usage: tuple[list[Any], Any] | None = None
    """What was counted of the request that it answers: parts of the input, and the output."""

    @property
    def is_request(self) -> bool:
        """Whether the user said it."""
        return self.role is Role.USER and self.origin in ("", "user", "skill_activation", "plugin_command")


class _Context:
    """The context as the client builds it, event by event."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.turns: list[_Turn] = []
        self.deferred: list[_Turn] = []
        """Messages that came between calls and their results; they are sent behind these."""

        self._steps: dict[str, _Turn] = {}
        self._tools: dict[str, str] = {}
        self._open: set[str] = set()
        self.model: str | None = None
        self.system_prompt = ""
        self.has_beginning = False
        self.signs = SignsReader()
        self.unknown = Tally[str]()

    def take(self, record: int, value: dict[str, Any]) -> None:
        kind, event = value.get("type"), value.get("event")
        if kind in ("metadata", "context.apply_compaction", "context.clear"):
            self.has_beginning = True
        if kind == MESSAGE and isinstance(value.get("message"), dict):
            self._append(record, value["message"])
        elif kind == EVENT and isinstance(event, dict):
            self._loop_event(record, event)
        elif kind == "context.apply_compaction":
            self._compact(record, value)
        elif kind == "full_compaction.begin" and value.get("source") == "auto":
            self.signs.compacted(self.signs.last)
        elif kind == "context.clear":
            self._reset([])
        elif kind == "context.undo" and isinstance(value.get("count"), int):
            self._undo(value["count"])
        elif kind == "llm.request" and isinstance(value.get("model"), str):
            self.model = value["model"]
        elif kind == "config.update" and isinstance(value.get("systemPrompt"), str):
            self.system_prompt = value["systemPrompt"]
        elif str(kind).startswith("context.") and kind not in _SILENT:
            self.unknown[f"record {kind}"] += 1

    def _append(self, record: int, message: dict[str, Any]) -> None:
        role = _ROLES.get(str(message.get("role")))
        if role is None or not ("content" in message or message.get("toolCalls")):
            self.unknown["message without a role or content"] += 1
            return
        origin = message.get("origin")
        turn = _Turn(role, [], str(origin.get("kind")) if isinstance(origin, dict) else "")
        path: JsonPath = ("message", "content")
        call_id = message.get("toolCallId") if role is Role.TOOL else None
        content = as_lazy(self._content(message.get("content"), record, path, turn, call_id), self._source)
        failed = role is Role.TOOL and message.get("isError") is True
        turn.blocks += (msgspec.structs.replace(block, is_error=failed) for block in content)
        calls = message.get("toolCalls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            turn.blocks += self._call(call, "arguments", record, ("message", "toolCalls", number))
        (self.deferred if self._open else self.turns).append(turn)

    def _loop_event(self, record: int, event: dict[str, Any]) -> None:
        kind, path = event.get("type"), ("event",)
        step = self._steps.get(str(event.get("stepUuid")))
        if kind == "step.begin":
            self._open.clear()  # Calls without a result were interrupted.
            self._flush()
            step = self._steps[str(event.get("uuid"))] = _Turn(Role.ASSISTANT, [])
            self.turns.append(step)
        elif kind == "content.part" and step:
            if "part" in event:
                step.blocks += as_lazy(self._part(event["part"], record, (*path, "part"), step), self._source)
            else:
                step.blocks.append(unknown_block(event, record, path))
        elif kind == "tool.call" and step:
            step.blocks += as_lazy(
                self._call({**event, "id": event.get("toolCallId")}, "args", record, path), self._source
            )
        elif kind == "tool.result" and isinstance(event.get("result"), dict):
            result, call_id = event["result"], event.get("toolCallId")
            turn = _Turn(Role.TOOL, [])
            content = self._content(result.get("output"), record, (*path, "result", "output"), turn, call_id)
            failed = result.get("isError") is True
            note = result.get("note")
            if isinstance(note, str) and note:  # It goes to the model behind the output.
                place, owner = Place(record, (*path, "result", "note")), (*path, "result", "output")
                tool = self._tools.get(str(call_id))
                said = Block(BlockKind.TOOL_RESULT, place, owner, content=note, call_id=call_id, tool=tool)
                content = chain(content, [said])
            blocks = as_lazy(content, self._source)
            turn.blocks += (msgspec.structs.replace(block, is_error=failed) for block in blocks)
            self.turns.append(turn)
            self._open.discard(str(call_id))
            self._flush()
        elif kind == "step.end":
            self._note_usage(step or self._steps.get(str(event.get("uuid"))), event.get("usage"))
        else:
            self.unknown[f"event {kind}"] += 1

    def _flush(self) -> None:
        if not self._open:
            self.turns += self.deferred
            self.deferred = []

    def _note_usage(self, step: _Turn | None, usage: Any) -> None:
        if step and isinstance(usage, dict):
            keys = ("inputOther", "inputCacheRead", "inputCacheCreation")
            step.usage = [usage.get(key) for key in keys], usage.get("output")
            for counted in recorded(0, *step.usage):
                self.signs.used(self.model, counted.input_tokens, counted.output_tokens)

    def _reset(self, turns: list[_Turn]) -> None:
        self.turns, self.deferred = turns, []
        self.unknown.clear()  # What was not understood is left out with the rest.
        self._open.clear()

    def _undo(self, count: int) -> None:
        positions = [position for position, turn in enumerate(self.turns) if turn.is_request]
        if 0 < count <= len(positions):
            self._reset(self.turns[: positions[-count]])

    def _compact(self, record: int, value: dict[str, Any]) -> None:
        """What stays of the context: in newer logs requests, the oldest and the newest, and behind them the summary."""
        key = "contextSummary" if isinstance(value.get("contextSummary"), str) else "summary"
        text = value.get(key)
        path: JsonPath = (key,)
        blocks = [
            Block(BlockKind.TEXT, Place(record, path), path, content=text, injected=True, summarizes=True)
            for text in ([text] if isinstance(text, str) else [])
        ]
        summary = _Turn(Role.USER, blocks, SUMMARY)
        for turn in self.turns:
            turn.usage = None  # It was counted with what is gone now.
        kept, head = value.get("keptUserMessageCount"), value.get("keptHeadUserMessageCount")
        if not isinstance(kept, int):
            compacted = value.get("compactedCount")
            self._reset([summary, *self.turns[compacted if isinstance(compacted, int) and compacted >= 0 else 0 :]])
            return
        requests = [turn for turn in self.turns if turn.is_request]
        first = max(0, head) if isinstance(head, int) else 0
        oldest, others = requests[:first], requests[first:]
        newest = others[-(kept - first) :] if kept > first else []  # All of them, where the log claims more.
        self._reset([*oldest, *newest, summary])

    def _content(self, content: Any, record: int, path: JsonPath, turn: _Turn, call_id: Any) -> Iterator[Block]:
        if isinstance(content, str):
            parts: list[tuple[Any, JsonPath]] = [(content, path)]
        else:
            parts = [
                (part, (*path, number)) for number, part in enumerate(content if isinstance(content, list) else ())
            ]
        found = [block for part, where in parts for block in self._part(part, record, where, turn)]
        if not isinstance(call_id, str):
            yield from found
            return
        found = found or [Block(BlockKind.TEXT, Place(record, path), path)]
        for block in found:
            kind = BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind
            yield msgspec.structs.replace(block, kind=kind, call_id=call_id, tool=self._tools.get(call_id), owner=path)

    def _part(self, part: Any, record: int, owner: JsonPath, turn: _Turn) -> Iterator[Block]:
        kind = part.get("type") if isinstance(part, dict) else None
        text = part if isinstance(part, str) else part.get("text") if kind == "text" else None
        if isinstance(text, str):
            place = Place(record, owner if isinstance(part, str) else (*owner, "text"))
            injected = turn.role is Role.USER and (not turn.is_request or is_injected(text))
            is_summary = turn.origin == SUMMARY
            yield Block(BlockKind.TEXT, place, owner, content=text, injected=injected, summarizes=is_summary)
        elif kind == "think" and isinstance(part.get("think"), str):
            estimate = 0 if part["think"] else client_text.encrypted_thinking(part.get("encrypted"))
            place = Place(record, (*owner, "think"))
            yield Block(BlockKind.THINKING, place, owner, content=part["think"], estimate=estimate)
        elif kind == "image_url":
            url = part.get("imageUrl", part.get("image_url"))
            yield attachment_block({"type": "image_url", "image_url": url}, record, owner)
        elif part is not None:
            yield attachment_block(part, record, owner)

    def _call(self, call: Any, key: str, record: int, owner: JsonPath) -> Iterator[Block]:
        call_id = call.get("id") if isinstance(call, dict) else None
        if not isinstance(call_id, str):
            yield unknown_block(call, record, owner)
            return
        self._tools[call_id] = tool = str(call.get("name") or "")
        self._open.add(call_id)
        arguments = call.get(key)
        is_object = not isinstance(arguments, str)
        text = arguments if isinstance(arguments, str) else json_text.dump_compact(arguments or {})
        place = Place(record, (*owner, key))
        yield Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call_id, is_object=is_object)


FORMAT = Format(
    "kimi",
    Family.OPENAI_CHAT,
    "Wire logs of Kimi Code (wire.jsonl)",
    evidence,
    read,
    complete=complete,
    compaction=write,
    is_log=True,
    summary_role=Role.USER,
)
