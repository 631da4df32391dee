"""What a repair changed, with the place of each change. Documented in docs/json-report.md."""

from __future__ import annotations

import msgspec

from ...repair.draft import Change
from ...repair.mending import Repair
from ..as_json import SHAPE


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
