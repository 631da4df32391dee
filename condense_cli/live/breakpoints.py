"""Cache marks at the ends of the frozen part, for an API that caches at marks alone.

Anthropic takes up to four in a request, those of system prompt and tools included. One at the end of the frozen part
lets later requests find it, however many blocks follow; at a decision one at the old end lets this request find what
is cached, and goes first. https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Raw

from .requests import CACHE_MARK, decoded, is_thinking, marked_parts

MOST: Final = 4
BESIDE: Final = 2
"""Marks that system prompt and tools are taken to hold where they are not known."""

_EPHEMERAL: Final = {"type": "ephemeral"}


def with_breakpoints(messages: list[Any], ends: Sequence[int], beside: int) -> list[Any]:
    """The messages with a mark at the end of each stretch messages[:end], the last being the frozen part.

    `beside` is how many marks system prompt and tools hold. The client's newest always stays: that is where the next
    request goes on from. Then come ours, the first end before the others: what is cached so far is found there, and a
    new end can be marked with the next request. What room is left is for the client's older marks.
    """
    room = MOST - beside
    if not ends or room <= 0:
        return messages
    marked = [position for position in range(ends[-1], len(messages)) for _ in marked_parts(messages[position])]
    ours = ends[: room - bool(marked)]
    free = room - len(ours)
    kept = marked[-free:] if free else []
    new = list(messages)
    for position in set(marked):
        too_many = marked.count(position) - kept.count(position)
        if too_many:
            new[position] = _without_first(new[position], too_many)
    # Marks that live longer may not follow shorter ones, so ours lives as long as those of the client that follow.
    follows = (part[CACHE_MARK] for position in marked for part in marked_parts(messages[position]))
    mark = next(follows, _EPHEMERAL)
    for end in ours:
        new[end - 1] = _marked(new[end - 1], mark)
    return new


def marks_in(value: Any) -> int:
    """How many cache marks a system prompt or a list of tools holds."""
    parts = value if isinstance(value, list) else [value]
    return sum(isinstance(part, dict) and CACHE_MARK in part for part in parts)


def last_marked(messages: Sequence[Any]) -> int | None:
    """The position of the last message with a mark, if any: what follows it may be gone in the next request."""
    return next((at for at in reversed(range(len(messages))) if any(marked_parts(messages[at]))), None)


def _without_first(message: Any, number: int) -> Any:
    changed = copy.deepcopy(message)
    for part in [*marked_parts(changed)][:number]:
        del part[CACHE_MARK]
    return changed


def with_blocks(message: Any) -> Any:
    """The message with its text as a block, which alone can hold a mark: it comes and goes, and the bytes stay."""
    if isinstance(message, dict) and message.get("content") and isinstance(message["content"], str):
        return {**message, "content": [{"type": "text", "text": message["content"]}]}
    return message


def _marked(message: Any, mark: dict[str, Any]) -> Any:
    """The message with a mark on the last of its blocks that may have one; no other has any."""
    changed = decoded(bytes(message)) if isinstance(message, Raw) else copy.deepcopy(message)
    last = next(_markable(changed), None)
    if last is None:
        return message
    last[CACHE_MARK] = copy.deepcopy(mark)
    return changed


def _markable(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The blocks that may have a mark, the last one first: none that is thinking or an empty text."""
    content = message.get("content")
    for part in [*content][::-1] if isinstance(content, list) else []:
        if isinstance(part, dict) and not is_thinking(part) and (part.get("type") != "text" or part.get("text")):
            yield part
