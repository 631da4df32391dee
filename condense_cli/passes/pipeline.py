"""Running a configuration over a transcript, until a run on the result would change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from msgspec.structs import replace

from ..config.models import CUT, Configuration
from ..core.factor import Factor, factor_of
from ..core.transcript import BlockKind, Transcript
from .condensation import Condensation, joined
from .context import Context
from .course import Course
from .limits import chooses_lines, cuts_summaries, is_offline, picks_lines
from .model_tokens import in_our_tokens, is_done, is_met
from .receipts import PRELUDE, UNDONE, Kept, Status
from .smallest import in_place_of, settled

_ROUNDS: Final = 5


def condense(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    """Run a configuration, or the references of its prelude alone where these leave less.

    A pass that cuts what references name brings back their lines. Numbers of the result are tokens as they are counted.
    """
    result = _in_model_tokens(transcript, configuration, context)
    prelude = next((receipt for receipt in result.passes if receipt.id == PRELUDE), None)
    asked = tuple(config for config in configuration.passes if config.id == CUT)  # Whoever names a cut gets it.
    if len(asked) == len(configuration.passes) or prelude is None or prelude.status is Status.SKIPPED:
        return result
    if prelude.reason != UNDONE and result.tokens_after <= prelude.tokens_after:
        return result
    alone = _in_model_tokens(transcript, replace(configuration, passes=asked), context)
    if alone.tokens_after >= result.tokens_after:
        return result
    alone = in_place_of(result, alone, "references alone are smaller")
    return settled(alone, configuration, lambda transcript, again: condense(transcript, again, context))


def _in_model_tokens(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    """Run a configuration by the context's factor from the tokens that are counted to those of the model."""
    count, factor = context.count, context.factor

    def run(transcript: Transcript, factor: Factor) -> Condensation:
        ours = in_our_tokens(configuration, factor)
        if ours.target_tokens is not None and is_met(transcript, configuration, count, factor):
            ours = replace(ours, target_tokens=max(ours.target_tokens, count.transcript(transcript)))
        result = _until_nothing_more(transcript, ours, replace(context, factor=factor))
        return replace(result, factor=factor, asked=configuration.target_tokens)

    result = run(transcript, factor)
    for _ in range(_ROUNDS):
        # What was recorded of texts that are cut now says nothing any more, so that the factor may be another.
        now = factor if factor.is_given or not result.changes else factor_of(result.transcript, count)
        if now.value == factor.value or is_done(result, configuration, now):
            break
        factor = now
        again = run(result.transcript, factor)
        if not again.changes:
            break
        result = joined(result, again)
    return result


def _until_nothing_more(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    """Run the prelude and the passes of a configuration whose numbers, but for thresholds, are tokens as counted.

    A transcript that would not become smaller, or by less than `min_saving`, comes back unchanged.
    """
    # One state of the conversation after the other is read, and most of each is as it was.
    with sharing_lines([configuration], context):
        return _settled(transcript, configuration, context)


def sharing_lines(configurations: Iterable[Configuration], context: Context) -> AbstractContextManager[None]:
    """Meanwhile what is read for the choice of lines is known to all runs of those configurations on one transcript."""
    if not any(map(chooses_lines, configurations)):
        return nullcontext()
    from ..extractive import known_lines  # With the extraction.

    return known_lines.sharing_lines(context.count)


def _settled(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    course, result = _proven(transcript, configuration, context)
    if not (context.settles and result.changes and (_may_summarize(course, result) or _may_go_on(course, result))):
        return result
    again = replace(configuration, target_tokens=course.target, target_reduction_percent=None)
    return settled(result, again, lambda transcript, same: _proven(transcript, same, context)[1], _ROUNDS)


def _proven(transcript: Transcript, configuration: Configuration, context: Context) -> tuple[Course, Condensation]:
    """A run that is proven: in the end, or, where that fails, which is a defect, after every step."""
    for proves_all in (False, True):
        course = Course(transcript, configuration, context, proves_all=proves_all)
        result = course.run()
        if course.is_proven:
            break
    return course, result


def _may_summarize(course: Course, result: Condensation) -> bool:
    """Whether a free summary that was no smaller may be now: it quotes what was said, which a pass cut behind it."""
    if all(receipt.kind is not BlockKind.TEXT for receipt in result.changes):
        return False
    summarizer = course.context.summarizer
    free = {
        config.id for config in course.configuration.passes if config.mode == "batch" and is_offline(config, summarizer)
    }
    return any(receipt.kept is Kept.NOT_SMALLER and receipt.pass_id in free for receipt in result.receipts)


def _may_go_on(course: Course, result: Condensation) -> bool:
    """Whether a run on its own result could find more to do.

    Lines are picked by what all others say. What references of the input named was shortened, and other lines may be
    found again now; or a reference stands for the whole where a pass saw what was left of it; or a threshold passed a
    summary whose place a reference takes. Where a summary failed, asking again would ask in vain.
    """
    if not any(map(picks_lines, course.configuration.passes)):
        return False
    if any(receipt.kept is Kept.NO_SUMMARY for receipt in result.receipts):
        return False
    writer = course.writer
    is_reference_for_summary = writer.is_enabled and cuts_summaries(course.configuration)
    return writer.has_read_references or course.draft.has_restored or is_reference_for_summary
