"""Wire logs of Kimi Code (`agents/*/wire.jsonl`): typed events, from which the client builds its context.

{"type": "metadata", "protocol_version", "created_at"}
{"type": "context.append_message", "message": {"role", "content": [part, ...], "origin": {"kind"}}, "time"}
{"type": "context.append_loop_event", "time",
 "event": {"type": "step.begin" | "content.part" | "tool.call" | "tool.result" | "step.end", ...}}
{"type": "context.apply_compaction", "summary", "compactedCount", "keptUserMessageCount"?, ...}
{"type": "context.clear" | "context.undo" | ...}

After a compaction the client chooses the requests that stay by their sizes, each time that it reads the log; an undo
counts messages back, and branches name lines by their numbers. So no line goes. A smaller context is written with the
client's own events behind all others: `context.clear`, and then once more the events of what is left.
https://github.com/MoonshotAI/kimi-code/tree/main/packages/agent-core/src/agent/context
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import value_in
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from .engine import beside, client_text
from .engine.base import Evidence, Format, Rewrite, SignsReader, no_record, recorded, records_of
from .engine.blocks import attachment_block, listed, text_block, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy

_MESSAGE: Final = "context.append_message"
_EVENT: Final = "context.append_loop_event"
_SUMMARY: Final = "compaction_summary"
"""Origin of a message that replaces earlier ones."""
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}
_SILENT: Final = ("context.apply_compaction", "context.clear", "context.undo")
"""Records that change the context and may have no text."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return Evidence.NO
    if value["type"] in (_MESSAGE, _EVENT) or (value["type"] == "metadata" and "protocol_version" in value):
        return Evidence.YES
    return Evidence.MAYBE if isinstance(value.get("time"), int) and "." in value["type"] else Evidence.NO


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    context = _Context(document.source)
    for record, value in enumerate(values):
        if isinstance(value, dict):
            context.take(record, value)
    messages: list[Message] = []
    usages: list[Usage] = []
    for turn in [*context.turns, *context.deferred]:
        usages += recorded(len(messages), *turn.usage) if turn.usage and turn.blocks else ()
        if turn.role is Role.TOOL and messages and messages[-1].role is Role.TOOL:
            messages[-1] = replace(messages[-1], blocks=(*messages[-1].blocks, *turn.blocks))
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


class _Turn(Struct):
    role: Role
    blocks: list[Block]
    origin: str = ""
    usage: tuple[list[Any], Any] | None = None
    """Tokens of the request that it answers: parts of the input, and the output."""

    @property
    def is_request(self) -> bool:
        """Return whether the user said it."""
        return self.role is Role.USER and self.origin in ("", "user", "skill_activation", "plugin_command")


class _Context:
    """Build the context as the client does, event by event."""

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
        if kind == _MESSAGE and isinstance(value.get("message"), dict):
            self._append(record, value["message"])
        elif kind == _EVENT and isinstance(event, dict):
            self._loop_event(record, event)
        elif kind == "context.apply_compaction":
            self._compact(record, value)
        elif kind == "full_compaction.begin" and value.get("source") == "auto":
            self.signs.compacted(self.signs.last)
        elif kind == "context.clear":
            self._reset([])
        elif kind == "context.undo" and isinstance(value.get("count"), int):
            positions = [position for position, turn in enumerate(self.turns) if turn.is_request]
            if 0 < value["count"] <= len(positions):
                self._reset(self.turns[: positions[-value["count"]]])
        elif kind == "llm.request" and isinstance(value.get("model"), str):
            self.model = value["model"]
        elif kind == "config.update" and isinstance(value.get("systemPrompt"), str):
            self.system_prompt = value["systemPrompt"]
        elif not isinstance(kind, str):
            self.unknown["record without a type"] += 1
        elif kind.startswith("context.") and kind not in _SILENT:
            self.unknown[f"record {kind}"] += 1

    def _append(self, record: int, message: dict[str, Any]) -> None:
        role = _ROLES.get(str(message.get("role")))
        if role is None or not ("content" in message or message.get("toolCalls")):
            self.unknown["message without a role or content"] += 1
            return
        origin = message.get("origin")
        turn = _Turn(role, [], str(origin.get("kind")) if isinstance(origin, dict) else "")
        content, path = message.get("content"), ("message", "content")
        if role is Role.TOOL:
            failed = message.get("isError") is True
            blocks = self._result(content, record, path, turn, message.get("toolCallId"), failed)
        else:
            blocks = self._content(content, record, path, turn)
        turn.blocks += as_lazy(blocks, self._source)
        for number, call in enumerate(listed(message, "toolCalls")):
            turn.blocks.append(self._call(call, "id", "arguments", record, ("message", "toolCalls", number)))
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
            step.blocks += as_lazy([self._call(event, "toolCallId", "args", record, path)], self._source)
        elif kind == "tool.result" and isinstance(event.get("result"), dict):
            result, call_id = event["result"], event.get("toolCallId")
            turn, place = _Turn(Role.TOOL, []), (*path, "result", "output")
            failed = result.get("isError") is True
            blocks = list(self._result(result.get("output"), record, place, turn, call_id, failed))
            note = result.get("note")
            if isinstance(note, str) and note:  # It goes to the model behind the output.
                common: dict[str, Any] = {"call_id": call_id, "tool": self._tools.get(str(call_id)), "is_error": failed}
                where = (*path, "result", "note")
                blocks.append(text_block(note, record, where, place, kind=BlockKind.TOOL_RESULT, **common))
            turn.blocks += as_lazy(blocks, self._source)
            self.turns.append(turn)
            self._open.discard(str(call_id))
            self._flush()
        elif kind == "step.end":
            step, usage = step or self._steps.get(str(event.get("uuid"))), event.get("usage")
            if step and isinstance(usage, dict):
                keys = ("inputOther", "inputCacheRead", "inputCacheCreation")
                step.usage = [usage.get(key) for key in keys], usage.get("output")
                for counted in recorded(0, *step.usage):
                    self.signs.used(self.model, counted.input_tokens, counted.output_tokens)
        else:
            self.unknown[f"event {kind}"] += 1

    def _flush(self) -> None:
        if not self._open:
            self.turns += self.deferred
            self.deferred = []

    def _reset(self, turns: list[_Turn]) -> None:
        self.turns, self.deferred = turns, []
        self.unknown.clear()  # What was not understood is left out with the rest.
        self._open.clear()

    def _compact(self, record: int, value: dict[str, Any]) -> None:
        """Keep what the compaction keeps: in newer logs the oldest and the newest requests, and the summary behind."""
        key = "contextSummary" if isinstance(value.get("contextSummary"), str) else "summary"
        text = value.get(key)
        blocks = [text_block(text, record, (key,), injected=True, summarizes=True)] if isinstance(text, str) else []
        summary = _Turn(Role.USER, blocks, _SUMMARY)
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

    def _content(self, content: Any, record: int, path: JsonPath, turn: _Turn) -> Iterator[Block]:
        if isinstance(content, str):
            yield from self._part(content, record, path, turn)
        for number, part in enumerate(content if isinstance(content, list) else ()):
            yield from self._part(part, record, (*path, number), turn)

    def _result(
        self, content: Any, record: int, path: JsonPath, turn: _Turn, call_id: Any, failed: bool
    ) -> Iterator[Block]:
        found = list(self._content(content, record, path, turn))
        if isinstance(call_id, str) and not found:
            found = [text_block("", record, path)]
        for block in found:
            if isinstance(call_id, str):
                kind = BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind
                block = replace(block, kind=kind, call_id=call_id, tool=self._tools.get(call_id), owner=path)
            yield replace(block, is_error=failed)

    def _part(self, part: Any, record: int, owner: JsonPath, turn: _Turn) -> Iterator[Block]:
        kind = value_in(part, "type")
        text = part if isinstance(part, str) else part.get("text") if kind == "text" else None
        if isinstance(text, str):
            place = owner if isinstance(part, str) else (*owner, "text")
            injected = turn.role is Role.USER and (not turn.is_request or is_injected(text))
            is_summary = turn.origin == _SUMMARY
            yield text_block(text, record, place, owner, injected=injected, summarizes=is_summary)
        elif kind == "think" and isinstance(part.get("think"), str):
            think, where = part["think"], Place(record, (*owner, "think"))
            estimate = 0 if think else client_text.encrypted_thinking(part.get("encrypted"))
            yield Block(BlockKind.THINKING, where, owner, content=think, estimate=estimate)
        elif kind == "image_url":
            url = part.get("imageUrl", part.get("image_url"))
            yield attachment_block({"type": "image_url", "image_url": url}, record, owner)
        elif part is not None:
            yield attachment_block(part, record, owner)

    def _call(self, call: Any, id_key: str, key: str, record: int, owner: JsonPath) -> Block:
        call_id = value_in(call, id_key)
        if not isinstance(call_id, str):
            return unknown_block(call, record, owner)
        self._tools[call_id] = tool = str(call.get("name") or "")
        self._open.add(call_id)
        arguments = call.get(key)
        is_object = not isinstance(arguments, str)
        text = arguments if isinstance(arguments, str) else json_text.dump_compact(arguments or {})
        place = Place(record, (*owner, key))
        return Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call_id, is_object=is_object)


def _copies(transcript: Transcript) -> Iterator[beside.Shown]:
    """Yield what a log holds beside the context: prompts, messages as events, the display of a call."""
    for record, value in records_of(transcript.source):
        if not isinstance(value, dict) or value.get("type") == _MESSAGE:
            continue
        event = value.get("event") if value.get("type") == _EVENT else None
        if isinstance(event, dict):
            yield record, ("event", "display"), event.get("display")
        elif not str(value.get("type")).startswith("context."):
            yield record, (), value


def _write(rewrite: Rewrite) -> bytes:
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
    """Yield the events of what is left, in order. A step ends behind the results of its calls."""
    step: dict[str, dict[str, Any]] = {}
    for message in rewrite.transcript.messages:
        values: list[dict[str, Any]] = []
        for record, _ in groupby(message.blocks, key=lambda block: block.place.record):
            value = None if message.is_inserted else json_text.parse_text(rewrite.record(record))
            if value is None or value["type"] not in (_MESSAGE, _EVENT):
                text = {"type": "text", "text": message.blocks[0].text}
                said = {"role": "user", "content": [text], "toolCalls": [], "origin": {"kind": _SUMMARY}}
                value = {"type": _MESSAGE, "message": said, **about}
            values.append(value)
        begun = next((steps.get(value["event"].get("stepUuid")) for value in values if value["type"] == _EVENT), None)
        if not message.answers_calls:
            yield from _end(step)
            step = begun or {}
            yield from (value for kind, value in step.items() if kind == "step.begin")
        yield from values
    yield from _end(step)


def _end(step: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the end of a step without its usage, which does not count what is left."""
    if value := step.get("step.end"):
        yield {**value, "event": {key: known for key, known in value["event"].items() if key != "usage"}}


FORMAT: Final = Format(
    "kimi",
    Family.OPENAI_CHAT,
    "Wire logs of Kimi Code (wire.jsonl)",
    evidence,
    _read,
    beside=beside.copies(_copies),
    going=no_record,
    compaction=_write,
    summary_role=Role.USER,
)
