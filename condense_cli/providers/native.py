"""Provider `native`: the first message, one summary of the middle, the last turns.

It does what clients do by themselves when a conversation is full. The last summary is part of the next one, and goes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from ..config.models import BatchConfig, Configuration, NativeConfig, PassConfig, Selection, SummarizationConfig
from ..passes import pipeline
from ..passes.pipeline import Condensation
from ..passes.receipts import Kept, PassReceipt, Status
from ..passes.summaries import Summarizer
from ..tokens import Counter
from ..transcript import Transcript

PASS: Final = "native"
NAME: Final = "One summary of the middle"

_LEAST_MESSAGES: Final = 5
_LEAST_TOKENS: Final = 200
_LEAST_SINCE_SUMMARY: Final = 3


class Refusal(StrEnum):
    """Why the provider changes nothing. It is the reason of its pass."""

    TOO_FEW_MESSAGES = f"there are fewer than {_LEAST_MESSAGES} messages"
    TOO_FEW_TOKENS = f"there are fewer than {_LEAST_TOKENS} tokens"
    CONDENSED_RECENTLY = f"there are fewer than {_LEAST_SINCE_SUMMARY} messages since the last summary"
    NO_MODEL = "no summary was written"
    GREW = "the summary is not smaller than what it stands for"


def compiled(configuration: Configuration) -> Configuration:
    """The passes that do the provider's work, without its refusals."""
    middle = summary_pass(configuration.native or NativeConfig(), PASS, NAME)
    keep_first = max(1, configuration.keep_first)
    return replace(configuration, provider="smart", native=None, keep_first=keep_first, passes=(middle,))


def summary_pass(native: NativeConfig, id: str, name: str) -> PassConfig:
    """One summary of everything between the first message and the newest turns."""
    summarization = SummarizationConfig(
        api_profile=native.api_profile,
        custom_prompt=native.custom_prompt,
        max_tokens=native.max_tokens,
        keep_first=0,
        keep_last=0,
    )
    return PassConfig(
        id=id,
        name=name,
        selection=Selection(type="preserve_recent", keep_recent_count=native.max_messages_to_keep),
        mode="batch",
        batch_config=BatchConfig(operation="summarize", summarization_config=summarization),
    )


def refusal(transcript: Transcript, count: Counter) -> Refusal | None:
    """Why a conversation is not summarized at all."""
    if len(transcript.messages) < _LEAST_MESSAGES:
        return Refusal.TOO_FEW_MESSAGES
    if count.transcript(transcript) < _LEAST_TOKENS:
        return Refusal.TOO_FEW_TOKENS
    summaries = [position for position, message in enumerate(transcript.messages) if message.is_summary]
    if summaries and len(transcript.messages) - 1 - summaries[-1] < _LEAST_SINCE_SUMMARY:
        return Refusal.CONDENSED_RECENTLY
    return None


def condense(
    transcript: Transcript,
    configuration: Configuration,
    count: Counter,
    *,
    summarizer: Summarizer,
    clock: Callable[[], float] = lambda: 0.0,
) -> Condensation:
    """One summary of the middle, or the transcript as it was with the reason of the refusal."""
    refused = refusal(transcript, count)
    if refused:
        tokens = count.transcript(transcript)
        receipt = PassReceipt(PASS, NAME, Status.SKIPPED, refused, tokens, tokens)
        return Condensation(transcript, transcript, (receipt,), (), tokens, tokens, warnings=transcript.warnings)
    result = pipeline.condense(transcript, compiled(configuration), count, summarizer=summarizer, clock=clock)
    if any(receipt.is_change for receipt in result.receipts if receipt.pass_id == PASS):
        return result
    reasons = {receipt.kept for receipt in result.receipts}
    if Kept.NOT_SMALLER in reasons or Kept.NO_SUMMARY in reasons:
        why = Refusal.GREW if Kept.NOT_SMALLER in reasons else Refusal.NO_MODEL
        passes = [
            replace(receipt, status=Status.FAILED, reason=why) if receipt.id == PASS else receipt
            for receipt in result.passes
        ]
        return replace(result, passes=tuple(passes))
    return result
