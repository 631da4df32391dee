"""The log of a run: one value, as a line of JSON or in plain words. Documented in docs/configuration.md."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from ...config.models import Configuration
from ...core.version import __version__
from ...core.wording import plural
from ...passes.condensation import Condensation
from ..costs import digits
from .facts import Report
from .sections import known_cost

SHAPE: Final = 1


class RunLog(msgspec.Struct, frozen=True):
    """`time` is the end of the run, in ISO form and UTC. `provider` is null if none ran, because none was needed.

    `if_needed` marks a run that decided for itself. `cost` are the known dollars, as digits; `cost_at_least` says that
    some calls cost more than is known.
    """

    version: int
    event: str
    time: str
    condense: str
    input: str
    output: str | None
    configuration: str
    if_needed: bool
    provider: str | None
    provider_version: str | None
    seconds: float
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    calls: int
    call_tokens: int
    cost: Decimal
    cost_at_least: bool
    custom_prompt: bool
    dedicated_profile: bool
    fallback: str | None
    error: str | None
    warnings: list[str]
    status: int


def build(
    result: Condensation, report: Report, configuration: Configuration, time: str, status: int, *, if_needed: bool
) -> RunLog:
    metrics = result.metrics
    used = [summarized for summarized in report.summaries if not summarized.planned]
    named = set(_named(msgspec.to_builtins(configuration)))
    return RunLog(
        SHAPE,
        "run",
        time,
        __version__,
        report.input,
        report.output,
        report.configuration,
        if_needed,
        metrics.provider if metrics else None,
        metrics.version if metrics else None,
        round(metrics.seconds, 4) if metrics else 0.0,
        report.tokens.before,
        report.tokens.after,
        report.messages.before,
        report.messages.after,
        sum(summarized.calls for summarized in used),
        sum(summarized.tokens for summarized in used),
        digits(known_cost(used)),
        any(summarized.at_least for summarized in used),
        "custom_prompt" in named,
        "api_profile" in named,
        metrics.fallback if metrics else None,
        str(result.error) if result.error else None,
        report.warnings,
        status,
    )


def as_line(log: RunLog) -> str:
    """Return the log in plain words."""
    if log.provider is None:
        return "no provider ran"
    calls = plural(log.calls, "call") if log.calls else "no calls"
    cost = f" for {'at least ' if log.cost_at_least else ''}${log.cost}" if log.calls else ""
    parts = [
        f"provider {log.provider} {log.provider_version} took {log.seconds:.2f} s",
        f"{log.tokens_before:,} → {log.tokens_after:,} tokens",
        f"{calls}{cost}",
        *(["custom prompt"] if log.custom_prompt else []),
        *(["profile of its own"] if log.dedicated_profile else []),
        *([f"fallback {log.fallback}"] if log.fallback else []),
    ]
    return ", ".join(parts)


def _named(value: Any) -> Iterator[str]:
    """Keys of a configuration that name something."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and item.strip():
                yield key
            yield from _named(item)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item)
