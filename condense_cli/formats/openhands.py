"""Runs of OpenHands: one object with a `history` of events, and event logs of its SDK.

An action of the agent is a call, with its thought as text, and the observation that it caused is the result. An
observation names the action by `cause`; events of older runs have no ids, and only the order links them. Their
arguments are in the event itself. What the model never got, such as changes of state, is no part of the conversation.
Events repeat each other: `message`, `extras`, and `tool_call_metadata`, which holds the provider's whole answer.

SDK: an `ActionEvent` is an assistant message with one call (those of one answer go together); `ObservationEvent`,
`AgentErrorEvent` and `UserRejectObservation` are results of the call that they name. A `Condensation` names the events
that are sent no more, and the summary sent in their place. Other kinds never reach the model. An action is in its event
twice, as the model wrote it and as the client took it.
https://github.com/OpenHands/software-agent-sdk (openhands/sdk/event)
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, text_in, value_in
from ..core.transcript import TEXT_CALL, Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Container, Family, Role
from .anthropic import BlockReader
from .engine import beside, client_text
from .engine.base import Evidence, Format, not_a_message, only_value
from .engine.blocks import Turn, attachment_block, joined, kept_members, listed, text_block, unknown_block
from .engine.container import Document, as_lazy, with_records_at
from .openai_chat import ROLES

_ACTIONS: Final = frozenset({
    "browse", "browse_interactive", "call_tool_mcp", "change_agent_state", "condensation", "condensation_request",
    "delegate", "edit", "finish", "loop_recovery", "message", "null", "push", "read", "recall", "reject", "run",
    "run_ipython", "send_pr", "system", "task_tracking", "think", "write",
})  # fmt: skip
_OBSERVATIONS: Final = _ACTIONS | {"agent_state_changed", "error", "mcp", "success", "user_rejected", "condense"}
_UNSENT: Final = frozenset({
    "agent_state_changed", "change_agent_state", "condensation_request", "loop_recovery", "null", "push", "send_pr",
})  # fmt: skip
_TOOLS: Final = {"run": "execute_bash", "run_ipython": "execute_ipython_cell"}
_UNSENT_ARGUMENTS: Final = frozenset({
    "blocking", "confirmation_state", "cwd", "hidden", "impl_source", "include_extra", "is_confirmed", "is_input",
    "is_static", "keep_prompt", "kernel_init_code", "security_risk", "thought",
})  # fmt: skip
_COMMANDS: Final = ("command", "code")
"""Keys of what was run, in an action of an older run and again in its observation."""
_TEXTS: Final = ("content", "thought", *_COMMANDS)
"""Keys of which an action of an older run has one."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or "role" in value:
        return Evidence.NO
    action, observation = value.get("action"), value.get("observation")
    if isinstance(action, str) and action in _ACTIONS:
        is_event = isinstance(value.get("args"), dict) or any(isinstance(value.get(key), str) for key in _TEXTS)
        return Evidence.YES if is_event else Evidence.NO
    is_event = isinstance(observation, str) and observation in _OBSERVATIONS and isinstance(value.get("content"), str)
    return Evidence.YES if is_event else Evidence.NO


def is_run(value: Any) -> bool:
    """Return whether an object holds the events of a run."""
    history = listed(value, "history")
    return bool(history) and evidence(history[0]) is Evidence.YES


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    model: str | None = None
    if document.source.container is Container.LINES and len(records) == 1 and is_run(records[0]):
        model = text_in(records[0], "metadata", "llm_config", "model")
        document = with_records_at(document, 0, ("history",))
        records = list(document.values)
    for record, value in enumerate(records):
        if record not in document.source.unparsed and evidence(value) is not Evidence.YES:
            raise not_a_message(record, value, "it is not an OpenHands event")
    reader = _Reader(records)
    turns = []
    for record, event in enumerate(records):
        turn = reader.turn(event, record) if event is not None else None
        if turn is not None:
            turns.append(replace(turn, blocks=as_lazy(turn.blocks, document.source)))
    return Transcript(
        "openhands",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=model or reader.model,
        envelope=reader.tools,
    )


class _Reader:
    """Read events in order and pair each observation with its action."""

    def __init__(self, events: list[Any]) -> None:
        self.model: str | None = None
        self.tools = ""
        objects = [*map(object_in, events)]
        self._answered = {
            event["cause"] for event in objects if "observation" in event and isinstance(event.get("cause"), int)
        }
        self._records = {event["id"]: n for n, event in enumerate(objects) if isinstance(event.get("id"), int)}
        self._forgotten = {one for event in objects for one in _forgotten(event, self._records)}
        self._follows = ["observation" in event and "cause" not in event for event in [*objects[1:], {}]]
        """For each event, whether the answer to one of an older run follows it."""
        self._asked: dict[int | None, tuple[str, str]] = {}
        """Id and tool of each call, by the id of its event; None is the last event of a run without ids."""
        self._speaker = Role.ASSISTANT

    def turn(self, event: dict[str, Any], record: int) -> Turn | None:
        """Return the part of a message that an event is; None if the model never got it."""
        is_action = isinstance(event.get("action"), str) and bool(event["action"])
        name = event["action"] if is_action else event["observation"]
        if name in _UNSENT or (isinstance(event.get("id"), int) and event["id"] in self._forgotten):
            return None
        turn: Turn | None
        if not is_action:
            turn = self._observation(event, record)
        elif name == "recall":
            return None
        elif name == "condensation":
            turn = self._condensation(event, record)
        elif name in ("system", "message"):
            turn = self._message(event, record)
        else:
            turn = self._action(event, record)
        if turn is None or not turn.blocks:
            return None
        self._speaker = turn.role
        return turn

    def _message(self, event: dict[str, Any], record: int) -> Turn:
        arguments, path = (event["args"], ("args",)) if isinstance(event.get("args"), dict) else (event, ())
        if event["action"] == "system":
            tools = arguments.get("tools")
            self.tools = self.tools or (json_text.dump_compact(tools) if tools else "")
            return Turn(Role.SYSTEM, list(_texts(arguments, ("content",), record, path)))
        sources = {"user": Role.USER, "agent": Role.ASSISTANT}
        # In older runs nothing tells who spoke. The user begins, and answers what the agent says.
        first_speaker = Role.USER if record == 0 or self._speaker is Role.ASSISTANT else Role.ASSISTANT
        role = sources.get(str(event.get("source")), first_speaker)
        key = "image_urls" if arguments.get("image_urls") else "images_urls"
        seen = [
            Block(BlockKind.OPAQUE, Place(record, (*path, key, n)), (*path, key, n), estimate=client_text.image(url))
            for n, url in enumerate(listed(arguments, key))
        ]
        texts = _texts(arguments, ("content",), record, path, is_user=role is Role.USER)
        return Turn(role, [*texts, *seen])

    def _action(self, event: dict[str, Any], record: int) -> Turn:
        arguments, name = event.get("args"), event["action"]
        answer = value_in(event, "tool_call_metadata", "model_response")
        self.model = self.model or text_in(answer, "model")
        if not isinstance(arguments, dict):
            return Turn(Role.ASSISTANT, list(self._flat_action(event, record)))
        event_id = event["id"] if isinstance(event.get("id"), int) else None
        if event_id not in self._answered and name in ("finish", "reject", "think"):
            return Turn(Role.ASSISTANT, list(_texts(arguments, ("thought", "final_thought"), record, ("args",))))
        blocks = list(_texts(arguments, ("thought",), record, ("args",))) if name != "think" else []
        tool = _tool(name, arguments)
        call_id = f"event-{event.get('id', record)}"
        self._asked[event_id] = (call_id, tool)
        unsent = _UNSENT_ARGUMENTS - ({"thought"} if name == "think" else set())
        sent = {key: value for key, value in arguments.items() if key not in unsent and value not in (None, "")}
        common: dict[str, Any] = {"tool": tool, "call_id": call_id, "is_object": True}
        content = json_text.dump_compact(sent)
        blocks.append(Block(BlockKind.TOOL_CALL, Place(record, ("args",)), ("args",), content=content, **common))
        return Turn(Role.ASSISTANT, blocks, answer=text_in(answer, "id"))

    def _flat_action(self, event: dict[str, Any], record: int) -> Iterator[Block]:
        yield from _texts(event, ("thought", "content", "final_thought"), record, ())
        key = next((key for key in _COMMANDS if isinstance(event.get(key), str) and event[key]), None)
        if key is None:
            return
        call_id, tool = f"{TEXT_CALL}{record}", _tool(event["action"], event)
        if self._follows[record]:
            self._asked[None] = (call_id, tool)
        common: dict[str, Any] = {"span": (0, len(event[key])), "tool": tool, "call_id": call_id}
        yield Block(BlockKind.TOOL_CALL, Place(record, (key,)), (key,), content=event[key], **common)

    def _observation(self, event: dict[str, Any], record: int) -> Turn:
        cause, text = event.get("cause"), event["content"]
        asked = self._asked.pop(cause if isinstance(cause, int) else None, None)
        if event["observation"] == "recall" and asked is None:
            return Turn(Role.USER, list(_recalled(event, record)))
        if asked is None:
            is_said = bool(text.strip())
            return Turn(Role.USER, [text_block(text, record, ("content",), injected=True)] if is_said else [])
        call_id, tool = asked
        failed = event["observation"] == "error" or event.get("success") is False
        common: dict[str, Any] = {"tool": tool, "call_id": call_id, "is_error": failed}
        return Turn(Role.TOOL, [text_block(text, record, ("content",), kind=BlockKind.TOOL_RESULT, **common)])

    def _condensation(self, event: dict[str, Any], record: int) -> Turn | None:
        """Return the summary that the client wrote in place of the events that it forgot."""
        summary = value_in(event, "args", "summary")
        if not isinstance(summary, str) or not summary.strip():
            return None
        lost = [self._records[one] for one in _forgotten(event, self._records) if one in self._records]
        return _summary(summary, record, ("args", "summary"), lost)


def _summary(text: str, record: int, path: JsonPath, lost: list[int]) -> Turn:
    """Return a summary of the client, in front of the `lost` records that it replaces."""
    block = text_block(text, record, path, injected=True, summarizes=True)
    return Turn(Role.USER, [block], before=min(lost, default=record))


def _tool(name: str, arguments: dict[str, Any]) -> str:
    if name == "edit" and isinstance(arguments.get("command"), str) and arguments["command"]:
        return "str_replace_editor"
    if name == "call_tool_mcp" and isinstance(arguments.get("name"), str):
        return str(arguments["name"])
    return _TOOLS.get(name, name)


def _texts(
    holder: dict[str, Any], keys: tuple[str, ...], record: int, path: tuple[str, ...], *, is_user: bool = False
) -> Iterator[Block]:
    for key in keys:
        text = holder.get(key)
        if isinstance(text, str) and text.strip():
            yield text_block(text, record, (*path, key), is_user=is_user)


def _recalled(event: dict[str, Any], record: int) -> Iterator[Block]:
    """Yield instructions and knowledge that the client adds to the user's message."""
    extras = event.get("extras")
    if not isinstance(extras, dict):
        return
    found: list[tuple[JsonPath, Any]] = [
        (("extras", key), extras.get(key)) for key in ("repo_instructions", "additional_agent_instructions")
    ]
    for number, one in enumerate(listed(extras, "microagent_knowledge")):
        content = value_in(one, "content")
        found.append((("extras", "microagent_knowledge", number, "content"), content))
    for path, text in found:
        if isinstance(text, str) and text.strip():
            yield text_block(text, record, path, injected=True)


def _forgotten(event: dict[str, Any], known: Iterable[int]) -> set[int]:
    """Return ids of the events that a condenser took out of the conversation; of a range, those that are `known`."""
    arguments = event.get("args") if event.get("action") == "condensation" else None
    if not isinstance(arguments, dict):
        return set()
    lost = {one for one in listed(arguments, "forgotten_event_ids") if isinstance(one, int)}
    start, end = arguments.get("forgotten_events_start_id"), arguments.get("forgotten_events_end_id")
    if isinstance(start, int) and isinstance(end, int):
        lost.update(one for one in known if start <= one <= end)
    return lost


def _copies(transcript: Transcript) -> Iterator[beside.Shown]:
    source = transcript.source
    for record in range(source.listed):
        event = json_text.parse(source.view(record)) if record not in source.unparsed else {}
        keys = ["message", "extras", "tool_call_metadata"]
        if "observation" in event and "extras" not in event:
            keys += [*_COMMANDS, "thought"]
        if event.get("observation") == "recall":
            keys.remove("extras")
        for key in keys:
            if key in event:
                yield record, (key,), event[key]


def _new_event(role: Role, literal: str, replaced: str) -> dict[str, str]:
    """Return a message of the user or the agent, with id and time of the event that it replaces."""
    old = json_text.parse_text(replaced)
    source = "agent" if role is Role.ASSISTANT else "user"
    said = {"source": json.dumps(source), "message": '""', "action": '"message"'}
    members = {**kept_members(replaced, "id", "timestamp"), **said}
    if not isinstance(old.get("args"), dict) and "id" not in old:
        return members | {"content": literal}
    return members | {"args": f'{{"content":{literal},"image_urls":null,"wait_for_response":false}}'}


FORMAT: Final = Format(
    "openhands",
    Family.OPENAI_CHAT,
    "OpenHands runs: one line of output.jsonl, or the events of its history",
    evidence,
    _read,
    claims=lambda document: is_run(only_value(document, "history")),  # Several runs are rows.
    beside=beside.copies(_copies),
    new_message=_new_event,
)


_SENT: Final = frozenset({
    "ActionEvent", "AgentErrorEvent", "Condensation", "MessageEvent", "ObservationEvent", "SystemPromptEvent",
    "UserRejectObservation",
})  # fmt: skip
_HOLDS: Final = {"MessageEvent": ("llm_message", "content"), "SystemPromptEvent": ("system_prompt", "text")}
"""Where the words of events are."""
_FOR_MODELS: Final = frozenset({"llm_message", "observation", "system_prompt", "tool_call"})
"""Keys of events that reach the model."""
_NO_REASON: Final = "User rejected the action"
"""Reason of a rejection for which the user gave none; a hook may reject as well."""


def _sdk_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str) or not isinstance(value.get("id"), str):
        return Evidence.NO
    if value["kind"] in _SENT:
        return Evidence.YES
    return Evidence.MAYBE if "source" in value and "timestamp" in value else Evidence.NO


def _read_sdk(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    for record, value in enumerate(records):
        if record not in document.source.unparsed and _sdk_evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it is not an OpenHands SDK event")
    events = [*map(object_in, records)]
    reader = _SdkReader(events)
    parts = []
    model: str | None = None
    for record, event in enumerate(events):
        part = reader.turn(event, record)
        if part is not None and part.blocks:
            parts.append(replace(part, blocks=as_lazy(part.blocks, document.source)))
        # The figures that the client keeps.
        model = model or text_in(event, "value", "usage_to_metrics", "default", "model_name")
    return Transcript(
        "openhands-sdk",
        Family.OPENAI_CHAT,
        joined(parts),
        document.source,
        model=model,
        envelope=reader.tools,
        unknown=tuple(Tally(f"event {event.get('kind')}" for event in events if reader.misses(event)).items()),
    )


class _SdkReader:
    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.tools = ""
        self._records = {str(event.get("id")): record for record, event in enumerate(events)}
        self._forgotten = {one for event in events for one in _forgets(event)}
        self._called: dict[str, str] = {}

    def misses(self, event: dict[str, Any]) -> bool:
        """Return whether an event seems to reach the model, and cannot be read."""
        kind = str(event.get("kind"))
        if kind in _HOLDS:
            key, inside = _HOLDS[kind]
            lacks = not isinstance(event.get(key), dict) or inside not in event[key]
        else:
            lacks = kind not in _SENT and not _FOR_MODELS.isdisjoint(event)
        return lacks and event.get("id") not in self._forgotten

    def turn(self, event: dict[str, Any], record: int) -> Turn | None:
        """Return the part of a message that an event is; None if the model never gets it."""
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
            summary = event.get("summary")
            lost = [self._records[one] for one in _forgets(event) if one in self._records]
            is_said = isinstance(summary, str) and bool(summary.strip())
            return _summary(str(summary), record, ("summary",), lost) if is_said else None
        return Turn(Role.TOOL, list(self._result(event, record))) if kind in _SENT else None

    def _action(self, event: dict[str, Any], record: int) -> Turn:
        blocks = [*_thinking(event, record, ()), *_parts(event.get("thought"), record, ("thought",))]
        call, owner = event.get("tool_call"), ("tool_call",)
        path: JsonPath = owner
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            call, path = call["function"], ("tool_call", "function")
        arguments = value_in(call, "arguments")
        call_id, tool = event.get("tool_call_id"), str(event.get("tool_name") or "")
        if isinstance(arguments, str) and isinstance(call_id, str):
            self._called[call_id] = tool
            place = Place(record, (*path, "arguments"))
            blocks.append(Block(BlockKind.TOOL_CALL, place, owner, content=arguments, tool=tool, call_id=call_id))
        else:
            blocks.append(unknown_block(call, record, owner))
        return Turn(Role.ASSISTANT, blocks, answer=text_in(event, "llm_response_id"))

    def _result(self, event: dict[str, Any], record: int) -> Iterator[Block]:
        seen = object_in(event, "observation")
        found: list[Block] = []
        for key in ("content", "output"):
            found += _parts(seen.get(key), record, ("observation", key))
        for key in ("error", "rejection_reason", "extended_content"):
            found += _parts(event.get(key), record, (key,))
        if not found:
            found = [text_block("", record, ("observation", "content"))]
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


def _message(event: dict[str, Any], record: int) -> Turn | None:
    message = event.get("llm_message")
    if not isinstance(message, dict):
        return None
    role, path = ROLES.get(str(message.get("role")), Role.USER), ("llm_message",)
    further = _parts(event.get("extended_content"), record, ("extended_content",))
    blocks = [
        *_thinking(message, record, path),
        *_parts(message.get("content"), record, (*path, "content"), is_user=role is Role.USER),
        *(replace(block, injected=True) for block in further),
    ]
    return Turn(role, blocks)


def _thinking(holder: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    blocks = listed(holder, "thinking_blocks")
    text = holder.get("reasoning_content")
    if blocks:
        yield from BlockReader().content(blocks, record, (*path, "thinking_blocks"), is_user=False)
    elif isinstance(text, str) and text.strip():
        where = (*path, "reasoning_content")
        yield Block(BlockKind.THINKING, Place(record, where), where, content=text)


def _parts(content: Any, record: int, path: JsonPath, *, is_user: bool = False) -> Iterator[Block]:
    """Yield the blocks of a text, of a part or of a list of parts."""
    if isinstance(content, str):
        if content.strip():
            yield text_block(content, record, path, is_user=is_user)
    elif isinstance(content, list):
        for number, part in enumerate(content):
            yield from _parts(part, record, (*path, number), is_user=is_user)
    elif isinstance(content, dict) and isinstance(content.get("text"), str):
        for block in _parts(content["text"], record, (*path, "text"), is_user=is_user):
            yield replace(block, owner=path)
    elif content is not None:
        yield replace(attachment_block(content, record, path), kind=BlockKind.OPAQUE)


def _forgets(event: dict[str, Any]) -> list[str]:
    """Return ids of the events that an event takes out of the conversation."""
    ids = listed(event, "forgotten_event_ids") if event.get("kind") == "Condensation" else []
    return [one for one in ids if isinstance(one, str)]


def _sdk_copies(transcript: Transcript) -> Iterator[beside.Shown]:
    source = transcript.source
    for record in range(source.listed):
        event = json_text.parse(source.view(record)) if record not in source.unparsed else {}
        if event.get("kind") == "ActionEvent" and "action" in event:
            yield record, ("action",), event["action"]
        seen = event.get("observation")
        for key, value in seen.items() if isinstance(seen, dict) else ():
            if key not in ("content", "output"):
                yield record, ("observation", key), value


def _new_sdk_event(role: Role, literal: str, replaced: str) -> dict[str, str]:
    """Return a message of the user or the agent, with id and time of the event that it replaces."""
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


SDK: Final = Format(
    "openhands-sdk",
    Family.OPENAI_CHAT,
    "Event logs of the OpenHands SDK",
    _sdk_evidence,
    _read_sdk,
    beside=beside.copies(_sdk_copies),
    new_message=_new_sdk_event,
)
