"""The facts and reports of `condense providers`, `profiles` and `profiles try`. Documented in docs/json-report.md.

The figures of providers were measured by benchmarks/providers.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import inspect as types

from ...config.own import KnownProfile, UserConfiguration
from ...config.profiles import INHERIT, Access, Api
from ...llm.budget import price_for
from ...llm.calls import CallOutcome
from ...llm.summaries import window_if_known
from ...money.prices import Price
from ...providers.base import Capabilities
from ...providers.registry import Registered
from ..costs import digits
from ..sections import BLANK, Part, Sentence, Table


class Option(Struct, frozen=True):
    """One setting; `key` has dots if it is inside another one. `default` is a plain value."""

    key: str
    default: Any
    takes: str


def options_of(settings: type[Struct], prefix: str = "", values: Struct | None = None) -> Iterator[Option]:
    """Yield every setting, then nested ones; of a part that may be missing, its defaults.

    `values` are defaults that differ from those of the type.
    """
    found = types.type_info(settings)
    assert isinstance(found, types.StructType)
    for field in sorted(found.fields, key=lambda field: _struct_in(field.type) is not None):
        key = f"{prefix}{field.encode_name}"
        default = _default(field) if values is None else getattr(values, field.name)
        part = _struct_in(field.type)
        if part is not None:
            yield from options_of(part, f"{key}.", default if isinstance(default, part) else None)
        else:
            yield Option(key, msgspec.to_builtins(default), takes(field.type))


def _struct_in(kind: types.Type) -> type[Struct] | None:
    members = kind.types if isinstance(kind, types.UnionType) else (kind,)
    structs = [member.cls for member in members if isinstance(member, types.StructType)]
    return structs[0] if len(structs) == 1 else None


def _default(field: types.Field) -> Any:
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    return None if value is msgspec.NODEFAULT or value is msgspec.UNSET else value


def takes(kind: types.Type) -> str:
    """Return the values that a setting takes, in words."""
    if isinstance(kind, types.UnionType):
        # "text", not "text or nothing": what is not given is shown as the default.
        return " or ".join(takes(member) for member in kind.types if not isinstance(member, types.NoneType))
    if isinstance(kind, types.LiteralType):
        *others, last = map(str, kind.values)
        return f"{', '.join(others)} or {last}" if others else last
    if isinstance(kind, types.IntType | types.FloatType):
        name = "whole number" if isinstance(kind, types.IntType) else "number"
        return f"{name}{_bounds(kind)}"
    if isinstance(kind, types.ListType | types.SetType | types.VarTupleType):
        return f"list of {takes(kind.item_type)}"
    for known, words in _WORDS:
        if isinstance(kind, known):
            return words
    return "any value"


_WORDS = (
    (types.BoolType, "true or false"),
    (types.StrType, "text"),
    (types.StructType, "mappings"),
    (types.DictType, "mapping"),
)
_LARGE = 1_000_000
"""A bound beyond this guards against nonsense and is not worth a word."""


def _bounds(kind: types.IntType | types.FloatType) -> str:
    most = kind.le if kind.le is not None else kind.lt
    if most is None or most > _LARGE:
        return "" if kind.ge is None else f", {kind.ge:g} or more"
    low = f" from {kind.ge:g}" if kind.ge is not None else f" above {kind.gt:g}" if kind.gt is not None else ""
    return f"{low} {'to' if kind.le is not None else 'and below'} {most:g}"


_YES = {True: "yes", False: "no"}
_UNKNOWN = "?"
_LONGEST_DEFAULT = 12


class Figures(Struct, frozen=True):
    """Figures of one provider with its default settings: the range of eight in ten sessions.

    `cost` is in dollars with summaries by the model, `seconds` are for 100,000 tokens without a model.
    """

    saved_percent: tuple[float, float]
    lost_percent: tuple[float, float]
    cost: tuple[str, str]
    seconds: float


class MeasuredProvider(Struct, frozen=True):
    """Figures by provider; `lost` is the share of asked facts that no verbatim line holds any more."""

    date: str
    condense: str
    model: str
    prices: str
    transcripts: int
    providers: dict[str, Figures]


class ProviderFacts(Struct, frozen=True):
    id: str
    name: str
    description: str
    version: str
    origin: str
    enabled: bool
    priority: int
    default: bool
    best_for: str
    capabilities: Capabilities
    measured: Figures | None


def measured() -> MeasuredProvider:
    """Read the figures that come with the program."""
    return msgspec.json.decode(
        (Path(__file__).with_name("measured_providers.json")).read_bytes(), type=MeasuredProvider
    )


def facts_of(entry: Registered, figures: MeasuredProvider, default: str) -> ProviderFacts:
    provider = entry.provider
    return ProviderFacts(
        id=provider.id,
        name=provider.name,
        description=provider.description,
        version=provider.version,
        origin=entry.origin,
        enabled=entry.settings.enabled,
        priority=entry.settings.priority,
        default=provider.id == default,
        best_for=provider.best_for,
        capabilities=provider.capabilities,
        measured=figures.providers.get(provider.id),
    )


def comparison(entries: Sequence[ProviderFacts], figures: MeasuredProvider) -> Iterator[Part]:
    """Yield the comparison: a column for each provider, in as many tables as the width needs."""
    cells = [_cells(entry) for entry in entries]
    rows = [[label, *(each[label] for each in cells)] for label in cells[0]]
    titles = [f"{entry.id}{'' if entry.enabled else ' (off)'}" for entry in entries]
    yield Table(["", *titles], rows, splits=True)
    yield BLANK
    about = [
        [
            f"{entry.id} (default)" if entry.default else entry.id,
            f"{entry.name}.{f' Best for {entry.best_for}.' if entry.best_for else ''}",
        ]
        for entry in entries
    ]
    yield Table(("", ""), about, flexible=1, wraps=True)
    yield BLANK
    yield from (Sentence(sentence, "dim") for sentence in _footnotes(entries, figures))


def _cells(entry: ProviderFacts) -> dict[str, str]:
    can, figures = entry.capabilities, entry.measured
    return {
        "speed": f"{can.speed}, {figures.seconds:.2f} s" if figures else can.speed,
        "token reduction": _range(figures.saved_percent) if figures else _UNKNOWN,
        "information loss": ("none" if not can.lossy else _range(figures.lost_percent)) if figures else _UNKNOWN,
        "API cost": _cost(figures.cost) if figures else _UNKNOWN,
        "lossless phase": _YES[can.lossless],
        "threshold-based": _YES[can.thresholds],
        "summaries": _YES[can.summaries],
        "multi-pass": _YES[can.multi_pass],
        "fallback": _YES[can.fallback],
    }


def _range(bounds: tuple[float, float]) -> str:
    low, high = (f"{value:.0f}" for value in bounds)
    return f"{low}%" if low == high else f"{low}–{high}%"


def _cost(bounds: tuple[str, str]) -> str:
    low, high = (f"{float(amount):.2g}" for amount in bounds)
    return f"${low}" if low == high else f"${low}–{high}"


def _footnotes(entries: Sequence[ProviderFacts], figures: MeasuredProvider) -> Iterator[str]:
    yield (
        f"Measured on {figures.date} with {figures.transcripts} recorded sessions and default settings; eight of ten "
        "are in these ranges. Speed: seconds for 100,000 tokens without a model. Loss: share of the facts needed later "
        "that are no "
        f"longer present. Cost: summaries by {figures.model} ({figures.prices})."
    )
    if any(entry.measured is None for entry in entries):
        yield "?: not measured; condense estimate shows the effect on your transcript."


def description(entry: Registered, facts: ProviderFacts) -> Iterator[Part]:
    """Yield the abilities of a provider, its settings, and an example."""
    provider = entry.provider
    yield Sentence(f"{facts.id}: {facts.name}", "bold")
    yield Sentence(facts.description)
    yield BLANK
    version = f"{facts.version}, {facts.origin}{'' if facts.enabled else ', switched off'}"
    abilities = (*_cells(facts).items(), ("best for", facts.best_for), ("version", version))
    known = [[label, value] for label, value in abilities if value]
    yield Table(("", ""), known, flexible=1, wraps=True, column_styles={0: "dim"})
    yield BLANK
    options = [*options_of(provider.settings)]
    if options:
        yield Sentence("Settings, for --set or in a configuration", "bold")
        yield Table(("", "", ""), [*_settings(options)], flexible=2, wraps=True)
    else:
        yield Sentence("It has no settings.")
    yield BLANK
    yield Sentence("Example", "bold")
    example = f" --set {provider.example}" if provider.example else ""
    yield Sentence(f"  condense run FILE --provider {facts.id}{example}")


def _settings(options: Sequence[Option]) -> Iterator[list[str]]:
    """Yield a row for each setting, below a row for the part that it is in."""
    part = ""
    for option in options:
        inside, _, key = option.key.rpartition(".")
        if inside != part:
            part = inside
            yield [f"{inside}.", "", ""]
        default, about = _plain(option.default), option.takes
        if len(default) > _LONGEST_DEFAULT:
            default, about = "", f"{about}; by default {default}"
        yield [f"  {key}" if inside else key, default, about]


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


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
