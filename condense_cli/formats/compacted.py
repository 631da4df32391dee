"""Compactions that clients made: which records of a file say so, format by format.

`stretches` rebuilds the conversation on both sides of each. What a client notes elsewhere cannot be seen: Cline keeps
its truncations in another file.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from ..core import json_text
from ..core.transcript import Source
from .engine.display_text import objects_with
from .engine.injected import is_injected


class CompactionKind(StrEnum):
    """What a client did to make the conversation smaller."""

    SUMMARY = "summary"
    CLEARED = "cleared"
    """Old results are sent as a short text from then on."""
    DROPPED = "dropped"
    """Old messages are left out, and no summary takes their place."""


class Compacted(Struct, frozen=True):
    """One compaction. The client `wrote` these records for it; all others before `end` were there when it was done.

    `is_auto` is None where the file does not tell who asked for it. `said_before` are the tokens that the client noted,
    0 where it did not. `cleared` are ids of calls and what was sent in place of their results, where the reader of the
    format does not see to that.
    """

    wrote: range
    end: int
    kind: CompactionKind = CompactionKind.SUMMARY
    is_auto: bool | None = None
    said_before: int = 0
    cleared: tuple[tuple[str, str], ...] = ()


def compactions(source: Source, format_name: str) -> list[Compacted] | None:
    """The compactions in a file, in its order; None where it is not known how clients of that format note them."""
    finder = _FINDERS.get(format_name)
    return None if finder is None else list(finder(source))


_CLEARED: Final = "[Old tool result content cleared]"
"""What Claude Code sends in place of a result that it cleared."""


def _claude_code(source: Source) -> Iterator[Compacted]:
    for record, value in objects_with(source, "compact_boundary", "microcompact_boundary", "tool_results_cut"):
        attachment = value.get("attachment")
        if value.get("subtype") == "compact_boundary":
            noted = _object(value.get("compactMetadata"))
            end = _first_said(source, record, value)
            yield Compacted(
                range(record, end), end, is_auto=_is_auto(noted.get("trigger")), said_before=_tokens(noted, "preTokens")
            )
        elif value.get("subtype") == "microcompact_boundary":
            noted = _object(value.get("microcompactMetadata"))
            calls = noted.get("compactedToolIds")
            yield Compacted(
                range(record, record + 1),
                record + 1,
                CompactionKind.CLEARED,
                is_auto=_is_auto(noted.get("trigger")),
                said_before=_tokens(noted, "preTokens"),
                cleared=tuple((str(call), _CLEARED) for call in (calls if isinstance(calls, list) else ())),
            )
        elif isinstance(attachment, dict) and attachment.get("type") == "tool_results_cut":
            yield Compacted(range(record, record + 1), record + 1, CompactionKind.CLEARED, is_auto=True)


def _first_said(source: Source, boundary: int, written: Mapping[str, Any]) -> int:
    """The first record behind a boundary that is said anew: no summary, no word of the client, no copy.

    Copies of messages that stay keep their times.
    """
    for record in range(boundary + 1, len(source.spans)):
        value = None if record in source.unparsed else json_text.parse(source.raw(record))
        if not isinstance(value, dict) or value.get("type") not in ("user", "assistant"):
            continue
        if bool(value.get("isSidechain")) != bool(written.get("isSidechain")):
            continue
        content = _object(value.get("message")).get("content")
        is_of_client = value.get("isCompactSummary") is True or value.get("isMeta") is True
        is_of_client = is_of_client or (isinstance(content, str) and is_injected(content))
        times = [str(each.get("timestamp") or "") for each in (written, value)]
        if not is_of_client and (times[0] < times[1] or "" in times):
            return record
    return len(source.spans)


def _opencode(source: Source) -> Iterator[Compacted]:
    """A request with a part that says so, and the summary that answers it."""
    for record, value in objects_with(source, "compaction"):
        parts = value.get("parts")
        found = [
            part for part in (parts if isinstance(parts, list) else ()) if _object(part).get("type") == "compaction"
        ]
        summary = _summary_of(source, record, _object(value.get("info")).get("id")) if found else None
        if summary is not None:
            yield Compacted(range(record, summary + 1), summary + 1, is_auto=found[0].get("auto") is True)


def _summary_of(source: Source, request: int, record_id: Any) -> int | None:
    for record in range(request + 1, source.listed):
        value = None if record in source.unparsed else json_text.parse(source.raw(record))
        info = _object(_object(value).get("info"))
        if (
            info.get("summary") is True
            and info.get("parentID") == record_id
            and info.get("finish")
            and not info.get("error")
        ):
            return record
    return None


_KEPT_BY_ROO: Final = 3
"""Messages that stood behind a summary in the assistant's name: https://github.com/RooCodeInc/Roo-Code/pull/3582
(N_MESSAGES_TO_KEEP). One in the user's name stands at the end."""


def _roo(source: Source) -> Iterator[Compacted]:
    hidden = Tally(str(value.get("truncationParent")) for _, value in objects_with(source, "truncationParent"))
    for record, value in objects_with(source, "isSummary", "isTruncationMarker"):
        behind = min(record + 1 + _KEPT_BY_ROO, source.listed)
        if value.get("isTruncationMarker") is True:
            # The client hides half of the messages: as many stay, or a few more.
            behind = min(record + 1 + hidden[str(value.get("truncationId"))], source.listed)
            yield Compacted(range(record, record + 1), behind, CompactionKind.DROPPED, is_auto=True)
        elif value.get("isSummary") is True:
            end = behind if value.get("role") == "assistant" else record + 1
            yield Compacted(range(record, record + 1), end)


Finder = Callable[[Source], Iterator[Compacted]]


def _log(word: str, key: str) -> Finder:
    """Logs in which one record is a compaction: `word` stands under that key."""

    def find(source: Source) -> Iterator[Compacted]:
        for record, value in objects_with(source, word):
            if value.get(key) == word and "observation" not in value:
                noted = _object(value.get("args")) | value
                has_text = key == "type" or bool(noted.get("summary"))
                kind = CompactionKind.SUMMARY if has_text else CompactionKind.DROPPED
                said = _tokens(value, "tokensBefore")
                yield Compacted(range(record, record + 1), record + 1, kind, said_before=said)

    return find


_FINDERS: Final[dict[str, Finder]] = {
    "claude-code": _claude_code,
    "codex": _log("compacted", "type"),
    "kimi": _log("context.apply_compaction", "type"),
    "opencode": _opencode,
    "openhands": _log("condensation", "action"),
    "openhands-sdk": _log("Condensation", "kind"),
    "pi": _log("compaction", "type"),
    "roo": _roo,
}


_MOST_TOKENS: Final = 10**12
"""More in a file is a mistake, and would not fit into a report."""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_auto(trigger: Any) -> bool | None:
    return trigger == "auto" if isinstance(trigger, str) else None


def _tokens(noted: Mapping[str, Any], key: str) -> int:
    tokens = noted.get(key)
    return tokens if isinstance(tokens, int) and 0 <= tokens <= _MOST_TOKENS else 0
