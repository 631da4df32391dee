"""Sessions as `opencode export` writes them.

    {"info": {session}, "messages": [{"info": {"id", "role", "parentID"?, "time", ...}, "parts": [part, ...]}, ...]}

`opencode import` leaves alone what its database has already: a condensed file is imported on another machine, or
after the session was deleted.
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/cli/cmd/import.ts
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...core import json_text
from ...core.transcript import JsonPath, Source, Transcript
from ...core.values import Family, Role
from ..engine import repeats
from ..engine.base import Evidence, Format, RecordEdits, not_a_message
from ..engine.container import Document
from .turns import ROLES, OpencodeEntry, OpencodePart, transcript


def evidence(value: Any) -> Evidence:
    is_message = isinstance(value, dict) and isinstance(value.get("parts"), list)
    return Evidence.YES if is_message and _info(value).get("role") in tuple(ROLES) else Evidence.NO


def _info(value: Any) -> dict[str, Any]:
    info = value.get("info") if isinstance(value, dict) else None
    return info if isinstance(info, dict) else {}


def read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it has no parts, or no info with a role")
        parts = [OpencodePart(part, record, ("parts", number)) for number, part in enumerate(value["parts"])]
        entries.append(OpencodeEntry(_info(value), parts))
    return transcript("opencode", entries, document.source)


_METADATA: Final[JsonPath] = ("state", "metadata")
"""Where a tool part repeats its output for display."""


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    repeats.shorten(meant, edits, style, _METADATA)
    if gone:
        _relink(meant, edits, gone)


def _relink(meant: Transcript, edits: RecordEdits, gone: frozenset[int]) -> None:
    """Lead an answer to the request before the one that went, and a compaction to the message after it."""
    source = meant.source
    summaries = {block.place.record for _, block in meant.blocks() if block.is_inserted}
    infos = {record: _info(_value(source, record)) for record in range(len(source.spans))}
    records = {info.get("id"): record for record, info in infos.items() if isinstance(info.get("id"), str)}
    stay = [record for record in infos if record not in gone]
    requests = [record for record in stay if infos[record].get("role") == "user" or record in summaries]
    for record in stay:
        parent = infos[record].get("parentID")
        target = records.get(parent) if isinstance(parent, str) else None
        if target in gone and record not in summaries:
            before = [request for request in requests if request < record]
            if before:
                edits[record]["info", "parentID"] = json.dumps(infos[before[-1]]["id"])
        for path, kept in _kept_tails(_value(source, record)):
            first = records.get(kept)
            if first in gone:
                after = [other for other in stay if other > first]
                edits[record][path] = json.dumps(infos[after[0]].get("id")) if after else json_text.REMOVE


def _value(source: Source, record: int) -> Any:
    return None if record in source.unparsed else json_text.parse(source.raw(record))


def _kept_tails(value: Any) -> Iterator[tuple[JsonPath, str]]:
    """Where compactions name the first message that they keep."""
    parts = value.get("parts") if isinstance(value, dict) else None
    for number, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("tail_start_id"), str):
            yield ("parts", number, "tail_start_id"), part["tail_start_id"]


_NAMES: Final = ("id", "sessionID")


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    """A request of the user with the id and the time of the message that it replaces, since these give the order."""
    old = json_text.parse_text(replaced)
    info = _info(old)
    named: dict[str, Any] = {key: info[key] for key in _NAMES if key in info}
    time, model = info.get("time"), info.get("model")
    answered_by = {"providerID": info.get("providerID") or "", "modelID": info.get("modelID") or ""}
    new: dict[str, Any] = {
        **named,
        "role": "user",
        "time": {"created": time.get("created", 0) if isinstance(time, dict) else 0},
        "agent": info.get("agent") or info.get("mode") or "build",
        "model": model if isinstance(model, dict) else answered_by,
    }
    part = {"id": _first_part(old["parts"]), "sessionID": info.get("sessionID"), "messageID": info.get("id")}
    members = json.dumps({**{key: value for key, value in part.items() if value is not None}, "type": "text"})
    return {"info": json.dumps(new), "parts": f'[{members[:-1]}, "text": {literal}}}]'}


def _first_part(parts: list[Any]) -> Any:
    return next((part["id"] for part in parts if isinstance(part, dict) and "id" in part), None)


FORMAT = Format(
    "opencode",
    Family.OPENAI_CHAT,
    "opencode exports (opencode export)",
    evidence,
    read,
    complete=complete,
    display=lambda meant: repeats.display_values(meant, _METADATA),
    new_message=new_message,
    summary_role=Role.USER,
)
