"""Inspect AI: a compaction strategy whose frozen part stays from one compaction to the next (extra `inspect`).

Inspect hands a strategy its own earlier output with what came since, not the originals. Frozen messages are marked in
their metadata, so one strategy serves many samples at once, also resumed ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from msgspec.structs import replace

from .. import api
from ..config.models import Configuration
from ..live.conversation import KEEP_RECENT
from ..live.freezing import FreezeSettings, freeze, usual_configuration
from ..passes.summaries import Summarizer
from ..tokens.models import binds_thinking
from . import needs
from .conversations import FORMAT, Block, Part, RoleBlocks, call, convert_messages, other, result, text, thinking

with needs("Inspect AI", "inspect"):
    from anyio.to_thread import run_sync
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        CompactionStrategy,
        CompactionTrim,
        ContentReasoning,
        ContentText,
        Model,
    )
    from inspect_ai.model._model_info import get_model_input_tokens
    from inspect_ai.tool import ToolInfo

_MARK: Final = "condense"
_CALLS: Final = 1_000
"""Parts from this number on are calls; smaller ones are blocks of the content."""
_ENOUGH: Final = 0.9
_ROOMS: Final = (0.6, 0.3)
"""Parts of the limit to bring the whole to, in turn, if it stays above _ENOUGH."""
_WINDOW: Final = 128_000
"""Inspect's default for an unknown window."""


class CondenseCompaction(CompactionStrategy):
    """`react(..., compaction=CondenseCompaction(threshold=100_000))`; other options are as for `condense_cli.Live`.

    If condensing stays above the threshold, Inspect's own trimming follows, because the sample would end otherwise.
    """

    def __init__(
        self,
        configuration: Configuration | Mapping[str, Any] | None = None,
        *,
        preset: str | None = None,
        threshold: int | float = 0.9,
        memory: bool = True,
        keep_recent: int = KEEP_RECENT,
        summarizer: Summarizer | None = None,
    ) -> None:
        super().__init__(type="edit", threshold=threshold, memory=memory)
        if configuration is None and preset is None:
            configuration = usual_configuration()
        self._means = FreezeSettings(api.configuration_from(configuration, preset), max(1, keep_recent), summarizer)

    async def compact(
        self, model: Model, messages: list[ChatMessage], tools: list[ToolInfo]
    ) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        limit = self._limit(model) - await model.count_tool_tokens(tools)
        best = messages
        for room in (None, *_ROOMS):
            means = self._means if room != _ROOMS[-1] else replace(self._means, keep_recent=1)
            target = None if room is None else max(1, int(room * limit))
            found = await run_sync(partial(_condensed, messages, means, model.name, target))
            best = found or best
            if found is not None and await model.count_tokens(found) <= _ENOUGH * limit:
                return found, None
        if best is not messages and await model.count_tokens(best) <= limit:
            return best, None
        trimmed, _ = await CompactionTrim(threshold=self.threshold, memory=self.memory).compact(model, best, tools)
        return [*trimmed], None

    def _limit(self, model: Model) -> int:
        if isinstance(self.threshold, int) or self.threshold > 1:
            return int(self.threshold)
        return int(self.threshold * (get_model_input_tokens(model) or _WINDOW))


def _condensed(
    messages: list[ChatMessage], means: FreezeSettings, model: str, target: int | None
) -> list[ChatMessage] | None:
    """Condense the messages since the last compaction, or all of them down to a target."""
    dialect = _Messages()
    given = convert_messages(messages, dialect)
    since = 0 if target else next((at for at in range(len(messages), 0, -1) if _is_frozen(messages[at - 1])), 0)
    start = given.before(since)
    working = given.sent if not binds_thinking(model) else [*given.sent[:start], *_thoughtless(given.sent[start:])]
    found = freeze(working, start, means, format_name=FORMAT, model=model, target=target)
    if isinstance(found, str):
        return None
    frozen = given.back(dialect, [*working[:start], *found.output])
    return [*map(_as_frozen, frozen), *given.back(dialect, working[found.end :])]


def _thoughtless(sent: list[Block]) -> list[Block]:
    left = [{**each, "content": [part for part in each["content"] if part["type"] != "thinking"]} for each in sent]
    return [each for each in left if each["content"]]


def _is_frozen(message: ChatMessage) -> bool:
    return bool(message.metadata and _MARK in message.metadata)


def _as_frozen(message: ChatMessage) -> ChatMessage:
    if _is_frozen(message):
        return message
    return message.model_copy(update={"metadata": {**(message.metadata or {}), _MARK: "frozen"}})


class _Messages:
    """Dialect of Inspect."""

    def told(self, message: ChatMessage) -> RoleBlocks:
        content = [message.content] if isinstance(message.content, str) else message.content
        if isinstance(message, ChatMessageTool):
            inner = message.content if isinstance(message.content, str) else [*map(_told, content)]
            return {"user": {0: result(message.tool_call_id or "", inner, is_error=message.error is not None)}}
        blocks = {part: _told(each) for part, each in enumerate(content) if not _is_empty(each)}
        for part, each in enumerate((isinstance(message, ChatMessageAssistant) and message.tool_calls) or (), _CALLS):
            blocks[part] = call(each.id, each.function, each.arguments)
        return {message.role: blocks or {0: other(message.content)}}

    def changed(self, message: ChatMessage, blocks: Mapping[Part, Block], gone: Set[Part]) -> ChatMessage:
        update: dict[str, Any] = {}
        if isinstance(message, ChatMessageTool):
            update["content"] = _result(message.content, blocks[0]["content"])
        elif isinstance(message.content, str):
            update["content"] = blocks[0]["text"] if 0 in blocks else "" if 0 in gone else message.content
        else:
            parts = enumerate(message.content)
            update["content"] = [_said(it, blocks.get(part)) for part, it in parts if part not in gone]
        if isinstance(message, ChatMessageAssistant) and message.tool_calls:
            calls = enumerate(message.tool_calls, _CALLS)
            update["tool_calls"] = [
                it.model_copy(update={"arguments": blocks[part]["input"]}) if part in blocks else it
                for part, it in calls
                if part not in gone
            ] or None
        digest = blake2b(f"{message.id} {update}".encode(), digest_size=11).hexdigest()
        return message.model_copy(update={**update, "id": digest})

    def summary(self, text: str) -> ChatMessage:
        return ChatMessageUser(content=text)


def _is_empty(content: Any) -> bool:
    return content == "" or (isinstance(content, ContentText) and not content.text)


def _told(content: Any) -> Block:
    if isinstance(content, str):
        return text(content)
    if isinstance(content, ContentText):
        return text(content.text)
    if isinstance(content, ContentReasoning):
        return thinking(content.reasoning, content.signature)
    return other(content)


def _said(content: Any, block: Block | None) -> Any:
    return content if block is None else content.model_copy(update={"text": block["text"]})


def _result(content: Any, now: str | list[Block]) -> Any:
    """Return the content of a result, as a string if it was one."""
    parts = [text(now)] if isinstance(now, str) else now
    if isinstance(content, str):
        return "".join(part["text"] for part in parts)
    if len(parts) != len(content):
        return [ContentText(text=part["text"]) for part in parts if part["type"] == "text"]
    pairs = zip(content, parts, strict=True)
    return [_said(it, part if isinstance(it, ContentText) else None) for it, part in pairs]
