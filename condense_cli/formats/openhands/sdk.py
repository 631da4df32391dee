"""Event logs of the OpenHands SDK: one event per record, whose `kind` is the name of its class.

What the client sends is built from the events: an `ActionEvent` is an assistant message with one call (those of one
answer go together), and `ObservationEvent`, `AgentErrorEvent` and `UserRejectObservation` are results of the call that
they name. A `Condensation` names the events that are sent no more and the summary sent in their place. Other kinds
never reach the model. An action stands in its event twice, as the model wrote it and as the client took it.

https://github.com/OpenHands/software-agent-sdk (openhands/sdk/event)
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Place, Transcript
from ...core.values import BlockKind, Family, Role
from ..anthropic import BlockReader, attachment_block
from ..engine import repeats
from ..engine.base import Evidence, Format, not_a_message, unknown_block
from ..engine.client_text import is_injected
from ..engine.container import Document, as_lazy
from ..engine.turns import Turn, joined
from ..openai.chat import ROLES

_SENT: Final = frozenset({
    "ActionEvent", "AgentErrorEvent", "Condensation", "MessageEvent", "ObservationEvent", "SystemPromptEvent",
    "UserRejectObservation",
})  # fmt: skip
_HOLDS: Final = {"MessageEvent": "llm_message", "SystemPromptEvent": "system_prompt"}
_FOR_MODELS: Final = frozenset({"llm_message", "observation", "system_prompt", "tool_call"})
"""Keys that events which reach the model have."""
_NO_REASON: Final = "User rejected the action"
"""The reason of a rejection for which the user gave none; a hook may reject as well."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str) or not isinstance(value.get("id"), str):
        return Evidence.NO
    if value["kind"] in _SENT:
        return Evidence.YES
    return Evidence.MAYBE if "source" in value and "timestamp" in value else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    for record, value in enumerate(records):
        if record not in document.source.unparsed and evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it is not an OpenHands SDK event")
    events = [value if isinstance(value, dict) else {} for value in records]
    reader = _Reader(events)
    parts = []
    for record, event in enumerate(events):
        part = reader.turn(event, record)
        if part is not None and part.blocks:
            parts.append(replace(part, blocks=list(as_lazy(part.blocks, document.source))))
    return Transcript(
        "openhands-sdk",
        Family.OPENAI_CHAT,
        joined(parts),
        document.source,
        model=_model(events),
        envelope=reader.tools,
        unknown=tuple(Tally(f"event {event.get('kind')}" for event in events if reader.misses(event)).items()),
    )


def _model(events: list[dict[str, Any]]) -> str | None:
    """The model in the figures that the client keeps."""
    for event in events:
        found: Any = event.get("value")
        for key in ("usage_to_metrics", "default", "model_name"):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str) and found:
            return found
    return None


class _Reader:
    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.tools = ""
        self._records = {str(event.get("id")): record for record, event in enumerate(events)}
        self._forgotten = {one for event in events for one in _forgets(event)}
        self._called: dict[str, str] = {}

    def misses(self, event: dict[str, Any]) -> bool:
        """Whether an event seems to reach the model, and cannot be read."""
        kind = str(event.get("kind"))
        lacks = _HOLDS.get(kind, "kind") not in event if kind in _SENT else not _FOR_MODELS.isdisjoint(event)
        return lacks and event.get("id") not in self._forgotten

    def turn(self, event: dict[str, Any], record: int) -> Turn | None:
        """What an event is of a message; None where the model never gets it."""
        kind = event.get("kind")
        if event.get("id") in self._forgotten:
            return None
        if kind == "SystemPromptEvent":
            tools = event.get("tools")
            self.tools = self.tools or (json_text.dump_compact(tools) if tools else "")
            return Turn(Role.SYSTEM, list(_parts(event.get("system_prompt"), record, ("system_prompt",))))
        if kind == "MessageEvent":
            return _message(event, record)
        if kind == "ActionEvent":
            return self._action(event, record)
        if kind == "Condensation":
            return self._condensation(event, record)
        return Turn(Role.TOOL, list(self._result(event, record))) if kind in _SENT else None

    def _action(self, event: dict[str, Any], record: int) -> Turn:
        blocks = [*_thinking(event, record, ()), *_parts(event.get("thought"), record, ("thought",))]
        call = event.get("tool_call")
        path: JsonPath = ("tool_call",)
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            call, path = call["function"], ("tool_call", "function")
        arguments = call.get("arguments") if isinstance(call, dict) else None
        call_id, tool = event.get("tool_call_id"), str(event.get("tool_name") or "")
        if isinstance(arguments, str) and isinstance(call_id, str):
            self._called[call_id] = tool
            place = Place(record, (*path, "arguments"))
            blocks.append(
                Block(BlockKind.TOOL_CALL, place, ("tool_call",), content=arguments, tool=tool, call_id=call_id)
            )
        else:
            blocks.append(unknown_block(call, record, ("tool_call",)))
        answer = event.get("llm_response_id")
        return Turn(Role.ASSISTANT, blocks, answer=answer if isinstance(answer, str) else None)

    def _result(self, event: dict[str, Any], record: int) -> Iterator[Block]:
        seen = event.get("observation")
        seen = seen if isinstance(seen, dict) else {}
        found: list[Block] = []
        for holder, path, keys in (
            (seen, ("observation",), ("content", "output")),
            (event, (), ("error", "rejection_reason", "extended_content")),
        ):
            for key in keys:
                found += _parts(holder.get(key), record, (*path, key))
        if not found:
            found = [Block(BlockKind.TEXT, Place(record, ("observation", "content")), ("observation",))]
        reason = event.get("rejection_reason")
        by_person = reason not in (None, _NO_REASON) and event.get("rejection_source", "user") == "user"
        call_id = event.get("tool_call_id")
        failed = event["kind"] != "ObservationEvent" or seen.get("is_error") is True
        for block in found:
            yield replace(
                block,
                kind=BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind,
                owner=("observation",),
                tool=self._called.get(str(call_id)) or str(event.get("tool_name") or ""),
                call_id=call_id if isinstance(call_id, str) else None,
                is_error=failed,
                is_answer=by_person and block.content == reason,
            )

    def _condensation(self, event: dict[str, Any], record: int) -> Turn:
        summary = event.get("summary")
        blocks = []
        if isinstance(summary, str) and summary.strip():
            place = Place(record, ("summary",))
            blocks = [Block(BlockKind.TEXT, place, ("summary",), content=summary, injected=True, summarizes=True)]
        lost = [self._records[one] for one in _forgets(event) if one in self._records]
        return Turn(Role.USER, blocks, before=min(lost, default=record))


def _message(event: dict[str, Any], record: int) -> Turn | None:
    message = event.get("llm_message")
    if not isinstance(message, dict):
        return None
    role = ROLES.get(str(message.get("role")), Role.USER)
    path = ("llm_message",)
    blocks = [
        *_thinking(message, record, path),
        *_parts(message.get("content"), record, (*path, "content"), is_user=role is Role.USER),
        *(
            replace(block, injected=True)
            for block in _parts(event.get("extended_content"), record, ("extended_content",))
        ),
    ]
    return Turn(role, blocks)


def _thinking(holder: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    blocks = holder.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        yield from BlockReader().content(blocks, record, (*path, "thinking_blocks"), is_user=False)
        return
    text = holder.get("reasoning_content")
    if isinstance(text, str) and text.strip():
        where = (*path, "reasoning_content")
        yield Block(BlockKind.THINKING, Place(record, where), where, content=text)


def _parts(content: Any, record: int, path: JsonPath, *, is_user: bool = False) -> Iterator[Block]:
    """Blocks of a text, of a part or of a list of parts."""
    if isinstance(content, str):
        if content.strip():
            yield Block(
                BlockKind.TEXT, Place(record, path), path, content=content, injected=is_user and is_injected(content)
            )
    elif isinstance(content, list):
        for number, part in enumerate(content):
            yield from _parts(part, record, (*path, number), is_user=is_user)
    elif isinstance(content, dict) and isinstance(content.get("text"), str):
        for block in _parts(content["text"], record, (*path, "text"), is_user=is_user):
            yield replace(block, owner=path)
    elif content is not None:
        yield replace(attachment_block(content, record, path), kind=BlockKind.OPAQUE)


def _forgets(event: dict[str, Any]) -> list[str]:
    """Ids of the events that an event takes out of the conversation."""
    ids = event.get("forgotten_event_ids") if event.get("kind") == "Condensation" else None
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []


def _shows(transcript: Transcript) -> Iterator[repeats.Shown]:
    source = transcript.source
    for record in range(source.listed):
        event = json_text.parse(source.view(record)) if record not in source.unparsed else {}
        if event.get("kind") == "ActionEvent" and "action" in event:
            yield record, ("action",), event["action"]
        seen = event.get("observation")
        for key, value in seen.items() if isinstance(seen, dict) else ():
            if key not in ("content", "output"):
                yield record, ("observation", key), value


def _message_event(role: Role, literal: str, replaced: str) -> dict[str, str]:
    """A message of the user or the agent, with id and time of the event that it takes the place of."""
    old = json_text.parse_text(replaced)
    source = "agent" if role is Role.ASSISTANT else "user"
    content = f'[{{"cache_prompt":false,"type":"text","text":{literal}}}]'
    return {
        "id": json.dumps(old.get("id")),
        "timestamp": json.dumps(old.get("timestamp")),
        "source": json.dumps(source),
        "llm_message": f'{{"role":"{role.value}","content":{content}}}',
        "kind": '"MessageEvent"',
    }


FORMAT = Format(
    "openhands-sdk",
    Family.OPENAI_CHAT,
    "Event logs of the OpenHands SDK",
    evidence,
    read,
    complete=repeats.completing(_shows),
    display=repeats.displaying(_shows),
    new_message=_message_event,
)
