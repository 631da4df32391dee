"""Questions of passes to a summarizer, and its answers. Who writes the summaries is not theirs to know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from ..core.markers import parse_summary
from ..core.transcript import Block, JsonPath, Message
from ..ledger.entries import Ledger
from .receipts import SUMMARIZE, Kept, Receipt

OFFLINE: Final = "offline"
"""Who wrote a summary that is made of lines of what it replaces."""


def written_by(name: str) -> str:
    """The reason in the receipt of a summary of messages."""
    return f"written by {name}"


class TextTask(Struct, frozen=True):
    """One text to summarize in at most `max_tokens` tokens: a block, or the value at a `path` of a call's arguments.

    `profile` and `prompt` are those that the configuration names, if it does, and so is the number of calls at a time.
    `min_facts` is the share of its main facts that a model's summary must hold.
    """

    block: Block
    text: str
    max_tokens: int
    path: JsonPath = ()
    profile: str | None = None
    prompt: str | None = None
    max_parallel_calls: int | None = None
    min_facts: float = 0


class BatchTask(Struct, frozen=True):
    """Messages to summarize as one, in order. `previous` is the summary of earlier ones, which this one replaces.

    `max_tokens` is what the configuration allows, `room` what is left of a target; None where there is none.
    `ledger` is what was done up to now, and `listed` as much of it as follows the summary, as text. `positions` are
    those, in the whole conversation, of all that the summary takes the place of.
    """

    messages: tuple[Message, ...]
    previous: str = ""
    max_tokens: int | None = None
    room: int | None = None
    profile: str | None = None
    prompt: str | None = None
    min_facts: float = 0
    ledger: Ledger = Ledger()
    listed: str = ""
    positions: tuple[int, ...] = ()


Task = TextTask | BatchTask


class Written(Struct, frozen=True):
    """A summary. An `is_extract` is made of lines of the text, with the gaps marked; `by` names who wrote it.

    `lacks` are entries of the ledger that a batch's summary should name and does not, by path or text.
    """

    text: str
    by: str
    is_extract: bool = False
    lacks: frozenset[str] = frozenset()


class Refused(Struct, frozen=True):
    """No summary, and why. Whatever was to be summarized stays as it is."""

    reason: str


Outcome = Written | Refused


@runtime_checkable
class WorksOffline(Protocol):
    """A summarizer that may need no model."""

    def works_offline(self, profile: str | None) -> bool:
        """Whether summaries by a profile, or by none that is named, are free, so that they may be tried again."""


@runtime_checkable
class Charges(Protocol):
    """A summarizer whose calls of models cost money."""

    def charged(self) -> tuple[int, Decimal]:
        """Calls made so far, and the dollars that they cost, as far as known."""


def charged(summarizer: Summarizer) -> tuple[int, Decimal]:
    """Calls that a summarizer has made so far, and their dollars."""
    return summarizer.charged() if isinstance(summarizer, Charges) else (0, Decimal(0))


class Summarizer(Protocol):
    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> Sequence[Outcome]:
        """One outcome per task, in their order. `messages` are the whole conversation as it is."""


def is_up_to_date(messages: Sequence[Message]) -> bool:
    """Whether the conversation did not go on since its last summary: another one would summarize what was kept."""
    for position in range(len(messages) - 1, -1, -1):
        for block in messages[position].blocks:
            mark = parse_summary(block.text) if block.summarizes else None
            if mark and mark.following is not None:
                return len(messages) - 1 - position <= mark.following
    return False


def refused_by_all(receipts: Iterable[Receipt]) -> str:
    """Why not one of the summaries that a pass asked for was written; empty where one was, or none was asked for."""
    why = ""
    for receipt in receipts:
        if receipt.is_change and receipt.operation == SUMMARIZE:
            return ""
        if receipt.kept is Kept.NO_SUMMARY:
            why = why or receipt.why.removesuffix(".")
    return why
