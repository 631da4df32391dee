"""What is wrong with the records of a Claude Code session and their links, which are read once: a file may be large.

The client resumes by walking from the newest leaf through `parentUuid`. It stops without a word at a
parent that is not there, so a broken link costs everything before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...core.transcript import Transcript
from ..engine.base import FileFault, FileRule, messages_understood
from .kinds import BESIDE_TREE, TREE
from .links import Links, read_links

_NAMED: Final = {
    "parents_exist": "parentUuid",
    "leaves_exist": "leafUuid",
    "callers_exist": "sourceToolAssistantUUID",
}
"""Rules, and the key that names a record in each."""


def links_are_whole(transcript: Transcript) -> Iterator[FileFault]:
    links = read_links(transcript.source)
    for rule, key in _NAMED.items():
        yield from _missing(links, rule, key)
    yield from _doubled(links, {block.place.record for _, block in transcript.blocks()})


def _missing(links: Mapping[int, Links], rule: str, key: str) -> Iterator[FileFault]:
    uuids = {found.uuid for found in links.values() if found.type in TREE}
    for record, found in links.items():
        target = getattr(found, key)
        if target is None or target in uuids:
            continue
        # Older clients open a session file with the summaries of other sessions, whose leaves are in other files.
        is_note = found.type == "summary"
        where = " (a summary of another session)" if is_note else ""
        yield FileFault(rule, record, f"{key} names no record in the file: {target}{where}", is_note)


def _doubled(links: Mapping[int, Links], live: set[int]) -> Iterator[FileFault]:
    """Records that share their uuid with one of the live conversation: the client takes the last it finds."""
    records: dict[str, list[int]] = defaultdict(list)
    for record, found in links.items():
        if found.uuid is not None:
            records[found.uuid].append(record)
    for uuid, doubled in records.items():
        if len(doubled) > 1 and not live.isdisjoint(doubled):
            numbers = ", ".join(str(record + 1) for record in doubled)
            yield FileFault("live_uuids_unique", doubled[-1], f"records {numbers} share the uuid {uuid}")


def lacking(value: Any) -> str:
    """Name what a record lacks that the client reads each message by; empty for one that is whole, or no message."""
    if not isinstance(value, dict):
        return ""
    kind, has_message = str(value.get("type")), isinstance(value.get("message"), dict)
    if kind not in ("user", "assistant"):
        return "a known type" if has_message and kind not in TREE and kind not in BESIDE_TREE else ""
    if not has_message:
        return "message"
    if not isinstance(value.get("uuid"), str):
        return "uuid"
    return "" if "parentUuid" in value else "parentUuid"


RULES: Final[tuple[FileRule, ...]] = (links_are_whole, messages_understood(lacking))
