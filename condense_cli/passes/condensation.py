"""The result of a run: the condensed transcript, what changed and why, and what the run was."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from ..transcript import Transcript
from ..validity import BOUND_THINKING, Violation, validate
from .receipts import PROTECTED, PassReceipt, Receipt


class Metrics(Struct, frozen=True):
    """The provider that ran, how many seconds it took, and how many changes each of its operations made."""

    provider: str
    version: str
    seconds: float
    operations: dict[str, int]


class RunError(Struct, frozen=True):
    """An error inside a provider: the type of the exception, what it said, and its traceback."""

    provider: str
    kind: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"Provider {self.provider} failed: {self.kind}{': ' if self.message else ''}{self.message}."


class Condensation(Struct, frozen=True, dict=True):
    """What came of a run. The token difference is the sum of the receipts that are changes."""

    before: Transcript
    transcript: Transcript
    passes: tuple[PassReceipt, ...]
    receipts: tuple[Receipt, ...]
    tokens_before: int
    tokens_after: int
    target: int | None = None
    warnings: tuple[str, ...] = ()
    references: dict[tuple[int, int], int] = {}
    """Tokens saved on blocks that still say everything, by message and block as receipts name them.

    Below 0 where a reference of the input had to become lines again.
    """
    keeps_thinking: bool = False
    """The configuration asked to keep thinking even where a change made it invalid."""
    metrics: Metrics | None = None
    error: RunError | None = None
    """What stopped the provider; the transcript is then as it was."""

    @property
    def changes(self) -> list[Receipt]:
        return [receipt for receipt in self.receipts if receipt.is_change]

    @property
    def lossless_saved(self) -> int:
        """Tokens that references saved; the rest of what was saved is left out."""
        return sum(self.references.values())

    @cached_property
    def old_violations(self) -> list[Violation]:
        """Rules that the input broke already."""
        return validate(self.before)

    @cached_property
    def new_violations(self) -> list[Violation]:
        """Rules that the result breaks and the input kept: there must be none."""
        known = {(violation.rule, violation.about) for violation in self.old_violations}
        found = [violation for violation in validate(self.transcript) if (violation.rule, violation.about) not in known]
        return [violation for violation in found if not (self.keeps_thinking and violation.rule == BOUND_THINKING)]

    @property
    def protected_tokens(self) -> int:
        """Tokens of the blocks that stayed because they are protected."""
        stay = {(receipt.message, receipt.block): receipt for receipt in self.receipts if receipt.kept in PROTECTED}
        touched = {(receipt.message, receipt.block) for receipt in self.changes}
        return sum(receipt.tokens_after for place, receipt in stay.items() if place not in touched)

    @property
    def is_target_missed(self) -> bool:
        return self.target is not None and self.tokens_after > self.target
