"""Links from each record to the one before it: one that is missing, and what named a record that goes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...core.transcript import Source, Transcript
from ...core.wording import plural
from .base import FileFault, FileRule, RecordEdits, records_of


def relink(source: Source, edits: RecordEdits, gone: frozenset[int], *, key: str, parent: str) -> None:
    """Add edits to the records that stay: what named a record that goes names the one before that.

    `key` and `parent` are the keys of a record's name and of its link.
    """
    values = {record: value for record, value in records_of(source) if isinstance(value, dict)} if gone else {}
    before = {str(values[record].get(key)): values[record].get(parent) for record in gone if record in values}
    for record, value in values.items():
        target = value.get(parent)
        if record in gone or not isinstance(target, str) or target not in before:
            continue
        seen: set[str] = set()
        while isinstance(target, str) and target in before and target not in seen:
            seen.add(target)
            target = before[target]
        is_known = isinstance(target, str) and target not in seen
        edits[record][(parent,)] = json.dumps(target if is_known else None)


def not_reached(first: int, link: str, earlier: int) -> tuple[str, ...]:
    """A warning about a conversation that begins at record `first`, whose `link` leads to no record of the file.

    `earlier` is how many messages are before it; none where there are none.
    """
    if not earlier:
        return ()
    return (
        f"The {link} of record {first + 1} names no record in the file. The client begins there and never sends "
        f"{plural(earlier, 'message')} before it; they stay in the file.",
    )


def parents_exist(link: str) -> FileRule:
    """The rule that the first record of the conversation is a root, which the client would read on from otherwise."""

    def missing(transcript: Transcript) -> Iterator[FileFault]:
        if transcript.begins_in_middle:
            first = min((block.place.record for _, block in transcript.blocks()), default=0)
            yield FileFault("parents_exist", first, f"{link} names no record in the file")

    return missing
