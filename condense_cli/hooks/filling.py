"""At the end of a turn, tell the user when the window fills up, once per threshold, and what condensing would free.

How full a session is comes from the end of its file.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from .notes import Notes, message, notes_of, remember, session_of, transcript_of

_FIRST: Final = 256 * 1024
_MOST: Final = 16 * 1024 * 1024
"""Bytes to read at first, and at most if the last answer is further up."""

_USES: Final = (b'"usage"', b'"compact_boundary"', b'"token_count"', b'"compacted"')
_MESSAGES: Final = (b'"user"', b'"assistant"')
"""Substrings of the records to find; hardly any other record must be parsed."""

_WAITS: Final = 15
_SECONDS: Final = 0.02


class Use(NamedTuple):
    """Tokens in use after the last answer, its model, and the window if the file names it."""

    tokens: int
    model: str
    window: int


def use_of(client: str, path: str) -> Use | None:
    """Return the use by the last answer since a compaction, or None. Raises OSError."""
    read = _claude if client == "claude-code" else _codex
    size = os.path.getsize(path)
    take = _FIRST
    while True:
        for record in _records_from_end(path, size, take, _USES):
            found = read(record)
            if found is not None:
                return found if found.tokens else None
        if take >= min(size, _MOST):
            return None
        take *= 8


def wait_for_answer(path: str) -> None:
    """Wait briefly until the newest message in a file of Claude Code is an answer.

    Claude Code 2.1.330 reports the end of a turn shortly before or after it writes the last answer.
    """
    for _ in range(_WAITS):
        records = _records_from_end(path, os.path.getsize(path), _FIRST, _MESSAGES)
        kinds = (record.get("type") for record in records if not record.get("isSidechain"))
        if next((kind for kind in kinds if kind in ("user", "assistant")), "assistant") == "assistant":
            return
        time.sleep(_SECONDS)


def _records_from_end(path: str, size: int, take: int, marks: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Yield records that contain one of the marks, newest first."""
    with open(path, "rb") as file:
        file.seek(max(0, size - take))
        lines = file.read(take).splitlines()
    for line in reversed(lines if take >= size else lines[1:]):
        if any(mark in line for mark in marks):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):  # The client is still writing it.
                continue
            if isinstance(record, dict):
                yield record


_NOTHING: Final = Use(0, "", 0)


def _claude(record: dict[str, Any]) -> Use | None:
    if record.get("subtype") == "compact_boundary":
        return _NOTHING
    message = record.get("message")
    if record.get("type") != "assistant" or record.get("isSidechain") or not isinstance(message, dict):
        return None
    model, usage = message.get("model"), message.get("usage")
    if not isinstance(usage, dict) or model == "<synthetic>":
        return None
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return Use(sum(_number(usage.get(key)) for key in keys), str(model), 0)


def _codex(record: dict[str, Any]) -> Use | None:
    if record.get("type") == "compacted":
        return _NOTHING
    payload = record.get("payload")
    if record.get("type") != "event_msg" or not isinstance(payload, dict) or payload.get("type") != "token_count":
        return None
    info = payload.get("info")
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(last, dict):
        return None
    tokens = _number(last.get("input_tokens")) + _number(last.get("output_tokens"))
    return Use(tokens, "", _number(info.get("model_context_window"))) if tokens else None


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


THRESHOLDS: Final = (60, 75, 90)
"""Percent of the window."""

_AGAIN: Final = 15
"""A threshold is reset once use falls this far below it, by a compaction or condensing."""

_SMALLEST: Final = 200_000
"""Models of these clients have at least this window; below its first threshold no window is looked up."""

_WINDOWS: Final = "windows"
"""Name of the notes that remember models' windows."""

_MEASURED_FROM: Final = 30
_STEP: Final = 10
"""Percent of the window from which condensing is measured, and the step between measurements."""


def tell(client: str, given: dict[str, Any]) -> str:
    """Return the message, or nothing. Until it is due, condensing is measured in the background for the next one."""
    session, path = session_of(given), transcript_of(given)
    if path and client == "claude-code":
        wait_for_answer(path)
    use = use_of(client, path) if path else None
    if use is None:
        return ""
    notes = notes_of(client, session)
    window = _window(client, use, notes)
    if not window:
        return ""
    percent = 100 * use.tokens / window
    before = [said for said in notes.get("said", ()) if isinstance(said, int)]
    said = [threshold for threshold in before if percent > threshold - _AGAIN]
    crossed = [threshold for threshold in THRESHOLDS if percent >= threshold and threshold not in said]
    values: Notes = {"window": window, "tokens": use.tokens}
    if crossed:
        values["said"] = [*said, *crossed]
    elif said != before:
        values["said"] = said
    remember(client, session, **values)
    if not crossed:
        measured = notes.get("measured")
        # A larger figure is from before a compaction.
        if not isinstance(measured, int) or measured > notes.get("tokens", measured):
            measured = 0
        if percent >= _MEASURED_FROM and percent >= 100 * measured / window + _STEP:
            _measure_in_background(client, session, path)
        return ""
    words = f"condense: {percent:.0f}% of the context window is in use ({use.tokens:,} of {window:,} tokens)."
    with contextlib.suppress(Exception):  # The message is useful without it.
        freed = tokens_freed(client, session, path, use.tokens)
        if freed > 0:
            resume = f"exit, then condense run --session {session[:8]} --new-session"
            words += f" Condensing would free about {freed:,}: {resume}"
    return message(words)


def _window(client: str, use: Use, notes: Notes) -> int:
    """Return the window from the file, the status line or the list; 0 if unknown."""
    known = notes.get("window")
    if use.window or (isinstance(known, int) and known >= use.tokens):
        return use.window or int(known or 0)
    if 100 * use.tokens < min(*THRESHOLDS, _MEASURED_FROM) * _SMALLEST:
        return 0
    listed = notes_of(client, _WINDOWS).get(use.model)
    if not isinstance(listed, int) or listed < use.tokens:
        listed = _listed(use)
        remember(client, _WINDOWS, **{use.model: listed})
    return listed


def _listed(use: Use) -> int:
    """Return the model's window from the user's profiles, else from the price table, which is slow to import."""
    from ..config.files import load_user_configuration
    from ..config.models import Configuration
    from ..core.values import WindowSigns
    from ..providers.window import window_of

    signs = WindowSigns(use.model, use.tokens)
    return window_of(use.model, Configuration(), load_user_configuration(), signs=signs).tokens or 0


def _measure_in_background(client: str, session: str, path: str) -> None:
    """Measure in a separate process that the client does not wait for."""
    import subprocess
    import sys

    given = json.dumps({"session_id": session, "transcript_path": path}).encode()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "condense_cli", "hook", client, "measure"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()


def measure(client: str, given: dict[str, Any]) -> str:
    """Measure silently; the status line shows the figure later."""
    path = transcript_of(given)
    use = use_of(client, path) if path else None
    if use is not None:
        with contextlib.suppress(AttributeError, OSError):  # Nobody waits for the result.
            os.nice(10)
        tokens_freed(client, session_of(given), path, use.tokens)
    return ""


def tokens_freed(client: str, session: str, path: str, tokens: int) -> int:
    """Return the tokens that the preset `balanced` would free. Raises CondenseError."""
    from ..api import condense, load
    from ..core.factor import factor_of
    from ..core.tokens import Counter

    # Prevents a second event from starting the same work meanwhile.
    remember(client, session, measured=tokens)
    transcript = load(path, lenient=True)
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    result = condense(transcript, counter=count, factor=factor, proves=False)
    freed = factor.shown(result.tokens_before) - factor.shown(result.tokens_after)
    remember(client, session, measured=tokens, frees=freed)
    return freed
