"""Before a compaction: the session as it is, kept beside its file."""

from __future__ import annotations

from typing import Any

from .events import transcript_of


def answer(client: str, given: dict[str, Any]) -> str:
    path = transcript_of(given)
    if path:
        from datetime import UTC, datetime
        from pathlib import Path

        from ..storage.backups import keep_snapshot

        keep_snapshot(Path(path), now=datetime.now(UTC))
    return ""
