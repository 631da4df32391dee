"""One pass in batch mode, a summarizer that notes what it was asked, and what is left then."""

import json
from collections.abc import Sequence
from typing import Any

from build import anthropic, configuration, one_batch
from msgspec import Struct
from summarizers import Short

from condense_cli import api
from condense_cli.core.transcript import Message, Transcript
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.summaries import BatchTask, Outcome, Summarizer, Task, Written

RECENT = {"type": "preserve_recent", "keep_recent_count": 1}


class Noting(Struct):
    """Keeps the tasks it was given."""

    tasks: list[BatchTask]
    says: str = "What happened."
    lacks: frozenset[str] = frozenset()

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.tasks += [task for task in tasks if isinstance(task, BatchTask)]
        return [Written(self.says, by="noting", lacks=self.lacks) for _ in tasks]


def batch(
    transcript: Transcript,
    summarizer: Summarizer | None = None,
    selection: dict[str, Any] | None = None,
    pins: Sequence[dict[str, Any]] = (),
    **summarization: Any,
) -> Condensation:
    """One batch pass; nothing is kept at the ends of the window unless told otherwise."""
    config = one_batch(id="batch", **summarization)
    config["selection"] = selection or RECENT
    condensation = api.condense(transcript, configuration(config, pins=list(pins)), summarizer=summarizer or Short())
    api.dump(condensation)
    assert condensation.new_violations == []
    return condensation


def again(condensation: Condensation, *more: dict[str, Any]) -> Transcript:
    """The written conversation, gone on."""
    return anthropic(*json.loads(api.dump(condensation)), *more)


def stayed(condensation: Condensation) -> list[int]:
    """Indices of the messages that are still there."""
    return [message.index for message in condensation.transcript.messages if not message.is_summary]


def kept_because(condensation: Condensation, words: str) -> set[int]:
    return {receipt.message for receipt in condensation.receipts if receipt.kept and words in receipt.why}
