"""Find the items of a Codex rollout that the client would send, and what is wrong with the rollout.

A rollout is an append-only log. A compaction replaces everything before it, a rollback takes the newest
turns of the user back. All this was tried with Codex CLI 0.169 and a server that shows what a resumed session sends.

Tried with Codex CLI 0.169, but for the provider, which older clients are said to demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core.transcript import JsonPath, Transcript
from ..engine.base import FileFault, FileRule, records_of
from ..engine.client_text import is_injected
from ..openai import responses_items

REPLACED: Final = ("payload", "replacement_history")
SUMMARY: Final = "compaction_message"
"""The kind given here to the summary of an old compaction, which is no item in the file."""

_INSTRUCTIONS: Final = "# AGENTS.md instructions"
_SUMMARY: Final = "Another language model started to solve this problem"
_OF_CLIENT: Final = (
    "<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<subagent_notification>",
    "<skill>", _INSTRUCTIONS, _SUMMARY, "[condense: summary of ",
)  # fmt: skip
"""How texts begin that the client does not count as requests of the user, whoever wrote them."""

OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
CALLS: Final = frozenset({"function_call", "custom_tool_call", "tool_search_call", "local_shell_call"})
_NOT_SENT: Final = frozenset({"ghost_snapshot", "other"})


class RolloutItem(responses_items.Item, frozen=True):
    """An item as the client sees it. The one that `ends_compaction` is the last in the list that a compaction holds."""

    ends_compaction: bool = False

    @property
    def is_request(self) -> bool:
        """Whether the client counts it as a request. One text of its own makes a whole message the client's."""
        is_of_user = self.kind == SUMMARY or (self.kind == "message" and self.value.get("role") == "user")
        return is_of_user and not any(map(_is_of_client, self.texts))

    @property
    def is_context(self) -> bool:
        """Whether the client tells in it what the next turn begins with."""
        role = self.value.get("role")
        return self.kind == "message" and (role == "developer" or (role == "user" and not self.is_request))

    def is_of_client(self, text: str) -> bool:
        """Whether the client wrote a text of the message: its summary, or what it tells beside elements of its own."""
        if self.ends_compaction:
            return text.startswith(_SUMMARY)
        return text.startswith(_INSTRUCTIONS) and any(map(is_injected, self.texts))

    @property
    def texts(self) -> list[str]:
        """The texts of a message."""
        content = self.value.get("content")
        parts = content if isinstance(content, list) else []
        found = [part.get("text") for part in parts if isinstance(part, dict)]
        found.append(self.value.get("message") if self.kind == SUMMARY else None)
        return [text for text in found if isinstance(text, str)]


def _is_of_client(text: str) -> bool:
    return text.lstrip().startswith(_OF_CLIENT) or is_injected(text)


def is_replaced(path: JsonPath) -> bool:
    """Whether a path leads into the list that a compaction holds."""
    return path[:2] == REPLACED


def item_path(path: JsonPath) -> JsonPath:
    """The path of the item that a path leads into."""
    return path[:3] if is_replaced(path) else path[:1]


class RolloutHistory:
    """The items so far. `outside` are results without a call, which the client leaves out of what it sends.

    `counted` are texts by whose beginnings the client told requests of the user from its own words. They are known by
    what they say, not by where they stand: a later compaction may repeat them.
    """

    def __init__(self) -> None:
        self.counted: set[str] = set()
        self._items: list[RolloutItem] = []
        self._is_paginated: bool | None = None

    def add(self, record: int, value: Any) -> None:
        """Take the next record of the file."""
        payload = value.get("payload") if isinstance(value, dict) else None
        if not isinstance(payload, dict):
            return
        kind = value.get("type")
        if kind == "response_item":
            self._append(RolloutItem(record, ("payload",), payload))
        elif kind == "compacted":
            self._compact(record, payload)
        elif kind == "session_meta":
            # In files of pages a later head drops what stands before it; in older ones a fork repeats heads.
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
    def sent(self) -> list[RolloutItem]:
        called = {item.call_id for item in self._items if item.kind in CALLS}
        return [item for item in self._items if item.kind not in OUTPUTS or item.call_id in called]

    @property
    def outside(self) -> list[RolloutItem]:
        sent = {(item.record, item.path) for item in self.sent}
        return [item for item in self._items if (item.record, item.path) not in sent]

    def _append(self, item: RolloutItem) -> None:
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
            self._items.append(RolloutItem(record, ("payload",), {"type": SUMMARY, "message": payload.get("message")}))
            return
        self._items = []
        for number, value in enumerate(replacement):
            if isinstance(value, dict):
                is_last = number == len(replacement) - 1
                self._append(RolloutItem(record, (*REPLACED, number), value, ends_compaction=is_last))

    def _roll_back(self, turns: int) -> None:
        requests = [position for position, item in enumerate(self._items) if item.is_request]
        if not requests:
            return
        cut = requests[-min(turns, len(requests))]
        # What the client told about changed surroundings belongs to the turn after it.
        while cut > requests[0] and self._items[cut - 1].is_context:
            cut -= 1
        del self._items[cut:]


_MODES: Final = ("legacy", "paginated")
_UNANSWERED: Final = frozenset({"tool_search_call"})
"""Calls that the client does not answer by itself."""


def head_comes_first(transcript: Transcript) -> Iterator[FileFault]:
    record, value = next(records_of(transcript.source), (0, None))
    if not isinstance(value, dict) or value.get("type") != "session_meta":
        said = "the first record is no session_meta: the client will not resume such a file"
        yield FileFault("head_comes_first", record, said)


def history_mode_known(transcript: Transcript) -> Iterator[FileFault]:
    record, head = _head(transcript)
    mode = head.get("history_mode")
    if mode is not None and mode not in _MODES:
        said = f"history_mode is {mode!r}, not one of {', '.join(_MODES)}: the client will not resume such a file"
        yield FileFault("history_mode_known", record, said)


def provider_named(transcript: Transcript) -> Iterator[FileFault]:
    record, head = _head(transcript)
    if head and head.get("model_provider") is None:
        said = "model_provider is missing or null: older clients do not resume such a file"
        yield FileFault("provider_named", record, said, is_note=True)


def last_record_has_ordinal(transcript: Transcript) -> Iterator[FileFault]:
    """Where records are numbered, the client counts on from the last one."""
    if _head(transcript)[1].get("history_mode") != "paginated":
        return
    record, value = next(records_of(transcript.source, backwards=True))
    if not isinstance(value, dict) or not isinstance(value.get("ordinal"), int):
        said = "the last record has no ordinal: the client will not resume such a file"
        yield FileFault("last_record_has_ordinal", record, said)


def results_have_calls(transcript: Transcript) -> Iterator[FileFault]:
    for item in _history(transcript).outside:
        said = f"no call has the id {item.call_id}: the client drops this result"
        yield FileFault("results_have_calls", item.record, said, is_note=True)


def calls_have_results(transcript: Transcript) -> Iterator[FileFault]:
    items = _history(transcript).sent
    answered = {item.call_id for item in items if item.kind in OUTPUTS}
    for item in items:
        if item.kind in CALLS - _UNANSWERED and item.call_id not in answered:
            said = f'the call {item.call_id} has no result: the client sends "aborted" for it'
            yield FileFault("calls_have_results", item.record, said, is_note=True)


def _head(transcript: Transcript) -> tuple[int, dict[str, Any]]:
    """The first session_meta, which is that of the session itself."""
    for record, value in records_of(transcript.source):
        if isinstance(value, dict) and value.get("type") == "session_meta" and isinstance(value.get("payload"), dict):
            return record, value["payload"]
    return 0, {}


def _history(transcript: Transcript) -> RolloutHistory:
    history = RolloutHistory()
    for record, value in records_of(transcript.source):
        history.add(record, value)
    return history


RULES: Final[tuple[FileRule, ...]] = (
    head_comes_first,
    history_mode_known,
    last_record_has_ordinal,
)

NOTES: Final[tuple[FileRule, ...]] = (provider_named, results_have_calls, calls_have_results)
