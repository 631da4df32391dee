"""The walk: one run of a configuration over a transcript, from top to bottom.

    decode the references of the input
    where there is a target: measure what references alone leave; nothing more is done where that is enough
    drop old thinking, old images that calls returned, and lists of what the client offers that it repeats
    each pass in order changes a sheet of plain messages, without references
    write references
    drop the thinking that became invalid; where any went, write references again
    make the table of decisions

Nothing is repeated. What a step towards a target asks is how large the sheet would be as written (`Sheet.free`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Final, assert_never

from msgspec.structs import replace

from ..config.checks import warnings as configuration_warnings
from ..config.models import CUT, BatchConfig, Configuration, ImageOperation, PassConfig
from ..core.transcript import Block, BlockKey, BlockPlace, Transcript
from ..core.values import BlockKind
from ..toolcalls.outcomes import SIGNS
from . import listings, must_keep, thinking
from .blocks.operations import leave_out_image
from .claimed import Claimed
from .condensation import Condensation
from .context import Context
from .decisions import Decisions, decided, unchanged
from .limits import (
    asks_for_summaries,
    in_our_tokens,
    in_steps,
    is_met,
    keeps_all,
    least_saving,
    needs_target,
    strictnesses,
    target_of,
    too_little,
)
from .modes.individual import override_warnings
from .prelude import ReferenceWriter
from .receipts import (
    IMAGES,
    KEEPS_ALL,
    LISTINGS,
    NO_TARGET,
    PRELUDE,
    REACHED,
    SWITCHED_OFF,
    THINKING,
    Kept,
    PassReceipt,
    Receipt,
    Status,
    at_place,
    changed,
    kept,
    places,
    undone,
)
from .selection import protect, select
from .sheet import Sheet, Step
from .summaries import charged, refused_by_all
from .words import told

_PRELUDE: Final = "Lossless prelude"
_IMAGES: Final = ImageOperation(operation="suppress")


def condense(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    """Run a configuration by the context's factor from the tokens that are counted to those of the model.

    A transcript that would not become smaller, or by less than `min_saving`, comes back unchanged.
    """
    factor = context.factor
    ours = in_our_tokens(configuration, factor)
    if ours.target_tokens is not None and is_met(transcript, configuration, context.count, factor):
        ours = replace(ours, target_tokens=max(ours.target_tokens, context.count.transcript(transcript)))
    with context.count.sharing():
        walk = _Walk(transcript, ours, context, configuration.target_tokens)
        decisions, warnings = walk.run()
    return Condensation(decisions, warnings)


class _Walk:
    """One run of a configuration whose numbers, but for thresholds, are tokens as counted."""

    def __init__(
        self, transcript: Transcript, configuration: Configuration, context: Context, asked: int | None
    ) -> None:
        self.asked = asked
        self.transcript, self.configuration, self.context = transcript, configuration, context
        self.count = context.count
        self.writer = ReferenceWriter(transcript, configuration, self.count)
        protection = protect(configuration, self.writer.messages, self.count, transcript.model)
        self.sheet = Sheet(transcript, self.count, self.writer, protection, configuration.thinking)
        self.tokens_before = self.count.transcript(transcript)
        self.target = target_of(configuration, self.tokens_before)
        self.log: list[Receipt] = []
        """What each pass did to each block, in tokens without references."""
        self.passes: list[PassReceipt] = []

    def run(self) -> tuple[Decisions, tuple[str, ...]]:
        """The decisions, and warnings; those of the transcript as it was where too little would be saved."""
        configuration, transcript = self.configuration, self.transcript
        warnings = [*transcript.warnings, *configuration_warnings(configuration), *self.writer.warnings]
        warnings += override_warnings(configuration, len(transcript.messages))
        if configuration.must_keep:
            warnings += must_keep.absent(configuration.must_keep, self.sheet.protection.must)
        is_within = self.target is not None and self.tokens_before <= self.target
        if is_within:
            self.writer.switch_off()
        has_old = False
        if configuration.passes and not (self.target is not None and self.sheet.is_within(self.target)):
            has_old = self._drop(self.sheet.old_thinking(), thinking.OLD)
            if configuration.old_images == "drop":
                self._drop_images()
            self._drop_listings()
        for config in chain.from_iterable(map(in_steps, configuration.passes)):
            self._pass(config, self._reason_to_skip(config))
        if resort := self._last_resort():
            self._pass(resort)
        prelude = self._references(is_within=is_within)
        sheet = self.sheet
        invalid, why = thinking.to_drop(sheet.written(), configuration.thinking, transcript, sheet.removed)
        if self._drop(invalid, why):
            self.sheet.write(proves=True)
        dropped = self._dropped()
        passes = [prelude, *dropped, *self.passes] if has_old else [prelude, *self.passes, *dropped]
        factor, asked = self.context.factor, self.asked
        decisions = decided(transcript, self.sheet, self.log, passes, self.tokens_before, self.target, factor, asked)
        saved = self.tokens_before - decisions.tokens_after
        # A run that meets a target may save as little as that takes.
        meets_target = self.target is not None and decisions.tokens_after <= self.target
        least = 1 if meets_target else least_saving(configuration, transcript, self.tokens_before)
        if not decisions.changes:
            return decisions, tuple(warnings)
        if saved < least:
            why = too_little(saved, least, configuration, self.context.factor)
            warnings.append(f"Nothing was changed: the result would {why}.")
            passes = [undone(receipt) for receipt in decisions.passes]
            same = unchanged(transcript, self.tokens_before, passes, factor, asked, self.target)
            return same, tuple(warnings)
        messages = self.writer.messages, self.sheet.messages
        warnings += told(*messages, decisions.receipts, configuration, self.target, self.count)
        return decisions, tuple(warnings)

    def _references(self, *, is_within: bool) -> PassReceipt:
        """Write references, each of them decoded and compared."""
        if not self.writer.is_enabled:
            self.sheet.write(proves=True)
            reason = REACHED if is_within and self.configuration.lossless_prelude.enabled else SWITCHED_OFF
            return PassReceipt(PRELUDE, _PRELUDE, Status.SKIPPED, reason)
        self.context.on_pass(_PRELUDE)
        started = self.context.clock()
        self.sheet.write(proves=True)
        if not self.configuration.passes:
            # The passes say why a block stays; without any, the prelude does.
            self.log += self._left_by_prelude()
        return PassReceipt(PRELUDE, _PRELUDE, Status.COMPLETED, seconds=self.context.clock() - started)

    def _left_by_prelude(self) -> Iterator[Receipt]:
        messages, written = self.sheet.messages, self.sheet.is_reference
        recent = self.writer.recent(messages)
        for position, message in enumerate(messages):
            for number, block in enumerate(message.blocks):
                if not written(position, number):
                    why = self.writer.why_recent if message.index in recent else Kept.UNIQUE
                    why = self.sheet.protection.of(message, block) or why
                    yield kept(PRELUDE, message, number, self.count.block(block), why)

    def _last_resort(self) -> PassConfig | None:
        """The pass that runs because summaries failed and too much is left."""
        resort = self.context.last_resort
        has_failed = any(receipt.kept is Kept.NO_SUMMARY for receipt in self.log)
        if resort and has_failed and resort.is_due(self.context.factor.shown(self.sheet.measured())):
            return resort.config
        return None

    def _pass(self, config: PassConfig, reason: str = "") -> None:
        """A pass: once, or where it may repeat itself ever more strictly, until the target is reached."""
        name = config.name or config.id
        if reason:
            self.passes.append(PassReceipt(config.id, name, Status.SKIPPED, reason))
            return
        self.context.on_pass(name)
        started, begun = self.context.clock(), len(self.log)
        calls, cost = charged(self.context.summarizer)
        sheet, target = self.sheet, self._target_of(config)
        selected = select(config.selection, sheet.messages, self.count, self.context.selectors)
        # Where lines of newer turns may go, their thinking goes first.
        newer = sheet.old_thinking(newest=selected.end) if config.execution.type == "target" else []
        if self._drop(newer, f"{thinking.OLD}, to reach the target"):
            selected = select(config.selection, sheet.messages, self.count, self.context.selectors)
        for strictness in strictnesses(config, self.target):
            step = Step(sheet, self.context.summarizer, config, selected, target, strictness, self.context.settles)
            messages = sheet.messages
            found = _work_of(config)(step)
            if self._claims:
                found = self._claims.withdrawn(step, messages, found)
            now = {place: self._places.get(key, place) for key, place in places(messages).items()}
            self.log += [at_place(receipt, now.get((receipt.message, receipt.block))) for receipt in found]
            if config.mode == "batch" or (self.target is not None and sheet.is_within(self.target)):
                break
        own = self.log[begun:]
        calls_after, cost_after = charged(self.context.summarizer)
        refused = refused_by_all(own) if asks_for_summaries(config) else ""
        extraction = config.extract_config if self.target is None else None
        self.passes.append(
            PassReceipt(
                config.id,
                name,
                Status.FAILED if refused else Status.COMPLETED,
                refused,
                seconds=self.context.clock() - started,
                calls=calls_after - calls,
                cost=cost_after - cost,
                preserved_turns=selected.preserved_turns,
                min_worth=extraction.min_worth if extraction and not extraction.overrides else None,
            )
        )

    def _reason_to_skip(self, config: PassConfig) -> str:
        sheet = self.sheet
        if self.target is not None and config.id != CUT and sheet.is_within(self.target):
            return REACHED
        if self.target is None and needs_target(config):
            return NO_TARGET
        condition = config.execution.condition if config.execution.type == "conditional" else None
        if condition:
            shown, most = self.context.factor.shown, condition.token_threshold
            # What references save need not be known where even without them there is too little.
            if shown(sheet.plain_tokens) <= most or shown(sheet.measured()) <= most:
                return f"{shown(sheet.tokens):,} tokens does not exceed its threshold of {most:,}"
        if keeps_all(config):
            return KEEPS_ALL
        if config.mode == "batch" and self.sheet.is_up_to_date:
            return "no more turns follow the last summary than when it was written"
        return ""

    def _target_of(self, config: PassConfig) -> int | None:
        """The tokens at which a pass stops; None where it works through all that it selects."""
        if config.id == CUT:
            return None
        stops = config.stop_at_target or self.context.stop_at_target or config.execution.type == "target"
        return self.target if stops or config.mode == "extract" else None

    def _drop(self, gone: Sequence[BlockPlace], reason: str) -> bool:
        """Drop thinking; return whether there was any."""
        messages = self.sheet.messages
        for position, number in gone:
            message = messages[position]
            tokens = self.count.block(message.blocks[number])
            receipt = changed(THINKING, message, number, "drop", tokens, 0, reason)
            self.log.append(at_place(receipt, self._places.get(message.blocks[number].key)))
        self.log += self.sheet.remove(gone, THINKING) if gone else []
        return bool(gone)

    def _drop_images(self) -> None:
        """Put markers in place of old images."""
        sheet, begun = self.sheet, len(self.log)
        for position, number in sheet.old_images():
            message = sheet.messages[position]
            block = message.blocks[number]
            marker = leave_out_image(block, BlockKind.TOOL_RESULT, _IMAGES, self.count, 1)
            if isinstance(marker, Block):
                tokens = self.count.block(block), self.count.block(marker)
                receipt = changed(IMAGES, message, number, _IMAGES.operation, *tokens, thinking.OLD_IMAGE)
                self.log.append(at_place(receipt, self._places.get(block.key)))
                sheet.put(position, number, marker)
        if len(self.log) > begun:
            self.passes.append(PassReceipt(IMAGES, "Old images", Status.COMPLETED))

    def _drop_listings(self) -> None:
        """Take out lists of what the client offers that it repeats, or for which a target leaves no room."""
        sheet = self.sheet
        renewed, too_large = sheet.listings(self.target)
        if not (renewed or too_large):
            return
        messages = sheet.messages
        for places_, reason in ((renewed, listings.RENEWED), (too_large, listings.NO_ROOM)):
            for position, number in places_:
                block = messages[position].blocks[number]
                receipt = changed(LISTINGS, messages[position], number, "remove", self.count.block(block), 0, reason)
                self.log.append(at_place(receipt, self._places.get(block.key)))
        self.log += sheet.remove([*renewed, *too_large], LISTINGS)
        self.passes.append(PassReceipt(LISTINGS, "Lists of what the client offers", Status.COMPLETED))

    def _dropped(self) -> list[PassReceipt]:
        """The receipt for all thinking that went; none where none did."""
        reasons = dict.fromkeys(receipt.reason for receipt in self.log if receipt.operation == "drop")
        return [PassReceipt(THINKING, "Thinking", Status.COMPLETED, "; ".join(reasons))] if reasons else []

    @cached_property
    def _claims(self) -> Claimed | None:
        """Claims of the client in results of files that are in the conversation; None where it never did."""
        has_any = any(sign.encode() in self.transcript.source.data for sign in SIGNS)
        return Claimed(self.writer.messages) if has_any else None

    @cached_property
    def _places(self) -> dict[BlockKey, tuple[int, int]]:
        """Where the input has each block."""
        return places(self.transcript.messages)


Work = Callable[[Step], list[Receipt]]


def _work_of(config: PassConfig) -> Work:
    """Return the function of a mode. What a mode alone needs, such as the extraction, is imported with it."""
    match config.mode:
        case "individual":
            from .modes.individual import run_individual

            return run_individual
        case "extract" | "target":
            from .modes.extract import run_extract

            return run_extract
        case "batch":
            return _of_batch(config.batch_config or BatchConfig())
        case other:
            assert_never(other)


def _of_batch(config: BatchConfig) -> Work:
    match config.operation:
        case "summarize":
            from .modes.batch import run_batch

            return run_batch
        case "drop_older_half":
            from .modes.sliding_window import drop_older_half

            return drop_older_half
        case "keep":
            return lambda step: []
        case other:
            assert_never(other)
