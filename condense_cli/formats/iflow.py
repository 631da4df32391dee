"""Sessions of iFlow CLI: only read, as nobody can tell any more how the client takes up a changed one.

{"uuid", "parentUuid", "sessionId": "session-UUID", "type": "user" | "assistant", "message": message, "isMeta"?}
    The keys are Claude Code's, and messages are Anthropic's but for results, which are Gemini's:
    {"type": "tool_result", "tool_use_id", "content": {"responseParts": {"functionResponse": {"response": {"output"}}}}}

The records form no tree: each piece of an answer hangs on the record before the answer, and repeats calls of the piece
before. The conversation is all of them in order. (~/.iflow/projects/*/session-*.jsonl)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core.json_text import value_in
from ..core.transcript import Block, JsonPath, Transcript
from ..core.values import BlockKind, Family, Role
from .anthropic import ROLES, BlockReader, merged
from .engine.base import Evidence, Format, Habit, recorded
from .engine.blocks import of_call, text_block
from .engine.container import Document, as_lazy

_RESPONSES: Final[tuple[JsonPath, ...]] = (("responseParts", "functionResponse"), ("functionResponse",))
_SAID: Final = ("output", "error")


def evidence(value: Any) -> Evidence:
    is_record = isinstance(value, dict) and "parentUuid" in value and isinstance(value.get("message"), dict)
    is_own = is_record and str(value.get("sessionId")).startswith("session-") and str(value.get("type")) in ROLES
    return Evidence.YES if is_own else Evidence.NO


class _Reader(BlockReader):
    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str | None] = set()

    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        if isinstance(part, dict) and part.get("type") == "tool_result" and isinstance(part.get("content"), dict):
            found = _response(part["content"], (*owner, "content"))
            if found is not None:
                path, text = found
                common = of_call(part.get("tool_use_id"), self._tools, is_error=path[-1] == "error")
                yield text_block(text, record, path, owner, kind=BlockKind.TOOL_RESULT, **common)
                return
        for block in super().part(part, record, owner, is_user):
            if block.kind is not BlockKind.TOOL_CALL:
                yield block
            elif block.call_id not in self._seen:
                self._seen.add(block.call_id)
                yield block


def _response(content: dict[str, Any], path: JsonPath) -> tuple[JsonPath, str] | None:
    """Return the text in the content of a result, with its path."""
    for keys in _RESPONSES:
        for key in _SAID:
            text = value_in(content, *keys, "response", key)
            if isinstance(text, str):
                return (*path, *keys, "response", key), text
    return None


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = _Reader()
    turns: list[tuple[Role, list[Block]]] = []
    usages: list[tuple[int, dict[str, Any]]] = []
    model = None
    before: tuple[Any, list[str]] = (None, [])
    for record, value in enumerate(values):
        if evidence(value) is Evidence.NO or value.get("isSidechain") is True:
            continue
        role, message = ROLES[value["type"]], value["message"]
        is_summary = value.get("isCompactSummary") is True
        if is_summary:  # The client sends it in place of all that was before.
            turns, usages = [], []
        by_client = is_summary or value.get("isMeta") is True
        blocks = list(reader.content(message.get("content"), record, ("message", "content"), is_user=role is Role.USER))
        texts = [block.text for block in blocks if block.kind is BlockKind.TEXT]
        if role is Role.ASSISTANT and before[0] == value["parentUuid"]:
            blocks = [block for block in blocks if block.kind is not BlockKind.TEXT or block.text not in before[1]]
            texts += before[1]
        before = value["parentUuid"], texts
        if by_client:
            blocks = [replace(block, injected=True, summarizes=is_summary) for block in blocks]
        if blocks:
            turns.append((role, as_lazy(blocks, document.source)))
        if role is Role.ASSISTANT:
            model = message["model"] if isinstance(message.get("model"), str) else model
            if isinstance(message.get("usage"), dict):
                usages.append((record, message["usage"]))
    messages = merged(turns)
    at = {block.place.record: message.index for message in messages for block in message.blocks}
    return Transcript(
        "iflow",
        Family.ANTHROPIC,
        messages,
        document.source,
        model=model,
        usages=tuple(
            each
            for record, usage in usages
            if record in at
            for each in recorded(at[record], [usage.get("input_tokens")], usage.get("output_tokens"), model=model)
        ),
    )


FORMAT: Final = Format(
    "iflow",
    Family.ANTHROPIC,
    "iFlow CLI session (~/.iflow/projects/*/session-*.jsonl), read-only",
    evidence,
    _read,
    habits=Habit.ANSWERS_CALLS,
    is_writable=False,
)
