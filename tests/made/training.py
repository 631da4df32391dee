"""Generated conversations of training sets, in both forms of ShareGPT."""

from __future__ import annotations

import json
from typing import Any

from chats_of_clients import Turns
from hypothesis import strategies as st


def _result(result: Any) -> str:
    if isinstance(result, str):
        return result
    return "\n".join(part for part in result if isinstance(part, str))


def _calls(calls: list[dict[str, Any]], style: dict[str, Any]) -> str:
    values = [{"name": call["tool"], "arguments": call["arguments"]} for call in calls]
    return json.dumps(values if len(values) > 1 else values[0], **style)


@st.composite
def sharegpt_records(draw: st.DrawFn, turns: Turns) -> tuple[str, list[dict[str, Any]]]:
    """The key under which the messages stand, and the messages."""
    key = draw(st.sampled_from(["conversations", "messages"]))
    styles: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]
    style = draw(st.sampled_from(styles))
    add = _first if key == "conversations" else _second
    records: list[dict[str, Any]] = []
    for turn in draw(turns):
        if "user" in turn:
            records.append(add("human", [("text", turn["user"])]))
            continue
        thinking = [("reasoning", turn["thinking"])] if turn["thinking"] and key == "messages" else []
        text = [("text", turn["text"])] if turn["text"] else []
        if key == "messages":
            calls = [("tool_call", _calls([call], style)) for call in turn["calls"]]
            records.append(add("gpt", [*thinking, *text, *calls] or [("text", "done")]))
        else:
            records += [add("gpt", text)] if text or not turn["calls"] else []
            records += [add("function_call", [("tool_call", _calls(turn["calls"], style))])] if turn["calls"] else []
        records += (add("observation", [("text", _result(call["result"]))]) for call in turn["calls"])
    return key, records


def _first(speaker: str, parts: list[tuple[str, str]]) -> dict[str, Any]:
    return {"from": speaker, "value": parts[0][1] if parts else "done"}


def _second(speaker: str, parts: list[tuple[str, str]]) -> dict[str, Any]:
    role = {"human": "user", "gpt": "assistant", "observation": "tool"}[speaker]
    content = [{"type": kind, "value": value} for kind, value in parts]
    return {"role": role, "content": content, "loss_weight": 1.0}


@st.composite
def sharegpt_files(draw: st.DrawFn, turns: Turns) -> bytes:
    key, records = draw(sharegpt_records(turns))
    value: Any = {key: records, "system": "Be brief.", "tools": "[]"}
    if key == "conversations" and draw(st.booleans()):
        value = [value]
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2, "\t"])), ensure_ascii=True)
    return (text + draw(st.sampled_from(["", "\n"]))).encode()
