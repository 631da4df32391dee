"""headroom: `headroom.compress`, without the language model for texts, which it would download."""

from __future__ import annotations

from typing import Any

from headroom import compress
from serving import serve


def work(messages: list[dict[str, Any]], setting: dict[str, Any]) -> list[dict[str, Any]]:
    answer = compress(messages, model="claude-sonnet-4-5-20250929", kompress_model="disabled", **setting)
    found: list[dict[str, Any]] = answer.messages
    return found


serve(work)
