"""What `--slim` leaves out of a file, in the shape that the JSON report has. Documented in docs/json-report.md."""

from __future__ import annotations

import msgspec

from ...core.transcript import Slimmed, Transcript


class SlimKind(msgspec.Struct, frozen=True):
    """`values` of one kind, in so many records; `bytes` is what the file loses by them."""

    name: str
    values: int
    records: int
    bytes: int


class Slim(msgspec.Struct, frozen=True):
    """Data that only a client shows; `kinds` has the largest first, and they add up to `bytes`."""

    bytes: int
    kinds: list[SlimKind]


def slim_of(transcript: Transcript) -> Slim:
    by_kind: dict[str, list[Slimmed]] = {}
    for slimmed in transcript.slimmed:
        by_kind.setdefault(slimmed.kind, []).append(slimmed)
    kinds = [
        SlimKind(
            name,
            len(found),
            len({slimmed.place.record for slimmed in found}),
            sum(slimmed.saved for slimmed in found),
        )
        for name, found in by_kind.items()
    ]
    return Slim(sum(kind.bytes for kind in kinds), sorted(kinds, key=lambda kind: -kind.bytes))
