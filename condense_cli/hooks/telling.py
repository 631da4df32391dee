"""At the end of a turn: a word to the user when the window fills up, once for each threshold."""

from __future__ import annotations

import contextlib
from typing import Any, Final

from .events import message, session_of, transcript_of
from .notes import Notes, notes_of, remember
from .tails import Use, use_of, wait_for_answer

THRESHOLDS: Final = (60, 75, 90)
"""Percent of the window."""

_AGAIN: Final = 15
"""A threshold counts anew when the session fell so far below it: it was compacted, or condensed."""

_SMALLEST: Final = 200_000
"""No model that these clients run with has a smaller window; below its first threshold none is looked up."""

_WINDOWS: Final = "windows"
"""Where the windows of models are remembered, as if it were a session."""

_MEASURED_FROM: Final = 30
_STEP: Final = 10
"""Percent of the window from which on it is measured what condensing would free, and after how many more again."""


def answer(client: str, given: dict[str, Any]) -> str:
    """The word, or nothing. What condensing would free is measured beside it, for the next time."""
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
        if percent >= _MEASURED_FROM and percent >= 100 * _measured(notes) / window + _STEP:
            _measure_beside(client, session, path)
        return ""
    from .measuring import measured

    freed = 0
    with contextlib.suppress(Exception):  # The word is worth saying without it.
        freed = measured(client, session, path, use.tokens)
    return message(_sentence(percent, use.tokens, window, freed, session))


def _window(client: str, use: Use, notes: Notes) -> int:
    """The window by the file, by what the client told its status line, or as it is listed; 0 where it is not known."""
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
    """The window of a model by the user's profiles, else by the table of prices, which takes a while to import."""
    from ..config.files import load_user_configuration
    from ..config.models import Configuration
    from ..core.values import WindowSigns
    from ..providers.window import window_of

    signs = WindowSigns(use.model, use.tokens)
    return window_of(use.model, Configuration(), load_user_configuration(), signs=signs).tokens or 0


def _measured(notes: Notes) -> int:
    tokens = notes.get("measured")
    # After a compaction there is less than was measured.
    return tokens if isinstance(tokens, int) and tokens <= notes.get("tokens", tokens) else 0


def _measure_beside(client: str, session: str, path: str) -> None:
    """Measure in a process of its own, which the client does not wait for."""
    import json
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


def _sentence(percent: float, tokens: int, window: int, freed: int, session: str) -> str:
    words = f"condense: {percent:.0f}% of the context window is in use ({tokens:,} of {window:,} tokens)."
    if freed > 0:
        words += (
            f" Condensing would free about {freed:,}: exit, then condense run --session {session[:8]} --new-session"
        )
    return words
