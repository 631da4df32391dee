"""Messages as plain text for a summarizer. A request with tool blocks would have to define their tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..core.transcript import Block, Message, calls_by_id
from ..core.values import BlockKind

_LEFT_OUT: Final = {BlockKind.IMAGE: "[image left out]", BlockKind.OPAQUE: "[content of an unknown kind left out]"}


def flattened(messages: Sequence[Message]) -> tuple[str, ...]:
    """One text per message that has any; joined they are the conversation. Thinking is not part of it."""
    tools = {call_id: call.tool for call_id, call in calls_by_id(messages).items()}
    texts = ("".join(_paragraphs(message, tools)) for message in messages)
    return tuple(text for text in texts if text)


def _paragraphs(message: Message, tools: dict[str, str | None]) -> Iterator[str]:
    last = ""
    for block in message.blocks:
        text = block.text if block.is_readable else _LEFT_OUT.get(block.kind, block.text)
        if block.kind is BlockKind.THINKING or not text.strip():
            continue
        heading = _heading(message, block, tools)
        yield f"{text}\n\n" if heading == last else f"{heading}\n{text}\n\n"
        last = heading


def _heading(message: Message, block: Block, tools: dict[str, str | None]) -> str:
    if block.kind is BlockKind.TOOL_CALL:
        return f"[{message.role} calls {block.tool or 'a tool'}]"
    if block.answers:
        tool = block.tool or tools.get(block.answers) or "a tool"
        return f"[{'error' if block.is_error else 'result'} of {tool}]"
    return f"[{message.role}]"
