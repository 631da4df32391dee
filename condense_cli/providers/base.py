"""Base class of providers: a template of their calls, so that a provider's own code is only its strategy.

    class Oldest(Provider[OldestConfig]):
        id = "oldest"
        name = "Drop the oldest results"
        description = "..."
        capabilities = Capabilities(lossy=True, speed="fast")
        settings = OldestConfig
        def compiled(self, configuration: Configuration, settings: OldestConfig) -> Configuration:
            return ...  # the same configuration with the passes that do the work

docs/api.md explains how a package adds one.
"""

from __future__ import annotations

import traceback
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..config.checks import Problem, has_phases, limit_to_usual, value_warnings
from ..config.loading import as_typed
from ..config.models import Configuration
from ..config.overrides import apply
from ..config.positions import Positions
from ..core.transcript import Transcript
from ..errors import CondenseError, ConfigurationError
from ..passes import walk
from ..passes.condensation import Condensation, Metrics, RunError
from ..passes.context import Context
from ..passes.decisions import unchanged
from ..passes.receipts import PassReceipt, undone
from ..passes.summaries import Summarizer

if TYPE_CHECKING:
    from ..llm.budget import Spent


S = TypeVar("S", bound=Struct)


class Run(Struct, Generic[S], frozen=True):
    """One call of a provider, with its checked `settings`."""

    transcript: Transcript
    configuration: Configuration
    settings: S
    context: Context

    def pipeline(self, configuration: Configuration) -> Condensation:
        """Run the prelude and passes of a configuration on the transcript, with the run's flags applied."""
        return walk.condense(self.transcript, apply(configuration, self.context.overrides), self.context)

    def unchanged(self, *passes: PassReceipt, warning: str = "", error: RunError | None = None) -> Condensation:
        """Return the unchanged transcript with the reasons."""
        tokens = self.context.count.transcript(self.transcript)
        decisions = unchanged(self.transcript, tokens, passes, self.context.factor, self.configuration.target_tokens)
        warnings = (*self.transcript.warnings, *([warning] if warning else ()))
        return Condensation(decisions, warnings, error=error)


OWN_SECTION: Final = "provider_config"
"""Configuration key for settings of a provider without a key of its own."""

_SECTIONS: Final = ("truncation", "lossless", OWN_SECTION)
"""Keys used by one provider only. Settings under `native` also serve other providers' fallback."""


class Capabilities(Struct, frozen=True):
    """Abilities of a provider. `thresholds`: it can skip small content; `fallback`: it can hand over."""

    lossless: bool = False
    lossy: bool = False
    summaries: bool = False
    parallel: bool = False
    thresholds: bool = False
    multi_pass: bool = False
    fallback: bool = False
    speed: Literal["fast", "medium", "slow"] = "fast"


class Reduction(Struct, frozen=True):
    """Tokens of a transcript before and after a run."""

    tokens_before: int
    tokens_after: int


class HasSpent(Protocol):
    @property
    def spent(self) -> Spent: ...


class Planner(Summarizer, Protocol):
    """A summarizer that makes no calls and notes the cost of each request."""

    @property
    def used(self) -> Sequence[HasSpent]: ...


class RefusedResult(Exception):
    """A provider's own result breaks an API rule that the transcript kept."""


class Provider(Generic[S]):
    """A named strategy. `settings` is the type of its settings, `section` the configuration key that holds them.

    A provider either expresses its work as passes (`compiled`), so that every law holds, or does the work itself
    (`strategy`); then the template refuses a result that is larger or breaks an API rule.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    description: ClassVar[str]
    version: ClassVar[str] = "1.0.0"
    best_for: ClassVar[str] = ""
    example: ClassVar[str] = ""
    """Example of a setting: KEY=VALUE."""
    capabilities: ClassVar[Capabilities]
    besides: ClassVar[str] = ""
    """Its work apart from passes: "leaves short conversations alone"."""
    runs_passes: ClassVar[bool] = False
    """True if it runs the configuration's passes."""
    section: ClassVar[str] = OWN_SECTION
    """Configuration key of its settings. `smart` has several and overrides the methods that read them."""
    settings: type[S]

    def compiled(self, configuration: Configuration, settings: S) -> Configuration:
        """Return the configuration with the prelude and passes that do the provider's work."""
        return configuration

    def in_passes(self, configuration: Configuration) -> Configuration:
        """Validate the settings, then compile. Raises ConfigurationError."""
        return self.compiled(configuration, self.validate_config(configuration))

    def strategy(self, run: Run[S]) -> Condensation:
        """Do the provider's work. Any exception ends the run and leaves the transcript unchanged."""
        return run.pipeline(self.compiled(run.configuration, run.settings))

    def problems(self, settings: S) -> Iterator[Problem]:
        """Yield problems in settings whose types are valid."""
        yield from ()

    def default_configuration(self) -> Configuration:
        """Return the configuration for a run that names only the provider."""
        return Configuration(provider=self.id)

    def settings_of(self, configuration: Configuration, positions: Positions | None = None) -> S:
        """Return the provider's settings in a configuration. Raises ConfigurationError."""
        given = getattr(configuration, self.section)
        if isinstance(given, self.settings):
            return given
        return as_typed(given or {}, self.settings, positions or self._without_file(), (self.section,))

    def is_given(self, configuration: Configuration) -> bool:
        """Return whether a configuration has settings for the provider."""
        return getattr(configuration, self.section) is not None

    def with_settings(self, configuration: Configuration, settings: S) -> Configuration:
        values = msgspec.to_builtins(settings) if self.section == OWN_SECTION else settings
        return replace(configuration, **{self.section: values})

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the settings."""
        schema = msgspec.json.schema(self.settings)
        if self.section != OWN_SECTION:  # A package may name its structs like ours.
            limit_to_usual(schema["$defs"])
        return schema

    def validate_config(self, configuration: Configuration, positions: Positions | None = None) -> S:
        """Return checked settings; `positions` are those of the configuration's file. Raises ConfigurationError."""
        settings = self.settings_of(configuration, positions)
        try:
            problem = next(iter(self.problems(settings)), None)
        except Exception as error:
            raise ConfigurationError(f"The settings cannot be checked. {self._error(error)}") from error
        if problem is not None:
            path, what, hint = problem
            raise (positions or self._without_file()).error((self.section, *path), what, hint)
        return settings

    def warnings(self, configuration: Configuration) -> list[str]:
        """List warnings for valid but probably unintended settings."""
        found = value_warnings(configuration)
        if not self.runs_passes:
            given = {"passes": configuration.passes, "phases": has_phases(configuration)}
            found += [
                f"The {what} in the configuration are not used by provider {self.id}." for what in given if given[what]
            ]
        for section in _SECTIONS:
            if section != self.section and getattr(configuration, section) is not None:
                found.append(f"The settings under {section} are not used: the provider is {self.id}.")
        return found

    def condense(self, transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
        """Condense a transcript. Raises CondenseError if the configuration or the flags are wrong.

        If the provider's own code fails, or its result is no smaller or would be refused, the transcript is returned
        unchanged with the reason.
        """
        run = Run(transcript, configuration, self.validate_config(configuration), context)
        started = context.clock()
        try:
            result = self._refused_if_useless(run, self.strategy(run))
            warnings = self.warnings(configuration)
        except (CondenseError, MemoryError):
            raise
        except Exception as error:
            result, warnings = run.unchanged(error=self._error(error)), []
        operations = Tally(receipt.operation for receipt in result.changes)
        return replace(
            result,
            warnings=tuple(dict.fromkeys((*result.warnings, *warnings))),
            metrics=Metrics(self.id, self.version, context.clock() - started, dict(operations)),
        )

    def estimate_reduction(self, transcript: Transcript, configuration: Configuration, context: Context) -> Reduction:
        """Measure a run's effect on a transcript, with the context's summarizer."""
        result = self.condense(transcript, configuration, context)
        return Reduction(result.tokens_before, result.tokens_after)

    def estimate_cost(
        self, transcript: Transcript, configuration: Configuration, context: Context, planner: Planner
    ) -> Spent:
        """Compute the cost of a run's summaries from its requests, without making any."""
        from ..llm.budget import Spent

        self.condense(transcript, configuration, replace(context, summarizer=planner))
        return sum((used.spent for used in planner.used), Spent())

    def _refused_if_useless(self, run: Run[S], result: Condensation) -> Condensation:
        """Return the result, or the unchanged transcript if the result is no smaller or breaks a rule."""
        if not result.transcript.is_changed:
            return result
        count = run.context.count
        grown = count.transcript(result.transcript) - count.transcript(run.transcript)
        if grown >= 0:
            what = f"be {run.context.factor.shown(grown):,} tokens larger" if grown else "not be smaller"
            return run.unchanged(*map(undone, result.passes), warning=f"Nothing was changed: the result would {what}.")
        # The pipeline's results are checked when written; a provider's own work is checked here.
        if type(self).strategy is not Provider.strategy:
            for violation in result.new_violations:
                raise RefusedResult(violation.said)
        return result

    def _without_file(self) -> Positions:
        return Positions(f"provider {self.id}", is_file=False)

    def _error(self, error: Exception) -> RunError:
        return RunError(self.id, type(error).__name__, str(error), "".join(traceback.format_exception(error)))
