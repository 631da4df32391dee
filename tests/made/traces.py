"""Traces of Langfuse and LangSmith: what each call of a model was asked and what it answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Messages = list[Json]

TOOL: Json = {"role": "tool", "content": {"type": "function", "function": {"name": "run", "parameters": {}}}}
"""The definition of a tool, as Langfuse's handler for LangChain lists it."""


def _calls(messages: Messages) -> Iterator[tuple[int, Messages, Json]]:
    """Every request that was answered: when, the conversation so far, and the answer."""
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            yield number, messages[:number], message


def _time(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2026-01-02T{hours:02}:{minutes:02}:{seconds:02}.000"


def _more(message: Json) -> Json:
    """Calls as LangChain keeps them, with arguments that are objects."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    functions = [call["function"] | {"arguments": json.loads(call["function"]["arguments"])} for call in calls]
    made = [call | {"function": function} for call, function in zip(calls, functions, strict=True)]
    return {key: value for key, value in message.items() if key != "tool_calls"} | {
        "additional_kwargs": {"tool_calls": made}
    }


def langfuse(messages: Messages) -> Json:
    """The newest observation comes first, and spans are among them."""
    observations: list[Json] = [
        {"type": "SPAN", "startTime": "2026-01-01T00:00:00.000Z", "name": "agent", "input": "x"}
    ]
    for number, asked, answer in _calls(messages):
        begun = {"type": "GENERATION", "startTime": f"{_time(number)}Z", "model": "gpt-5.6"}
        observations.insert(0, begun | {"input": [*map(_more, asked), TOOL], "output": _more(answer)})
    return {"trace": {"id": "t", "input": json.dumps({"messages": messages[:2]})}, "observations": observations}


def langsmith(messages: Messages) -> Json:
    """One run of a graph with the runs of its model in it."""
    runs = [
        {
            "id": str(number),
            "run_type": "llm",
            "start_time": f"{_time(number)}000",
            "inputs": {"messages": [[constructed(message) for message in asked]]},
            "outputs": {"generations": [[{"text": "", "message": constructed(answer)}]]},
            "extra": {"metadata": {"ls_model_name": "gpt-5.6"}},
        }
        for number, asked, answer in _calls(messages)
    ]
    return {"id": "r", "run_type": "chain", "start_time": "2026-01-01", "inputs": {}, "child_runs": runs}


def constructed(message: Json) -> Json:
    """A message as LangChain dumps it."""
    kind = {"system": "System", "user": "Human", "assistant": "AI", "tool": "Tool"}[message["role"]]
    kwargs: Json = {"content": message.get("content") or ""}
    if message["role"] == "tool":
        kwargs["tool_call_id"] = message["tool_call_id"]
    if message.get("tool_calls"):
        kwargs["tool_calls"] = [
            {"name": call["function"]["name"], "args": json.loads(call["function"]["arguments"]), "id": call["id"]}
            for call in message["tool_calls"]
        ]
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", f"{kind}Message"],
        "kwargs": kwargs,
    }
