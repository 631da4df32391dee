"""Running a configuration over a transcript, until a run on the result would change nothing."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..config.models import Configuration
from ..core.transcript import Transcript
from .condensation import Condensation, joined
from .context import Context
from .course import Course
from .limits import cuts_summaries, picks_lines
from .receipts import Kept

_ROUNDS: Final = 5


def condense(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    """Run the prelude and the passes of a configuration whose numbers, but for thresholds, are tokens as counted.

    A transcript that would not become smaller, or by less than `min_saving`, comes back unchanged.
    """
    course, result = _proven(transcript, configuration, context)
    if not (context.settles and result.changes and _may_go_on(course, result)):
        return result
    settled = replace(configuration, target_tokens=course.target, target_reduction_percent=None, min_saving=0)
    for _ in range(_ROUNDS):
        _, again = _proven(result.transcript, settled, context)
        if not again.changes:
            break
        result = joined(result, again)
    return result


def _proven(transcript: Transcript, configuration: Configuration, context: Context) -> tuple[Course, Condensation]:
    """A run that is proven: in the end, or, where that fails, which is a defect, after every step."""
    for proves_all in (False, True):
        course = Course(transcript, configuration, context, proves_all=proves_all)
        result = course.run()
        if course.is_proven:
            break
    return course, result


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
