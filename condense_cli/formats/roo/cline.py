"""Sessions of the Cline SDK (`*.messages.json`): an object with messages in Anthropic's form.

    {"sessionId", "system_prompt"?, "messages": [{"id", "role", "content": [block, ...], "ts": int}, ...]}

A tool gives one entry for each thing that it was asked, {"query", "result", "success"}; the content of a result is a
list of them, or one as JSON in a string. What each entry says is a text of its own. A block of type `file` is a
file that the user attached.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...core import json_text
from ...core.transcript import IN_STRING, Block, JsonPath, Place, Transcript
from ...core.values import BlockKind, Family, Role
from .. import anthropic
from ..anthropic import BlockReader, attachment_block
from ..engine.base import Evidence, Format
from ..engine.container import Document
from . import format


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return Evidence.NO
    return format.evidence(value)


def read(document: Document, values: Iterator[Any]) -> Transcript:
    return anthropic.read_with(_BlockReader(), document, values, "cline")


class _BlockReader(BlockReader):
    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        if isinstance(part, dict) and part.get("type") == "file" and isinstance(part.get("content"), str):
            place = Place(record, (*owner, "content"))
            yield Block(BlockKind.TEXT, place, owner, content=part["content"], injected=True)
        else:
            yield from super().part(part, record, owner, is_user)

    def _result(self, part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
        content, path = part.get("content"), (*owner, "content")
        entries = content if isinstance(content, list) else [_in_string(content)]
        if not any(_texts(entry) for entry in entries):
            yield from super()._result(part, record, owner)
            return
        common: dict[str, Any] = {
            "call_id": part["tool_use_id"],
            "tool": self._tools.get(part["tool_use_id"]) or part.get("name"),
        }
        for index, entry in enumerate(entries):
            inner = (*path, index) if isinstance(content, list) else (*path, IN_STRING)
            is_error = part.get("is_error") is True or (isinstance(entry, dict) and entry.get("success") is False)
            for key, text in _texts(entry):
                place = Place(record, (*inner, key))
                yield Block(BlockKind.TOOL_RESULT, place, owner, content=text, is_error=is_error, **common)
            if not _texts(entry):
                yield attachment_block(entry, record, owner, place=inner, is_error=is_error, **common)


def _in_string(content: Any) -> Any:
    if not isinstance(content, str) or not content.startswith("{"):
        return None
    try:
        return json_text.parse_text(content)
    except (ValueError, RecursionError):
        return None


def _texts(entry: Any) -> list[tuple[str, str]]:
    """The keys and texts of what an entry says; of a text part as other clients write them too."""
    if not isinstance(entry, dict):
        return []
    keys = ("text",) if entry.get("type") == "text" else ("result", "error") if "query" in entry else ()
    return [(key, entry[key]) for key in keys if isinstance(entry.get(key), str)]


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    return {
        "id": json.dumps(old["id"]),
        "role": json.dumps(role.value),
        "content": f'[{{"type": "text", "text": {literal}}}]',
        "ts": json.dumps(old.get("ts", 0)),
    }


FORMAT = Format(
    "cline",
    Family.ANTHROPIC,
    "Cline SDK sessions (*.messages.json)",
    evidence,
    read,
    new_message=new_message,
)
