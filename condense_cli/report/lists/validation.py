"""The facts of `condense validate` and `repair`: what is wrong, with its place in the file, and what was mended.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ... import formats
from ...core.transcript import Message, Source, Transcript
from ...repair.draft import Change
from ...repair.mending import Repair
from ...rules import validity
from ..sections import SHAPE


class ListedFault(msgspec.Struct, frozen=True):
    """One broken rule. `record` counts from 0, `line` from 1; null if the place is unknown.

    `api` tells whether the API refuses it; otherwise the client stumbles over it.
    """

    rule: str
    said: str
    api: bool
    message: int | None
    record: int | None
    line: int | None


class Validation(msgspec.Struct, frozen=True):
    """`notes` are worth knowing and break nothing."""

    version: int
    input: str
    format: str
    messages: int
    valid: bool
    faults: list[ListedFault]
    notes: list[ListedFault]
    warnings: list[str]


def check(transcript: Transcript, *, source: str) -> Validation:
    """Rules of the API first, then those of the client for its file; each in the order of its rules."""
    violations = validity.validate_input(transcript)
    of_api = list(zip(violations, _records_of(transcript, violations), strict=True))
    its_format = formats.format_named(transcript.format)
    of_file = [fault for rule in its_format.rules for fault in rule(transcript)]
    message_of = {block.place.record: message.index for message, block in transcript.blocks()}
    lines = line_numbers(
        transcript.source, [record for _, record in of_api if record is not None] + [fault.record for fault in of_file]
    )
    in_file = [
        ListedFault(fault.rule, fault.said, False, message_of.get(fault.record), fault.record, lines[fault.record])
        for fault in of_file
    ]
    notes = [entry for entry, fault in zip(in_file, of_file, strict=True) if fault.is_note]
    faults = [
        ListedFault(
            violation.rule,
            violation.said,
            True,
            violation.message,
            record,
            lines[record] if record is not None else None,
        )
        for violation, record in of_api
    ] + [entry for entry, fault in zip(in_file, of_file, strict=True) if not fault.is_note]
    return Validation(
        SHAPE,
        source,
        transcript.format,
        len(transcript.messages),
        not faults,
        faults,
        notes,
        list(transcript.warnings),
    )


def _records_of(transcript: Transcript, violations: Iterable[validity.Violation]) -> list[int | None]:
    """Return the record of each violation: that of its block, or else the first of its message."""
    by_index = {message.index: message for message in transcript.messages}
    first = _first_records(transcript)
    known: dict[int, dict[str, int]] = {}
    records = []
    for violation in violations:
        if violation.message not in known:
            known[violation.message] = _places(by_index[violation.message])
        records.append(known[violation.message].get(violation.about, first[violation.message]))
    return records


def _places(message: Message) -> dict[str, int]:
    """Records of a message's blocks by what a violation may call them; of several the last, which is one too many."""
    places: dict[str, int] = {}
    for block in message.blocks:
        places[str(block.place)] = block.place.record
        if block.call_id:
            places[block.call_id] = block.place.record
    return places


def _first_records(transcript: Transcript) -> dict[int, int | None]:
    """Return the first record of each message. A message without content has that of the one before it."""
    first: dict[int, int | None] = {}
    source = transcript.source
    last = -1
    for message in transcript.messages:
        if message.blocks:
            first[message.index] = min(block.place.record for block in message.blocks)
            last = max(block.place.record for block in message.blocks)
            continue
        last = next((n for n in range(last + 1, len(source.spans)) if n not in source.unparsed), last)
        first[message.index] = last if last >= 0 else None
    return first


def line_numbers(source: Source, records: Iterable[int]) -> dict[int, int]:
    """Return the line, from 1, on which each of the records starts."""
    lines: dict[int, int] = {}
    line, position = 1, 0
    for record in sorted(set(records)):
        start = source.spans[record][0]
        line += source.data.count(b"\n", position, start)
        position = start
        lines[record] = line
    return lines


class Repaired(msgspec.Struct, frozen=True):
    """`changes` is empty for a file that was right. `output` and `backup` are paths, null where nothing was written."""

    version: int
    input: str
    format: str
    messages: int
    changes: list[Change]
    output: str | None
    backup: str | None


def as_facts(found: Repair, *, source: str, output: str | None, backup: str | None) -> Repaired:
    transcript = found.transcript
    return Repaired(SHAPE, source, transcript.format, len(transcript.messages), list(found.changes), output, backup)
