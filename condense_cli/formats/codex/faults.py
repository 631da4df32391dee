"""What is wrong with a Codex rollout, or mended by the client when it sends: one function per rule.

Tried with Codex CLI 0.169, but for the provider, which older clients are said to demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core.transcript import Transcript
from ..engine.base import FileFault, FileRule, records_of
from .history import CALLS, OUTPUTS, RolloutHistory

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
