"""LangChain: `ContextEditingMiddleware` with `ClearToolUsesEdit`, as an agent calls it before each request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from serving import serve


def work(messages: list[dict[str, Any]], setting: dict[str, Any]) -> list[dict[str, Any]]:
    given: list[Any] = []
    origins: list[tuple[int, int]] = []
    for number, message in enumerate(messages):
        for part, converted in enumerate(_converted(message)):
            given.append(converted)
            origins.append((number, part))
    seen: list[Any] = []
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=0, **setting)])
    request = SimpleNamespace(messages=given, override=lambda messages: SimpleNamespace(messages=messages))
    middleware.wrap_model_call(request, lambda request: seen.extend(request.messages))
    return _back(messages, dict(zip(origins, seen, strict=True)))


def _converted(message: dict[str, Any]) -> list[Any]:
    """One message of the assistant, or the results in a user's message one by one and then its text."""
    text = [block for block in message["content"] if block["type"] == "text"]
    if message["role"] == "assistant":
        calls = [
            {"name": block["name"], "args": block["input"], "id": block["id"], "type": "tool_call"}
            for block in message["content"]
            if block["type"] == "tool_use"
        ]
        return [AIMessage(content=text, tool_calls=calls)]
    if message["role"] == "system":
        return [SystemMessage(content=text)]
    results = [
        ToolMessage(content=block["content"], tool_call_id=block["tool_use_id"])
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return [*results, HumanMessage(content=text)] if text or not results else results


def _back(messages: list[dict[str, Any]], seen: dict[tuple[int, int], Any]) -> list[dict[str, Any]]:
    for number, message in enumerate(messages):
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        calls = {call["id"]: call for call in getattr(seen[number, 0], "tool_calls", ())}
        for part, block in enumerate(results):
            block["content"] = seen[number, part].content
        for block in message["content"]:
            if block["type"] == "tool_use":
                block["input"] = calls[block["id"]]["args"]
    return messages


serve(work)
