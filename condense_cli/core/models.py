"""What is known about single models. Dated facts with their source; unknown is unknown, never guessed."""

from __future__ import annotations

from typing import Final

from .lazy_pattern import lazy_pattern

_BINDS_THINKING: Final = lazy_pattern(
    r"claude-(?:fable|mythos)-5[-.][12](?:\D|$)|claude-(?:opus|sonnet|haiku)-5[-.]5(?:\D|$)"
)
"""https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, as of 2026-10"""


def binds_thinking(model: str | None) -> bool:
    """Whether the model refuses thinking once anything before it changed."""
    return bool(model and _BINDS_THINKING.search(model.lower()))


_FORGETS_THINKING: Final = lazy_pattern(r"(?:^|[-/])(?:o[134](?![\da-z])|gpt-5(?:\.[0-5])?(?![.\d]))")
"""By the recorded usage of Codex sessions, September 2025 to July 2026: with gpt-5 to gpt-5.5 the input shrinks by the
thinking of a turn as soon as the next one begins, with gpt-5.6 it does not."""


def forgets_thinking(model: str | None) -> bool:
    """Whether the API of the model leaves out thinking that comes before the newest message of the user."""
    return bool(model and _FORGETS_THINKING.search(model.lower()))


_TOKENIZERS: Final = (
    (lazy_pattern(r"claude-(?:opus-4-[7-9]|(?:opus|sonnet|haiku)-[5-9]|fable|mythos)"), "Claude since Opus 4.7"),
    (lazy_pattern(r"claude"), "Claude before Opus 4.7"),
    (lazy_pattern(r"gemini|gemma"), "Gemini"),
    (lazy_pattern(r"deepseek"), "DeepSeek"),
    (lazy_pattern(r"minimax"), "MiniMax"),
    (lazy_pattern(r"mimo-"), "MiMo"),
    (lazy_pattern(r"ling-"), "Ling"),
)
"""First match wins. Opus 4.7 brought a new tokenizer, which its successors use, with about 30% more tokens:
https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7"""


def tokenizer_of(model: str | None) -> str | None:
    """The family of models that cut texts into tokens alike; None for one that is not known here."""
    name = (model or "").lower().replace(".", "-")
    return next((family for pattern, family in _TOKENIZERS if pattern.search(name)), None)
