"""What is known about single models. Dated facts with their source; unknown is unknown, never guessed."""

from __future__ import annotations

import re
from typing import Final

_BINDS_THINKING: Final = re.compile(
    r"claude-(?:fable|mythos)-5[-.][12](?:\D|$)|claude-(?:opus|sonnet|haiku)-5[-.]5(?:\D|$)"
)
"""https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, as of 2026-10"""


def binds_thinking(model: str | None) -> bool:
    """Whether the model refuses thinking once anything before it changed."""
    return bool(model and _BINDS_THINKING.search(model.lower()))
