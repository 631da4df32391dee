"""LangChain: a middleware for agents, and an edit for its ContextEditingMiddleware (extra `langchain`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Any, Final

from ..live.requests import CACHE_MARK, marks_in
from . import needs
from .conversations import (
    FORMAT,
    Block,
    FittedConversations,
    OnDecision,
    Part,
    RoleBlocks,
    call,
    fit_messages,
    other,
    result,
    text,
    texts_of,
    thinking,
)

with needs("LangChain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

_CALLS: Final = 1_000
"""Parts from this number on are calls; smaller ones are blocks of the content."""
_UNSEEN: Final = 3
"""Marks that a later middleware may set: in the system prompt, in the tools and at the end."""


class CondenseMiddleware(AgentMiddleware):
    """Condense what an agent sends, and leave its state as it is. `options` are those of `condense_cli.Live`.

    Put it last in the list of middleware, after those that change messages or set cache marks.
    """

    def __init__(self, *, on_decision: OnDecision | None = None, **options: Any) -> None:
        super().__init__()
        self._conversations = FittedConversations(on_decision=on_decision, format=FORMAT, **options)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        return handler(self._fitted(request))

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]) -> Any:
        return await handler(await asyncio.to_thread(self._fitted, request))

    def _fitted(self, request: ModelRequest) -> ModelRequest:
        messages = _fitted(
            self._conversations,
            request.messages,
            marks=_marks(request) if _is_anthropic(request.model) else None,
            tools=[getattr(tool, "name", tool) for tool in request.tools],
            system=str(request.system_message.text) if request.system_message else None,
            model=_name(request.model),
        )
        return request.override(messages=messages)


class CondenseEdit:
    """The middleware as an edit: `ContextEditingMiddleware(edits=[CondenseEdit()])`.

    An edit does not see the model: name it (`model="claude-opus-4-6"`). It sets no cache marks.
    """

    def __init__(self, *, on_decision: OnDecision | None = None, **options: Any) -> None:
        self._conversations = FittedConversations(on_decision=on_decision, format=FORMAT, **options)

    def apply(self, messages: list[AnyMessage], *, count_tokens: Callable[[Sequence[Any]], int]) -> None:
        messages[:] = _fitted(self._conversations, messages)


def _fitted(conversations: FittedConversations, messages: Sequence[Any], **request: Any) -> list[Any]:
    last = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    key = next((each.id for each in messages if isinstance(each, HumanMessage)), None)
    usage = last.usage_metadata if last is not None else None
    dialect = _Messages(request.get("marks") is not None)
    return fit_messages(conversations, key, messages, dialect, usage=usage, **request)


def _name(model: Any) -> str | None:
    return next((name for key in ("model_name", "model") if isinstance(name := getattr(model, key, None), str)), None)


def _is_anthropic(model: Any) -> bool:
    return any(each.__module__.startswith("langchain_anthropic") for each in type(model).__mro__)


def _marks(request: ModelRequest) -> int:
    """Count the marks beside the messages; without any, those that may still be set."""
    system = request.system_message.content if request.system_message else None
    tools = [getattr(tool, "extras", None) or tool for tool in request.tools]
    return marks_in(system) + marks_in(tools) + (CACHE_MARK in request.model_settings) or _UNSEEN


class _Messages:
    """Dialect of LangChain. A call may be there twice, in `tool_calls` and in Anthropic's content; the first
    counts.

    With `as_blocks`, a text is written as a block that can have a cache mark.
    """

    def __init__(self, as_blocks: bool) -> None:
        self._as_blocks = as_blocks

    def told(self, message: AnyMessage) -> RoleBlocks:
        if isinstance(message, ToolMessage):
            found = message.content if isinstance(message.content, str) else [*map(_told, message.content)]
            return {"user": {0: result(message.tool_call_id, found, is_error=message.status == "error")}}
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        ids = {each["id"] for each in calls}
        content = [message.content] if isinstance(message.content, str) else message.content
        blocks: dict[Part, Block] = {
            part: _told(each) for part, each in enumerate(content) if each and not _is_copy(each, ids)
        }
        for part, each in enumerate(calls, _CALLS):
            blocks[part] = call(each["id"] or f"{message.id}-{part}", each["name"], each["args"])
        role = {AIMessage: "assistant", SystemMessage: "system"}
        said = next((name for kind, name in role.items() if isinstance(message, kind)), "user")
        return {said: blocks or {0: other(message.content)}}

    def changed(self, message: AnyMessage, blocks: Mapping[Part, Block], gone: Set[Part]) -> AnyMessage:
        if isinstance(message, ToolMessage):
            return message.model_copy(update={"content": self._result(message.content, blocks[0])})
        content: Any = message.content
        if isinstance(message.content, str):
            if 0 in blocks and message.content:
                content = [blocks[0]] if self._as_blocks else blocks[0]["text"]
            elif 0 in gone:
                content = ""
        else:
            parts = enumerate(message.content)
            content = [_said(it, blocks[part]) if part in blocks else it for part, it in parts if part not in gone]
        if not isinstance(message, AIMessage) or all(part < _CALLS for part in {*blocks, *gone}):
            return message.model_copy(update={"content": content})
        numbered = [*enumerate(message.tool_calls, _CALLS)]
        calls = [
            {**it, "args": blocks[part]["input"]} if part in blocks else it for part, it in numbered if part not in gone
        ]
        if not isinstance(content, str):
            arguments = {it["id"]: it["args"] for it in calls}
            lost = {it["id"] for part, it in numbered if part in gone}
            content = [_copied(it, arguments) for it in content if not _is_copy(it, lost)]
        # LangChain's client for OpenAI sends these where `tool_calls` is empty.
        beside = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
        return message.model_copy(update={"content": content, "tool_calls": calls, "additional_kwargs": beside})

    def summary(self, text: str) -> AnyMessage:
        return HumanMessage(text)

    def _result(self, content: Any, block: Block) -> Any:
        """Return the content of a result, as a string if it was one; a cache mark goes to its last block."""
        if isinstance(content, str):
            found = "".join(texts_of(block))
            said: list[Any] = [text(found)] if found and self._as_blocks else []
            if not said:
                return found
        else:
            parts = block["content"]
            said = [_said(it, part) if part["type"] == "text" else it for it, part in zip(content, parts, strict=True)]
        if CACHE_MARK in block and said:
            last = said[-1] if isinstance(said[-1], dict) else text(said[-1])
            said[-1] = {**last, CACHE_MARK: block[CACHE_MARK]}
        return said


def _told(content: Any) -> Block:
    """Convert a block of content; LangChain writes Anthropic's blocks as they are."""
    if isinstance(content, str):
        return text(content)
    if content.get("type") in ("text", "thinking", "redacted_thinking", "image"):
        known = ("type", "text", "thinking", "signature", "data", "source", CACHE_MARK)
        return {key: content[key] for key in known if key in content}
    if content.get("type") == "reasoning":  # OpenAI's reasoning goes with the call that follows it.
        return thinking(str(content.get("reasoning") or content.get("summary") or ""), content.get("id"))
    return other(content)


def _said(content: Any, block: Block) -> Any:
    """Update a block of content: its text, and its cache mark."""
    if isinstance(content, str):
        return block["text"]
    said = {key: value for key, value in content.items() if key != CACHE_MARK}
    changes = {key: block[key] for key in ("text", CACHE_MARK) if key in block}
    return {**said, **changes}


def _is_copy(content: Any, ids: Set[str | None]) -> bool:
    """Check if a block of content repeats a call of `tool_calls`."""
    if not isinstance(content, dict) or content.get("type") not in ("tool_use", "tool_call", "function_call"):
        return False
    return content.get("id") in ids or content.get("call_id") in ids


def _copied(content: Any, arguments: Mapping[str | None, Any]) -> Any:
    """Update the copy of a call with its arguments, keyed by the call's id."""
    if not _is_copy(content, arguments.keys()):
        return content
    found = arguments[content["id"] if content.get("id") in arguments else content["call_id"]]
    spelled = {"input": found, "args": found, "arguments": json.dumps(found)}
    return {key: spelled.get(key, value) for key, value in content.items()}
