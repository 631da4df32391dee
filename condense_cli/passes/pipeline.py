"""Running a configuration over a transcript: prelude, passes, thinking, and the receipts of all that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import assert_never

from msgspec.structs import replace

from ..config.checks import warnings as configuration_warnings
from ..config.models import Configuration, PassConfig
from ..factor import AS_COUNTED, Factor
from ..tokens import Counter
from ..transcript import Message, Transcript
from . import thinking
from .approach import fitted
from .condensation import Condensation, joined
from .draft import Draft
from .individual import override_warnings, run_individual
from .limits import (
    cuts_summaries,
    is_offline,
    keeps_all,
    needs_target,
    picks_lines,
    strictnesses,
    target_of,
    too_little,
)  # fmt: skip
from .prelude import Writer
from .receipts import Kept, PassReceipt, Receipt, Status, changed, kept, undone
from .reconcile import REFER, InInput, as_in_input, places, reconcile, view
from .selection import FindSelector, Selected, no_selectors, protect, select
from .sliding_window import SlidingWindow, drop_older_half
from .summaries import Outcome, Summarizer, TextTask, is_up_to_date, refused_by_all
from .words import told

PRELUDE = "lossless-prelude"
THINKING = "thinking"
REPEATED = "the same lines stand in another block"
MOVED = "what it can refer to changed"
KEEPS_ALL = "it keeps everything"
SWITCHED_OFF = "switched off by the configuration"
NO_TARGET = "there is no target"

_ROUNDS = 5
"""Removing an emptied message joins its neighbours, which moves windows; the passes then run again."""


def condense(
    transcript: Transcript,
    configuration: Configuration,
    count: Counter,
    *,
    summarizer: Summarizer,
    stop_at_target: bool = False,
    clock: Callable[[], float] = lambda: 0.0,
    selectors: FindSelector = no_selectors,
    factor: Factor = AS_COUNTED,
) -> Condensation:
    """Run the prelude and the passes of a configuration whose numbers, but for thresholds, are tokens as counted.

    With `stop_at_target` every pass works only until the target is reached, as if the configuration
    said so for each. `clock` gives seconds for the receipts, `selectors` the selectors that passes name, `factor` the
    model's tokens for thresholds and for what is said in words.
    A transcript that would not become smaller, or by less than `min_saving`, comes back unchanged.
    """

    def run_on(transcript: Transcript, configuration: Configuration) -> tuple[_Run, Condensation]:
        """A run that is proven: in the end, or, where that fails, which is a defect, after every pass."""
        for proves_all in (False, True):
            run = _Run(
                transcript, configuration, count, summarizer, stop_at_target, clock, selectors, proves_all, factor
            )
            result = run.result()
            if run.draft.is_proven:
                break
        return run, result

    run, result = run_on(transcript, configuration)
    picks = any(map(picks_lines, configuration.passes))
    is_open = run.writer.has_read_references or run.draft.has_restored
    is_open = is_open or (run.writer.is_enabled and cuts_summaries(configuration))
    has_failed = any(receipt.kept is Kept.NO_SUMMARY for receipt in result.receipts)
    if has_failed or not (result.changes and picks and is_open):
        return result
    # What references of the input named was shortened, and other lines may be found again now, or a reference stands
    # for the whole where a pass saw what was left of it: on to where a run on its own output changes nothing.
    settled = replace(configuration, target_tokens=run.target, target_reduction_percent=None, min_saving=0)
    for _ in range(_ROUNDS):
        _, again = run_on(result.transcript, settled)
        if not again.changes:
            break
        result = joined(result, again)
    return result


class _Run:
    """One run of a configuration: the draft and the receipts so far."""

    def __init__(
        self, transcript: Transcript, configuration: Configuration, count: Counter, summarizer: Summarizer,
        stop_at_target: bool, clock: Callable[[], float], selectors: FindSelector, proves_all: bool, factor: Factor,
    ) -> None:  # fmt: skip
        self.configuration = configuration
        self.factor = factor
        self.summarizer = summarizer
        self.model = transcript.model
        self.transcript = transcript
        self.writer = Writer(transcript, configuration, count, proves_all=proves_all)
        self.protection = protect(configuration, self.writer.messages, count)
        self.draft = Draft(transcript, count, self.writer, self.protection)
        self.tokens_before = count.transcript(transcript)
        self.target = target_of(configuration, self.tokens_before)
        self.is_up_to_date = is_up_to_date(self.writer.messages)
        self.stop_at_target = stop_at_target
        self.clock = clock
        self.selectors = selectors
        self.cuts: dict[tuple[int, int], str] = {}
        self.passes: list[PassReceipt] = []
        self.receipts: list[Receipt] = []

    def result(self) -> Condensation:
        """All of the run; the transcript as it was where too little would be saved."""
        self.all()
        configuration, transcript = self.configuration, self.transcript
        warnings = [*transcript.warnings, *configuration_warnings(configuration), *self.writer.warnings]
        warnings += override_warnings(configuration, len(transcript.messages))
        saved = self.tokens_before - self.draft.tokens
        if any(receipt.is_change for receipt in self.receipts) and saved < max(1, configuration.min_saving):
            why = too_little(saved, configuration.min_saving, self.factor)
            warnings.append(f"Nothing was changed: the result would {why}.")
            return Condensation(
                before=transcript, transcript=transcript, passes=tuple(map(undone, self.passes)), receipts=(),
                tokens_before=self.tokens_before, tokens_after=self.tokens_before, target=self.target,
                warnings=tuple(warnings),
            )  # fmt: skip
        if any(receipt.is_change for receipt in self.receipts):
            warnings += told(self.writer.messages, self.draft.messages, self.receipts, configuration, self.target)
        return Condensation(
            before=transcript, transcript=self.draft.finish(transcript),
            passes=tuple(self.passes), receipts=tuple(self.receipts),
            tokens_before=self.tokens_before, tokens_after=self.draft.tokens, target=self.target,
            warnings=tuple(warnings), references=self.draft.references(),
            keeps_thinking=configuration.thinking == "keep",
        )  # fmt: skip

    def all(self) -> None:
        self._prelude()
        for _ in range(_ROUNDS):
            is_moved = False
            for config in self.configuration.passes:
                receipt = self._pass(config)
                if receipt.changes or receipt.id not in self._seen_ids():
                    self.passes.append(receipt)
                if self.target is not None and config.mode != "individual" and receipt.changes:
                    is_moved |= self._drop_thinking()  # It counts on what that leaves free.
            if not (self._drop_thinking() or is_moved):
                break

    def _seen_ids(self) -> set[str]:
        return {receipt.id for receipt in self.passes}

    def _is_target_reached(self) -> bool:
        return self.target is not None and self.draft.tokens <= self.target

    def _skipped(self, id: str, name: str, reason: str) -> PassReceipt:
        return PassReceipt(id, name, Status.SKIPPED, reason, self.draft.tokens, self.draft.tokens)

    def _prelude(self) -> None:
        name = "Lossless prelude"
        if self.target is not None and self.tokens_before <= self.target:
            self.writer.switch_off()
        if not self.writer.is_enabled:
            self.draft.write()
            reason = "the target was reached before" if self.configuration.lossless_prelude.enabled else SWITCHED_OFF
            self.passes.append(self._skipped(PRELUDE, name, reason))
            return
        started = self.clock()
        receipts = self._settled(PRELUDE, [], self.transcript.messages, REPEATED)
        changed_places = {(receipt.message, receipt.block) for receipt in receipts}
        self.receipts += receipts
        if not self.configuration.passes:
            # The passes say why a block stays; without any, the prelude does.
            recent = self.writer.recent(self.draft.messages)
            self.receipts += [
                kept(
                    PRELUDE,
                    message,
                    number,
                    self.draft.count.block(block),
                    self.protection.of(message, block) or (Kept.RECENT if message.index in recent else Kept.UNIQUE),
                )
                for message in self.draft.messages
                for number, block in enumerate(message.blocks)
                if (message.index, number) not in changed_places
            ]
        self.passes.append(
            PassReceipt(
                PRELUDE, name, Status.COMPLETED, "", self.tokens_before, self.draft.tokens, len(receipts),
                self.clock() - started,
            )
        )  # fmt: skip

    def _settled(self, id: str, receipts: list[Receipt], before: Sequence[Message], reason: str) -> list[Receipt]:
        """The receipts of a step, once references are written anew; `before` are the messages as they were written."""
        if not self.writer.is_active:
            return receipts
        self.cuts |= {(receipt.message, receipt.block): receipt.operation for receipt in receipts if receipt.is_change}
        self.draft.write()
        positions = {message.index: position for position, message in enumerate(self.draft.messages)}

        def operation(place: tuple[int, int], message: Message, number: int) -> str:
            if self.draft.is_reference(positions[message.index], number):
                return REFER
            return self.cuts.get(place, REFER)  # A reference that stood for a cut may give way to the cut again.

        after = view(self.draft.written())
        return reconcile(id, receipts, view(before), after, self._in_input, self.draft.count, operation, reason)

    @property
    def _in_input(self) -> InInput:
        return self._input_places if self.draft.has_moved else {}

    @cached_property
    def _input_places(self) -> InInput:
        return places(self.transcript.messages)

    def _pass(self, config: PassConfig) -> PassReceipt:
        reason = self._reason_to_skip(config)
        if reason:
            return self._skipped(config.id, config.name or config.id, reason)
        started = self.clock()
        before, begun = self.draft.tokens, len(self.receipts)
        selected = select(config.selection, self.draft.messages, self.draft.count, self.selectors)
        works_to_target = config.stop_at_target or self.stop_at_target or config.execution.type == "target"
        target = self.target if works_to_target else None
        changed_blocks: set[tuple[int, int]] = set()
        for strictness in strictnesses(config, self.target):
            receipts = self._round(config, selected, target, strictness)
            self.receipts += receipts
            changed_blocks |= {(receipt.message, receipt.block) for receipt in receipts if receipt.is_change}
            if self._is_target_reached() or config.mode == "batch":
                break
        seconds = self.clock() - started
        refused = refused_by_all(receipt for receipt in self.receipts[begun:] if receipt.pass_id == config.id)
        return PassReceipt(
            config.id, config.name or config.id, Status.FAILED if refused else Status.COMPLETED, refused, before,
            self.draft.tokens, len(changed_blocks), seconds, selected.preserved_turns,
        )  # fmt: skip

    def _round(self, config: PassConfig, selected: Selected, target: int | None, strictness: float) -> list[Receipt]:
        """One round of a pass. Cutting what others refer to brings back tokens.

        It then goes on to the target, or, where what others say decides what is cut, until nothing changes any more.
        """
        receipts: list[Receipt] = []
        known: dict[TextTask, Outcome] = {}
        for _ in range(_ROUNDS):
            before, messages = self.draft.written(), self.draft.messages.copy()
            found = self._work(config, selected, target, strictness, known)
            found = as_in_input(found, messages, self._in_input)
            found = self._settled(config.id, found, before, MOVED)
            receipts = [receipt for receipt in receipts if receipt.is_change] + found
            is_done = not known if target is None else self.draft.tokens <= target
            # A summary takes the place of messages, so that the selection no longer fits: it is written once.
            # And an extraction has come as close to the target as it can.
            if (
                is_done
                or config.mode != "individual"
                or not self.writer.is_active
                or not any(receipt.is_change for receipt in found)
            ):
                break
        return receipts

    def _work(
        self, config: PassConfig, selected: Selected, target: int | None, strictness: float,
        known: dict[TextTask, Outcome],
    ) -> list[Receipt]:  # fmt: skip
        if config.mode == "individual":
            return run_individual(
                self.draft, config, selected, self.protection, target, self.summarizer, known, strictness
            )
        before = [*self.draft.written()]  # They may be the draft's own, which change.
        if config.mode == "extract":
            from .extract import run_extract  # With the extraction: only where there is a target.

            return run_extract(
                self.draft, config, selected, self.protection, self.target, self._thinking_tokens, before,
                self.transcript.format, self.is_up_to_date,
            )  # fmt: skip
        if config.mode != "batch":
            assert_never(config.mode)
        if isinstance(config, SlidingWindow):
            return drop_older_half(self.draft, config, selected, self.protection, before)
        from .batch import run_batch  # With the ledger: only where messages are summarized.

        run = partial(
            run_batch, self.draft, config, selected, self.protection, target, self.summarizer,
            self.transcript.format, before,
        )  # fmt: skip
        if target is None or not is_offline(config, self.summarizer):
            return run()
        return fitted(self.draft, target, run, self._thinking_tokens)

    def _reason_to_skip(self, config: PassConfig) -> str:
        condition = config.execution.condition if config.execution.type == "conditional" else None
        tokens = self.factor.shown(self.draft.tokens)
        if self._is_target_reached():
            return "the target was reached before"
        if self.target is None and needs_target(config):
            return NO_TARGET
        if condition and tokens <= condition.token_threshold:
            return f"{tokens:,} tokens are not above its {condition.token_threshold:,}"
        if isinstance(config, SlidingWindow):  # What is left after it has a new older half.
            return "it ran already" if config.id in self._seen_ids() else ""
        if keeps_all(config):
            return KEEPS_ALL
        if config.mode == "batch" and self.is_up_to_date:
            return "the conversation did not go on since the last summary"
        return ""

    def _thinking_tokens(self) -> int:
        """Tokens of the thinking that would have to go now."""
        return thinking.tokens_to_drop(self.draft.written(), self.configuration.thinking, self.model, self.draft.count)

    def _drop_thinking(self) -> bool:
        """Drop what the thinking mode says; whether messages went, so that windows may have moved."""
        written = self.draft.written()
        gone, reason = thinking.to_drop(written, self.configuration.thinking, self.model, self.draft.removed)
        if not gone:
            return False
        before = self.draft.tokens
        receipts: list[Receipt] = []
        for position, number in gone:
            message = self.draft.messages[position]
            tokens = self.draft.count.block(message.blocks[number])
            receipts.append(changed(THINKING, message, number, "drop", tokens, 0, reason))
        receipts = as_in_input(receipts, self.draft.messages, self._in_input)
        filled = {message.index for message in self.draft.messages if message.blocks}
        self.draft.remove(gone)
        tidied = self.draft.tidy(THINKING, filled)
        self.receipts += receipts + tidied + self._settled(THINKING, [], written, MOVED)
        self.passes.append(
            PassReceipt(THINKING, "Thinking", Status.COMPLETED, reason, before, self.draft.tokens, len(receipts))
        )
        return bool(tidied)
