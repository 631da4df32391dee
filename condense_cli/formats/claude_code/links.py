"""Relinking a Claude Code session after records went.

Resuming walks from the newest leaf through `parentUuid` and stops without a word at the first parent
that is missing, so every link to a record that went is moved to its nearest ancestor that stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ...core import json_text
from ...core.transcript import JsonPath, Source
from ..engine.base import RecordEdits

LINKS: Final = ("parentUuid", "leafUuid", "sourceToolAssistantUUID", "logicalParentUuid")


class Links(msgspec.Struct):
    """What one record is called, and the records that it names."""

    uuid: str | None = None
    type: str | None = None
    parentUuid: str | None = None
    leafUuid: str | None = None
    sourceToolAssistantUUID: str | None = None
    logicalParentUuid: str | None = None


_decode_links = msgspec.json.Decoder(Links).decode


def relink(source: Source, edits: RecordEdits, gone: frozenset[int]) -> None:
    """Add edits to every record that names one of the records that go."""
    links = read_links(source)
    parents = _parents(found for record, found in links.items() if record in gone)
    for record, found in links.items():
        if record in gone:
            continue
        for key in LINKS:
            target = getattr(found, key)
            if target in parents:
                edits[record][(key,)] = json.dumps(_surviving(target, parents))
        if found.type == "system" and b'"preserved' in source.raw(record):
            metadata = json_text.parse(source.raw(record)).get("compactMetadata")
            edits[record].update(_kept_by_boundary(metadata, parents, _parents(links.values())))


def written_again(source: Source, gone: frozenset[int]) -> frozenset[int]:
    """Records that share the uuid of one that goes: the client takes the last, or else the one before it."""
    links = read_links(source) if gone else {}
    uuids = {links[record].uuid for record in gone if record in links} - {None}
    return frozenset(record for record, found in links.items() if found.uuid in uuids)


_Parents = Mapping[str, str | None]
"""The parent of each record, by its uuid."""


def _parents(links: Iterable[Links]) -> _Parents:
    return {found.uuid: found.parentUuid for found in links if found.uuid is not None}


def _kept_by_boundary(metadata: Any, gone: _Parents, above: _Parents) -> dict[JsonPath, str | None]:
    """Edits to what a compact boundary keeps: a list that names one missing record is void as a whole."""
    edits: dict[JsonPath, str | None] = {}
    for key in ("preservedMessages", "preservedSegment"):
        kept = metadata.get(key) if isinstance(metadata, dict) else None
        if not isinstance(kept, dict):
            continue
        path = ("compactMetadata", key)
        anchor, head, tail = (str(kept.get(name)) for name in ("anchorUuid", "headUuid", "tailUuid"))
        if anchor in gone:
            edits[*path, "anchorUuid"] = json.dumps(_surviving(anchor, gone))
        for name in ("uuids", "allUuids"):
            listed = kept.get(name)
            for position, uuid in enumerate(listed if isinstance(listed, list) else ()):
                if str(uuid) in gone:
                    edits[*path, name, position] = json_text.REMOVE
        if head in gone or tail in gone:
            left = [uuid for uuid in _piece(head, tail, above) if uuid not in gone]
            if not left:
                return {path: json_text.REMOVE}
            edits |= {(*path, "headUuid"): json.dumps(left[0]), (*path, "tailUuid"): json.dumps(left[-1])}
    return edits


def _piece(head: str, tail: str, above: _Parents) -> list[str]:
    """The uuids from head to tail."""
    uuids = [tail]
    while uuids[-1] != head and (parent := above.get(uuids[-1])) is not None and len(uuids) <= len(above):
        uuids.append(parent)
    return uuids[::-1]


def named(link: Any) -> str | None:
    """The uuid that a link names. A value that is no text names a record that is in no file."""
    return link if link is None or isinstance(link, str) else f"{json_text.dump_compact(link)} (not a string)"


def read_links(source: Source) -> dict[int, Links]:
    """The links of every record that is an object, by its number."""
    return {record: found for record in range(len(source.spans)) if (found := _links(source, record))}


def _links(source: Source, record: int) -> Links | None:
    if record in source.unparsed:
        return None
    try:
        return _decode_links(source.raw(record))
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = json_text.parse(source.raw(record))
        if not isinstance(value, dict):
            return None
        own = {key: value[key] for key in ("uuid", "type") if isinstance(value.get(key), str)}
        return Links(**own, **{key: named(value.get(key)) for key in LINKS})


def _surviving(uuid: str, parents: _Parents) -> str | None:
    seen: set[str] = set()
    target: str | None = uuid
    while target is not None and target in parents and target not in seen:
        seen.add(target)
        target = parents[target]
    return None if target in seen else target
