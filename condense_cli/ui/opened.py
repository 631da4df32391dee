"""An open session: condensed for each choice beside the keys, summed up, and written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Condition, Thread
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.files import UserConfiguration
from ..config.models import Configuration
from ..config.overrides import overrides_from
from ..core.factor import factor_of
from ..core.tokens import Counter, encoding_for
from ..core.transcript import Transcript
from ..delivering import Delivery, Destination, Where
from ..errors import CondenseError, OutputError, UsageError
from ..extractive.remembered import remember
from ..money.prices import signs_of
from ..passes.condensation import Condensation
from ..passes.explained import explained
from ..passes.selection import Address
from ..providers.registry import Registry
from ..providers.window import window_of
from ..report.costs.facts import PriceSource, cost_figures, cost_of
from ..report.costs.usage import in_use, overhead_of
from ..report.inspection import facts as inspection
from ..report.inspection.facts import Inspection
from ..report.page.conversation import ConversationPage, conversation_of
from ..report.run.facts import Cost
from ..report.run.shortcomings import warnings_of
from ..report.text.labels import percent
from ..report.text.visible import visible
from ..storage.backups import undo
from ..storage.files import Stamp, check_output, holds, make_folder, output_errors, read_bytes, stamp, write_bytes
from .choice import Configurations, Places, UserChoice

Asked = TypeVar("Asked")
Found = TypeVar("Found")
Clock = Callable[[], float]


class Overtaken(BaseException):
    """Something else was asked for meanwhile. No `Exception`: providers take those for errors of theirs."""


class Background(Generic[Asked, Found]):
    """Does `work` for what is asked for and tells `done`, in its thread, unless something newer was asked for.

    `work` may find something first and more of it later: each is told.
    The clock that `work` gets raises Overtaken as soon as its result is no longer wanted; whoever asks it often is
    stopped soon.
    """

    def __init__(
        self, work: Callable[[Asked, Clock], Iterable[Found]], done: Callable[[Asked, Found | CondenseError], object]
    ) -> None:
        self._work, self._done = work, done
        self._changed = Condition()
        self._number = 0
        self._asked: Asked | None = None
        self._is_open = True
        self._thread = Thread(target=self._run, name="condense-ui", daemon=True)
        self._thread.start()

    def ask(self, asked: Asked) -> None:
        """Do this next, and drop what is being done."""
        with self._changed:
            self._number += 1
            self._asked = asked
            self._changed.notify()

    def close(self) -> None:
        """Drop what is being done, and end the thread."""
        with self._changed:
            self._number += 1
            self._is_open = False
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked is not None or not self._is_open)
                if not self._is_open:
                    return
                asked, number, self._asked = self._asked, self._number, None
            assert asked is not None
            self._do(asked, number)

    def _do(self, asked: Asked, number: int) -> None:
        def clock() -> float:
            if self._number != number:
                raise Overtaken
            return time.perf_counter()

        try:
            for found in self._work(asked, clock):
                clock()
                self._done(asked, found)
        except CondenseError as error:
            self._done(asked, error)
        except Overtaken:
            return
        except Exception as error:  # A defect; the thread has to go on.
            self._done(asked, CondenseError(f"Internal error ({type(error).__name__}: {error}).", "Please report it."))


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


def totals_text(totals: ShownTotals) -> str:
    """Tokens, window and money, in that order."""
    return " · ".join(_totals(totals))


def _totals(totals: ShownTotals) -> Iterator[str]:
    saved = percent(totals.before - totals.after, totals.before)
    missed = "" if totals.target is None or totals.after <= totals.target else f", target {totals.target:,} missed"
    yield f"{totals.before:,} → {totals.after:,} tokens ({saved:.1f}% saved{missed})"
    if totals.window:
        before, after = (percent(used, totals.window) for used in (totals.used_before, totals.used_after))
        yield f"window {before:.0f}% → {after:.0f}% of {totals.window:,}"
    if totals.model is None:
        yield "no money, as the file names no model"
        return
    money = cost_figures(totals.cost, totals.model, is_changed=totals.before != totals.after)
    if money:
        yield money


def choice_text(choice: UserChoice) -> str:
    """What is chosen, in a line."""
    parts = [choice.name + (" (edited)" if choice.text else ""), f"target {choice.target or 'none'}"]
    parts += [f"{name} {', '.join(found)}" for name in ("keep", "cut") if (found := getattr(choice, name))]
    return " · ".join(parts)


def contents_text(found: Inspection) -> str:
    """What fills a session, the largest first, in a line."""
    largest = sorted(found.content_types, key=lambda share: -share.tokens)
    return " · ".join(f"{share.name} {share.percent:.0f}%" for share in largest if share.percent >= 1)


class SavedResult(Struct, frozen=True):
    """What was written, told in sentences; what takes it back, None where nothing was written."""

    said: tuple[str, ...]
    take_back: Callable[[], str] | None


def check_new_file(source: str, path: str) -> None:
    """Raises UsageError, OutputError where no new file can be written there."""
    if not path.strip():
        raise UsageError("A file needs a name.")
    file = Path(path).expanduser()
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} exists already.", "Name another file.")
    if not file.absolute().parent.is_dir():
        raise OutputError(f"There is no folder {file.parent}.")
    check_output(source, file)


def write(session: OpenSession, choice: UserChoice, where: Where, file: str | None = None) -> SavedResult:
    """Condense the session as chosen, prove the result and write it. Raises CondenseError."""
    output = str(Path(file).expanduser()) if file is not None else None
    to = Destination(where, session.path, output, dry_run=False, force=False, seen=session.seen)
    to.check(session.transcript)
    data = api.dump(session.condensed(choice, time.perf_counter, proves=True))
    delivery = to.write(data, session.transcript)
    if delivery.backup is not None:
        return SavedResult((*delivery.said, *delivery.warnings), lambda: _restore(session))
    created = _created(delivery)
    return SavedResult(delivery.said, None if created is None else taking_away(created))


def _created(delivery: Delivery) -> Path | None:
    """The file that is there because of this; None where it was there before."""
    if delivery.output is None or (delivery.new_session is not None and not delivery.new_session.is_new):
        return None
    return Path(delivery.output)


def _restore(session: OpenSession) -> str:
    """Bring the original back. Raises OutputError where the file went on meanwhile."""
    undo(Path(session.path), now=datetime.now(UTC))
    session.seen = stamp(Path(session.path))
    return f"Restored {visible(session.path)}."


def taking_away(path: Path) -> Callable[[], str]:
    """What removes a file that was just written, unless it is something else by then (OutputError)."""
    data = path.read_bytes()

    def take_away() -> str:
        _check_unchanged(path, data)
        with output_errors(path):
            path.unlink()
        return f"Removed {visible(str(path))}."

    return take_away


def _check_unchanged(path: Path, data: bytes) -> None:
    if not (path.exists() and holds(path, data)):
        raise OutputError(f"{path} is no longer what was written.", "It stays as it is.")


def write_text(path: str, text: str) -> SavedResult:
    """Write a configuration; taking that back brings what was there before. Raises OutputError."""
    file = Path(path).expanduser()
    before = read_bytes(file) if file.exists() else None
    make_folder(file.parent)
    write_bytes(file, text.encode())
    take_away = taking_away(file)

    def put_back() -> str:
        assert before is not None
        _check_unchanged(file, text.encode())
        write_bytes(file, before)
        return f"Put {visible(str(file))} back as it was."

    return SavedResult((f"Written: {visible(str(file))}",), take_away if before is None else put_back)
