"""Parts of a transcript with what they cost, in the shape that the JSON report has."""

from __future__ import annotations

import msgspec


class Share(msgspec.Struct, frozen=True):
    """Part of the transcript: its tokens, and these in percent of all."""

    name: str
    tokens: int
    percent: float
    blocks: int


class ToolShare(msgspec.Struct, frozen=True):
    name: str
    tokens: int
    percent: float
    calls: int
    parameters: int
    results: int


class MessageShare(msgspec.Struct, frozen=True):
    """A message with its constant cost; `label` is that of its largest block."""

    message: int
    role: str
    tokens: int
    percent: float
    blocks: int
    label: str


class BlockShare(msgspec.Struct, frozen=True):
    """`block` is the position in the message. `first` is the earlier block that this one equals, as "message:block"."""

    message: int
    block: int
    role: str
    content_type: str
    tokens: int
    percent: float
    label: str
    first: str | None = None


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def percent_text(value: float) -> str:
    return f"{value:.1f} %"
