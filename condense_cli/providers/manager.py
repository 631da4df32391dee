"""Run a configuration's provider if needed, and fall back if it fails.

The manager holds only its registry. Outside facts (the model's window, other content of a request) are arguments.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..core.transcript import Transcript
from ..core.wording import plural
from ..formats import format_named, serialize
from ..formats.engine.rereading import reads_back
from ..passes.condensation import Condensation
from ..passes.context import Context, LastResort
from ..passes.modes.sliding_window import WINDOW, dropped, sliding
from ..passes.receipts import Kept, PassReceipt, Status
from ..tokens.counting import MESSAGE_TOKENS
from ..window.decision import CheckDecision, DecisionReason
from ..window.use import Sizing
from . import native
from .base import Run
from .registry import Registry

CHECK: Final = "check"
SLIDING_WINDOW: Final = "sliding_window"

_NAME: Final = "Whether it is needed"
_OFF: Final = "Condensing is switched off (auto_condense_context is false)."


class NoSettings(Struct, frozen=True):
    pass


class Manager:
    """Runs the provider that a configuration names."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def condense(
        self, transcript: Transcript, configuration: Configuration, context: Context, sizing: Sizing
    ) -> Condensation:
        """Condense a transcript; with `only_if_needed`, return it unchanged if that is not needed.

        If `fallback` is configured, the sliding window drops the older half of a conversation that is over its limit
        after the provider failed or while automatic condensing is off. Raises CondenseError; UsageError if the decision
        needs an unknown window.
        """
        provider = self.registry.get(configuration.provider)
        configuration = self.registry.configured(configuration)
        if sizing.only_if_needed:
            decision = sizing.decide(context.factor.shown(context.count.transcript(transcript)), configuration)
            if decision.reason is DecisionReason.UNKNOWN_WINDOW:
                raise sizing.window().unknown
            if not decision.should_condense:
                run = Run(transcript, configuration, NoSettings(), context)
                if decision.reason is DecisionReason.SWITCHED_OFF and decision.is_over_limit:
                    slid = self._slide_while_off(run, decision, sizing)
                    if slid is not None:
                        return _warn(slid, *sizing.window().warnings)
                unchanged = run.unchanged(_skipped(run, decision), warning=f"Nothing was done: {decision}")
                return _warn(replace(unchanged, is_needed=False), *sizing.window().warnings)
        slides = configuration.fallback == SLIDING_WINDOW and sizing.may_fall_back()
        resort = LastResort(WINDOW, lambda tokens: sizing.decide(tokens, configuration).is_over_limit)
        result = provider.condense(transcript, configuration, replace(context, last_resort=resort if slides else None))
        if dropped(result.receipts) and not _can_be_written(result):
            result = provider.condense(transcript, configuration, context)
        if sizing.only_if_needed:
            result = _warn(result, *sizing.window().warnings)
        failure = failure_of(result)
        if not failure or not slides:
            return result
        if dropped(result.receipts):
            return self._warn_of_loss(result, failure, configuration, sizing)
        return self._fall_back(Run(transcript, configuration, NoSettings(), context), result, failure, sizing)

    def _slide_while_off(self, run: Run[NoSettings], decision: CheckDecision, sizing: Sizing) -> Condensation | None:
        """Drop the older half of a conversation that is over its limit while condensing is off.

        None if the configuration has no fallback or nothing may go.
        """
        if run.configuration.fallback != SLIDING_WINDOW or not sizing.may_fall_back():
            return None
        result = self._fall_back(run, run.unchanged(_skipped(run, decision)), _OFF, sizing)
        return result if result.changes else None

    def _fall_back(self, run: Run[NoSettings], result: Condensation, failure: str, sizing: Sizing) -> Condensation:
        """Replace a failed run by the sliding window if the transcript is over the limit."""
        factor = run.context.factor
        decision = sizing.decide(factor.shown(result.tokens_after), run.configuration)
        if decision.limit is None:
            return _warn(result, f"{failure} Without a known context window the sliding window does not run.")
        if not decision.is_over_limit:
            return result
        # A target would make it drop half after half.
        context = replace(run.context, overrides=run.context.overrides.replace(target_tokens=None))
        slid = replace(run, context=context).pipeline(sliding(run.configuration))
        if not dropped(slid.receipts):
            return _warn(result, f"{failure} {decision} The sliding window found nothing to drop.")
        if not _can_be_written(slid):
            return _warn(result, f"{failure} {decision} The sliding window cannot drop anything from this file.")
        passes = (*result.passes, *slid.passes)
        slid = replace(
            slid,
            decisions=replace(slid.decisions, ran=passes),
            error=result.error,
            metrics=result.metrics,
            warnings=result.warnings,
        )
        return self._warn_of_loss(slid, failure, run.configuration, sizing)

    def _warn_of_loss(
        self, result: Condensation, failure: str, configuration: Configuration, sizing: Sizing
    ) -> Condensation:
        """Add a warning about content that the sliding window dropped."""
        shown = result.factor.shown
        decision = sizing.decide(shown(result.tokens_after), configuration)
        lost = dropped(result.receipts)
        messages = len({receipt.message for receipt in lost})
        tokens = shown(sum(receipt.tokens_before for receipt in lost) + MESSAGE_TOKENS * messages)
        warning = (
            f"{failure} The context was over its limit of {decision.limit:,} tokens, so the sliding window dropped the "
            f"older half of the exchanges: {messages:,} messages with {tokens:,} tokens are lost from this transcript."
        )
        if decision.is_over_limit:
            warning += " It is still over the limit."
        if result.metrics is not None:
            result = replace(result, metrics=replace(result.metrics, fallback=SLIDING_WINDOW))
        return _warn(result, warning)


def failure_of(result: Condensation) -> str:
    """Describe a provider's failure in a sentence; empty if it did its work."""
    if result.error is not None:
        return str(result.error)
    refusals = {refusal.value for refusal in native.Refusal}
    for receipt in result.passes:
        if receipt.status is Status.FAILED or receipt.reason in refusals:
            return f"{receipt.name}: {receipt.reason}."
    refused = [receipt for receipt in result.receipts if receipt.kept is Kept.NO_SUMMARY]
    if not refused:
        return ""
    return f"{plural(len(refused), 'block was', 'blocks were')} not summarized ({refused[0].why.removesuffix('.')})."


def _can_be_written(result: Condensation) -> bool:
    """Return whether the result reads back from its file unchanged.

    State that a client replays, such as a rollback by number of requests, may need dropped messages.
    """
    if result.new_violations:
        return False
    transcript = result.transcript
    return not format_named(transcript.format).is_writable or reads_back(serialize(transcript), transcript)


def _skipped(run: Run[NoSettings], decision: CheckDecision) -> PassReceipt:
    tokens = run.context.count.transcript(run.transcript)
    return PassReceipt(CHECK, _NAME, Status.SKIPPED, str(decision), tokens, tokens)


def _warn(result: Condensation, *warnings: str) -> Condensation:
    return replace(result, warnings=(*result.warnings, *warnings))
