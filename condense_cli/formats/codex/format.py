"""Rollouts of Codex CLI (`~/.codex/sessions/*/*/*/rollout-*.jsonl`): one record per line, `{timestamp, type, payload}`.

The conversation is what the client sends when it resumes the session (see `history`): items of the
Responses API, each in a `response_item` record, and after a compaction also in the list that one `compacted`
record holds. Events for the screen, settings and states of the client keep their bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, FirstRequest, Message, Place, Transcript
from ...core.values import BlockKind, Family, Role, Usage
from ...errors import UnknownFormatError
from ..engine.base import Evidence, Format, SignsReader, recorded
from ..engine.container import Document
from ..openai import responses_items
from ..openai.responses_items import ItemReader, turns_of, with_forgotten
from ..openai.responses_pairs import completing
from . import slim, writing
from .history import NOTES, RULES, SUMMARY, RolloutHistory, RolloutItem, is_replaced, item_path

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
    history = RolloutHistory()
    facts = _Facts()
    answered: list[RolloutItem] = []
    is_rollout = False
    unknown = Tally[str]()
    for record, value in enumerate(values):
        is_rollout = is_rollout or (isinstance(value, dict) and isinstance(value.get("payload"), dict))
        if isinstance(value, dict) and str(value.get("type")) not in _RECORD_TYPES:
            unknown[f"record {value.get('type')}"] += 1
        history.add(record, value)
        facts.add(record, value)
        if facts.counts and not answered:
            answered = list(history.sent)
    if not is_rollout:
        raise UnknownFormatError(
            "none of its records has a payload, as rollouts do.",
            "Leave out --format to have the format recognized.",
        )
    turns = turns_of(history.sent)
    messages = with_forgotten(_messages(turns, history), facts.model)
    is_cut_off = any(is_replaced(item.path) or item.kind == SUMMARY for _, items in turns for item in items)
    return Transcript(
        "codex",
        Family.OPENAI_RESPONSES,
        messages,
        document.source,
        model=facts.model,
        envelope=facts.envelope,
        begins_in_middle=not (facts.has_head or is_cut_off),
        usages=tuple(facts.usages(turns)),
        first_request=_first_request(answered, facts, history) if is_cut_off and facts.has_head else None,
        window_signs=facts.signs.found,
        unknown=tuple(unknown.items()),
        warnings=() if messages else ("The session holds no conversation.",),
    )


def _messages(turns: list[tuple[Role, list[RolloutItem]]], history: RolloutHistory) -> tuple[Message, ...]:
    reader = _Reader(history.counted)
    return tuple(
        Message(index, role, tuple(block for item in items for block in reader.blocks(item)))
        for index, (role, items) in enumerate(turns)
    )


def _first_request(answered: list[RolloutItem], facts: _Facts, history: RolloutHistory) -> FirstRequest | None:
    """The first request that was counted, from the items that stood in the file by then."""
    turns = turns_of(answered)
    answer = max((n for n, (role, _) in enumerate(turns) if role is Role.ASSISTANT), default=None)
    return None if answer is None else FirstRequest(_messages(turns[:answer], history), facts.counts[0].sent)


class _Reader(ItemReader):
    """Reads items as the client keeps them.

    It knows the words of its own that are `counted` by how they begin, so no pass may rewrite them.
    """

    def __init__(self, counted: Set[str]) -> None:
        super().__init__()
        self._counted = counted

    def blocks(self, item: responses_items.Item) -> Iterator[Block]:
        for block in [_summary(item)] if item.kind == SUMMARY else super().blocks(item):
            if block.kind is BlockKind.TEXT and isinstance(item, RolloutItem) and item.is_of_client(block.text):
                block = replace(block, injected=True)
            is_fixed = block.kind is BlockKind.TEXT and block.text in self._counted
            yield replace(block, kind=BlockKind.OPAQUE) if is_fixed else block


def _summary(item: responses_items.Item) -> Block:
    text = item.value["message"] if isinstance(item.value.get("message"), str) else ""
    place = Place(item.record, (*item.path, "message"))
    return Block(BlockKind.TEXT, place, item.path, content=text, injected=True)


class _Count(Struct, frozen=True):
    """What an event of the client says that a request took."""

    record: int
    sent: int
    answered: Any


class _Facts:
    """What a session says about itself besides its conversation."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.envelope = ""
        self.has_head = False
        self.counts: list[_Count] = []
        self.signs = SignsReader()
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
            self.has_head = True
            # A fork repeats the head of the session that it comes from; its own stands first.
            self.envelope = self.envelope or _sent_always(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            info = payload.get("info")
            self._count(record, info)
            self.signs.named(self.model, info.get("model_context_window") if isinstance(info, dict) else None)

    def _count(self, record: int, info: Any) -> None:
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        if not isinstance(last, dict):
            return
        tokens = last.get("input_tokens")
        # The event comes again, with the same totals, when only the limits of the account are news.
        if isinstance(tokens, int) and tokens > 0 and info.get("total_token_usage") != self._total:
            self._total = info.get("total_token_usage")
            self.counts.append(_Count(record, tokens, last.get("output_tokens")))

    def usages(self, turns: list[tuple[Role, list[RolloutItem]]]) -> Iterator[Usage]:
        """For each turn of the assistant the first count that follows it, before its next turn begins."""
        starts = [
            (index, items[0].record)
            for index, (role, items) in enumerate(turns)
            if role is Role.ASSISTANT and not is_replaced(items[0].path)
        ]
        for (index, start), (_, following) in pairwise([*starts, (0, float("inf"))]):
            position = bisect_right(self.counts, start, key=lambda count: count.record)
            if position < len(self.counts) and self.counts[position].record < following:
                count = self.counts[position]
                yield from recorded(index, [count.sent], count.answered)


def _sent_always(meta: dict[str, Any]) -> str:
    """The instructions and the tools of its own that a session sends with every request."""
    instructions = meta.get("base_instructions")
    text = instructions.get("text") if isinstance(instructions, dict) else None
    tools = meta.get("dynamic_tools")
    parts = [text if isinstance(text, str) else "", json_text.dump_compact(tools) if tools else ""]
    return "\n".join(part for part in parts if part)


def _fixed(transcript: Transcript) -> frozenset[int]:
    """The record of the compaction: without it the client would send what the compaction replaced."""
    places = [block.place for _, block in transcript.blocks()] + [block.place for block in transcript.removed]
    return frozenset(place.record for place in places if is_replaced(place.path) or place.path[1:] == ("message",))


FORMAT = Format(
    "codex",
    Family.OPENAI_RESPONSES,
    "Codex CLI rollout (~/.codex/sessions/*/*/*/rollout-*.jsonl)",
    evidence,
    read,
    complete=completing(item_path),
    fixed=_fixed,
    rules=RULES,
    notes=NOTES,
    sizes=slim.sizes,
    display=slim.display_values,
    compaction=writing.write,
    summary_role=Role.USER,
    in_place=writing.in_old_places,
)
