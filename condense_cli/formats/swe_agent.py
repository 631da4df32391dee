"""Trajectories of SWE-agent (`.traj`) and mini-SWE-agent (`.traj.json`).

With native tools the messages are those of chat completions, but a result names its call in a list.
Otherwise the assistant's text holds one action, and the next user message is what came of it; both
become tool blocks. Demonstrations are the client's own words.
Much of the text stands in `trajectory` again, step by step, and in the keys `thought` and `action` of a
message. A replay runs the assistant's messages of `history`; viewers draw `trajectory`, so its steps keep their number
and order, and lose what the history lost.

Its one tool is a shell. Without native tools the assistant's text holds the command between fences, and the next
user message is what it printed; both become tool blocks. The key `extra` of a message repeats it as the provider
sent it and as the command printed it. A message with the role `exit` tells how the run ended and is never sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.transcript import TEXT_CALL, Block, Message, Transcript
from ..core.values import BlockKind, Container, Family, Role
from ..errors import UnknownFormatError
from ..toolcalls import text_calls
from .anthropic import BlockReader
from .engine import repeats
from .engine.base import Evidence, Format, RecordEdits, message_role, not_a_message
from .engine.container import Document, as_lazy, first_of, with_records_at
from .engine.turns import Turn, joined
from .openai.chat import ROLES, message_blocks


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("trajectory"), list):
        return Evidence.NO
    history = value.get("history")
    first = history[0] if isinstance(history, list) and history else None
    is_message = isinstance(first, dict) and str(first.get("role")) in ROLES
    return Evidence.YES if is_message else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    model = None
    if any(evidence(value) is Evidence.YES for value in records):
        if len(records) > 1:
            hint = first_of(document, "trajectory.traj")
            raise UnknownFormatError("It holds several trajectories, one per record.", hint)
        model = _model(records[0].get("replay_config"))
        document = with_records_at(document, 0, ("history",), [("trajectory",)])
        records = list(document.values)
    reader = ActionReader()
    turns: list[tuple[Role, list[Block]]] = []
    for record, value in enumerate(records):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, ROLES)
        turns.append((role, list(as_lazy(reader.blocks(value, record, role), document.source))))
    messages = tuple(Message(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(turns))
    return Transcript("swe-agent", Family.OPENAI_CHAT, messages, document.source, model=model)


def _complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """A changed action is found in its message by the key `action`, which therefore has to say the same."""
    _repeats(transcript, edits, gone, style)
    for _, block in transcript.blocks():
        if block.changed and block.span and block.kind is BlockKind.TOOL_CALL:
            record = block.place.record
            action = json_text.parse(transcript.source.view(record)).get("action")
            if isinstance(action, str):
                edits[record]["action",] = style.literal(block.text + action[len(action.rstrip()) :])


def _shows(transcript: Transcript) -> Iterator[repeats.Shown]:
    yield from repeats.values_under("thought")(transcript)
    yield from repeats.values_beside(transcript)


class ActionReader:
    """Reads messages in order and pairs each action in an assistant's text with the user message that follows it.

    `find` gives the span of the action in a text, also of one that reads as it is told; `fixed` the spans of a text
    without one that have to stay, or what is left of it could read as an action.
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
        """Tool and id of the action that waits for its observation; the id is None where the action was not found."""

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
            return [_observed(block, *asked) for block in blocks]
        return blocks

    def _acting(self, blocks: list[Block], action: str | None) -> list[Block]:
        """The blocks of an assistant's message with its action as a block of its own."""
        if action is not None:
            self._asked = (text_calls.tool(action), None)
        for position, block in reversed(list(enumerate(blocks))):
            span = self._find(block.text, action) if block.kind is BlockKind.TEXT else None
            if span:
                return [*blocks[:position], *self._split(block, *span), *blocks[position + 1 :]]
        return [part for block in blocks for part in self._with_fixed(block)]

    def _with_fixed(self, block: Block) -> Iterator[Block]:
        """The block, or the parts of its text that may be cut and those that may not."""
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
        """The action, and what stands around it. By its fences it is found: no pass may rewrite them."""
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


def _observed(block: Block, tool: str | None, call_id: str | None) -> Block:
    kind = BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind
    return replace(block, kind=kind, tool=tool, call_id=call_id, injected=False)


def _model(config: Any) -> str | None:
    """The model in the configuration of the run, which is an object or JSON in a string."""
    if isinstance(config, str):
        try:
            config = json_text.parse_text(config)
        except (ValueError, RecursionError):
            return None
    for key in ("agent", "model", "name"):
        config = config.get(key) if isinstance(config, dict) else None
    return config if isinstance(config, str) and config else None


_repeats: Final = repeats.completing(_shows)

FORMAT = Format(
    "swe-agent",
    Family.OPENAI_CHAT,
    "SWE-agent trajectories (.traj)",
    evidence,
    read,
    complete=_complete,
    display=repeats.displaying(_shows),
)


_ACTION: Final = re.compile(
    r"^```(?:mswea_bash_command|bash)[ \t]*\n(?P<command>.*?)\n```\s*", re.DOTALL | re.MULTILINE
)
_SUBMIT: Final = b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What every command to end a run prints; the prompts of the agent tell it so."""


def mini_evidence(value: Any) -> Evidence:
    return Evidence.NO  # Single messages are those of chat completions.


def claims(document: Document) -> bool:
    envelope, source = document.envelope, document.source
    if source.container is Container.ARRAY:
        return any(_SUBMIT in source.raw(record) for record in range(min(2, len(source.spans))))
    info = envelope.get("info")
    named = envelope.get("trajectory_format")
    return (isinstance(named, str) and named.startswith("mini-swe-agent")) or (
        isinstance(info, dict) and "mini_version" in info
    )


def read_mini(document: Document, values: Iterator[Any]) -> Transcript:
    reader = ActionReader(_find, _fences)
    turns = []
    for record, value in enumerate(values):
        kind = value.get("role") if isinstance(value, dict) else None
        if record in document.source.unparsed or kind == "exit":
            continue
        role = ROLES.get(str(kind))
        if role is None:
            raise not_a_message(record, value, f"its role is none of {', '.join(ROLES)}, exit")
        blocks = list(as_lazy(reader.blocks(value, record, role), document.source))
        turns.append(Turn(role, blocks))
    return Transcript(
        "mini-swe-agent",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=_mini_model(document.envelope.get("info")),
    )


def _find(text: str, action: str | None) -> tuple[int, int] | None:
    """The command in a text. The agent refuses a text that holds none, or several."""
    spans = [match.span("command") for match in _ACTION.finditer(text) if match["command"].strip()]
    return spans[0] if len(spans) == 1 else None


def _fences(text: str) -> list[tuple[int, int]]:
    """The fences of a text that holds several commands, with the white space around them, as the lines they begin.

    Where those of one command went, the agent would run another.
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


def _mini_model(info: Any) -> str | None:
    for key in ("config", "model", "model_name"):
        info = info.get(key) if isinstance(info, dict) else None
    return info if isinstance(info, str) and info else None


_SHOWN: Final = repeats.values_under("extra")

MINI = Format(
    "mini-swe-agent",
    Family.OPENAI_CHAT,
    "mini-SWE-agent trajectories (.traj.json)",
    mini_evidence,
    read_mini,
    claims=claims,
    complete=repeats.completing(_SHOWN),
    display=repeats.displaying(_SHOWN),
)
