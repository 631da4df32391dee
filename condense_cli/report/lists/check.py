"""The facts of `condense check`, in the shape that the JSON report has. Documented in docs/json-report.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from ...config.models import Configuration
from ...core.transcript import Transcript
from ...money.economics import TURNS, Rates, most_left
from ...money.prices import price_of
from ...tokens.counting import BUILT_IN, Counter, CounterName, encoding_for
from ...tokens.factor import Factor
from ...window.decision import USABLE_PERCENT, DecisionReason, Window, decide
from ...window.use import ESTIMATED, RECORDED, beside_messages, overhead_of, remarks_on_usage
from ..run.facts import Counting, estimated_tokens
from ..run.shortcomings import of_another

SHAPE = 1

_KNOWN: Final = {RECORDED: "recorded usage, plus what came after it", ESTIMATED: "estimated: messages and overhead"}


class TokensInUse(msgspec.Struct, frozen=True):
    """Tokens of a request. `total` is messages and overhead, unless its source is usage that the file holds."""

    messages: int
    overhead: int
    overhead_source: str
    total: int
    total_source: str
    exact: bool
    counting: Counting
    counter: CounterName = BUILT_IN


class Size(msgspec.Struct, frozen=True):
    tokens: int | None
    source: str


class Threshold(msgspec.Struct, frozen=True):
    percent: float
    source: str


class Above(msgspec.Struct, frozen=True):
    tokens: int
    source: str


class Pays(msgspec.Struct, frozen=True):
    """Condensing pays for itself within `turns` requests where at most this percentage of what it rewrites is left."""

    turns: int
    left_percent: float

    def __str__(self) -> str:
        if self.left_percent >= 100:
            return "Condensing pays for itself with the next request."
        return (
            f"Condensing pays for itself within {self.turns} requests if it leaves at most {int(self.left_percent)}% "
            "of what it rewrites, and at once when the provider's cache has expired."
        )


class Check(msgspec.Struct, frozen=True):
    """`condense` is the answer, `reason` the word for it and `sentence` the reason with its numbers.

    `percent` is the share of the window in use, `limit` the most tokens that leave `reserved` ones for the answer,
    `above` an absolute threshold in tokens, if there is one.
    """

    version: int
    input: str
    model: str | None
    profile: str | None
    condense: bool
    reason: str
    sentence: str
    used: TokensInUse
    window: Size
    percent: float | None
    threshold: Threshold
    limit: int | None
    reserved: int
    warnings: list[str]
    above: Above | None
    pays: Pays | None


def build(
    transcript: Transcript,
    configuration: Configuration,
    count: Counter,
    factor: Factor,
    window: Window,
    *,
    when: datetime,
    source: str,
    origin: Callable[[str], str] = lambda key: "default",
    overhead: int | None = None,
) -> Check:
    """Decide whether to condense, at the prices of a time. Raises UsageError if that needs an unknown window.

    `origin` returns the origin of a key of the configuration, `overhead` is the user's figure.
    """
    beside, known = beside_messages(transcript, count, factor, overhead)
    tokens = factor.shown(count.transcript(transcript))
    decision = decide(window.sizes(tokens, beside, configuration, known))
    if decision.reason is DecisionReason.UNKNOWN_WINDOW:
        raise window.unknown
    encoding = encoding_for(transcript.model, count.counter)
    price = price_of(window.model, when, decision.sizes.used, lives_hour=transcript.lives_hour)
    left = None if price is None else most_left(Rates.of(price))
    warnings = [*window.warnings, *remarks_on_usage(transcript, count, factor, overhead), *of_another(encoding)]
    if decision.is_hardly_ever_due:
        warnings.append(
            f"With a window of this size, condensing is due only above {decision.limit:,} tokens. --above 150k, or "
            "auto_condense_context_above in the settings, makes it due earlier."
        )
    return Check(
        SHAPE,
        source,
        window.model,
        window.profile,
        decision.should_condense,
        decision.reason.value,
        str(decision),
        TokensInUse(
            tokens,
            *overhead_of(transcript, count, factor, overhead),
            decision.sizes.used,
            known,
            encoding.exact and not estimated_tokens(transcript),
            Counting.of(factor),
            encoding.counter,
        ),
        Size(window.tokens, window.source),
        None if decision.percent is None else round(decision.percent, 1),
        Threshold(window.threshold, window.threshold_source or origin("auto_condense_context_percent")),
        decision.limit,
        window.reserved,
        warnings,
        None
        if window.above is None
        else Above(window.above, window.above_source or origin("auto_condense_context_above")),
        None if left is None else Pays(TURNS, round(float(100 * left), 1)),
    )


def as_lines(check: Check) -> Iterator[str]:
    """Yield the answer, and the figures with their sources."""
    yield f"{'yes' if check.condense else 'no'}: {check.sentence}"
    yield ""
    overhead = "unknown; set it with --overhead-tokens" if check.used.overhead_source == "unknown" else ""
    named = ", ".join(part for part in (check.model, check.window.source) if part)
    used = check.used
    difference = used.total - used.messages - used.overhead
    rows = [
        ("messages", f"{check.used.messages:,}", check.used.counting.word(exact=check.used.exact)),
        ("overhead", f"{check.used.overhead:,}", overhead or check.used.overhead_source),
        *([("other", f"{difference:,}", "difference to the API's own count")] if difference else []),
        ("in use", f"{check.used.total:,}", _KNOWN[check.used.total_source]),
        ("window", f"{check.window.tokens:,}" if check.window.tokens else "?", named),
        ("threshold", f"{check.threshold.percent:g}%", check.threshold.source),
        (
            "limit",
            "?" if check.limit is None else f"{check.limit:,}",
            f"{USABLE_PERCENT}% of the window, less {check.reserved:,} for the answer",
        ),
    ]
    if check.above is not None:
        rows.insert(-1, ("above", f"{check.above.tokens:,}", check.above.source))
    width = max(len(number) for _, number, _ in rows)
    for label, number, note in rows:
        yield f"{label:<9}  {number:>{width}}  {note}".rstrip()
    if check.pays is not None:
        yield ""
        yield str(check.pays)
    for warning in check.warnings:
        yield f"Warning: {warning}"
