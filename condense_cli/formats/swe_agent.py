"""Trajectories of SWE-agent (`.traj`) and mini-SWE-agent (`.traj.json`).

With native tools the messages are those of chat completions, but a result names its call in a list. Otherwise the
assistant's text holds one action, and the next message of the user is what came of it; both become tool blocks.

SWE-agent repeats much of the text in `trajectory`, step by step, and under the keys `thought` and `action` of a
message. A replay runs the assistant's messages of `history`; viewers draw `trajectory`, so its steps keep their number
and order, and lose what the history lost. Demonstrations are the client's own words.

The one tool of mini-SWE-agent is a shell; without native tools the command is between fences. The key `extra` of a
message repeats it as the provider sent it and as the command printed it. A message with the role `exit` tells how the
run ended and is never sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import text_in, value_in
from ..core.transcript import TEXT_CALL, Block, JsonPath, Message, Transcript
from ..core.values import BlockKind, Container, Family, Role
from ..toolcalls import text_calls
from .anthropic import BlockReader
from .engine import beside
from .engine.base import Evidence, Format, RecordEdits, message_role, not_a_message
from .engine.blocks import listed, read_list
from .engine.container import Document, as_lazy, only_record, with_records_at
from .openai_chat import ROLES, message_blocks


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("trajectory"), list):
        return Evidence.NO
    first = next(iter(listed(value, "history")), None)
    return Evidence.YES if isinstance(first, dict) and str(first.get("role")) in ROLES else Evidence.NO


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    model = None
    if any(evidence(value) is Evidence.YES for value in records):
        run = only_record(document, records, "trajectories", "trajectory.traj")
        config = run.get("replay_config")
        if isinstance(config, str):  # JSON in a string.
            try:
                config = json_text.parse_text(config)
            except (ValueError, RecursionError):
                config = None
        model = text_in(config, "agent", "model", "name")
        document = with_records_at(document, 0, ("history",), [("trajectory",)])
        records = list(document.values)
    reader = _ActionReader()
    messages: list[Message] = []
    for record, value in enumerate(records):
        if record not in document.source.unparsed:
            role = message_role(record, value, ROLES)
            blocks = as_lazy(reader.blocks(value, record, role), document.source)
            messages.append(Message(len(messages), role, tuple(blocks)))
    return Transcript("swe-agent", Family.OPENAI_CHAT, tuple(messages), document.source, model=model)


class _ActionReader:
    """Read messages in order and pair each action in an assistant's text with the user message that follows it.

    `find` returns the span of the action in a text, given the action that the message names. `fixed` returns the spans
    of a text without an action that have to stay: what is left of it could read as one otherwise.
    """

    def __init__(
        self,
        find: Callable[[str, str | None], tuple[int, int] | None] = text_calls.find,
        fixed: Callable[[str], list[tuple[int, int]]] = lambda _: [],
    ) -> None:
        self._find, self._fixed = find, fixed
        self._tools: dict[str, str] = {}
        self._number = 0
        self._asked: tuple[str | None, str | None] | None = None
        """Tool and id of the action that waits for its observation; the id is None if the action was not found."""

    def blocks(self, value: dict[str, Any], record: int, role: Role) -> list[Block]:
        call_ids = value.get("tool_call_ids")
        if isinstance(call_ids, list) and call_ids:
            value = {"tool_call_id": call_ids[0], **value}
        asked, self._asked = self._asked, None
        thoughts = BlockReader().content(value.get("thinking_blocks"), record, ("thinking_blocks",), is_user=False)
        blocks = [*thoughts, *message_blocks(value, record, role, self._tools)]
        if value.get("is_demo"):
            return [replace(block, injected=True, demonstrates=True) for block in blocks]
        if any(block.looks_like_summary for block in blocks):
            return blocks  # What looks like an action in it is quoted.
        if role is Role.ASSISTANT and not value.get("tool_calls"):
            action = value.get("action")
            return self._acting(blocks, action if isinstance(action, str) else None)
        if role is Role.USER and asked:
            tool, call_id = asked
            kinds = {BlockKind.TEXT: BlockKind.TOOL_RESULT}
            return [
                replace(block, kind=kinds.get(block.kind, block.kind), tool=tool, call_id=call_id, injected=False)
                for block in blocks
            ]
        return blocks

    def _acting(self, blocks: list[Block], action: str | None) -> list[Block]:
        """Return the blocks of an assistant's message with its action as a block of its own."""
        if action is not None:
            self._asked = (text_calls.tool(action), None)
        for position, block in reversed(list(enumerate(blocks))):
            span = self._find(block.text, action) if block.kind is BlockKind.TEXT else None
            if span:
                return [*blocks[:position], *self._split(block, *span), *blocks[position + 1 :]]
        return [part for block in blocks for part in self._with_fixed(block)]

    def _with_fixed(self, block: Block) -> Iterator[Block]:
        """Yield the block, or the parts of its text that may be cut and those that may not."""
        spans = self._fixed(block.text) if block.kind is BlockKind.TEXT else []
        if not spans:
            yield block
            return
        text, position = block.text, 0
        for start, end in [*spans, (len(text), len(text))]:
            if text[position:start].strip():
                yield block.part(position, start)
                position = start
            if position < end:
                yield replace(block.part(position, end), kind=BlockKind.OPAQUE)
            position = end

    def _split(self, block: Block, start: int, end: int) -> Iterator[Block]:
        """Yield the action and the text around it. No pass may rewrite the fences by which the action is found."""
        self._number += 1
        text = block.text
        tool, call_id = text_calls.tool(text[start:end]), f"{TEXT_CALL}{self._number}"
        self._asked = (tool, call_id)
        opening, closing = text_calls.fences(text, start, end)
        opening = opening if text[:opening].strip() else 0
        closing = closing if text[closing:].strip() else len(text)
        parts = (
            (0, opening, BlockKind.TEXT),
            (opening, start, BlockKind.OPAQUE),
            (start, end, BlockKind.TOOL_CALL),
            (end, closing, BlockKind.OPAQUE),
            (closing, len(text), BlockKind.TEXT),
        )
        for first, last, kind in parts:
            if kind is BlockKind.TOOL_CALL:
                yield replace(block.part(first, last), kind=kind, tool=tool, call_id=call_id)
            elif first < last:
                yield replace(block.part(first, last), kind=kind)


def _complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Change the key `action` with its action, which is found in the message by it."""
    for _, block in transcript.blocks():
        if block.changed and block.span and block.kind is BlockKind.TOOL_CALL:
            record = block.place.record
            action = json_text.parse(transcript.source.view(record)).get("action")
            if isinstance(action, str):
                edits[record]["action",] = style.literal(block.text + action[len(action.rstrip()) :])


def _copies(transcript: Transcript) -> Iterator[beside.Shown]:
    yield from beside.values_under("thought")(transcript)
    yield from beside.values_beside(transcript)


FORMAT: Final = Format(
    "swe-agent",
    Family.OPENAI_CHAT,
    "SWE-agent trajectories (.traj)",
    evidence,
    _read,
    beside=beside.copies(_copies),
    complete=_complete,
)


_ACTION: Final = re.compile(
    r"^```(?:mswea_bash_command|bash)[ \t]*\n(?P<command>.*?)\n```\s*", re.DOTALL | re.MULTILINE
)
_SUBMIT: Final = b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""Every command that ends a run prints this; the prompts of the agent say so."""


def _claims(document: Document) -> bool:
    envelope, source = document.envelope, document.source
    if source.container is Container.ARRAY:
        return any(_SUBMIT in source.raw(record) for record in range(min(2, len(source.spans))))
    info, named = envelope.get("info"), envelope.get("trajectory_format")
    is_named = isinstance(named, str) and named.startswith("mini-swe-agent")
    return is_named or (isinstance(info, dict) and "mini_version" in info)


def _read_mini(document: Document, values: Iterator[Any]) -> Transcript:
    reader = _ActionReader(_find, _fences)

    def find(record: int, value: Any) -> tuple[Role, JsonPath, dict[str, Any]] | None:
        kind = value_in(value, "role")
        role = ROLES.get(str(kind))
        if role is None and kind != "exit":
            raise not_a_message(record, value, f"its role is none of {', '.join(ROLES)}, exit")
        return (role, (), value) if role else None

    def blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        yield from reader.blocks(message, record, role)

    model = text_in(document.envelope, "info", "config", "model", "model_name")
    return replace(read_list("mini-swe-agent", document, values, find, blocks), model=model)


def _find(text: str, action: str | None) -> tuple[int, int] | None:
    """Return the span of the only command; the agent rejects texts with none or several."""
    spans = [match.span("command") for match in _ACTION.finditer(text) if match["command"].strip()]
    return spans[0] if len(spans) == 1 else None


def _fences(text: str) -> list[tuple[int, int]]:
    """Return the fences of a text with several commands, and the white space around them, which begins their lines.

    If those of one command went, the agent would run another.
    """
    spans: list[tuple[int, int]] = []
    end = 0
    for match in _ACTION.finditer(text):
        start = match.start()
        while start > end and text[start - 1].isspace():
            start -= 1
        end = match.end()
        spans += [(start, match.start("command")), (match.end("command"), end)]
    return spans if len(spans) > 2 else []


MINI: Final = Format(
    "mini-swe-agent",
    Family.OPENAI_CHAT,
    "mini-SWE-agent trajectories (.traj.json)",
    lambda value: Evidence.NO,  # Single messages are those of chat completions.
    _read_mini,
    claims=_claims,
    beside=beside.copies(beside.values_under("extra")),
)
