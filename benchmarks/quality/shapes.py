"""Convert the first part of a conversation into a peer's input, and its output back.

A session file holds the original lines up to the cut. A list of messages holds texts, calls and results in the form of
the Messages API; thinking and images are not shown to the peer and stay unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from condense_cli.core.json_text import dump_compact
from condense_cli.core.transcript import Block, Message, Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats import parse
from condense_cli.quality.recall import texts_in
from condense_cli.toolcalls.tools import arguments_of


class ShapeError(Exception):
    """The conversation cannot be converted, or the peer's output has another shape."""


def session_file(before: Transcript) -> bytes:
    """Return the lines of a session file up to the cut. Raises ShapeError if a client would read them differently."""
    used = {block.place.record for message in before.messages for block in message.blocks}
    source = before.source
    for records in (range(max(used) + 1), sorted(used)):
        data = b"".join(source.raw(record).strip() + b"\n" for record in records)
        read = parse(data, format=before.format).messages
        if list(texts_in(read)) == list(texts_in(before.messages)):
            return data
    raise ShapeError("the part before the cut does not read the same when it is a file")


def messages_of(data: bytes, format: str) -> tuple[Message, ...]:
    """Read the conversation in a session file that a peer wrote."""
    return parse(data, format=format).messages


@dataclass(frozen=True)
class Shown:
    """A list of messages, and the origin of each block: position of the message, numbers of its blocks."""

    messages: list[dict[str, Any]]
    places: list[list[tuple[int, list[int]]]]


def message_list(before: Sequence[Message]) -> Shown:
    """Convert to the Messages API's form. Raises ShapeError if a call has no arguments to show."""
    shown: list[dict[str, Any]] = []
    places: list[list[tuple[int, list[int]]]] = []
    for position, message in enumerate(before):
        content: list[dict[str, Any]] = []
        origins: list[tuple[int, list[int]]] = []
        results: dict[str, int] = {}
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TEXT:
                content.append({"type": "text", "text": block.text})
            elif block.kind is BlockKind.TOOL_CALL:
                arguments = arguments_of(block)
                if arguments is None or block.span is not None:
                    raise ShapeError("its calls have no arguments that could be shown")
                content.append({"type": "tool_use", "id": block.call_id, "name": block.tool, "input": arguments})
            elif block.kind is BlockKind.TOOL_RESULT and block.call_id:
                if block.call_id in results:
                    content[results[block.call_id]]["content"] += "\n" + block.text
                    origins[results[block.call_id]][1].append(number)
                    continue
                results[block.call_id] = len(content)
                content.append(_result(block))
            else:
                continue
            origins.append((position, [number]))
        if content:
            role = {Role.ASSISTANT: "assistant", Role.SYSTEM: "system", Role.DEVELOPER: "system"}.get(
                message.role, "user"
            )
            shown.append({"role": role, "content": content})
            places.append(origins)
    return Shown(shown, places)


def _result(block: Block) -> dict[str, Any]:
    found = {"type": "tool_result", "tool_use_id": block.call_id, "content": block.text}
    return {**found, "is_error": True} if block.is_error else found


def messages_from(before: Sequence[Message], shown: Shown, given: list[dict[str, Any]]) -> list[Message]:
    """Apply a peer's changes. Raises ShapeError if messages or blocks were added or removed."""
    blocks = [list(message.blocks) for message in before]
    gone: set[tuple[int, int]] = set()
    if len(given) != len(shown.messages):
        raise ShapeError(f"{len(shown.messages)} messages became {len(given)}")
    for message, origins in zip(given, shown.places, strict=True):
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if len(content) != len(origins):
            raise ShapeError(f"{len(origins)} blocks of a message became {len(content)}")
        for block, (position, (first, *others)) in zip(content, origins, strict=True):
            old = blocks[position][first]
            new = _text(block, old)
            whole = "\n".join(blocks[position][number].text for number in (first, *others))
            if new != (old.text if old.kind is BlockKind.TOOL_CALL else whole):
                blocks[position][first] = old.with_text(new)
                gone |= {(position, number) for number in others}
    return [
        replace(
            message,
            blocks=tuple(block for number, block in enumerate(blocks[position]) if (position, number) not in gone),
        )
        for position, message in enumerate(before)
    ]


def _text(block: dict[str, Any], old: Block) -> str:
    """Return the text of a block, in the old form if it says the same."""
    if block["type"] == "tool_use":
        return old.text if block["input"] == arguments_of(old) else dump_compact(block["input"])
    if block["type"] == "text":
        return str(block["text"])
    content = block["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)
