"""Determine the size of the context window that a conversation runs in.

The price table lists a model's largest window. A client may use a smaller one; a beta or a plan may allow a larger one.
"""

from __future__ import annotations

from math import inf
from typing import Final

from ..core.markers import is_marked
from ..core.transcript import Transcript
from ..core.values import WindowSigns
from ..money.prices import context_window, names_window
from ..tokens.models import bare_name

LISTED: Final = "price table"
UNKNOWN: Final = "unknown"
RECORDED_USE: Final = "recorded use"
NAMED: Final = "named by the client"

USUAL: Final = (
    *(32_000, 64_000, 128_000, 200_000, 256_000, 400_000, 500_000),
    *(1_000_000, 2_000_000, 5_000_000, 10_000_000),
)
"""Common window sizes."""

LARGEST_BESIDE: Final = 100_000
"""System prompt and tools hardly ever take more tokens."""

_LARGEST: Final = 2_000_000
"""Hardly any window is larger."""

_FAR_LESS: Final = 0.5
"""Clients compact when most of the window is full. Compacting below this share of the listed window implies a smaller
one.
"""


def signs_of(transcript: Transcript) -> WindowSigns:
    """Collect evidence in a transcript of its model's window, ignoring requests of other models."""
    model = transcript.model
    sent = [usage.input_tokens for usage in transcript.usages if _is_same(usage.model, model)]
    found = [signs for signs in transcript.window_signs if _is_same(signs.model, model)]
    used, most = [*sent, *(signs.used for signs in found)], most_sent(transcript)
    if max(used, default=0) > most and not any(is_marked(block.content) for _, block in transcript.blocks()):
        used = [tokens for tokens in used if tokens <= most]  # The file is complete, so this was never sent.
    return WindowSigns(
        model,
        max(used, default=0),
        max((signs.compacted_at for signs in found), default=0),
        max((signs.named for signs in found), default=0),
    )


def most_sent(transcript: Transcript) -> float:
    """Return an upper bound of tokens in one request: the largest windows, or the bytes of the file plus prompt and
    tools.

    Unlimited for a conversation that begins in its middle, because earlier content is not in the file.
    """
    return inf if transcript.begins_in_middle else max(_LARGEST, len(transcript.source.data) + LARGEST_BESIDE)


def window_size(model: str | None, signs: WindowSigns) -> tuple[int | None, str]:
    """Return the tokens of a model's window, or None if unknown, and the source of that figure."""
    listed = context_window(model)
    if not _is_same(signs.model, model):
        return listed, UNKNOWN if listed is None else LISTED
    if signs.named and not names_window(model):
        return signs.named, NAMED
    size, source = listed, UNKNOWN if listed is None else LISTED
    at = signs.compacted_at
    if at and not names_window(model) and (listed is None or at < _FAR_LESS * listed):
        smaller = _holding(at)
        if smaller and signs.used <= smaller:
            size, source = smaller, f"the client's own compaction at {at:,}"
    if size and signs.used > size:
        larger = _holding(signs.used)
        size, source = (larger, RECORDED_USE) if larger else (size, source)
    return size, source


def _holding(tokens: int) -> int | None:
    """Return the smallest usual size that holds the tokens. None if none does."""
    return next((size for size in USUAL if size >= tokens), None)


def _is_same(one: str | None, other: str | None) -> bool:
    """Return whether both may be the same model; None matches any."""
    return one is None or other is None or bare_name(one) == bare_name(other)
