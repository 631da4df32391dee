"""Histories of Roo Code and Cline (`api_conversation_history.json`): Anthropic messages with tools in the text.

Most of them write a call as XML inside the assistant's text and its result as user text,
`[tool for 'argument'] Result:` and the body in the same or the next text block; order alone links them. What begins so
where the answer before it names no such tool in a tag is a text of the user.
Calls and bodies become tool blocks, so that passes see them; native tool blocks are read as they are.
Messages that a summary or a truncation marker of the client hides are not part of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core.markers import gaps_in
from ...core.transcript import TEXT_CALL, Block, Transcript
from ...core.values import STANDING_ROLES, BlockKind, Family, Role
from ...toolcalls import text_calls
from .. import anthropic
from ..anthropic import BlockReader
from ..engine.base import Evidence, Format, message_role
from ..engine.container import Document, as_lazy
from . import condense

_HEADER: Final = re.compile(r"\s*\[(?P<tool>[a-z][a-z0-9_]*)(?: for .{0,2000}?)?\] Result:\n*", re.DOTALL)
_TAG: Final = re.compile(r"<([a-z][a-z0-9_]*+)>")
_NOT_A_BODY: Final = re.compile(
    r"\s*(?:<environment_details>|<user_message>|<feedback>|New instructions for task continuation)\n*"
)
_HIDDEN_BY: Final = (("condenseParent", "condenseId"), ("truncationParent", "truncationId"))


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or anthropic.evidence(value) is Evidence.NO:
        return Evidence.NO
    is_own = isinstance(value.get("ts"), int) and value["role"] not in STANDING_ROLES
    return Evidence.YES if is_own else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(enumerate(values))
    messages_seen = [value for _, value in records if isinstance(value, dict)]
    present = {(key, str(value[key])) for value in messages_seen for _, key in _HIDDEN_BY if key in value}
    reader = BlockReader()
    linker = _Linker()
    turns: list[tuple[Role, list[Block]]] = []
    for record, value in records:
        role = message_role(record, value, anthropic.ROLES)
        if any((key, str(value.get(parent))) in present for parent, key in _HIDDEN_BY):
            continue
        content = list(reader.content(value.get("content"), record, ("content",), is_user=role is Role.USER))
        if value.get("isSummary") is True:
            content = [replace(block, summarizes=block.kind is BlockKind.TEXT) for block in content]
        # What looks like a call or a result in a summary is quoted.
        is_summary = any(block.looks_like_summary for block in content)
        linked = content if is_summary else linker.link(role, content)
        turns.append((role, list(as_lazy(linked, document.source))))
    return anthropic.transcript_of(turns, document, "roo")


class _Linker:
    """Finds calls and results in text and pairs them: a result answers the first open call of its tool."""

    def __init__(self) -> None:
        self._open: list[Block] = []
        self._answer: list[Block] = []
        """Texts of the answer before. A call in it that was cut off, or that is no work, is named there alone."""
        self._named: set[str] = set()
        self._is_cut = False
        self._number = 0

    def link(self, role: Role, blocks: list[Block]) -> Iterator[Block]:
        if role is Role.ASSISTANT:
            self._open = []
            self._answer, self._named = [block for block in blocks if block.kind is BlockKind.TEXT], set()
            self._is_cut = False
            for block in blocks:
                yield from self._calls(block) if block.kind is BlockKind.TEXT else [block]
            return
        waiting: tuple[str, str | None] | None = None
        for block in blocks:
            if block.kind is not BlockKind.TEXT:
                yield block
                continue
            header = _HEADER.match(block.text)
            if header and self._is_named(header["tool"]):
                waiting = (header["tool"], self._answered(header["tool"]))
                # The header is what links a body to its call: no pass may rewrite it.
                first, *body = _divided(block, header.end())
                yield replace(first, injected=True)
                yield from (_result(part, *waiting) for part in body)
                waiting = None if body else waiting
            elif not waiting:
                yield block
            elif other := _NOT_A_BODY.match(block.text):
                # Without its beginning it would read as the body that is missing.
                yield from _divided(block, other.end())
            else:
                yield _result(block, *waiting)
                waiting = None

    def _calls(self, block: Block) -> Iterator[Block]:
        position = 0
        for tool, start, end in text_calls.find_calls(block.text):
            if block.text[position:start]:
                yield block.part(position, start)
            self._number += 1
            call = replace(
                block.part(start, end), kind=BlockKind.TOOL_CALL, tool=tool, call_id=f"{TEXT_CALL}{self._number}"
            )
            self._open.append(call)
            yield call
            position = end
        if position == 0:
            yield block
        elif block.text[position:]:
            yield block.part(position, len(block.text))

    def _is_named(self, tool: str) -> bool:
        """Whether a tag of the answer before names a tool, or may have before a run of ours cut that answer."""
        while self._answer:
            text = self._answer.pop().text
            self._named.update(_TAG.findall(text))
            self._is_cut = self._is_cut or bool(gaps_in(text))
        return self._is_cut or tool in self._named

    def _answered(self, tool: str) -> str | None:
        for position, call in enumerate(self._open):
            if call.tool == tool:
                return self._open.pop(position).call_id
        return None


def _divided(block: Block, end: int) -> Iterator[Block]:
    """The beginning of a text, which stays as it is, and what is behind it."""
    if end == len(block.text):
        yield replace(block, kind=BlockKind.OPAQUE)
        return
    yield replace(block.part(0, end), kind=BlockKind.OPAQUE)
    yield block.part(end, len(block.text))


def _result(block: Block, tool: str, call_id: str | None) -> Block:
    return replace(block, kind=BlockKind.TOOL_RESULT, tool=tool, call_id=call_id, injected=False)


FORMAT = Format(
    "roo",
    Family.ANTHROPIC,
    "Roo Code and Cline histories (api_conversation_history.json)",
    evidence,
    read,
    compaction=condense.write,
)
