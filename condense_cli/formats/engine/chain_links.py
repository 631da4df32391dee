"""Links from each record to the one before it: what named a record that goes names the one before that."""

from __future__ import annotations

import json

from ...core.transcript import Source
from .base import RecordEdits, records_of


def relink(source: Source, edits: RecordEdits, gone: frozenset[int], *, key: str, parent: str) -> None:
    """Add edits to the records that stay; `key` and `parent` are the keys of a record's name and of its link."""
    values = {record: value for record, value in records_of(source) if isinstance(value, dict)} if gone else {}
    before = {values[record].get(key): values[record].get(parent) for record in gone if record in values}
    for record, value in values.items():
        target = value.get(parent)
        if record in gone or not isinstance(target, str) or target not in before:
            continue
        seen: set[object] = set()
        while target in before and target not in seen:
            seen.add(target)
            target = before[target]
        edits[record][(parent,)] = json.dumps(None if target in seen else target)
