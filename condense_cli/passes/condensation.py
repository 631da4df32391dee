"""The result of a run: the condensed transcript, what changed and why, and what the run was."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import BlockPlace, Transcript
from ..core.wording import plural
from ..extractive.reason import ReasonedLine, tally
from ..rules.validity import Violation, validate
from ..tokens.factor import Factor
from .decisions import Decisions
from .receipts import PICKING, PROTECTED, Kept, PassReceipt, Receipt


class Metrics(Struct, frozen=True):
    """The provider that ran, how many seconds it took, and how many changes each of its operations made.

    `fallback` names what ran after it when it had failed.
    """

    provider: str
    version: str
    seconds: float
    operations: dict[str, int]
    fallback: str | None = None


class RunError(Struct, frozen=True):
    """An error inside a provider: the type of the exception, what it said, and its traceback."""

    provider: str
    kind: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"Provider {self.provider} failed: {self.kind}{': ' if self.message else ''}{self.message}."


class Proof(Struct, frozen=True):
    """A transcript that was written, read back and checked: those are its bytes."""

    transcript: Transcript
    data: bytes


class Condensation(Struct, frozen=True, dict=True):
    """The outcome of a run: its decisions, and what else there is to say of it.

    All tokens are as they were counted, but for those that are `shown`, which are the model's.
    """

    decisions: Decisions
    warnings: tuple[str, ...] = ()
    metrics: Metrics | None = None
    is_needed: bool = True
    """Whether anything was to be done; if not, `metrics` are None."""
    error: RunError | None = None
    """What stopped the provider; the transcript is then as it was."""
    lines: Mapping[BlockPlace, Sequence[ReasonedLine]] = {}
    """Why lines of a block went and others stayed, where somebody asked, by message and block as receipts name them."""
    calls: int = 0
    """Calls of models that wrote summaries."""
    cost: Decimal = Decimal(0)
    """Dollars that these cost, as far as that is known."""
    proof: Proof | None = None
    """None where nothing was changed or nobody checked yet."""

    @property
    def before(self) -> Transcript:
        return self.decisions.before

    @property
    def transcript(self) -> Transcript:
        """The result."""
        return self.decisions.after

    @property
    def passes(self) -> tuple[PassReceipt, ...]:
        return self.decisions.passes

    @cached_property
    def receipts(self) -> tuple[Receipt, ...]:
        """Return what each pass did to each block, with the reasons of single lines if somebody asked."""
        return tuple(_with(receipt, self.lines) for receipt in self.decisions.receipts)

    @property
    def tokens_before(self) -> int:
        return self.decisions.tokens_before

    @property
    def tokens_after(self) -> int:
        return self.decisions.tokens_after

    @property
    def target(self) -> int | None:
        return self.decisions.target

    @property
    def factor(self) -> Factor:
        """The model's tokens for one of those in which everything here is counted."""
        return self.decisions.factor

    @property
    def references(self) -> dict[BlockPlace, int]:
        """Tokens that `restore` adds to each block, less those that it would have added before, where that is not 0.

        By message and block as receipts name them. Below 0 where references of the input went, or became lines again.
        """
        return self.decisions.references

    @property
    def shown_before(self) -> int:
        """The model's tokens of the transcript as it was."""
        return self.factor.shown(self.tokens_before)

    @property
    def shown_after(self) -> int:
        """The model's tokens of the result."""
        return self.factor.shown(self.tokens_after)

    @property
    def shown_target(self) -> int | None:
        """The target in the model's tokens."""
        asked = self.decisions.asked
        return asked if asked is not None or self.target is None else self.factor.shown(self.target)

    def with_transcript(self, transcript: Transcript) -> Condensation:
        """The same run with another result."""
        return replace(self, decisions=replace(self.decisions, after=transcript))

    def __repr__(self) -> str:
        tokens = f"{self.shown_before:,} -> {self.shown_after:,} tokens"
        return f"<Condensation: {tokens}, {plural(len(self.changes), 'change')}>"

    @cached_property
    def changes(self) -> list[Receipt]:
        return [receipt for receipt in self.receipts if receipt.is_change]

    @cached_property
    def by_references(self) -> dict[tuple[int, int], int]:
        """Return the tokens that references saved on each block; the rest of what was saved on it is left out.

        A block that is cut counts with the lines that references still say; that references of the input
        went with a cut takes nothing away from what the cut saved. Below 0 where they became lines again.
        """
        saved: Tally[tuple[int, int]] = Tally()
        for change in self.changes:
            saved[change.message, change.block] += change.tokens_before - change.tokens_after
        return {
            place: tokens if tokens == saved[place] else max(0, min(tokens, saved[place]))
            for place, tokens in self.references.items()
        }

    @property
    def lossless_saved(self) -> int:
        """Tokens that references saved; the rest of what was saved is left out."""
        return sum(self.by_references.values())

    @cached_property
    def old_violations(self) -> list[Violation]:
        """Rules that the input broke already."""
        return validate(self.before)

    @cached_property
    def new_violations(self) -> list[Violation]:
        """Rules that the result breaks and the input kept: there must be none."""
        found = validate(self.transcript)
        if not found:  # Mostly: what the input broke need not be known.
            return []
        known = {(violation.rule, violation.about) for violation in self.old_violations}
        return [violation for violation in found if (violation.rule, violation.about) not in known]

    @property
    def protected_tokens(self) -> int:
        """Tokens of the blocks that stayed because they are protected; references may have been put into them."""
        return self.tokens_kept(*PROTECTED)

    def tokens_kept(self, *reasons: Kept) -> int:
        """Tokens of the blocks that stayed for one of these reasons."""
        return sum(receipt.tokens_after for receipt in self.last_receipts if receipt.kept in reasons)

    @property
    def last_receipts(self) -> Iterable[Receipt]:
        """Return the last receipt of each block."""
        return {(receipt.message, receipt.block): receipt for receipt in self.receipts}.values()

    @property
    def was_within_target(self) -> bool:
        """Whether there was nothing to do."""
        return self.target is not None and self.tokens_before <= self.target and not self.changes

    @property
    def is_target_missed(self) -> bool:
        return self.target is not None and self.tokens_after > self.target


def _with(receipt: Receipt, lines: Mapping[BlockPlace, Sequence[ReasonedLine]]) -> Receipt:
    """The receipt of a block with the reasons of its lines."""
    if not lines or receipt.operation not in PICKING:
        return receipt
    found = lines.get((receipt.message, receipt.block), ()) if receipt.is_change else ()
    went, stayed = (tally(line.why for line in found if line.stays is stays) for stays in (False, True))
    return replace(receipt, went=went, stayed=stayed)
