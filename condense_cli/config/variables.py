"""The names of the environment variables that settings may stand in: CONDENSE_ and the key, where one word says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KEYS: Final = (
    "preset",
    "provider",
    "profile",
    "target_tokens",
    "target_reduction_percent",
    "keep_first",
    "min_saving",
    "thinking",
    "counter",
    "auto_condense_context",
    "auto_condense_context_percent",
    "auto_condense_context_above",
    "fallback",
    "count",
)

LIMITS: Final = (
    "max_cost",
    "max_cost_per_conversation",
    "max_cost_per_day",
    "max_summary_tokens",
    "redact",
)
"""What calls of models may use. These are read where one is made (`config/limits.py`)."""


def variable_of(key: str) -> str:
    return f"CONDENSE_{key.upper()}"


_OTHERS: Final = ("CONDENSE_DEBUG",)


def unknown_in(environment: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that is nearly one of these, and none."""
    from ..core.wording import nearest

    known = [*map(variable_of, (*KEYS, *LIMITS)), *_OTHERS]
    names = sorted(name for name in environment if name.startswith("CONDENSE_") and name not in known)
    near = ((name, nearest(name, known)) for name in names)
    return [f"There is no variable {name}. Did you mean {other}?" for name, other in near if other]


def given_in(environment: Mapping[str, str]) -> dict[str, str]:
    """What the variables say, by key; an empty one says nothing."""
    return {key: text for key in KEYS if (text := environment.get(variable_of(key), "").strip())}
