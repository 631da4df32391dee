"""Which entries of a pi session are sent: those on the path to the last one, behind the newest compaction.

A compaction stands on the path behind what it kept; what is sent is its summary, then the entries from the first
one that it kept on, then what follows it.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/src/core/session-manager.ts (buildSessionContext)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct


class PiEntry(Struct, frozen=True):
    record: int
    value: dict[str, Any]

    @property
    def id(self) -> str | None:
        return self._string("id")

    @property
    def parent(self) -> str | None:
        return self._string("parentId")

    @property
    def is_compaction(self) -> bool:
        return self.value.get("type") == "compaction"

    def _string(self, key: str) -> str | None:
        found = self.value.get(key)
        return found if isinstance(found, str) else None


def is_tree(entries: Sequence[PiEntry]) -> bool:
    """Whether the entries have ids, as those of version 2 and later have."""
    return any("parentId" in entry.value for entry in entries)


def path(entries: Sequence[PiEntry]) -> list[PiEntry]:
    """The entries from the root to the last one, without the header."""
    found = [entry for entry in entries if entry.value.get("type") != "session"]
    if not found or not is_tree(entries):
        return found
    named = {entry.id: entry for entry in found if entry.id is not None}
    upwards: list[PiEntry] = []
    at: PiEntry | None = found[-1]
    seen: set[int] = set()
    while at is not None and at.record not in seen:
        seen.add(at.record)
        upwards.append(at)
        at = named.get(at.parent) if at.parent is not None else None
    return upwards[::-1]


def sent(entries: Sequence[PiEntry]) -> list[PiEntry]:
    """The entries of the path that may be sent, in the order in which they are."""
    on_path = path(entries)
    newest = max((position for position, entry in enumerate(on_path) if entry.is_compaction), default=None)
    if newest is None:
        return on_path
    compaction = on_path[newest]
    kept = on_path[first_kept(on_path, newest, entries) : newest]
    # Of older compactions nothing is sent, wherever they stand.
    rest = [entry for entry in (*kept, *on_path[newest + 1 :]) if not entry.is_compaction]
    return [compaction, *rest]


def first_kept(on_path: Sequence[PiEntry], newest: int, entries: Sequence[PiEntry]) -> int:
    """Position on the path of the first entry that a compaction kept; its own position where it kept none."""
    value = on_path[newest].value
    index = value.get("firstKeptEntryIndex")
    if isinstance(index, int) and not is_tree(entries):
        records = [entry.record for entry in on_path[:newest]]
        record = entries[index].record if 0 < index < len(entries) else -1
        return records.index(record) if record in records else newest
    ids = [entry.id for entry in on_path[:newest]]
    kept = value.get("firstKeptEntryId")
    return ids.index(kept) if isinstance(kept, str) and kept in ids else newest
