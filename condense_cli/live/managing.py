"""Decide before each request of a task if its messages are condensed; run a provider, and fall back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..calling import Dollars, calls_of
from ..config.models import Configuration
from ..config.own import UserConfiguration
from ..core.arguments import COUNT, POSITIVE, PRESET, SUMMARIZER, TEXT, made_by, with_arguments
from ..core.transcript import Transcript
from ..passes.condensation import Condensation, RunError
from ..passes.summaries import Summarizer
from ..plugins import Installed
from ..providers.manager import failure_of
from ..providers.registry import Registered, Registry
from ..tokens.counting import Counter
from ..tokens.factor import factor_of
from ..window.decision import CheckDecision, WindowFlags, window_of
from ..window.use import Sizing
from .requests import tokens_of

_REPORTED: Final = "reported usage"
_ESTIMATED: Final = "estimated"


class Managed(Struct, frozen=True):
    """Messages to go on with, condensed or unchanged, and the decision; tokens are the model's.

    `error` says why the provider failed or refused (`kind` "Refused"). The messages are then unchanged, unless only
    single blocks were left unsummarized or the sliding window acted. `cost` is in dollars, of model calls. `result`
    holds the rest.
    """

    messages: list[Any]
    decision: CheckDecision
    tokens_before: int
    tokens_after: int
    cost: Decimal
    error: RunError | None
    result: Condensation

    @property
    def is_condensed(self) -> bool:
        return bool(self.result.changes)


class CondensationManager:
    """Decide before each request of a task if its messages should be condensed, and do it.

    The configuration says what is done, when, and if the sliding window acts after a failure:
    `auto_condense_context_percent` (of the context window), `auto_condense_context_above`, `fallback:
    sliding_window`. `provider` overrides its provider. Who writes summaries, and for how much, is as for
    `condense_cli.condense`. It keeps no messages: give the returned ones to the next call, with the new ones added.

    Each condensing rewrites the provider's cache; `condense_cli.Live` keeps what was sent once.

    Raises ConfigurationError and UsageError for invalid arguments.
    """

    @with_arguments(
        preset=PRESET,
        provider=TEXT,
        model=TEXT,
        context_window=POSITIVE,
        format=TEXT,
        profile=TEXT,
        max_summary_tokens=COUNT,
        summarizer=SUMMARIZER,
        registry=made_by("Registry", "Give a condense_cli.providers.registry.Registry."),
    )
    def __init__(
        self,
        configuration: Configuration | Mapping[str, Any] | None = None,
        *,
        preset: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        context_window: int | None = None,
        format: str | None = None,
        profile: str | None = None,
        allow_calls: bool = False,
        max_cost: Dollars = None,
        max_cost_per_conversation: Dollars = None,
        max_cost_per_day: Dollars = None,
        max_summary_tokens: int | None = None,
        redact: bool = False,
        summarizer: Summarizer | None = None,
        registry: Registry | None = None,
    ) -> None:
        dollars = (max_cost, max_cost_per_conversation, max_cost_per_day)
        calls_of(profile, allow_calls, *dollars, max_summary_tokens, redact, summarizer)
        self.registry = registry or Registry(installed=Installed())
        given = api.configuration_from(configuration, preset, self.registry)
        self._configuration = replace(given, provider=provider or given.provider)
        self.registry.get(self._configuration.provider)
        self._condense = partial(
            api.condense,
            profile=profile,
            allow_calls=allow_calls,
            max_cost=max_cost,
            max_cost_per_conversation=max_cost_per_conversation,
            max_cost_per_day=max_cost_per_day,
            max_summary_tokens=max_summary_tokens,
            redact=redact,
            summarizer=summarizer,
            registry=self.registry,
        )
        self._model, self._format = model, format
        self._asked = WindowFlags(window=context_window)

    def list_providers(self) -> list[Registered]:
        """List all providers, the highest priority first."""
        return self.registry.all()

    @with_arguments(tokens=COUNT, provider=TEXT)
    def condense(
        self,
        messages: Sequence[Any],
        *,
        usage: Any = None,
        tokens: int | None = None,
        force: bool = False,
        provider: str | None = None,
    ) -> Managed:
        """Return the messages of the next request, condensed if that is due or forced.

        `usage` is what the API reported for the request before, as its SDK gives it; `tokens` is the size of
        this request instead. Without either the messages alone are counted. `provider` is for this call only.

        Raises CondenseError for messages that cannot be read, and if an unknown window would decide. Failures
        of a provider are returned as `error`.
        """
        transcript = self._read(messages)
        count = Counter.of(transcript)
        factor = factor_of(transcript, count)
        counted = factor.shown(count.transcript(transcript))
        provider = self.registry.get(provider or self._configuration.provider).id
        configuration = replace(self._configuration, provider=provider)
        window = window_of(transcript.model, configuration, UserConfiguration(), self._asked)
        used = tokens if tokens is not None else tokens_of(usage) if usage is not None else counted
        beside = (max(0, used - counted), _ESTIMATED if used == counted else _REPORTED)
        sizing = Sizing(lambda: window, lambda: beside, only_if_needed=not force)
        decision = sizing.decide(counted, configuration)
        result = self._condense(transcript, configuration, counter=count, factor=factor, sizing=sizing)
        return Managed(
            api.dump_messages(result) if result.transcript.is_changed else [*messages],
            decision,
            result.shown_before,
            result.shown_after,
            result.cost,
            result.error or _refused(result, provider),
            result,
        )

    def _read(self, messages: Any) -> Transcript:
        transcript = api.loads(messages, format=self._format)
        return transcript.continued_by(self._model)


def _refused(result: Condensation, provider: str) -> RunError | None:
    """Describe why a provider did nothing although its code raised no error."""
    failure = failure_of(result)
    return RunError(provider, "Refused", failure.removesuffix(".")) if failure else None
