"""An open session: condensed for each choice in a thread beside the keys, summed up, and written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Condition, Thread
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..clients.new_session import command_to_resume
from ..config.models import Configuration
from ..config.overrides import overrides_from
from ..config.own import UserConfiguration
from ..core.transcript import BlockPlace, Transcript
from ..core.wording import visible
from ..delivering import Destination, Where
from ..errors import CondenseError, OutputError, UsageError
from ..extractive.shorten import remember
from ..passes.condensation import Condensation
from ..passes.decisions import unchanged
from ..passes.explained import explained
from ..providers.registry import DEFAULT, AnyProvider, Registry
from ..report.costs import Cost, PriceSource, cost_figures, cost_of
from ..report.inspection import facts as inspection
from ..report.inspection.facts import Inspection
from ..report.page.conversation import ConversationPage, conversation_of
from ..report.run.shortcomings import warnings_of
from ..report.text import percent
from ..storage.backups import undo
from ..storage.files import Stamp, check_output, holds, make_folder, output_errors, read_bytes, stamp, write_bytes
from ..tokens.counting import Counter, encoding_for
from ..tokens.factor import factor_of
from ..window.decision import signs_of, window_of
from ..window.use import in_use, overhead_of
from .choice import Configurations, Places, UserChoice

Asked = TypeVar("Asked")
Found = TypeVar("Found")
Clock = Callable[[], float]


class Overtaken(BaseException):
    """A newer request came in. Not an `Exception`, which providers would take for an error of theirs."""


class Background(Generic[Asked, Found]):
    """A thread that does `work` for the newest request and reports to `done`.

    `work` may yield several results; each is reported. The clock that it gets raises Overtaken once its result is
    no longer wanted, so it should be read often.
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
        """Do this next, and drop the current work."""
        with self._changed:
            self._number += 1
            self._asked = asked
            self._changed.notify()

    def close(self) -> None:
        """Drop the current work and end the thread."""
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
        except Exception as error:  # A defect must not end the thread.
            self._done(asked, CondenseError(f"Internal error ({type(error).__name__}: {error}).", "Please report it."))


class ShownTotals(Struct, frozen=True):
    """Figures of a choice, in the model's tokens. `used_before` is the size of the next request; `window` is None
    if unknown.

    `by_references` is the part of the saving that can be restored.
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


CONDENSING: Final = "condensing"


class View(Struct, frozen=True):
    """A session condensed by a choice, as it is shown. `kept` and `cut` are the blocks that the user selected.
    `computing` names the work that goes on; empty if the view is complete."""

    choice: UserChoice
    provider: str
    result: Condensation
    conversation: ConversationPage
    totals: ShownTotals
    kept: frozenset[BlockPlace]
    cut: frozenset[BlockPlace]
    warnings: tuple[str, ...]
    computing: str = ""


class Desk(Struct, frozen=True):
    """Settings for every session of one user."""

    configurations: Configurations
    user: UserConfiguration
    registry: Registry


class OpenSession:
    """A transcript with everything that does not depend on a choice. For one thread at a time."""

    def __init__(self, path: str, transcript: Transcript, seen: Stamp, desk: Desk) -> None:
        self.path, self.transcript, self.seen = path, transcript, seen
        self.configurations = desk.configurations
        self._user, self._registry = desk.user, desk.registry
        self.places = Places(transcript.messages)
        self.count = Counter.of(transcript)
        remember(self.count)
        self.factor = factor_of(transcript, self.count)
        self.tokens = self.factor.shown(self.count.transcript(transcript))
        self.written: list[tuple[str, ...]] = []
        """Sentences about each file that was written and not taken back."""

    @classmethod
    def read(cls, path: str, desk: Desk) -> OpenSession:
        """Read the session in a file. Raises UsageError, TranscriptError."""
        seen = stamp(Path(path))
        try:
            return cls(path, api.load(path), seen, desk)
        except CondenseError as error:
            error.forget_options("--format", "--lenient")
            raise

    @cached_property
    def window(self) -> int | None:
        """Tokens of the model's context window, if known."""
        return window_of(self.transcript.model, Configuration(), self._user, signs=signs_of(self.transcript)).tokens

    @cached_property
    def contents(self) -> inspection.Inspection:
        encoding = encoding_for(self.transcript.model)
        return inspection.inspect(self.transcript, self.count, self.factor, encoding, source=self.path)

    @property
    def knows_contents(self) -> bool:
        """True if `contents` takes no more time."""
        return "contents" in vars(self)

    def providers(self) -> list[AnyProvider]:
        """List the providers that are not switched off."""
        return [entry.provider for entry in self._registry.all() if entry.settings.enabled]

    def provider_of(self, choice: UserChoice) -> str:
        """Return the id of the provider that a choice runs. Raises ConfigurationError."""
        return self.configurations.of(choice).provider or self._registry.active

    def noted(self, saved: SavedResult) -> SavedResult:
        """Add a result to `written` until it is taken back."""
        self.written.append(saved.said)
        take_back = saved.take_back
        if take_back is None:
            return saved

        def undone() -> str:
            said = take_back()
            self.written.remove(saved.said)
            return said

        return SavedResult(saved.said, undone)

    def condensed(self, choice: UserChoice, clock: Clock, *, proves: bool = False) -> Condensation:
        """Condense the session by a choice, without a model. Raises CondenseError, and what `clock` does."""
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
        """Show a choice, without the reasons for lines. Raises CondenseError, and what `clock` does."""
        result = self.condensed(choice, clock)
        clock()
        conversation = conversation_of(result, self.count)
        clock()
        kept, cut = self.places.marks(choice.keep), self.places.marks(choice.cut)
        totals, provider = self._totals(result), self.provider_of(choice)
        return View(choice, provider, result, conversation, totals, kept, cut, tuple(warnings_of(result)))

    def views(self, choice: UserChoice, clock: Clock) -> Iterator[View]:
        """Show a choice, the first one uncut before, then again with all that can wait: `contents`, and the reasons for
        lines."""
        is_first = not self.knows_contents
        if is_first:
            yield self._uncut(choice)
        view = self.view(choice, clock)
        if is_first:
            yield replace(view, computing="counting what fills the session")
            _ = self.contents
        yield replace(view, computing="finding the reasons")
        result = explained(view.result, self.count)
        clock()
        if result.lines:
            view = replace(view, result=result, conversation=conversation_of(result, self.count))
        yield view

    def _uncut(self, choice: UserChoice) -> View:
        """Show the session as it is, which takes a fraction of the time, without money and window."""
        result = Condensation(unchanged(self.transcript, self.count.transcript(self.transcript), (), self.factor))
        totals = ShownTotals(self.tokens, self.tokens, 0, None, None, self._used, Cost(), self.transcript.model)
        kept, cut = self.places.marks(choice.keep), self.places.marks(choice.cut)
        conversation = conversation_of(result, self.count)
        return View(choice, DEFAULT, result, conversation, totals, kept, cut, (), CONDENSING)

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
    """Return tokens, window and money in a line."""
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


def choice_text(choice: UserChoice, view: View | None, *, has_failed: bool = False) -> str:
    """Describe a choice in a line, with its provider and the work that goes on. `view` may be that of an older one."""
    view = view if view is not None and view.choice == choice else None
    parts = [choice.name + (" (edited)" if choice.text else "")]
    if view is not None and view.provider != DEFAULT:
        parts.append(f"provider {view.provider}")
    parts.append(f"target {choice.target or 'none'}")
    parts += [f"{name} {', '.join(found)}" for name in ("keep", "cut") if (found := getattr(choice, name))]
    computing = "" if has_failed else CONDENSING if view is None else view.computing
    return " · ".join([*parts, *([f"{computing}…"] if computing else [])])


def abilities(provider: AnyProvider) -> str:
    """Return what a provider can do, and how fast."""
    able = provider.capabilities
    names = {"lossless": able.lossless, "lossy": able.lossy, "summaries": able.summaries}
    return ", ".join([*(name for name, is_able in names.items() if is_able), able.speed])


def contents_text(found: Inspection) -> str:
    """Return what fills a session in a line, largest first."""
    largest = sorted(found.content_types, key=lambda share: -share.tokens)
    return " · ".join(f"{share.name} {share.percent:.0f}%" for share in largest if share.percent >= 1)


class SavedResult(Struct, frozen=True):
    """Sentences about what was written, and how to undo it; None if nothing was written."""

    said: tuple[str, ...]
    take_back: Callable[[], str] | None


def check_new_file(source: str, path: str) -> None:
    """Raise UsageError or OutputError if no new file can be written there."""
    if not path.strip():
        raise UsageError("A file needs a name.")
    file = Path(path).expanduser()
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} exists already.", "Name another file.")
    check_output(source, file)


def write(session: OpenSession, choice: UserChoice, where: Where, file: str | None = None) -> SavedResult:
    """Condense the session as chosen, prove the result and write it. Raises CondenseError."""
    output = str(Path(file).expanduser()) if file is not None else None
    to = Destination(where, session.path, output, dry_run=False, force=False, seen=session.seen)
    to.check(session.transcript)
    data = api.dump(session.condensed(choice, time.perf_counter, proves=True))
    delivery = to.write(data, session.transcript.source.data, session.transcript.format)
    if delivery.output is None:
        return SavedResult(delivery.said, None)
    if delivery.backup is not None:
        command = command_to_resume(Path(session.path), session.transcript.format, data, os.getcwd())
        resume = (f"Resume it: {visible(command)}",) if command else ()
        return session.noted(SavedResult((*delivery.said, *resume, *delivery.warnings), lambda: _restore(session)))
    is_new = delivery.new_session is None or delivery.new_session.is_new
    return session.noted(SavedResult(delivery.said, taking_away(Path(delivery.output)) if is_new else None))


def _restore(session: OpenSession) -> str:
    """Restore the original. Raises OutputError if the file changed since."""
    undo(Path(session.path), now=datetime.now(UTC))
    session.seen = stamp(Path(session.path))
    return f"Restored {visible(session.path)}."


def taking_away(path: Path) -> Callable[[], str]:
    """Return a function that removes a file just written; it raises OutputError if the file has changed by then."""
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
    """Write a configuration; undoing that restores the old content. Raises OutputError."""
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
