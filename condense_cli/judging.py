"""Judging the compactions that files record, in several processes; the pure part is `quality.recorded`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from . import api
from .errors import CondenseError
from .factor import factor_of
from .formats.compacted import compactions
from .formats.stretches import stretches
from .measuring import Plan, Unread
from .parallel import in_order
from .quality.recorded import Judged, NotJudged, judge
from .report.usage import overhead_of
from .tokens import Counter
from .transcript import Transcript


class JudgedFile(Struct, frozen=True):
    """The compactions in a file, in its order; None where it is not known how such files record them.

    Every request carries `overhead` more tokens than the messages.
    """

    name: str
    format: str
    model: str | None
    overhead: int
    compactions: tuple[Judged | NotJudged, ...] | None


def judge_transcript(name: str, transcript: Transcript, plan: Plan) -> JudgedFile:
    """The compactions in the file of a transcript, beside the ways of a plan."""
    found = compactions(transcript.source, transcript.format)
    if not found:
        return JudgedFile(name, transcript.format, transcript.model, 0, None if found is None else ())
    count = Counter.of(transcript, plan.counter)
    factor = factor_of(transcript, count)
    return JudgedFile(
        name,
        transcript.format,
        transcript.model,
        overhead_of(transcript, count, factor)[0],
        tuple(judge(stretch, plan.ways, count, factor) for stretch in stretches(transcript, found)),
    )


def judge_files(
    names: Sequence[str], plan: Plan, *, jobs: int = 1, done: Callable[[float], None] = lambda files: None
) -> list[JudgedFile | Unread]:
    """Judge what files record, in several processes where `jobs` says so; in the order of the names.

    `done` is told how many files are finished.
    """
    found: list[JudgedFile | Unread] = []
    for result in in_order(partial(_judge_file, plan), names, min(jobs, len(names))):
        found.append(result)
        done(len(found))
    return found


def _judge_file(plan: Plan, name: str) -> JudgedFile | Unread:
    try:
        return judge_transcript(name, api.load(name, format=plan.format, lenient=plan.lenient), plan)
    except CondenseError as error:
        return Unread(name, error.message)
