"""Tokens billed per token of o200k_base, by tokenizer. Written by benchmarks/token_factors.py.

Fitted on 2026-11-22 to 61 sessions with recorded usage. Do not edit.
"""

from __future__ import annotations

from typing import Final

FAMILIES: Final[dict[str, tuple[float, float, int]]] = {
    "Claude before Opus 4.7": (1.20, 0.10, 29),
    "Claude since Opus 4.7": (1.52, 0.05, 11),
    "DeepSeek": (1.04, 0.09, 1),
    "Gemini": (1.18, 0.09, 1),
    "Ling": (1.10, 0.09, 1),
    "MiMo": (0.96, 0.09, 2),
    "MiniMax": (1.00, 0.09, 2),
}
"""Factor, error (four of five sessions of held-out projects stay below it), and number of sessions."""

RECORDED_ERROR: Final = 0.15
"""The same error if the factor comes from recorded usage of the session."""
