"""Provider `native`: keep the first message and the newest turns, and summarize the middle once.

Clients do the same when a conversation is full. The previous summary is absorbed by the new one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from msgspec.structs import replace

from ..config.models import BatchConfig, Configuration, NativeConfig, PassConfig, Selection, SummarizationConfig
from ..core.transcript import Transcript
from ..errors import UsageError
from ..passes.condensation import Condensation
from ..passes.receipts import Kept, PassReceipt, Status
from ..tokens.counting import Counter
from .base import Capabilities, Provider, Run

PASS: Final = "native"
_NAME: Final = "One summary of the middle"

_LEAST_MESSAGES: Final = 5
_LEAST_TOKENS: Final = 200
_LEAST_SINCE_SUMMARY: Final = 3


class Refusal(StrEnum):
    """Reason of the pass if the provider changes nothing."""

    TOO_FEW_MESSAGES = f"there are fewer than {_LEAST_MESSAGES} messages"
    TOO_FEW_TOKENS = f"there are fewer than {_LEAST_TOKENS} tokens"
    CONDENSED_RECENTLY = f"there are fewer than {_LEAST_SINCE_SUMMARY} messages since the last summary"
    NO_MODEL = "no summary was written"
    GREW = "the summary is not smaller than the original"


def compiled(configuration: Configuration) -> Configuration:
    """Return the passes that do the provider's work, without its refusals."""
    middle = summary_pass(configuration.native or NativeConfig(), PASS, _NAME)
    keep_first = max(1, configuration.keep_first)
    return replace(configuration, provider="smart", native=None, keep_first=keep_first, passes=(middle,))


def summary_pass(native: NativeConfig, pass_id: str, name: str) -> PassConfig:
    """Build a pass that makes one summary of everything between first message and newest turns."""
    summarization = SummarizationConfig(
        api_profile=native.api_profile,
        custom_prompt=native.custom_prompt,
        max_tokens=native.max_tokens,
        keep_first=0,
        keep_last=0,
        validate=native.validate,
    )
    return PassConfig(
        id=pass_id,
        name=name,
        selection=Selection(type="preserve_recent", keep_recent_count=native.max_messages_to_keep),
        mode="batch",
        batch_config=BatchConfig(operation="summarize", summarization_config=summarization),
    )


def refusal(transcript: Transcript, count: Counter) -> Refusal | None:
    """Return the reason not to summarize a conversation, or None."""
    if len(transcript.messages) < _LEAST_MESSAGES:
        return Refusal.TOO_FEW_MESSAGES
    if count.transcript(transcript) < _LEAST_TOKENS:
        return Refusal.TOO_FEW_TOKENS
    summaries = [
        position for position, message in enumerate(transcript.messages) if message.is_summary and not message.is_note
    ]
    if summaries and len(transcript.messages) - 1 - summaries[-1] < _LEAST_SINCE_SUMMARY:
        return Refusal.CONDENSED_RECENTLY
    return None


def summarized(result: Condensation) -> Condensation:
    """Mark the pass as failed if it changed nothing for lack of a good summary."""
    if any(receipt.is_change for receipt in result.receipts if receipt.pass_id == PASS):
        return result
    reasons = {receipt.kept for receipt in result.receipts}
    if Kept.NOT_SMALLER in reasons or Kept.NO_SUMMARY in reasons:
        why = Refusal.GREW if Kept.NOT_SMALLER in reasons else Refusal.NO_MODEL
        passes = [
            replace(receipt, status=Status.FAILED, reason=why) if receipt.id == PASS else receipt
            for receipt in result.passes
        ]
        return replace(result, decisions=replace(result.decisions, ran=tuple(passes)))
    return result


def skipped(run: Run[Any], why: Refusal) -> PassReceipt:
    tokens = run.context.count.transcript(run.transcript)
    return PassReceipt(PASS, _NAME, Status.SKIPPED, why, tokens, tokens)


class Native(Provider[NativeConfig]):
    id = "native"
    name = "One summary of the middle"
    description = (
        "Keeps the first message and the newest turns and replaces the middle with one summary. It is what clients "
        "do by themselves when a conversation is full."
    )
    best_for = "long talks with little to look up again"
    example = "max_messages_to_keep=6"
    capabilities = Capabilities(lossy=True, summaries=True, speed="medium")
    besides = "leaves short conversations alone"
    settings = NativeConfig
    section = "native"

    def compiled(self, configuration: Configuration, settings: NativeConfig) -> Configuration:
        return compiled(replace(configuration, native=settings))

    def strategy(self, run: Run[NativeConfig]) -> Condensation:
        """Summarize the middle once, or return the transcript unchanged with the reason."""
        if run.context.overrides.only_tools:
            hint = "--except-tools leaves calls and their results alone."
            raise UsageError("--only-tools cannot be used with provider native: it summarizes whole messages.", hint)
        refused = refusal(run.transcript, run.context.count)
        if refused:
            return run.unchanged(skipped(run, refused))
        return summarized(run.pipeline(self.compiled(run.configuration, run.settings)))


PROVIDER: Final = Native()
