"""Rollouts of Codex CLI (`~/.codex/sessions/*/*/*/rollout-*.jsonl`): one record per line, `{timestamp, type, payload}`.

The conversation is what the client sends when it resumes the session (see `codex_history`): items of the
Responses API, each in a `response_item` record, and after a compaction also in the list that one `compacted`
record holds. Events for the screen, settings and states of the client keep their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from .. import jsontext
from ..transcript import Family, Message, Role, Transcript, Usage
from . import codex_compaction, codex_faults, codex_pairs, codex_sizes, codex_slim
from .base import Evidence, Format
from .codex_history import History, Item, is_replaced
from .codex_items import ItemReader, role_of
from .container import Document

_RECORD_TYPES = {
    "session_meta",
    "turn_context",
    "response_item",
    "compacted",
    "event_msg",
    "world_state",
    "token_usage_record",
    "inter_agent_communication_metadata",
}


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("payload"), dict):
        return Evidence.NO
    if not isinstance(value.get("type"), str) or "timestamp" not in value:
        return Evidence.NO
    return Evidence.YES if value["type"] in _RECORD_TYPES else Evidence.MAYBE


def read(document: Document, values: Iterator[Any]) -> Transcript:
    history = History()
    facts = _Facts()
    for record, value in enumerate(values):
        history.add(record, value)
        facts.add(record, value)
    turns = _turns(history.sent)
    reader = ItemReader(history.counted)
    messages = tuple(
        Message(index, role, tuple(block for item in items for block in reader.blocks(item)))
        for index, (role, items) in enumerate(turns)
    )
    return Transcript(
        "codex",
        Family.OPENAI_RESPONSES,
        messages,
        document.source,
        model=facts.model,
        envelope=facts.envelope,
        first_usage=facts.first_usage(turns),
        warnings=() if messages else ("The session holds no conversation.",),
    )


def _turns(items: list[Item]) -> list[tuple[Role, list[Item]]]:
    """Items that stand together: those of the assistant in a row, and results in a row. Others stand alone."""
    turns: list[tuple[Role, list[Item]]] = []
    for item in items:
        role = role_of(item)
        if turns and turns[-1][0] is role and role in (Role.ASSISTANT, Role.TOOL):
            turns[-1][1].append(item)
        else:
            turns.append((role, [item]))
    return turns


class _Facts:
    """What a session says about itself besides its conversation."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.envelope = ""
        self._counts: list[tuple[int, int]] = []
        self._total: Any = None

    def add(self, record: int, value: Any) -> None:
        payload = value.get("payload") if isinstance(value, dict) else None
        if not isinstance(payload, dict):
            return
        kind = value.get("type")
        if kind == "turn_context":
            model = payload.get("model")
            self.model = model if isinstance(model, str) and model else self.model
        elif kind == "session_meta":
            # A fork repeats the head of the session that it comes from; its own stands first.
            self.envelope = self.envelope or _sent_always(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._count(record, payload.get("info"))

    def _count(self, record: int, info: Any) -> None:
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        tokens = last.get("input_tokens") if isinstance(last, dict) else None
        # The event comes again, with the same totals, when only the limits of the account are news.
        if isinstance(tokens, int) and tokens > 0 and info.get("total_token_usage") != self._total:
            self._total = info.get("total_token_usage")
            self._counts.append((record, tokens))

    def first_usage(self, turns: list[tuple[Role, list[Item]]]) -> Usage | None:
        """The first count that follows a turn of the assistant, before its next turn begins."""
        starts = [
            (index, items[0].record)
            for index, (role, items) in enumerate(turns)
            if role is Role.ASSISTANT and not is_replaced(items[0].path)
        ]
        for (index, start), (_, following) in pairwise([*starts, (0, float("inf"))]):
            for record, tokens in self._counts:
                if start < record < following:
                    return Usage(index, tokens)
        return None


def _sent_always(meta: dict[str, Any]) -> str:
    """The instructions and the tools of its own that a session sends with every request."""
    instructions = meta.get("base_instructions")
    text = instructions.get("text") if isinstance(instructions, dict) else None
    tools = meta.get("dynamic_tools")
    parts = [text if isinstance(text, str) else "", jsontext.dump_compact(tools) if tools else ""]
    return "\n".join(part for part in parts if part)


FORMAT = Format(
    "codex",
    Family.OPENAI_RESPONSES,
    "Codex CLI rollout (~/.codex/sessions/*/*/*/rollout-*.jsonl)",
    evidence,
    read,
    complete=codex_pairs.complete,
    fixed=codex_pairs.fixed,
    rules=codex_faults.RULES,
    sizes=codex_sizes.sizes,
    display=codex_slim.display_values,
    compaction=codex_compaction.write,
    summary_role=Role.USER,
)
