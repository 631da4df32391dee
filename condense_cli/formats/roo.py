"""Histories of Roo Code and Cline: Anthropic messages with tools in the text, and sessions of the Cline SDK.

A call may be XML inside the assistant's text, and its result user text: `[tool for 'argument'] Result:` and the body in
the same or the next text block. Only the order links them. Calls and bodies become tool blocks, so that passes see
them; native tool blocks are read as they are. If the answer before it names no such tool in a tag, what begins like a
result is a text of the user.

The client keeps what it summarized: each of these messages names in `condenseParent` the `condenseId` of the summary,
and is sent again if the summary goes. Messages that a summary or a truncation marker hides are not part of the
conversation.

Cline SDK: {"sessionId", "system_prompt"?, "messages": [{"id", "role", "content": [block, ...], "ts": int}, ...]}

A tool of the SDK gives one entry for each thing that it was asked, {"query", "result", "success"}; the content of a
result is a list of them, or one as JSON in a string. The text of each entry is a block. A block of type `file` is a
file that the user attached.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.markers import gaps_in
from ..core.transcript import IN_STRING, TEXT_CALL, Block, JsonPath, Message, Transcript
from ..core.values import STANDING_ROLES, BlockKind, Container, Family, Role
from ..toolcalls import text_calls
from . import anthropic
from .anthropic import BlockReader
from .engine.base import Evidence, Format, Rewrite, derived_uuid, message_role
from .engine.blocks import attachment_block, text_block
from .engine.container import Document, as_lazy
from .engine.writing import join, new_record

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


def _read(document: Document, values: Iterator[Any]) -> Transcript:
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
        turns.append((role, as_lazy(linked, document.source)))
    return anthropic.transcript_of(turns, document, "roo")


class _Linker:
    """Find calls and results in text and pair them: a result answers the first open call of its tool."""

    def __init__(self) -> None:
        self._open: list[Block] = []
        self._answer: list[Block] = []
        """Texts of the answer before. A call in it that was cut off, or that is no work, is named only there."""
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
            call_id = f"{TEXT_CALL}{self._number}"
            call = replace(block.part(start, end), kind=BlockKind.TOOL_CALL, tool=tool, call_id=call_id)
            self._open.append(call)
            yield call
            position = end
        if position == 0:
            yield block
        elif block.text[position:]:
            yield block.part(position, len(block.text))

    def _is_named(self, tool: str) -> bool:
        """Return whether a tag of the answer before names a tool, or may have before a run of ours cut that answer."""
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
    """Yield the beginning of a text, which stays as it is, and the rest."""
    if end == len(block.text):
        yield replace(block, kind=BlockKind.OPAQUE)
        return
    yield replace(block.part(0, end), kind=BlockKind.OPAQUE)
    yield block.part(end, len(block.text))


def _result(block: Block, tool: str, call_id: str | None) -> Block:
    return replace(block, kind=BlockKind.TOOL_RESULT, tool=tool, call_id=call_id, injected=False)


def _write(rewrite: Rewrite) -> bytes:
    """Hide the records that a summary replaces, and write it behind them."""
    source = rewrite.transcript.source
    summaries: list[list[Message]] = []
    for message in rewrite.transcript.messages:
        if message.is_inserted and (not any(block.leads_on for block in message.blocks) or not summaries):
            summaries.append([message])
        elif message.is_inserted:
            summaries[-1].append(message)  # The line behind the summary.
    ids = [derived_uuid(*(message.blocks[0].text for message in new)) for new in summaries]
    firsts = [new[0].blocks[0].place.record for new in summaries]
    hidden = {block.place.record for new in summaries for message in new for block in message.blocks} | rewrite.gone
    replaced = {record: rewrite.record(record) for record, edits in rewrite.edits.items() if edits}
    for record in hidden:
        text = json_text.decode(source.raw(record))
        literal = json.dumps(ids[max(0, bisect(firsts, record) - 1)])
        if "condenseParent" in json_text.parse_text(text):
            replaced[record] = json_text.splice(text, {("condenseParent",): literal})
        else:
            replaced[record] = json_text.with_member(text, "condenseParent", literal)
    for new, place, condense_id in zip(summaries, firsts, ids, strict=True):
        while place + 1 in hidden:
            place += 1
        between = "\n" if source.container is Container.LINES else ","
        if place and source.container is not Container.LINES:
            between = json_text.decode(source.data[source.spans[place - 1][1] : source.spans[place][0]])
        replaced[place] = between.join([replaced[place], *_records(rewrite, new, place, condense_id)])
    return join(source, replaced, lambda record: json_text.encode(replaced[record]), frozenset())


def _records(rewrite: Rewrite, new: list[Message], place: int, condense_id: str) -> Iterator[str]:
    """Yield the summary and, if roles have to alternate, the line behind it, at the time of the last hidden record."""
    last = json_text.parse(rewrite.transcript.source.raw(place))
    for number, message in enumerate(new):
        block = message.blocks[0]
        members = {
            "role": json.dumps(message.role.value),
            "content": rewrite.style.literal(block.text),
            "ts": json.dumps(last.get("ts", 0)),
        }
        if number == 0:
            members |= {"isSummary": "true", "condenseId": json.dumps(condense_id)}
        yield new_record(rewrite.transcript.source, block.place, members)


FORMAT: Final = Format(
    "roo",
    Family.ANTHROPIC,
    "Roo Code and Cline histories (api_conversation_history.json)",
    evidence,
    _read,
    compaction=_write,
)


def _cline_evidence(value: Any) -> Evidence:
    return evidence(value) if isinstance(value, dict) and isinstance(value.get("id"), str) else Evidence.NO


class _ClineReader(BlockReader):
    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        if isinstance(part, dict) and part.get("type") == "file" and isinstance(part.get("content"), str):
            yield text_block(part["content"], record, (*owner, "content"), owner, injected=True)
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
            failed = part.get("is_error") is True or (isinstance(entry, dict) and entry.get("success") is False)
            common["is_error"] = failed
            for key, text in _texts(entry):
                yield text_block(text, record, (*inner, key), owner, kind=BlockKind.TOOL_RESULT, **common)
            if not _texts(entry):
                yield attachment_block(entry, record, owner, place=inner, **common)


def _in_string(content: Any) -> Any:
    if not isinstance(content, str) or not content.startswith("{"):
        return None
    try:
        return json_text.parse_text(content)
    except (ValueError, RecursionError):
        return None


def _texts(entry: Any) -> list[tuple[str, str]]:
    """Return keys and texts of an entry, or of a text part as other clients write them."""
    if not isinstance(entry, dict):
        return []
    keys = ("text",) if entry.get("type") == "text" else ("result", "error") if "query" in entry else ()
    return [(key, entry[key]) for key in keys if isinstance(entry.get(key), str)]


def _new_cline_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    return {
        "id": json.dumps(old["id"]),
        "role": json.dumps(role.value),
        "content": f'[{{"type": "text", "text": {literal}}}]',
        "ts": json.dumps(old.get("ts", 0)),
    }


CLINE: Final = Format(
    "cline",
    Family.ANTHROPIC,
    "Cline SDK sessions (*.messages.json)",
    _cline_evidence,
    lambda document, values: anthropic.read_with(_ClineReader(), document, values, "cline"),
    new_message=_new_cline_message,
)
