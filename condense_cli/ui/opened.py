"""A session that is open: read and counted once, condensed as often as something else is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.files import UserConfiguration
from ..config.models import Configuration
from ..config.overrides import overrides_from
from ..core.factor import factor_of
from ..core.tokens import Counter, encoding_for
from ..core.transcript import Transcript
from ..extractive.remembered import remember
from ..money.prices import signs_of
from ..passes.condensation import Condensation
from ..passes.explained import explained
from ..passes.selection import Address
from ..providers.registry import Registry
from ..providers.window import window_of
from ..report.costs.money import PriceSource, cost_of
from ..report.costs.usage import in_use, overhead_of
from ..report.inspection import facts as inspection
from ..report.page.conversation import ConversationPage, conversation_of
from ..report.run.facts import Cost
from ..report.run.shortcomings import warnings_of
from ..storage.files import Stamp, stamp
from .background import Clock
from .choice import UserChoice
from .configurations import Configurations
from .selecting import Places


class ShownTotals(Struct, frozen=True):
    """What a choice comes to: tokens are the model's; `used` those of the next request, None where no window is known.

    `by_references` of what is saved can be restored.
    """

    before: int
    after: int
    by_references: int
    target: int | None
    window: int | None
    used_before: int
    cost: Cost
    model: str | None

    @property
    def used_after(self) -> int:
        return max(0, self.used_before - self.before + self.after)


class View(Struct, frozen=True):
    """A session as a choice makes it: all that is shown of it. `kept` and `cut` are the blocks that a person named."""

    choice: UserChoice
    result: Condensation
    conversation: ConversationPage
    totals: ShownTotals
    kept: frozenset[Address]
    cut: frozenset[Address]
    warnings: tuple[str, ...]


class Desk(Struct, frozen=True):
    """What holds for every session of one user."""

    configurations: Configurations
    user: UserConfiguration
    registry: Registry


class OpenSession:
    """A transcript with all that does not depend on a choice. One thread at a time may ask it."""

    def __init__(self, path: str, transcript: Transcript, seen: Stamp, desk: Desk) -> None:
        self.path, self.transcript, self.seen = path, transcript, seen
        self.configurations = desk.configurations
        self._user, self._registry = desk.user, desk.registry
        self.places = Places(transcript.messages)
        self.count = Counter.of(transcript)
        remember(self.count)
        self.factor = factor_of(transcript, self.count)
        self.tokens = self.factor.shown(self.count.transcript(transcript))

    @classmethod
    def read(cls, path: str, desk: Desk) -> OpenSession:
        """The session in a file. Raises UsageError, TranscriptError."""
        seen = stamp(Path(path))
        return cls(path, api.load(path), seen, desk)

    @cached_property
    def window(self) -> int | None:
        """Tokens of the model's context window, where that is known."""
        return window_of(self.transcript.model, Configuration(), self._user, signs=signs_of(self.transcript)).tokens

    @cached_property
    def contents(self) -> inspection.Inspection:
        """What fills the session."""
        encoding = encoding_for(self.transcript.model)
        return inspection.inspect(self.transcript, self.count, self.factor, encoding, source=self.path)

    def condensed(self, choice: UserChoice, clock: Clock, *, proves: bool = False) -> Condensation:
        """The session as a choice condenses it, without a model. Raises CondenseError, and what `clock` does."""
        percent = choice.target_percent
        return api.condense(
            self.transcript,
            self.configurations.of(choice),
            target_tokens=choice.target_tokens if percent is None else int(self.tokens * percent / 100),
            counter=self.count,
            factor=self.factor,
            clock=clock,
            overrides=overrides_from(keep=choice.keep, cut=choice.cut),
            registry=self._registry,
            proves=proves,
        )

    def view(self, choice: UserChoice, clock: Clock) -> View:
        """What is shown of a choice, but for why lines went. Raises CondenseError, and what `clock` does."""
        result = self.condensed(choice, clock)
        clock()
        conversation = conversation_of(result, self.count)
        clock()
        kept, cut = self.places.marks(choice.keep), self.places.marks(choice.cut)
        return View(choice, result, conversation, self._totals(result), kept, cut, tuple(warnings_of(result)))

    def views(self, choice: UserChoice, clock: Clock) -> Iterator[View]:
        """The same, and then with why lines went or stayed, which takes as long again."""
        view = self.view(choice, clock)
        yield view
        clock()
        result = explained(view.result, self.count)
        clock()
        if result.lines:
            yield replace(view, result=result, conversation=conversation_of(result, self.count))

    def _totals(self, result: Condensation) -> ShownTotals:
        overhead, _ = overhead_of(self.transcript, self.count, self.factor)
        return ShownTotals(
            result.shown_before,
            result.shown_after,
            self.factor.shown(result.lossless_saved),
            result.shown_target,
            self.window,
            self._used,
            cost_of(result, self.count, overhead, self._prices),
            self.transcript.model,
        )

    @cached_property
    def _used(self) -> int:
        return in_use(self.transcript, self.count, self.factor).tokens

    @cached_property
    def _prices(self) -> PriceSource:
        return PriceSource.of(self.transcript.model, datetime.now(UTC), lives_hour=self.transcript.lives_hour)
