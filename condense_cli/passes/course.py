"""The course of one run: references, then the passes in order, then thinking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from ..config.checks import warnings as configuration_warnings
from ..config.models import CUT, Configuration, PassConfig
from ..core.tokens import Counter
from ..core.transcript import Message, Transcript
from ..toolcalls.claims import SIGNS
from . import thinking
from .claimed import Claimed
from .condensation import Condensation
from .context import Context
from .draft import Draft
from .late_references import LateReferences, can_run_before, may_wait, with_sums
from .limits import (
    asks_for_summaries,
    keeps_all,
    least_saving,
    needs_target,
    runs_once,
    strictnesses,
    target_of,
    too_little,
)  # fmt: skip
from .modes.individual import override_warnings
from .modes.table import work_of
from .prelude import ReferenceWriter
from .receipts import (
    KEEPS_ALL,
    NO_TARGET,
    PRELUDE,
    REACHED,
    SWITCHED_OFF,
    THINKING,
    InInput,
    Kept,
    PassReceipt,
    Receipt,
    Status,
    as_in_input,
    changed,
    kept,
    places,
    undone,
)
from .reconcile import REFER, REPEATED, reconcile, view
from .selection import protect, select
from .step import Bench, Step
from .summaries import refused_by_all
from .words import told

_PRELUDE: Final = "Lossless prelude"

_MOVED: Final = "what it refers to changed"
"""Why references made of a block what it is, where other blocks changed."""


class Course:
    """One run of a configuration over a transcript, whose numbers, but for thresholds, are tokens as counted."""

    def __init__(self, transcript: Transcript, configuration: Configuration, context: Context) -> None:
        self.transcript, self.configuration, self.context = transcript, configuration, context
        self.count: Counter = context.count
        self.writer = ReferenceWriter(transcript, configuration, self.count)
        self.protection = protect(configuration, self.writer.messages, self.count, transcript.model)
        self.draft = Draft(transcript, self.count, self.writer, self.protection)
        read = self.writer.messages
        self.bench = Bench(self.draft, context.summarizer, read, self._thinking_tokens, context.settles)
        self.tokens_before = self.count.transcript(transcript)
        self.target = target_of(configuration, self.tokens_before)
        self.passes: list[PassReceipt] = []
        self.receipts: list[Receipt] = []
        self._waits = False
        """Whether references are still to be written for the first time."""
        self._cuts: dict[tuple[int, int], str] = {}
        """What was done to each block that a pass changed."""

    def run(self) -> Condensation:
        """All of the run; the transcript as it was where too little would be saved."""
        self._prelude()
        self._all_passes()
        return self._condensation()

    def _all_passes(self) -> None:
        """Every pass, and then the thinking that they make invalid."""
        for config in self.configuration.passes:
            receipt = self._pass(config)
            self.passes.append(receipt)
            if self.target is not None and config.mode != "individual" and receipt.changes:
                self._drop_thinking()  # It counts on what that leaves free.
        if self._waits:
            self._write_late()
        self._drop_thinking()

    def _condensation(self) -> Condensation:
        configuration, transcript = self.configuration, self.transcript
        warnings = [*transcript.warnings, *configuration_warnings(configuration), *self.writer.warnings]
        warnings += override_warnings(configuration, len(transcript.messages))
        saved = self.tokens_before - self.draft.tokens
        has_changes = any(receipt.is_change for receipt in self.receipts)
        # A run that meets a target may save as little as that takes.
        least = 1 if self._is_target_reached() else least_saving(configuration, transcript, self.tokens_before)
        if has_changes and saved < least:
            why = too_little(saved, least, configuration, self.context.factor)
            warnings.append(f"Nothing was changed: the result would {why}.")
            return Condensation(
                before=transcript, transcript=transcript, passes=tuple(map(undone, self.passes)), receipts=(),
                tokens_before=self.tokens_before, tokens_after=self.tokens_before, target=self.target,
                warnings=tuple(warnings),
            )  # fmt: skip
        if has_changes:
            warnings += told(self.writer.messages, self.draft.messages, self.receipts, configuration, self.target)
        return Condensation(
            before=transcript, transcript=self.draft.finish(transcript),
            passes=tuple(self.passes), receipts=tuple(self.receipts),
            tokens_before=self.tokens_before, tokens_after=self.draft.tokens, target=self.target,
            warnings=tuple(warnings), references=self.draft.references(),
            keeps_thinking=configuration.thinking == "keep",
        )  # fmt: skip

    def _is_target_reached(self) -> bool:
        return self.target is not None and self.draft.tokens <= self.target

    def _skipped(self, pass_id: str, name: str, reason: str) -> PassReceipt:
        return PassReceipt(pass_id, name, Status.SKIPPED, reason, self.draft.tokens, self.draft.tokens)

    def _completed(self, pass_id: str, name: str, tokens: tuple[int, int], changes: int, started: float) -> PassReceipt:
        """The receipt of what ran from a time on; `tokens` are those before and after it."""
        return PassReceipt(pass_id, name, Status.COMPLETED, "", *tokens, changes, self.context.clock() - started)

    def _prelude(self) -> None:
        if self.target is not None and self.tokens_before <= self.target:
            self.writer.switch_off()
        if not self.writer.is_enabled:
            self.draft.write(proves=True)
            reason = REACHED if self.configuration.lossless_prelude.enabled else SWITCHED_OFF
            self.passes.append(self._skipped(PRELUDE, _PRELUDE, reason))
            return
        if may_wait(self.configuration, self.writer, self.target):
            self._waits = True
            return
        self.context.on_pass(_PRELUDE)
        started = self.context.clock()
        receipts = self._settled(PRELUDE, [], self.transcript.messages, REPEATED)
        self.receipts += receipts
        if not self.configuration.passes:
            # The passes say why a block stays; without any, the prelude does.
            self.receipts += self._left_by_prelude({(receipt.message, receipt.block) for receipt in receipts})
        tokens = self.tokens_before, self.draft.tokens
        self.passes.append(self._completed(PRELUDE, _PRELUDE, tokens, len(receipts), started))

    def _write_late(self) -> None:
        """Write references behind the passes that ran, with the receipts as if they had been there before."""
        self._waits = False
        self.context.on_pass(_PRELUDE)
        started = self.context.clock()
        self.draft.write(proves=True)
        late = LateReferences(self.transcript, self.draft, self.receipts, self.count)
        receipts = late.of_passes(self.receipts)
        rest = self.tokens_before - late.saved
        passes = with_sums(self.passes, rest, self.receipts, receipts)
        prelude = self._completed(PRELUDE, _PRELUDE, (self.tokens_before, rest), len(late.receipts), started)
        self.passes, self.receipts = [prelude, *passes], [*late.receipts, *receipts]

    def _left_by_prelude(self, changed_places: set[tuple[int, int]]) -> Iterator[Receipt]:
        recent = self.writer.recent(self.draft.messages)
        for message in self.draft.messages:
            for number, block in enumerate(message.blocks):
                if (message.index, number) not in changed_places:
                    why = self.writer.why_recent if message.index in recent else Kept.UNIQUE
                    why = self.protection.of(message, block) or why
                    yield kept(PRELUDE, message, number, self.count.block(block), why)

    def _pass(self, config: PassConfig) -> PassReceipt:
        """A pass: once, or where it may repeat itself ever more strictly, until the target is reached."""
        if self._waits and not can_run_before(config):
            self._write_late()
        reason = self._reason_to_skip(config)
        if reason:
            return self._skipped(config.id, config.name or config.id, reason)
        self.context.on_pass(config.name or config.id)
        started = self.context.clock()
        before, begun = self.draft.tokens, len(self.receipts)
        selected = select(config.selection, self.draft.messages, self.count, self.context.selectors)
        changed_blocks: set[tuple[int, int]] = set()
        for strictness in strictnesses(config, self.target):
            receipts = self._step(Step(config, selected, self._target_of(config), strictness, self.draft.written(), {}))
            self.receipts += receipts
            changed_blocks |= {(receipt.message, receipt.block) for receipt in receipts if receipt.is_change}
            if self._is_target_reached() or config.mode == "batch":
                break
        own = (receipt for receipt in self.receipts[begun:] if receipt.pass_id == config.id)
        refused = refused_by_all(own) if asks_for_summaries(config) else ""
        extraction = config.extract_config if changed_blocks and self.target is None else None
        tokens = before, self.draft.tokens
        return replace(
            self._completed(config.id, config.name or config.id, tokens, len(changed_blocks), started),
            status=Status.FAILED if refused else Status.COMPLETED,
            reason=refused,
            preserved_turns=selected.preserved_turns,
            min_worth=extraction.min_worth if extraction and not extraction.overrides else None,
        )

    def _step(self, step: Step) -> list[Receipt]:
        """One step, and what it makes of the references."""
        messages = self.draft.messages
        found = work_of(step.config)(self.bench, step)
        if self._claims:
            found = self._claims.withdrawn(self.draft, step, messages, found)
        return self._settled(step.config.id, as_in_input(found, messages, self._in_input), step.before, _MOVED)

    @cached_property
    def _claims(self) -> Claimed | None:
        """Claims of the client in results of files that are in the conversation; None where it never did."""
        has_any = any(sign.encode() in self.transcript.source.data for sign in SIGNS)
        return Claimed(self.writer.messages) if has_any else None

    def _target_of(self, config: PassConfig) -> int | None:
        """The tokens at which a pass stops; None where it works through all that it selects."""
        if config.id == CUT:
            return None
        stops = config.stop_at_target or self.context.stop_at_target or config.execution.type == "target"
        return self.target if stops or config.mode == "extract" else None

    def _reason_to_skip(self, config: PassConfig) -> str:
        condition = config.execution.condition if config.execution.type == "conditional" else None
        tokens = self.context.factor.shown(self.draft.tokens)
        if self._is_target_reached() and config.id != CUT:
            return REACHED
        if self.target is None and needs_target(config):
            return NO_TARGET
        if condition and tokens <= condition.token_threshold:
            return f"{tokens:,} tokens does not exceed its threshold of {condition.token_threshold:,}"
        if runs_once(config):
            return ""
        if keeps_all(config):
            return KEEPS_ALL
        if config.mode == "batch" and self.bench.is_up_to_date:
            return "no more turns follow the last summary than when it was written"
        return ""

    def _settled(self, pass_id: str, receipts: list[Receipt], before: Sequence[Message], reason: str) -> list[Receipt]:
        """The receipts of a step, once references are written anew; `before` are the messages as they were written."""
        if not self.writer.is_active:
            return receipts
        self._cuts |= {(receipt.message, receipt.block): receipt.operation for receipt in receipts if receipt.is_change}
        if self._waits:
            return receipts
        self.draft.write(proves=True)
        positions = {message.index: position for position, message in enumerate(self.draft.messages)}

        def operation(place: tuple[int, int], message: Message, number: int) -> str:
            if self.draft.is_reference(positions[message.index], number):
                return REFER
            return self._cuts.get(place, REFER)  # A reference that stood for a cut may give way to the cut again.

        after = view(self.draft.written())
        return reconcile(pass_id, receipts, view(before), after, self._in_input, self.count, operation, reason)

    @property
    def _in_input(self) -> InInput:
        return self._input_places if self.draft.has_moved else {}

    @cached_property
    def _input_places(self) -> InInput:
        return places(self.transcript.messages)

    def _thinking_tokens(self) -> int:
        """Tokens of the thinking that would have to go now."""
        mode = self.configuration.thinking
        return thinking.tokens_to_drop(self.draft.written(), mode, self.transcript, self.count)

    def _drop_thinking(self) -> None:
        """Drop what the thinking mode says."""
        written = self.draft.written()
        gone, reason = thinking.to_drop(written, self.configuration.thinking, self.transcript, self.draft.removed)
        if not gone:
            return
        before, messages = self.draft.tokens, self.draft.messages
        receipts = [
            changed(
                THINKING, messages[position], number, "drop", self.count.block(messages[position].blocks[number]), 0,
                reason,
            )
            for position, number in gone
        ]  # fmt: skip
        receipts = as_in_input(receipts, messages, self._in_input)
        emptied = self.draft.remove(gone, THINKING)
        self.receipts += receipts + emptied + self._settled(THINKING, [], written, _MOVED)
        self.passes.append(
            PassReceipt(THINKING, "Thinking", Status.COMPLETED, reason, before, self.draft.tokens, len(receipts))
        )
