"""Input of a provider: one transcript, its configuration, and dependencies of the run."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

from ..config.models import Configuration
from ..config.overrides import apply
from ..core.transcript import Transcript
from ..passes.condensation import Condensation, RunError
from ..passes.context import Context
from ..passes.decisions import unchanged
from ..passes.receipts import PassReceipt
from ..passes.walk import condense

S = TypeVar("S", bound=Struct)


class Run(Struct, Generic[S], frozen=True):
    """One call of a provider, with its checked `settings`."""

    transcript: Transcript
    configuration: Configuration
    settings: S
    context: Context

    def pipeline(self, configuration: Configuration) -> Condensation:
        """Run the prelude and passes of a configuration on the transcript, with the run's flags applied."""
        return condense(self.transcript, apply(configuration, self.context.overrides), self.context)

    def unchanged(self, *passes: PassReceipt, warning: str = "", error: RunError | None = None) -> Condensation:
        """Return the unchanged transcript with the reasons."""
        tokens = self.context.count.transcript(self.transcript)
        decisions = unchanged(self.transcript, tokens, passes, self.context.factor, self.configuration.target_tokens)
        warnings = (*self.transcript.warnings, *([warning] if warning else ()))
        return Condensation(decisions, warnings, error=error)
