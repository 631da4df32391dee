"""What Claude Code sends otherwise than it stands in the file, because the client itself cut it later.

When a session went on after a long pause, attachments note which old results are sent as a short text from then on
(`tool_results_cut`), and from which reply up to here no thinking is sent (`thinking_stripped`). The records stay whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...core.transcript import Block, Place
from ...core.values import BlockKind
from .turns import TurnLine

Notes = Mapping[int, Mapping[str, Any]]
"""Such attachments by their records."""


def as_cut(lines: Sequence[TurnLine], notes: Notes) -> list[TurnLine]:
    """The lines of a conversation without what its notes say was cut."""
    stripped = _stripped(lines, notes)
    cut = dict(stand_ins(notes[line.node.record] for line in lines if line.node.record in notes))
    return [
        replace(line, blocks=tuple(shortened(_without_thinking(line.blocks) if n in stripped else line.blocks, cut)))
        for n, line in enumerate(lines)
    ]


def _stripped(lines: Sequence[TurnLine], notes: Notes) -> set[int]:
    """Positions of the lines whose thinking is no longer sent."""
    found: set[int] = set()
    for position, line in enumerate(lines):
        note = notes.get(line.node.record, {})
        if note.get("type") == "thinking_stripped":
            since = note.get("from")
            first = _position(lines[:position], since) if note.get("scope") != "all" and isinstance(since, dict) else 0
            found.update(range(first, position))
    return found


def _position(lines: Sequence[TurnLine], since: Mapping[str, Any]) -> int:
    """The line with that piece of thinking of a reply; the first of all, where there is none."""
    skipped = since.get("thinkingIndex")
    skipped = skipped if isinstance(skipped, int) else 0
    for position, line in enumerate(lines):
        if line.node.reply_id == since.get("messageId"):
            skipped -= sum(block.kind is BlockKind.THINKING for block in line.blocks)
            if skipped < 0:
                return position
    return 0


def _without_thinking(blocks: Iterable[Block]) -> tuple[Block, ...]:
    return tuple(block for block in blocks if block.kind is not BlockKind.THINKING)


def stand_ins(notes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Ids of calls, and what is sent instead of their results."""
    for note in notes:
        calls, text = (note.get("callIds"), note.get("standIn")) if isinstance(note, Mapping) else (None, None)
        if isinstance(calls, list) and isinstance(text, str):
            yield from ((call, text) for call in calls if isinstance(call, str))


def shortened(blocks: Iterable[Block], cut: Mapping[str, str]) -> Iterator[Block]:
    """Blocks with one short text in place of each result that was cut. Errors stay, and so does what is no longer."""
    whole: dict[object, list[Block]] = {}
    for block in blocks:
        whole.setdefault(block.owner if block.answers in cut else id(block), []).append(block)
    for parts in whole.values():
        first = parts[0]
        text = cut.get(first.answers or "")
        if text is None or first.is_error or not _is_longer(parts, text):
            yield from parts
            continue
        place = Place(first.place.record, (*first.owner, "content"))
        # No pass can change what is sent in its place.
        yield Block(
            BlockKind.OPAQUE,
            place,
            first.owner,
            content=text,
            tool=first.tool,
            call_id=first.call_id,
            injected=True,
            is_readable=True,
        )


def is_stand_in(block: Block) -> bool:
    """Whether it is sent in place of a result that was cut."""
    return block.kind is BlockKind.OPAQUE and bool(block.answers) and block.place.path == (*block.owner, "content")


def _is_longer(parts: Sequence[Block], text: str) -> bool:
    kinds = {part.kind for part in parts}
    if not kinds <= {BlockKind.TOOL_RESULT, BlockKind.IMAGE}:
        return False
    return BlockKind.IMAGE in kinds or sum(len(part.text) for part in parts) > len(text)
