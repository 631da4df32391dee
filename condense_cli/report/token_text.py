"""What is said about counts of tokens, the same in every report."""

from __future__ import annotations

from typing import Final

_SOURCES: Final = {
    "request": "from the request",
    "recorded usage": "from recorded usage",
    "option": "--overhead-tokens",
    "snapshot": "as the client recorded them",
}

OF_SEVERAL: Final = "Tokens are exact for models of OpenAI, and estimates for others."
"""For what is about transcripts of several models."""


def counted(model: str | None, encoding: str, *, exact: bool, estimated: int) -> str:
    """Whether counts are exact. `estimated` tokens stand for what has no text to count."""
    name = model or "an unknown model"
    text = f"Tokens are {'exact' if exact else 'estimates'} for {name} ({encoding})."
    if estimated:
        text += f" {estimated:,} of them stand for images, documents, encrypted thinking and what a client adds."
    return text


def carried(overhead: int, source: str) -> str:
    """What every turn carries besides the messages, and where that is known from."""
    if source == "unknown":
        return "Not in the file and not counted: system prompt and tools (--overhead-tokens N)."
    return f"Every turn carries {overhead:,} more: system prompt and tools ({_SOURCES[source]})."
