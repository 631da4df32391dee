"""What condensing a session would free, in the model's tokens."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .events import session_of, transcript_of
from .notes import remember
from .tails import use_of


def answer(client: str, given: dict[str, Any]) -> str:
    """Measure, and say nothing: what comes out is remembered for the status line."""
    path = transcript_of(given)
    use = use_of(client, path) if path else None
    if use is not None:
        with contextlib.suppress(AttributeError, OSError):  # Nobody waits for it.
            os.nice(10)
        measured(client, session_of(given), path, use.tokens)
    return ""


def measured(client: str, session: str, path: str, tokens: int) -> int:
    """Tokens that the preset `balanced` would take from the session. Raises CondenseError."""
    from ..api import condense, load
    from ..core.factor import factor_of
    from ..core.tokens import Counter

    # So that a second event, while this one is at work, does not begin it again.
    remember(client, session, measured=tokens)
    transcript = load(path, lenient=True)
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    result = condense(transcript, counter=count, factor=factor, proves=False)
    freed = factor.shown(result.tokens_before) - factor.shown(result.tokens_after)
    remember(client, session, measured=tokens, frees=freed)
    return freed
