"""The facts of `condense show`: blocks that were found. Documented in docs/json-report.md."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...core.transcript import Transcript, calls_by_id
from ..as_json import SHAPE
from ..text.labels import block_label
from .lookup import Hit


class HitFacts(msgspec.Struct, frozen=True):
    """`found` is one of `lookup.Found`; `path` leads to the argument or display data.

    `message` is null if the record is no part of the conversation, `role` too if it is no message.
    """

    found: str
    message: int | None
    block: int
    record: int
    role: str | None
    kind: str
    tool: str | None
    call_id: str | None
    label: str
    path: list[str | int]
    text: str


class Lookup(msgspec.Struct, frozen=True):
    version: int
    input: str
    query: str
    blocks: list[HitFacts]


def build(transcript: Transcript, hits: Sequence[Hit], *, source: str, query: str) -> Lookup:
    calls = calls_by_id([*transcript.messages, *(hit.message for hit in hits if hit.message and hit.is_before)])
    return Lookup(
        SHAPE,
        source,
        query,
        [
            HitFacts(
                hit.found.value,
                hit.message.index if hit.message and not hit.is_before else None,
                hit.number,
                hit.block.place.record,
                hit.message.role.value if hit.message else None,
                hit.block.kind.value,
                hit.block.tool,
                hit.block.call_id,
                block_label(hit.block, calls),
                list(hit.path),
                hit.text,
            )
            for hit in hits
        ],
    )
