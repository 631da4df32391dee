"""Trajectories in the Agent Trajectory Interchange Format of Harbor: an object with steps.

    {"schema_version": "ATIF-v1.6", "session_id", "agent": {"name", "model_name"}, "steps": [step, ...]}
    {"step_id", "source": "system" | "user" | "agent", "message": str | [part, ...], "reasoning_content"?,
     "tool_calls"?: [{"tool_call_id", "function_name", "arguments"}],
     "observation"?: {"results": [{"source_call_id"?, "content": str | [part, ...] | null}]}}

A step holds calls together with their results; the numbers of the steps go up by one.
https://github.com/laude-institute/harbor/blob/main/docs/rfcs/0001-trajectory-format.md
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from ..errors import UnknownFormatError
from .anthropic import attachment_block
from .engine.base import Evidence, Format, RecordEdits, records_of, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy, first_of, with_records_at
from .engine.turns import Turn, joined

_ROLES: Final = {"system": Role.SYSTEM, "user": Role.USER, "agent": Role.ASSISTANT}
_MESSAGE: Final[JsonPath] = ("message",)
_NUMBER: Final = "step_id"
_OF_RESULTS: Final = frozenset({"content", "source_call_id"})
"""Keys of a result that may be without content."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return Evidence.NO
    return Evidence.YES if str(value.get("schema_version")).startswith("ATIF") else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    if len(records) > 1:
        hint = first_of(document, "trajectory.json")
        raise UnknownFormatError("It holds several trajectories, one per record.", hint)
    if evidence(records[0]) is Evidence.NO:
        raise UnknownFormatError("It has no steps and no ATIF version.", "Name a trajectory in that format.")
    agent = records[0].get("agent")
    model = agent.get("model_name") if isinstance(agent, dict) else None
    document = with_records_at(document, 0, ("steps",))
    turns: list[Turn] = []
    unknown = Tally[str]()
    for record, step in enumerate(document.values):
        if not isinstance(step, dict) or str(step.get("source")) not in _ROLES or _MESSAGE[0] not in step:
            unknown["step without a source or a message"] += 1
        for role, blocks in _turns(step, record) if isinstance(step, dict) else ():
            if blocks:
                answer = _answer(turns[-1] if turns else None, record) if role is Role.ASSISTANT else None
                turns.append(Turn(role, list(as_lazy(blocks, document.source)), answer))
    messages = joined(turns)
    return Transcript(
        "atif",
        Family.OPENAI_CHAT,
        messages,
        document.source,
        model=model if isinstance(model, str) else None,
        unknown=tuple(unknown.items()),
    )


def _answer(before: Turn | None, record: int) -> str:
    """Which answer of the model a step is of: a thought alone is of the same as the step behind it."""
    is_thought = before is not None and all(block.kind is BlockKind.THINKING for block in before.blocks)
    return before.answer if before and is_thought and before.answer else str(record)


def _turns(step: dict[str, Any], record: int) -> Iterator[tuple[Role, list[Block]]]:
    role = _ROLES.get(str(step.get("source")))
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    results = results if isinstance(results, list) else []
    if role is None:
        return
    said: list[Block] = []
    thought = step.get("reasoning_content")
    if isinstance(thought, str) and thought:
        path = ("reasoning_content",)
        said.append(Block(BlockKind.THINKING, Place(record, path), path, content=thought))
    said += _content(step.get("message"), record, _MESSAGE, BlockKind.TEXT, None, is_user=role is Role.USER)
    calls = list(_calls(step, record))
    yield role, [*said, *calls]
    found = list(_results(results, record, calls))
    if calls:
        yield Role.TOOL, found
    elif found:  # What the environment showed without being asked.
        yield Role.USER, found


def _calls(step: dict[str, Any], record: int) -> Iterator[Block]:
    calls = step.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        owner = ("tool_calls", number)
        if not isinstance(call, dict) or not isinstance(call.get("tool_call_id"), str) or "arguments" not in call:
            yield unknown_block(call, record, owner)
            continue
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "arguments")),
            owner,
            content=json_text.dump_compact(call["arguments"]),
            tool=str(call.get("function_name") or ""),
            call_id=call["tool_call_id"],
            is_object=True,
        )


def _results(results: list[Any], record: int, calls: list[Block]) -> Iterator[Block]:
    """The results of a step. One that names no call is that of the call in its place, or of the last one."""
    named = {call.call_id: call for call in calls if call.call_id}
    for number, result in enumerate(results):
        if not isinstance(result, dict):
            continue
        source = result.get("source_call_id")
        call = named.get(source) if isinstance(source, str) else None
        if call is None and calls and not source:
            call = calls[min(number, len(calls) - 1)]
        owner = ("observation", "results", number)
        kind = BlockKind.TOOL_RESULT if call else BlockKind.TEXT
        blocks = list(_content(result.get("content"), record, (*owner, "content"), kind, call, owner=owner))
        if call and not blocks and result.keys() <= _OF_RESULTS:
            place = Place(record, (*owner, "content"))
            blocks = [Block(kind, place, owner, call_id=call.call_id, tool=call.tool)]
        elif call and not blocks:
            blocks = [unknown_block(result, record, owner, call_id=call.call_id, tool=call.tool)]
        yield from blocks


def _content(
    content: Any,
    record: int,
    path: JsonPath,
    kind: BlockKind,
    call: Block | None,
    *,
    is_user: bool = False,
    owner: JsonPath | None = None,
) -> Iterator[Block]:
    common: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool} if call else {}
    if isinstance(content, str) and content:
        injected = (is_user and is_injected(content)) or (owner is not None and not call)
        yield Block(kind, Place(record, path), owner or path, content=content, injected=injected, **common)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        where = (*path, number)
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            place = Place(record, (*where, "text"))
            yield Block(kind, place, owner or where, content=text, injected=is_user and is_injected(text), **common)
        else:
            yield attachment_block(part, record, owner or where, place=where, **common)


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """A step keeps its message, if an empty one; the steps that stay are numbered anew where they have numbers."""
    new = {block.place.record for _, block in meant.blocks() if block.is_inserted}
    for block in meant.removed:
        if block.owner == _MESSAGE and block.place.record not in gone | new:
            edits[block.place.record][_MESSAGE] = '""'
    number = 0
    for record, step in records_of(meant.source) if gone else ():
        if record not in gone and isinstance(step, dict):
            number += 1
            if _NUMBER in step and step[_NUMBER] != number:
                edits[record][(_NUMBER,)] = str(number)


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    kept = {key: json.dumps(old[key]) for key in (_NUMBER, "timestamp") if key in old}
    return {**kept, "source": '"user"', "message": literal}


FORMAT = Format(
    "atif",
    Family.OPENAI_CHAT,
    "Agent Trajectory Interchange Format (Harbor): an object with steps",
    evidence,
    read,
    complete=complete,
    new_message=new_message,
    summary_role=Role.USER,
)
