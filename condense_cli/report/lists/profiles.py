"""Facts about profiles: what each reaches, what it costs, and whether its key is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from ...config.own import KnownProfile, UserConfiguration
from ...config.profiles import INHERIT, Access, Api
from ...llm.budget import price_for
from ...llm.calls import CallOutcome
from ...llm.summaries import window_if_known
from ...money.prices import Price
from ..costs.money import digits

_MILLION = 1_000_000


class PriceFacts(Struct, frozen=True):
    """US dollars per million tokens; null if unknown."""

    input: Decimal | None
    output: Decimal | None
    cache_read: Decimal | None
    cache_write: Decimal | None


class ProfileFacts(Struct, frozen=True):
    """`key` is the variable that holds the key, null if none is sent; `ready` tells whether it is set."""

    name: str
    api: Api
    model: str
    address: str
    host: str
    key: str | None
    ready: bool
    price: PriceFacts | None
    context_window: int | None
    main: bool
    origin: str
    timeout_seconds: float
    total_seconds: float
    max_retries: int
    max_tokens: int
    reasoning_tokens: int
    reasoning_effort: str | None
    max_parallel_calls: int
    threshold: float | None
    above: int | None


class CallFacts(Struct, frozen=True):
    """The result of one tiny call: an answer, or a reason. `cost` is in dollars, null if unknown."""

    profile: str
    ok: bool
    answer: str | None
    reason: str | None
    message: str | None
    hint: str | None
    seconds: float
    tokens: int
    cost: Decimal | None


def profile_facts(name: str, user: UserConfiguration, environment: Mapping[str, str], when: datetime) -> ProfileFacts:
    known: KnownProfile = user.profiles[name]
    profile = known.profile
    return ProfileFacts(
        name,
        profile.api,
        profile.summarizer or profile.model,
        profile.url,
        profile.host,
        profile.variable,
        profile.variable is None or bool(environment.get(profile.variable, "").strip()),
        _price(price_for(profile, when)) if profile.has_model else None,
        window_if_known(Access(name, profile)) if profile.has_model else None,
        user.profile == name,
        known.origin or "built in",
        profile.timeout_seconds,
        profile.total_seconds,
        profile.max_retries,
        profile.max_tokens,
        profile.reasoning_tokens,
        profile.reasoning_effort,
        profile.max_parallel_calls,
        profile.threshold,
        profile.above,
    )


def call_facts(name: str, outcome: CallOutcome, seconds: float) -> CallFacts:
    failed = outcome.failure
    return CallFacts(
        name,
        failed is None,
        outcome.text,
        failed.reason.value if failed else None,
        str(failed) if failed else None,
        failed.hint if failed else None,
        round(seconds, 3),
        outcome.spent.tokens,
        None if outcome.spent.unknown else digits(outcome.spent.cost),
    )


def as_lines(facts: ProfileFacts) -> Iterator[str]:
    """Yield every value of a profile, one a line."""
    yield f"# {facts.name}: {facts.origin}{', your default profile' if facts.main else ''}"
    for key in ("api", "model", "address"):
        yield f"{key}: {getattr(facts, key) or 'none'}"
    yield f"key: {facts.key} ({'set' if facts.ready else 'not set'})" if facts.key else "key: none"
    for key in PriceFacts.__struct_fields__:
        value = getattr(facts.price, key) if facts.price else None
        yield f"price.{key}: {f'${value} per million tokens' if value else 'unknown'}"
    yield f"context_window: {facts.context_window or 'unknown'}"
    for key in ("max_tokens", "reasoning_tokens", "reasoning_effort", "max_parallel_calls", "max_retries"):
        value = getattr(facts, key)
        yield f"{key}: {'none' if value is None else value}"
    for key in ("timeout_seconds", "total_seconds"):
        yield f"{key}: {getattr(facts, key):g}"
    yield f"threshold: {'inherited' if facts.threshold in (None, INHERIT) else f'{facts.threshold:g}'}"
    yield f"above: {'inherited' if facts.above is None else f'{facts.above:,}'}"


def _price(price: Price | None) -> PriceFacts | None:
    if price is None:
        return None
    return PriceFacts(
        *(
            (None if value is None else digits(value * _MILLION))
            for value in (price.input, price.output, price.cache_read, price.cache_write_5m)
        )
    )
