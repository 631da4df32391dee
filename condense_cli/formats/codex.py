"""Rollouts of Codex CLI (`~/.codex/sessions/*/*/*/rollout-*.jsonl`): one record per line, `{timestamp, type, payload}`.

The conversation is what the client sends when it resumes the session: items of the Responses API, each in a
`response_item` record, and after a compaction also in the list that one `compacted` record holds. A rollout is an
append-only log: a compaction replaces everything before it, a rollback takes the newest turns of the user back. Events
for the screen, settings and states of the client keep their bytes.

All this was tried with Codex CLI 0.169 and a server that shows what a resumed session sends, except for the provider,
which older clients are said to demand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, value_in
from ..core.transcript import Block, FirstRequest, JsonPath, Message, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from . import codex_writing, openai_responses
from .codex_writing import is_replaced, item_path
from .engine.base import Beside, Evidence, FileFault, FileRule, Format, SignsReader, recorded, records_of
from .engine.blocks import text_block
from .engine.client_text import is_injected
from .engine.container import Document
from .openai_responses import ItemReader, turns_of, with_forgotten, without_ids

_RECORD_TYPES: Final = {
    "session_meta",
    "turn_context",
    "response_item",
    "compacted",
    "event_msg",
    "world_state",
    "token_usage_record",
    "inter_agent_communication_metadata",
}
_SUMMARY: Final = "compaction_message"
"""Kind given here to the summary of an old compaction, which is no item in the file."""

_INSTRUCTIONS: Final = "# AGENTS.md instructions"
_SUMMARIZES: Final = "Another language model started to solve this problem"
_OF_CLIENT: Final = (
    "<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<subagent_notification>",
    "<skill>", _INSTRUCTIONS, _SUMMARIZES, "[condense: summary of ",
)  # fmt: skip
"""Beginnings of texts that the client does not count as requests of the user, whoever wrote them."""

_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "tool_search_call", "local_shell_call"})
_NOT_SENT: Final = frozenset({"ghost_snapshot", "other"})


class _Item(openai_responses.Item, frozen=True):
    """An item as the client sees it. One that `ends_compaction` is the last in the list that a compaction holds."""

    ends_compaction: bool = False

    @property
    def is_request(self) -> bool:
        """Return whether the client counts it as a request. One text of its own makes a whole message the client's."""
        is_of_user = self.kind == _SUMMARY or (self.kind == "message" and self.value.get("role") == "user")
        return is_of_user and not any(map(_is_of_client, self.texts))

    @property
    def is_context(self) -> bool:
        """Return whether the client tells in it what the next turn begins with."""
        role = self.value.get("role")
        return self.kind == "message" and (role == "developer" or (role == "user" and not self.is_request))

    def is_of_client(self, text: str) -> bool:
        """Return whether the client wrote a text of the message: its summary, or words beside elements of its own."""
        if self.ends_compaction:
            return text.startswith(_SUMMARIZES)
        return text.startswith(_INSTRUCTIONS) and any(map(is_injected, self.texts))

    @property
    def texts(self) -> list[str]:
        content = self.value.get("content")
        parts = content if isinstance(content, list) else []
        found = [part.get("text") for part in parts if isinstance(part, dict)]
        found.append(self.value.get("message") if self.kind == _SUMMARY else None)
        return [text for text in found if isinstance(text, str)]


def _is_of_client(text: str) -> bool:
    return text.lstrip().startswith(_OF_CLIENT) or is_injected(text)


class _History:
    """Collect the items of a session, record by record.

    `counted` are texts by whose beginnings the client told requests of the user from its own words. They are known by
    their words, not by their places: a later compaction may repeat them.
    """

    def __init__(self) -> None:
        self.counted: set[str] = set()
        self._items: list[_Item] = []
        self._is_paginated: bool | None = None

    def add(self, record: int, value: Any) -> None:
        payload = value_in(value, "payload")
        if not isinstance(payload, dict):
            return
        kind = value.get("type")
        if kind == "response_item":
            self._append(_Item(record, ("payload",), payload))
        elif kind == "compacted":
            self._compact(record, payload)
        elif kind == "session_meta":
            # In files of pages a later head drops what is before it; in older ones a fork repeats heads.
            if self._is_paginated is None:
                self._is_paginated = payload.get("history_mode") == "paginated"
            elif self._is_paginated:
                self._items = []
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            turns = payload.get("num_turns")
            if isinstance(turns, int) and turns > 0:
                self._note_client_texts()
                self._roll_back(turns)

    @property
    def sent(self) -> list[_Item]:
        called = {item.call_id for item in self._items if item.kind in _CALLS}
        return [item for item in self._items if item.kind not in _OUTPUTS or item.call_id in called]

    @property
    def outside(self) -> list[_Item]:
        """Results without a call, which the client does not send."""
        sent = {(item.record, item.path) for item in self.sent}
        return [item for item in self._items if (item.record, item.path) not in sent]

    def _append(self, item: _Item) -> None:
        if item.kind not in _NOT_SENT:
            self._items.append(item)

    def _note_client_texts(self) -> None:
        self.counted.update(text for item in self._items for text in item.texts if _is_of_client(text))

    def _compact(self, record: int, payload: dict[str, Any]) -> None:
        replacement = payload.get("replacement_history")
        if not isinstance(replacement, list):
            # Older clients wrote the summary alone; what the user said stays beside it.
            self._note_client_texts()
            self._items = [item for item in self._items if item.is_request]
            self._items.append(_Item(record, ("payload",), {"type": _SUMMARY, "message": payload.get("message")}))
            return
        self._items = []
        for number, value in enumerate(replacement):
            if isinstance(value, dict):
                path, is_last = (*codex_writing.REPLACED, number), number == len(replacement) - 1
                self._append(_Item(record, path, value, ends_compaction=is_last))

    def _roll_back(self, turns: int) -> None:
        requests = [position for position, item in enumerate(self._items) if item.is_request]
        if not requests:
            return
        cut = requests[-min(turns, len(requests))]
        # What the client told about changed surroundings belongs to the turn after it.
        while cut > requests[0] and self._items[cut - 1].is_context:
            cut -= 1
        del self._items[cut:]


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("payload"), dict):
        return Evidence.NO
    if not isinstance(value.get("type"), str) or "timestamp" not in value:
        return Evidence.NO
    return Evidence.YES if value["type"] in _RECORD_TYPES else Evidence.MAYBE


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    history = _History()
    notes = _Notes()
    answered: list[_Item] = []
    is_rollout = False
    unknown = Tally[str]()
    for record, value in enumerate(values):
        is_rollout = is_rollout or (isinstance(value, dict) and isinstance(value.get("payload"), dict))
        if isinstance(value, dict) and str(value.get("type")) not in _RECORD_TYPES:
            unknown[f"record {value.get('type')}"] += 1
        elif isinstance(value, dict) and not isinstance(value.get("payload"), dict):
            unknown[f"record {value.get('type')} without payload"] += 1
        history.add(record, value)
        notes.add(record, value)
        if notes.counts and not answered:
            answered = list(history.sent)
    if not is_rollout:
        raise UnknownFormatError(
            "none of its records has a payload, as rollouts do.",
            "Leave out --format to have the format recognized.",
        )
    turns = turns_of(history.sent)
    messages = with_forgotten(_messages(turns, history), notes.model)
    is_cut_off = any(is_replaced(item.path) or item.kind == _SUMMARY for _, items in turns for item in items)
    first_request = None
    if is_cut_off and notes.has_head:
        # The first request that was counted, from the items that were in the file by then.
        then = turns_of(answered)
        answer = max((n for n, (role, _) in enumerate(then) if role is Role.ASSISTANT), default=None)
        if answer is not None:
            first_request = FirstRequest(_messages(then[:answer], history), notes.counts[0].sent)
    return Transcript(
        "codex",
        Family.OPENAI_RESPONSES,
        messages,
        document.source,
        model=notes.model,
        envelope=notes.envelope,
        begins_in_middle=not (notes.has_head or is_cut_off),
        usages=tuple(notes.usages(turns)),
        first_request=first_request,
        window_signs=notes.signs.found,
        unknown=tuple(unknown.items()),
        warnings=() if messages else ("The session holds no conversation.",),
    )


def _messages(turns: list[tuple[Role, list[_Item]]], history: _History) -> tuple[Message, ...]:
    reader = _Reader(history.counted)
    return tuple(
        Message(index, role, tuple(block for item in items for block in reader.blocks(item)))
        for index, (role, items) in enumerate(turns)
    )


class _Reader(ItemReader):
    """Read items as the client keeps them.

    The client knows the words of its own that are `counted` by how they begin, so no pass may rewrite them.
    """

    def __init__(self, counted: Set[str]) -> None:
        super().__init__()
        self._counted = counted

    def blocks(self, item: openai_responses.Item) -> Iterator[Block]:
        for block in [_summary(item)] if item.kind == _SUMMARY else super().blocks(item):
            if block.kind is BlockKind.TEXT and isinstance(item, _Item) and item.is_of_client(block.text):
                block = replace(block, injected=True)
            is_fixed = block.kind is BlockKind.TEXT and block.text in self._counted
            yield replace(block, kind=BlockKind.OPAQUE) if is_fixed else block


def _summary(item: openai_responses.Item) -> Block:
    text = item.value["message"] if isinstance(item.value.get("message"), str) else ""
    return text_block(text, item.record, (*item.path, "message"), item.path, injected=True)


class _Count(Struct, frozen=True):
    """Tokens of a request, as an event of the client tells them."""

    record: int
    sent: int
    answered: Any


class _Notes:
    """Collect what a session notes besides its conversation."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.envelope = ""
        self.has_head = False
        self.counts: list[_Count] = []
        self.signs = SignsReader()
        self._total: Any = None

    def add(self, record: int, value: Any) -> None:
        payload = value_in(value, "payload")
        if not isinstance(payload, dict):
            return
        kind = value.get("type")
        if kind == "turn_context":
            model = payload.get("model")
            self.model = model if isinstance(model, str) and model else self.model
        elif kind == "session_meta":
            self.has_head = True
            # A fork repeats the head of the session that it comes from; its own is first.
            self.envelope = self.envelope or _sent_always(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            info, last = object_in(payload, "info"), object_in(payload, "info", "last_token_usage")
            tokens = last.get("input_tokens")
            # The event comes again, with the same totals, when only the limits of the account are news.
            if isinstance(tokens, int) and tokens > 0 and info.get("total_token_usage") != self._total:
                self._total = info.get("total_token_usage")
                self.counts.append(_Count(record, tokens, last.get("output_tokens")))
            self.signs.named(self.model, info.get("model_context_window"))

    def usages(self, turns: list[tuple[Role, list[_Item]]]) -> Iterator[Usage]:
        """Yield for each turn of the assistant the first count that follows it, before its next turn begins."""
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
    """Return the instructions and the tools of its own that a session sends with every request."""
    instructions = meta.get("base_instructions")
    text = value_in(instructions, "text")
    tools = meta.get("dynamic_tools")
    parts = [text if isinstance(text, str) else "", json_text.dump_compact(tools) if tools else ""]
    return "\n".join(part for part in parts if part)


HISTORY_MODES: Final = ("legacy", "paginated")


def _head_comes_first(transcript: Transcript) -> Iterator[FileFault]:
    record, value = next(records_of(transcript.source), (0, None))
    if not isinstance(value, dict) or value.get("type") != "session_meta":
        said = "the first record is not a session_meta: the client will not resume such a file"
        yield FileFault("head_comes_first", record, said)


def _history_mode_known(transcript: Transcript) -> Iterator[FileFault]:
    record, head = _head(transcript)
    mode = head.get("history_mode")
    if mode is not None and mode not in HISTORY_MODES:
        said = (
            f"history_mode is {mode!r}, not one of {', '.join(HISTORY_MODES)}: the client will not resume such a file"
        )
        yield FileFault("history_mode_known", record, said)


def _last_record_has_ordinal(transcript: Transcript) -> Iterator[FileFault]:
    """Where records are numbered, the client counts on from the last one."""
    if _head(transcript)[1].get("history_mode") != "paginated":
        return
    record, value = next(records_of(transcript.source, backwards=True))
    if not isinstance(value, dict) or not isinstance(value.get("ordinal"), int):
        said = "the last record has no ordinal: the client will not resume such a file"
        yield FileFault("last_record_has_ordinal", record, said)


def _provider_named(transcript: Transcript) -> Iterator[FileFault]:
    record, head = _head(transcript)
    if head and head.get("model_provider") is None:
        said = "model_provider is missing or null: older clients do not resume such a file"
        yield FileFault("provider_named", record, said, is_note=True)


def _results_and_calls_paired(transcript: Transcript) -> Iterator[FileFault]:
    history = _History()
    for record, value in records_of(transcript.source):
        history.add(record, value)
    for item in history.outside:
        said = f"no call has the id {item.call_id}: the client drops this result"
        yield FileFault("results_have_calls", item.record, said, is_note=True)
    items = history.sent
    answered = {item.call_id for item in items if item.kind in _OUTPUTS}
    for item in items:
        # The client does not answer searches for tools by itself.
        if item.kind in _CALLS - {"tool_search_call"} and item.call_id not in answered:
            said = f'the call {item.call_id} has no result: the client sends "aborted" for it'
            yield FileFault("calls_have_results", item.record, said, is_note=True)


def _head(transcript: Transcript) -> tuple[int, dict[str, Any]]:
    """Return record and payload of the first session_meta, which is that of the session itself."""
    for record, value in records_of(transcript.source):
        if isinstance(value, dict) and value.get("type") == "session_meta" and isinstance(value.get("payload"), dict):
            return record, value["payload"]
    return 0, {}


def _going(transcript: Transcript, gone: frozenset[int]) -> frozenset[int]:
    """Keep the record of a compaction: without it the client would send what the compaction replaced."""
    places = [block.place for _, block in transcript.blocks()] + [block.place for block in transcript.removed]
    return gone - {place.record for place in places if is_replaced(place.path) or _is_summary(place.path)}


def _is_summary(path: JsonPath) -> bool:
    return path[1:] == ("message",)


FORMAT: Final = Format(
    "codex",
    Family.OPENAI_RESPONSES,
    "Codex CLI rollout (~/.codex/sessions/*/*/*/rollout-*.jsonl)",
    evidence,
    _read,
    rules=(
        *map(FileRule, (_head_comes_first, _history_mode_known, _last_record_has_ordinal)),
        FileRule(_provider_named, is_note=True),
        FileRule(_results_and_calls_paired, is_note=True),
    ),
    beside=Beside(shown=codex_writing.shown, sizes=codex_writing.sizes),
    complete=without_ids(item_path),
    going=_going,
    compaction=codex_writing.write,
    in_place=codex_writing.in_old_places,
    summary_role=Role.USER,
)
