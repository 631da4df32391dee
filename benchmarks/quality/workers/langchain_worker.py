"""LangChain: `ContextEditingMiddleware` with `ClearToolUsesEdit`, as an agent calls it before each request.

It counts tokens as characters / 4. With the setting `tokenizer`, a folder that holds the package splintr, the messages
are counted by that, before and after, in the place of the model that an agent would ask.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from serving import serve


def work(messages: list[dict[str, Any]], setting: dict[str, Any]) -> list[dict[str, Any]]:
    tokenizer = setting.pop("tokenizer", None)
    given: list[Any] = []
    origins: list[tuple[int, int]] = []
    for number, message in enumerate(messages):
        for part, converted in enumerate(_converted(message)):
            given.append(converted)
            origins.append((number, part))
    seen: list[Any] = []
    edits = [ClearToolUsesEdit(trigger=0, **setting)]
    middleware = ContextEditingMiddleware(edits=edits, token_count_method="model" if tokenizer else "approximate")
    model = SimpleNamespace(get_num_tokens_from_messages=lambda found, tools: _tokens(found, _counter(tokenizer)))
    request = SimpleNamespace(
        messages=given,
        model=model,
        system_message=None,
        system_prompt=None,
        tools=[],
        override=lambda messages: SimpleNamespace(messages=messages),
    )
    middleware.wrap_model_call(request, lambda request: seen.extend(request.messages))
    if tokenizer:
        _tokens(seen, _counter(tokenizer))
    return _back(messages, dict(zip(origins, seen, strict=True)))


@cache
def _counter(folder: str) -> Callable[[str], int]:
    sys.path.append(folder)
    import splintr

    encode = splintr.Tokenizer.from_pretrained("o200k_base").encode_flat
    return lambda text: len(encode(text)) // 4


def _tokens(messages: Sequence[Any], count: Callable[[str], int]) -> int:
    texts = (part for message in messages for part in _texts(message))
    return sum(map(count, texts))


def _texts(message: Any) -> list[str]:
    content = message.content
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return [*texts, *(json.dumps(call["args"]) for call in getattr(message, "tool_calls", ()))]


def _converted(message: dict[str, Any]) -> list[Any]:
    """Convert one message of the assistant, or the results in a user's message one by one and then its text."""
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
