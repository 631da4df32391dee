"""Build turns: messages put together from parts, and contents of Google's API.

{"text", "thought"?} · {"functionCall": {"id"?, "name", "args"}} · {"functionResponse": {"id"?, "name", "response"}}

A call without an id is answered by the next response of its name. https://ai.google.dev/api/caching#Part
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from ...core import json_text
from ...core.transcript import TEXT_CALL, Block, JsonPath, Message, Place
from ...core.values import BlockKind, Role
from ..anthropic import attachment_block
from . import client_text
from .base import unknown_block
from .client_text import is_injected


class Turn(Struct, frozen=True):
    """One part of a message. `answer` names the answer of the model that it belongs to.

    A summary stands `before` the record of the first part that it took the place of.
    """

    role: Role
    blocks: list[Block]
    answer: str | None = None
    before: int | None = None

    @property
    def starts(self) -> int:
        return self.blocks[0].place.record

    def goes_on_with(self, other: Turn) -> bool:
        """Whether the model wrote both at once, or both are results."""
        if self.role is Role.TOOL:
            return other.role is Role.TOOL
        return self.role is other.role and self.answer is not None and self.answer == other.answer


def joined(parts: Iterable[Turn]) -> tuple[Message, ...]:
    """The messages that the parts are, each part with its blocks."""
    turns: list[Turn] = []
    for part in parts:
        if part.before is not None:
            position = next((n for n, turn in enumerate(turns) if turn.starts >= part.before), len(turns))
            turns.insert(position, part)
        elif turns and turns[-1].goes_on_with(part):
            turns[-1].blocks.extend(part.blocks)
        else:
            turns.append(part)
    return tuple(Message(index, turn.role, tuple(turn.blocks)) for index, turn in enumerate(turns))


_SAID: Final = ("output", "error", "result", "content", "text")
"""Where in a response its text may stand."""
_OF_CALLS: Final = frozenset({"args", "id", "name", "partialArgs", "partial_args", "willContinue", "will_continue"})
_OF_RESULTS: Final = frozenset({
    "id", "name", "parts", "response", "scheduling", "willContinue", "will_continue",
})  # fmt: skip
"""All keys that calls and results may have: which of the others a text is under, nobody knows."""
WHOLE: Final = frozenset({
    "codeExecutionResult", "code_execution_result", "executableCode", "executable_code", "fileData", "file_data",
    "thoughtSignature", "thought_signature", "toolCall", "toolResponse", "tool_call", "tool_response",
})  # fmt: skip
"""Keys of further parts that are known, and that no operation rewrites."""


class PartsReader:
    """Reads contents in order, and remembers calls until they are answered."""

    def __init__(self) -> None:
        self._calls = 0
        self._unnamed: dict[str, deque[str]] = defaultdict(deque)
        """Ids that were made up for calls, by the name of the tool."""
        self._tools: dict[str, str] = {}

    def turns(self, content: Any, record: int, path: JsonPath, *, is_model: bool) -> list[tuple[Role, list[Block]]]:
        """What a content is to the model: its results are a turn of their own, before what else it says."""
        parts = content.get("parts") if isinstance(content, dict) else None
        said: list[Block] = []
        results: list[Block] = []
        for number, part in enumerate(parts if isinstance(parts, list) else ()):
            owner = (*path, "parts", number)
            for key in ("functionResponse", "function_response"):
                if isinstance(part, dict) and isinstance(part.get(key), dict) and part[key].keys() <= _OF_RESULTS:
                    results.append(self._result(part[key], record, owner, key))
                    break
            else:
                said.append(self._part(part, record, owner, is_user=not is_model))
        role = Role.ASSISTANT if is_model else Role.USER
        return [(role, blocks) for role, blocks in ((Role.TOOL, results), (role, said)) if blocks]

    def _part(self, part: Any, record: int, owner: JsonPath, *, is_user: bool) -> Block:
        if not isinstance(part, dict):
            return unknown_block(part, record, owner)
        text = part.get("text")
        for key in ("functionCall", "function_call"):
            if isinstance(part.get(key), dict) and part[key].keys() <= _OF_CALLS:
                return self._call(part[key], record, owner, key)
        if isinstance(text, str):
            kind = BlockKind.THINKING if part.get("thought") else BlockKind.TEXT
            injected = is_user and is_injected(text)
            return Block(kind, Place(record, (*owner, "text")), owner, content=text, injected=injected)
        for key, kind_key in (("inlineData", "mimeType"), ("inline_data", "mime_type")):
            inline = part.get(key)
            if isinstance(inline, dict):
                is_image = str(inline.get(kind_key)).startswith("image/")
                if is_image:
                    image = {"type": "image", "source": {"data": inline.get("data")}}
                    return attachment_block(image, record, owner)
                estimate = client_text.document(inline.get("data"))
                return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=estimate)
        if not WHOLE.isdisjoint(part):
            return Block(BlockKind.OPAQUE, Place(record, owner), owner, content=json_text.dump_compact(part))
        return unknown_block(part, record, owner)

    def _call(self, call: dict[str, Any], record: int, owner: JsonPath, key: str) -> Block:
        tool = str(call.get("name") or "")
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id:
            self._calls += 1
            call_id = f"{TEXT_CALL}{self._calls}"
            self._unnamed[tool].append(call_id)
        self._tools[call_id] = tool
        place = Place(record, (*owner, key, "args"))
        text = json_text.dump_compact(call.get("args") or {})
        return Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call_id, is_object=True)

    def _result(self, answer: dict[str, Any], record: int, owner: JsonPath, key: str) -> Block:
        tool, call_id = str(answer.get("name") or ""), answer.get("id")
        if not isinstance(call_id, str) or not call_id:
            waiting = self._unnamed[tool]
            call_id = waiting.popleft() if waiting else f"{TEXT_CALL}of-nothing-{record}"
        common: dict[str, Any] = {"call_id": call_id, "tool": self._tools.get(call_id) or tool}
        path, response = (*owner, key, "response"), answer.get("response")
        inside = response if isinstance(response, dict) else {}
        for name in _SAID:
            text = inside.get(name)
            if isinstance(text, str):
                place, is_error = Place(record, (*path, name)), name == "error"
                return Block(BlockKind.TOOL_RESULT, place, owner, content=text, is_error=is_error, **common)
        content = "" if response in (None, {}) else json_text.dump_compact(response)
        return Block(BlockKind.OPAQUE, Place(record, path), owner, content=content, **common)
