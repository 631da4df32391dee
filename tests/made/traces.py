"""Traces of Langfuse and LangSmith: what each call of a model was asked and what it answered."""

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


def otel(messages: Messages, *, is_open_inference: bool = False) -> Json:
    """Spans of OpenTelemetry, one for each answer: with messages of parts, or with a key for each value."""
    spans: list[Json] = []
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            write = _open_inference if is_open_inference else _gen_ai
            attributes = [
                {"key": key, "value": {"stringValue": value}}
                for key, value in write(messages[:number], message).items()
            ]
            spans.append({"name": "chat", "startTimeUnixNano": f"{10**18 + number}", "attributes": attributes})
    other = {"name": "tool", "startTimeUnixNano": "2000000000000000000", "attributes": []}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [*spans, other]}]}]}


def _gen_ai(asked: Messages, answer: Json) -> dict[str, str]:
    def written(message: Json) -> Json:
        parts = [{"type": "text", "content": message["content"]}] if message.get("content") else []
        if message["role"] == "tool":
            parts = [{"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}]
        for call in message.get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            named = {"id": call["id"], "name": call["function"]["name"], "arguments": arguments}
            parts.append({"type": "tool_call", **named})
        return {"role": message["role"], "parts": parts}

    return {
        "gen_ai.request.model": "gpt-5.1",
        "gen_ai.input.messages": json.dumps([written(message) for message in asked]),
        "gen_ai.output.messages": json.dumps([written(answer)]),
    }


def _open_inference(asked: Messages, answer: Json) -> dict[str, str]:
    found = {"llm.model_name": "gpt-5.1"}
    for name, messages in (("input", asked), ("output", [answer])):
        for number, message in enumerate(messages):
            at = f"llm.{name}_messages.{number}.message"
            found[f"{at}.role"] = message["role"]
            found[f"{at}.content"] = message.get("content") or ""
            if message["role"] == "tool":
                found[f"{at}.tool_call_id"] = message["tool_call_id"]
            for position, call in enumerate(message.get("tool_calls") or ()):
                inside = f"{at}.tool_calls.{position}.tool_call"
                found[f"{inside}.id"] = call["id"]
                found |= {f"{inside}.function.{key}": call["function"][key] for key in ("name", "arguments")}
    return found


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
