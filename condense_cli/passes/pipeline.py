"""Running a configuration over a transcript."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from msgspec.structs import replace

from ..config.models import Configuration
from ..core.transcript import Transcript
from .condensation import Condensation
from .context import Context
from .course import Course
from .limits import chooses_lines
from .model_tokens import in_our_tokens, is_met


def condense(transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
    """Run a configuration by the context's factor from the tokens that are counted to those of the model.

    A transcript that would not become smaller, or by less than `min_saving`, comes back unchanged.
    """
    count, factor = context.count, context.factor
    ours = in_our_tokens(configuration, factor)
    if ours.target_tokens is not None and is_met(transcript, configuration, count, factor):
        ours = replace(ours, target_tokens=max(ours.target_tokens, count.transcript(transcript)))
    # Later steps of a run read what earlier ones read, and most of it is as it was.
    with sharing_lines([ours], context):
        result = Course(transcript, ours, context).run()
    return replace(result, factor=factor, asked=configuration.target_tokens)


def sharing_lines(configurations: Iterable[Configuration], context: Context) -> AbstractContextManager[None]:
    """Meanwhile what is read for the choice of lines is known to all runs of those configurations on one transcript."""
    if not any(map(chooses_lines, configurations)):
        return nullcontext()
    from ..extractive import known_lines  # With the extraction.

    return known_lines.sharing_lines(context.count)
