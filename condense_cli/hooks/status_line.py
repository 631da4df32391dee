"""Build Claude Code's status line: share of the window, cache state, and tokens that condensing would free."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Final

from .notes import notes_of, remember, session_of

_LEAST: Final = 1_000
"""Fewer tokens are not worth mentioning."""
_MOST: Final = 1e9
"""Largest plausible number of tokens, percent or seconds."""


def status_line(client: str, given: dict[str, Any]) -> str:
    """Return the line."""
    return " · ".join(_parts(client, given))


def _parts(client: str, given: dict[str, Any]) -> Iterator[str]:
    window = _object(given, "context_window")
    size, used = _number(window, "context_window_size"), _number(window, "total_input_tokens")
    if size:
        percent = window.get("used_percentage")
        share = percent if isinstance(percent, int | float) and 0 <= percent < _MOST else 100 * used / size
        yield f"{share:.0f}% of {_short(size)}"
    cache = _object(given, "prompt_cache")
    if isinstance(cache.get("warm"), bool):
        yield f"cache warm{_left(cache)}" if cache["warm"] else "cache cold"
    session = session_of(given)
    if not session:
        return
    notes = notes_of(client, session)
    if size and notes.get("window") != size:
        with contextlib.suppress(OSError):  # The line is useful without it.
            remember(client, session, window=size)
    frees, measured = notes.get("frees"), notes.get("measured")
    # A figure from before a compaction no longer applies.
    if isinstance(frees, int) and frees >= _LEAST and isinstance(measured, int) and (not used or used >= measured // 2):
        yield f"condensing frees {_short(frees)}"


def _left(cache: dict[str, Any]) -> str:
    ends = cache.get("expires_at")
    if isinstance(ends, str):
        from datetime import datetime

        try:
            ends = datetime.fromisoformat(ends).timestamp()
        except ValueError:
            return ""
    if not isinstance(ends, int | float):
        return ""
    seconds = (ends / 1_000 if ends > 1e11 else ends) - time.time()
    if not 0 < seconds < _MOST:
        return ""
    return f" {seconds / 60:.0f} min" if seconds >= 60 else f" {seconds:.0f} s"


def _object(given: dict[str, Any], key: str) -> dict[str, Any]:
    found = given.get(key)
    return found if isinstance(found, dict) else {}


def _number(given: dict[str, Any], key: str) -> int:
    found = given.get(key)
    return int(found) if isinstance(found, int | float) and 0 < found < _MOST else 0


def _short(tokens: int) -> str:
    return f"{tokens / 1_000_000:g}M" if tokens % 100_000 == 0 and tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"
