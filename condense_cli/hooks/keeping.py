"""Before a compaction: the session as it is, kept beside its file."""

from __future__ import annotations

import filecmp
import os
from typing import Any

from .events import transcript_of


def answer(client: str, given: dict[str, Any]) -> str:
    path = transcript_of(given)
    if path and not _is_kept(path):
        from datetime import UTC, datetime
        from pathlib import Path

        from ..storage.backups import keep_snapshot

        keep_snapshot(Path(path), now=datetime.now(UTC))
    return ""


def _is_kept(path: str) -> bool:
    """Whether a snapshot holds just what the file does. Knows their names as `storage.backups` does, which is large."""
    folder, name = os.path.split(os.path.realpath(path))
    with os.scandir(folder) as entries:
        snapshots = [
            entry.path
            for entry in entries
            if entry.name.startswith(f"{name}.") and entry.name.endswith(".condense-snapshot")
        ]
    return any(filecmp.cmp(snapshot, path, shallow=False) for snapshot in snapshots)
