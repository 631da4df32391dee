"""What clients give with an event."""

from __future__ import annotations

import json
import os
from typing import Any


def session_of(given: dict[str, Any]) -> str:
    return str(given.get("session_id") or "")


def transcript_of(given: dict[str, Any]) -> str:
    """The file of the session. Empty where there is none yet: a client may name one before it writes it."""
    path = given.get("transcript_path")
    return path if isinstance(path, str) and path.endswith(".jsonl") and os.path.isfile(path) else ""


def message(text: str) -> str:
    """An answer that the client shows to its user, and not to the model."""
    return json.dumps({"systemMessage": text})


def context(event: str, text: str) -> str:
    """An answer that the client hands to the model."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
