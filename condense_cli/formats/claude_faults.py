"""What is wrong with the links of a Claude Code session: one function per rule.

The client resumes by walking from the newest leaf through `parentUuid`. It stops without a word at a
parent that is not there, so a broken link costs everything before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from ..transcript import Transcript
from .base import FileFault, FileRule
from .claude_links import read_links


def parents_exist(transcript: Transcript) -> Iterator[FileFault]:
    yield from _missing(transcript, "parents_exist", "parentUuid")


def leaves_exist(transcript: Transcript) -> Iterator[FileFault]:
    yield from _missing(transcript, "leaves_exist", "leafUuid")


def callers_exist(transcript: Transcript) -> Iterator[FileFault]:
    yield from _missing(transcript, "callers_exist", "sourceToolAssistantUUID")


def _missing(transcript: Transcript, rule: str, key: str) -> Iterator[FileFault]:
    links = read_links(transcript.source)
    uuids = {found.uuid for found in links.values() if isinstance(found.uuid, str)}
    for record, found in links.items():
        target = getattr(found, key)
        if not isinstance(target, str) or target in uuids:
            continue
        # Older clients open a session file with the summaries of other sessions, whose leaves are in other files.
        is_note = found.type == "summary"
        where = " (a summary of another session)" if is_note else ""
        yield FileFault(rule, record, f"{key} names no record of the file: {target}{where}", is_note)


def live_uuids_unique(transcript: Transcript) -> Iterator[FileFault]:
    """A record that shares its uuid with one of the live conversation: the client takes the last it finds."""
    live = {block.place.record for _, block in transcript.blocks()}
    records: dict[str, list[int]] = defaultdict(list)
    for record, found in read_links(transcript.source).items():
        if isinstance(found.uuid, str):
            records[found.uuid].append(record)
    for uuid, doubled in records.items():
        if len(doubled) > 1 and not live.isdisjoint(doubled):
            numbers = ", ".join(str(record + 1) for record in doubled)
            yield FileFault("live_uuids_unique", doubled[-1], f"records {numbers} share the uuid {uuid}")


RULES: Final[tuple[FileRule, ...]] = (parents_exist, leaves_exist, callers_exist, live_uuids_unique)
