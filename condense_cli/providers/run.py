"""What a provider works with: one transcript, its configuration, and the means of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..config.overrides import apply
from ..config.presets import load_preset
from ..core.transcript import Transcript
from ..passes import pipeline
from ..passes.condensation import Condensation, RunError
from ..passes.context import Context
from ..passes.limits import needs_no_model, target_of
from ..passes.offline import Offline
from ..passes.receipts import PassReceipt
from ..passes.smallest import no_larger
from ..passes.summaries import Summarizer

S = TypeVar("S", bound=Struct)


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
        by_context = self._runner(self.context.summarizer)
        has_target = target_of(applied, 0) is not None
        if has_target or not (applied.passes and applied.no_larger_than):
            return by_context(self.transcript, applied)
        if not needs_no_model(applied, self.context.summarizer):
            return by_context(self.transcript, applied)
        # What an earlier summary holds was chosen once: it is not held to the size of a way that would not have it.
        if any(message.is_summary for message in self.transcript.messages):
            return by_context(self.transcript, applied)
        others = {
            name: apply(replace(configuration, passes=load_preset(name).passes), overrides)
            for name in applied.no_larger_than
        }
        offline = self._runner(Offline(self.context.count))
        with pipeline.sharing_lines([applied, *others.values()], self.context):
            return no_larger(by_context, self.transcript, applied, others, offline)

    def _runner(self, summarizer: Summarizer) -> Callable[[Transcript, Configuration], Condensation]:
        """What runs a configuration with the means of this run."""
        context = replace(self.context, summarizer=summarizer)
        return lambda transcript, configuration: pipeline.condense(transcript, configuration, context)

    def unchanged(self, *passes: PassReceipt, warning: str = "", error: RunError | None = None) -> Condensation:
        """The transcript as it is, with the reasons."""
        tokens = self.context.count.transcript(self.transcript)
        warnings = (*self.transcript.warnings, *([warning] if warning else ()))
        return Condensation(
            self.transcript, self.transcript, passes, (), tokens, tokens, warnings=warnings, error=error,
            factor=self.context.factor, asked=self.configuration.target_tokens,
        )  # fmt: skip
