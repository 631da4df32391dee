"""After a compaction: a recap of what was lost, for the model, once."""

from __future__ import annotations

import os
import time
from typing import Any, Final

from .events import context, session_of, transcript_of
from .notes import notes_of, remember

_MOST: Final = 9_500
"""Characters of an answer. Claude Code 2.1.330 puts more than 10,000 into a file and shows the model its beginning."""

_ROUNDS: Final = 4

_WAITS: Final = 10
_SECONDS: Final = 0.1
"""Codex writes its compaction down at about the time at which it tells of it; Claude Code does so far later."""
_COMPACTED: Final = b'"type":"compacted"'
_SAID: Final = b'"type":"response_item"'
_END: Final = 4_000_000
"""Bytes at the end of a file in which the compaction is."""


def answer(client: str, given: dict[str, Any]) -> str:
    """The recap. Where the client wrote down the compaction already, only of what is not said any more."""
    path = transcript_of(given)
    if given.get("source") != "compact" or not path:
        return ""
    session, size = session_of(given), os.path.getsize(path)
    if notes_of(client, session).get("recapped") == size:
        return ""  # Two installations of this hook.
    if client == "codex":
        _wait_for_compaction(path)
    text = _recap(path)
    remember(client, session, recapped=size)
    return context("SessionStart", text)


def _wait_for_compaction(path: str) -> None:
    """Until a compaction is the newest in the file, or for a second."""
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
        length = len(text.encode("utf-16-le")) // 2  # As JavaScript counts.
        if length <= _MOST:
            return text
        tokens = max(ENOUGH, int(tokens * 0.95 * _MOST / length))
    return ""
