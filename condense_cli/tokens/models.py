"""Read models' names: which are the same, share a tokenizer, or treat thinking alike."""

from __future__ import annotations

from typing import Final

from ..core.lazy_pattern import lazy_pattern

_ROUTING: Final = lazy_pattern(
    r"^(?:(?:us|eu|apac|au|jp|ca|global|us-gov)\.)?"
    r"(?:anthropic|openai|amazon|meta|mistral|deepseek|cohere|google|qwen|moonshotai?)\."
)
"""Bedrock's prefix: inference region and maker, as in `us.anthropic.claude-…`."""
_VERSION: Final = lazy_pattern(r"(?:@[\w-]{1,60}|-v\d{1,4}:\d{1,4}(?::\d{1,6}k)?|\[\w{1,20}\]){1,4}$")
"""Suffixes, possibly several: Bedrock's `-v1:0`, Vertex's `@20250101`, Claude Code's `[1m]`."""


def bare_name(model: str) -> str:
    """Return a model's name without routing (`openai/`, `us.anthropic.`) and version suffixes."""
    bare = _ROUTING.sub("", model.strip().lower().rsplit("/", 1)[-1])
    return _VERSION.sub("", bare)


_BINDS_THINKING: Final = lazy_pattern(
    r"claude-(?:fable|mythos)-5[-.][12](?:\D|$)|claude-(?:opus|sonnet|haiku)-5[-.]5(?:\D|$)"
)
"""https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, as of 2026-10"""


def binds_thinking(model: str | None) -> bool:
    """Return whether the model rejects thinking once anything before it changed."""
    return bool(model and _BINDS_THINKING.search(model.lower()))


_FORGETS_THINKING: Final = lazy_pattern(r"(?:^|[-/])(?:o[134](?![\da-z])|gpt-5(?:\.[0-5])?(?![.\d]))")
"""From usage recorded by Codex, September 2025 to July 2026: with gpt-5 to gpt-5.5 the input shrinks by a turn's
thinking once the next turn begins; with gpt-5.6 it does not.
"""


def forgets_thinking(model: str | None) -> bool:
    """Return whether the model's API drops thinking before the newest user message."""
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
"""First match wins. Opus 4.7 brought a new tokenizer that yields about 30% more tokens; its successors use it too:
https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7
"""


def tokenizer_of(model: str | None) -> str | None:
    """Name the family of models that share this model's tokenizer. None if unknown."""
    name = (model or "").lower().replace(".", "-")
    return next((family for pattern, family in _TOKENIZERS if pattern.search(name)), None)
