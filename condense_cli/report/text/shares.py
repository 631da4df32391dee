"""Parts of a transcript with what they cost, in the shape that the JSON report has."""

from __future__ import annotations

from collections import Counter

import msgspec


class TokenShare(msgspec.Struct, frozen=True):
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
    """`block` is the position in the message. `first` is the earlier block that this one equals, as "message.block"."""

    message: int
    block: int
    role: str
    content_type: str
    tokens: int
    percent: float
    label: str
    first: str | None = None


def tool_shares(calls: Counter[str], parameters: Counter[str], results: Counter[str], total: int) -> list[ToolShare]:
    """The tools with the most tokens first, from the number of calls and the tokens of each by name."""
    shares = []
    for name in calls | results:
        tokens = parameters[name] + results[name]
        share = percent(tokens, total)
        shares.append(ToolShare(name, tokens, share, calls[name], parameters[name], results[name]))
    return sorted(shares, key=lambda share: (-share.tokens, share.name))


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def percent_text(value: float) -> str:
    return f"{value:.1f}%"


def change_text(before: int, after: int) -> str:
    """What became of so many tokens: a share that is saved, or how many times as many there are."""
    if after > before:
        return f"{after / max(1, before):.1f} times as many"
    return percent_text(percent(before - after, before)) + " saved"
