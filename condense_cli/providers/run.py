"""What a provider works with: one transcript, its configuration, and the means that a run has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..config.overrides import NO_OVERRIDES, Overrides, apply
from ..config.presets import load_preset
from ..factor import AS_COUNTED, Factor
from ..passes import in_model_tokens
from ..passes.condensation import Condensation, RunError
from ..passes.limits import needs_no_model, target_of
from ..passes.offline import Offline
from ..passes.receipts import PassReceipt
from ..passes.selection import FindSelector, no_selectors
from ..passes.smallest import at_most_references, no_larger
from ..passes.summaries import Summarizer
from ..tokens import Counter
from ..transcript import Transcript

S = TypeVar("S", bound=Struct)


class Context(Struct, frozen=True):
    """The means of a run: who counts, who summarizes, what the time is, which selectors are installed.

    `factor` converts between the tokens that are counted and the model's, in which a configuration speaks.

    `overrides` are the flags of the run. With `stop_at_target` every pass works only until the target is reached.
    """

    count: Counter
    summarizer: Summarizer
    clock: Callable[[], float] = lambda: 0.0
    overrides: Overrides = NO_OVERRIDES
    stop_at_target: bool = False
    selectors: FindSelector = no_selectors
    factor: Factor = AS_COUNTED


class Run(Struct, Generic[S], frozen=True):
    """One call of a provider: `settings` are its own, checked."""

    transcript: Transcript
    configuration: Configuration
    settings: S
    context: Context

    def pipeline(self, configuration: Configuration) -> Condensation:
        """The prelude and the passes of a configuration on the transcript, as the flags of the run change it."""
        overrides = self.context.overrides
        applied = apply(configuration, overrides)
        by_context = partial(at_most_references, self._runner(self.context.summarizer))
        has_target = target_of(applied, 0) is not None
        if has_target or not (applied.passes and applied.no_larger_than):
            return by_context(self.transcript, applied)
        if not needs_no_model(applied, self.context.summarizer):
            return by_context(self.transcript, applied)
        others = {
            name: apply(replace(configuration, passes=load_preset(name).passes), overrides)
            for name in applied.no_larger_than
        }
        offline = partial(at_most_references, self._runner(Offline(self.context.count)))
        return no_larger(by_context, self.transcript, applied, others, offline)

    def _runner(self, summarizer: Summarizer) -> Callable[[Transcript, Configuration], Condensation]:
        """What runs a configuration with the means of this run."""
        context = self.context
        return lambda transcript, configuration: in_model_tokens.condense(
            transcript,
            configuration,
            context.count,
            summarizer=summarizer,
            stop_at_target=context.stop_at_target,
            clock=context.clock,
            selectors=context.selectors,
            factor=context.factor,
        )

    def unchanged(self, *passes: PassReceipt, warning: str = "", error: RunError | None = None) -> Condensation:
        """The transcript as it is, with the reasons."""
        tokens = self.context.count.transcript(self.transcript)
        warnings = (*self.transcript.warnings, *([warning] if warning else ()))
        return Condensation(
            self.transcript, self.transcript, passes, (), tokens, tokens, warnings=warnings, error=error,
            factor=self.context.factor, asked=self.configuration.target_tokens,
        )  # fmt: skip
