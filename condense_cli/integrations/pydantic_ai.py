"""Pydantic AI: a capability that condenses what an agent sends, and leaves its history alone (extra `pydantic-ai`)."""

from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, Final

from ..live.requests import CACHE_MARK
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

with needs("Pydantic AI", "pydantic-ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        CachePoint,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext

_CACHING: Final = ("anthropic_cache", "anthropic_cache_instructions", "anthropic_cache_tool_definitions")
"""Settings that set a cache mark each; `anthropic_cache_messages` sets one at the end of the messages."""


class Condense(AbstractCapability[Any]):
    """`Agent(..., capabilities=[Condense(preset="balanced")])`. `options` are those of `condense_cli.Live`."""

    def __init__(self, *, on_decision: OnDecision | None = None, **options: Any) -> None:
        self._conversations = FittedConversations(on_decision=on_decision, format=FORMAT, **options)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None  # A configuration may be one of our structs.

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        return replace(request_context, messages=await to_thread(self._fitted, ctx, request_context))

    def _fitted(self, ctx: RunContext[Any], request: ModelRequestContext) -> list[ModelMessage]:
        last = next((each for each in reversed(request.messages) if isinstance(each, ModelResponse)), None)
        parameters = request.model_request_parameters
        instructions = getattr(parameters, "instruction_parts", None) or ()
        return fit_messages(
            self._conversations,
            ctx.conversation_id or ctx.run_id,
            request.messages,
            _Messages(),
            marks=_marks(request.model_settings) if request.model.system == "anthropic" else None,
            tools=[tool.name for tool in parameters.function_tools],
            system=[part.content for part in instructions] or None,
            model=request.model.model_name,
            usage={"input": last.usage.input_tokens, "output": last.usage.output_tokens} if last is not None else None,
        )


def _marks(settings: Any) -> int:
    return sum(bool((settings or {}).get(key)) for key in (*_CACHING, "anthropic_cache_messages"))


class _Messages:
    """Dialect of Pydantic AI: a request of several parts may come from the system and the user."""

    def told(self, message: ModelMessage) -> RoleBlocks:
        if isinstance(message, ModelResponse):
            said = {number: _said(part) for number, part in enumerate(message.parts) if not _is_empty(part)}
            return {"assistant": said or {0: other(message.parts)}}
        parts = [*enumerate(message.parts)]
        system = {number: text(part.content) for number, part in parts if isinstance(part, SystemPromptPart)}
        user = {number: _asked(part) for number, part in parts if number not in system}
        return {role: blocks for role, blocks in (("system", system), ("user", user)) if blocks} or {
            "user": {0: other("")}
        }

    def changed(self, message: ModelMessage, blocks: Mapping[Part, Block], gone: Set[Part]) -> ModelMessage:
        numbered = enumerate(message.parts)
        parts = [_changed(it, blocks[part]) if part in blocks else it for part, it in numbered if part not in gone]
        if isinstance(message, ModelRequest) and any(CACHE_MARK in block for block in blocks.values()):
            parts.append(UserPromptPart([CachePoint()]))
        return replace(message, parts=parts)

    def summary(self, text: str) -> ModelMessage:
        return ModelRequest([UserPromptPart(text)])


def _is_empty(part: Any) -> bool:
    return isinstance(part, TextPart) and not part.content


def _said(part: Any) -> Block:
    if isinstance(part, TextPart):
        return text(part.content)
    if isinstance(part, ThinkingPart):
        return thinking(part.content, part.signature)
    if isinstance(part, ToolCallPart):
        return call(part.tool_call_id, part.tool_name, part.args_as_dict())
    return other(part)


def _asked(part: Any) -> Block:
    if isinstance(part, ToolReturnPart):
        if part.files:
            return result(part.tool_call_id, [other(part.content)])
        return result(part.tool_call_id, part.model_response_str(), is_error=part.outcome != "success")
    if isinstance(part, UserPromptPart):
        content = [part.content] if isinstance(part.content, str) else part.content
        if len(content) == 1 and isinstance(content[0], str) and content[0]:
            return text(content[0])
    if getattr(part, "tool_name", None):
        return result(part.tool_call_id, [other(part)], is_error=True)
    return other(part)


def _changed(part: Any, block: Block) -> Any:
    """Update a part from its block; a cache mark alone is no change."""
    if isinstance(part, ToolCallPart):
        arguments = block["input"]
        return replace(part, args=json.dumps(arguments) if isinstance(part.args, str) else arguments)
    if isinstance(part, ToolReturnPart):
        told = "".join(texts_of(block))
        return part if part.files or told == part.model_response_str() else replace(part, content=told)
    if isinstance(part, TextPart | SystemPromptPart | UserPromptPart) and block["type"] == "text":
        return part if _texts(part) == block["text"] else replace(part, content=block["text"])
    return part


def _texts(part: Any) -> Any:
    return part.content if isinstance(part.content, str) else part.content[0]
