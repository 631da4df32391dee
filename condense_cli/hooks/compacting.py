"""Before a compaction, keep a snapshot of the session beside its file. After it, give the model a recap of losses."""

from __future__ import annotations

import filecmp
import os
import time
from typing import Any, Final

from .notes import context, notes_of, remember, session_of, transcript_of

_MOST: Final = 9_500
"""Maximum characters of an answer. Claude Code 2.1.330 moves more than 10,000 to a file and shows the model only the
beginning.
"""

_ROUNDS: Final = 4

_WAITS: Final = 10
_SECONDS: Final = 0.1
"""Codex writes its compaction at about the time of the event; Claude Code does so far only later."""
_COMPACTED: Final = b'"type":"compacted"'
_SAID: Final = b'"type":"response_item"'
_END: Final = 4_000_000
"""Bytes at the end of the file that include the compaction."""


def keep(client: str, given: dict[str, Any]) -> str:
    """Keep a snapshot of the session, unless one equals the file."""
    path = transcript_of(given)
    if path and not _is_kept(path):
        from datetime import UTC, datetime
        from pathlib import Path

        from ..storage.backups import keep_snapshot

        keep_snapshot(Path(path), now=datetime.now(UTC))
    return ""


def _is_kept(path: str) -> bool:
    """Return whether a snapshot equals the file. Repeats the names of `storage.backups`, which is slow to import."""
    folder, name = os.path.split(os.path.realpath(path))
    with os.scandir(folder) as entries:
        snapshots = [
            entry.path
            for entry in entries
            if entry.name.startswith(f"{name}.") and entry.name.endswith(".condense-snapshot")
        ]
    return any(filecmp.cmp(snapshot, path, shallow=False) for snapshot in snapshots)


def recall(client: str, given: dict[str, Any]) -> str:
    """Return the recap. Once the client has written the compaction, only lost content is included."""
    path = transcript_of(given)
    if given.get("source") != "compact" or not path:
        return ""
    session, size = session_of(given), os.path.getsize(path)
    if notes_of(client, session).get("recapped") == size:
        return ""  # This hook is installed twice.
    if client == "codex":
        _wait_for_compaction(path)
    text = _recap(path)
    remember(client, session, recapped=size)
    return context("SessionStart", text)


def _wait_for_compaction(path: str) -> None:
    """Wait until a compaction is the newest record, or for a second."""
    for _ in range(_WAITS):
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _END))
            _, found, since = file.read().rpartition(_COMPACTED)
        if found and _SAID not in since:
            return
        time.sleep(_SECONDS)


def _recap(path: str) -> str:
    from ..api import load
    from ..recaps.told import ENOUGH, TOKENS, ends_in_compaction, recap

    transcript = load(path, lenient=True)
    lost = ends_in_compaction(transcript)
    tokens = TOKENS
    text = ""
    for _ in range(_ROUNDS):
        text = recap(transcript, tokens, lost=lost).recap.text
        length = len(text.encode("utf-16-le")) // 2  # In JavaScript's units.
        if length <= _MOST:
            return text
        tokens = max(ENOUGH, int(tokens * 0.95 * _MOST / length))
    return ""
