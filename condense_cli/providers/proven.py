"""A whole run, and its proof: read back, the result says what was meant, and breaks no rule that the input kept.

Where one is not, which is a defect of this program, a gentler run helps whoever has the file: it leaves alone the
messages where the result goes wrong, then writes no summaries, and in the end leaves all before the fault alone, so
that nothing is cut in front of thinking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..config.models import Configuration, IndexRange, Predicates
from ..config.overrides import without_passes, without_summaries
from ..core.transcript import Transcript
from ..errors import BrokenOutputError
from ..formats.rereading import differences
from ..lossless.decode import decode
from ..passes.condensation import Condensation, Proof
from ..passes.context import Context
from .manager import Manager, Sizing
from .registry import Registry

_MOST: Final = 5
"""Gentler runs. Each is a run of its own, but only a defect needs any."""

REPORT: Final = "Nothing was written. This is a bug in condense; please report it."


class Gentler(Struct, frozen=True):
    """What a run leaves out: messages (by their indices) that stay as they are, and whether it writes no summaries."""

    left_alone: tuple[range, ...] = ()
    without_summaries: bool = False

    def applied(self, configuration: Configuration) -> Configuration:
        """A configuration that asks for no more than this."""
        if self.without_summaries:
            configuration = without_summaries(configuration)
        pins = (Predicates(range=IndexRange(start=span.start, end=span.stop)) for span in self.left_alone)
        return replace(configuration, pins=(*configuration.pins, *pins))


Run = Callable[[Gentler], Condensation]
"""Condenses, but for what it is to leave out."""


class RunFault(Struct, frozen=True):
    """What is wrong with a result, from one message to another (their indices), and the line of the input for that."""

    first: int
    last: int
    line: int
    said: str


def condensed(
    transcript: Transcript,
    configuration: Configuration,
    context: Context,
    registry: Registry,
    sizing: Sizing,
    *,
    slim: bool = False,
    proves: bool = True,
) -> Condensation:
    """What the configured provider makes of a transcript, unless `sizing` says that nothing need be done.

    `slim` leaves out of the file, on top, what only a client shows. Raises CondenseError; an error inside the provider
    is the result's.
    """
    if context.overrides.lossless_only:
        configuration = without_passes(configuration)

    def run(gentler: Gentler) -> Condensation:
        result = Manager(registry).condense(transcript, gentler.applied(configuration), context, sizing)
        if slim and result.is_needed:
            shown = decode(transcript.messages).messages
            return result.with_transcript(formats.slim(result.transcript, shown))
        return result

    return proven(run) if proves else run(Gentler())


def fault_of(result: Condensation | Transcript, data: bytes) -> RunFault | None:
    """What is wrong with a changed transcript that is written as these bytes."""
    transcript = result if isinstance(result, Transcript) else result.transcript
    for violation in () if isinstance(result, Transcript) else result.new_violations:
        line = transcript.source.line_of(_record_of(transcript, violation.message))
        return RunFault(violation.message, violation.message, line, f"it would be refused: {violation.said}")
    found = differences(data, transcript)
    if found is None:
        return None
    first, last = found
    return RunFault(first.message, last.message, transcript.source.line_of(first.record), first.said)


def checked(result: Condensation | Transcript) -> bytes:
    """Bytes of a result in its format. Raises BrokenOutputError where they would be wrong."""
    transcript = result if isinstance(result, Transcript) else result.transcript
    if isinstance(result, Condensation) and result.proof is not None and result.proof.transcript is transcript:
        return result.proof.data
    data = formats.serialize(transcript)
    fault = fault_of(result, data) if transcript.is_changed else None
    if fault is not None:
        raise BrokenOutputError(f"The result would be wrong at line {fault.line}: {fault.said}", REPORT)
    return data


def proven(run: Run) -> Condensation:
    """The result of a run, or of a gentler one with a warning; the first result as it is where all of them fail."""
    gentler = Gentler()
    first = result = run(gentler)
    faults: list[RunFault] = []
    while result.transcript.is_changed and formats.format_named(result.transcript.format).is_writable:
        data = formats.serialize(result.transcript)
        fault = fault_of(result, data)
        if fault is None:
            warnings = (*result.warnings, *map(_warning, faults[:1]))
            return replace(result, proof=Proof(result.transcript, data), warnings=warnings)
        if len(faults) == _MOST:
            break
        faults.append(fault)
        result = run(_gentler(faults))
    return first


def _gentler(faults: Sequence[RunFault]) -> Gentler:
    """What is left out after these faults were found, one at each attempt."""
    first, last = min(fault.first for fault in faults), max(fault.last for fault in faults)
    ends = sorted({end for fault in faults for end in (fault.first, fault.last)})
    match len(faults):
        case 1:
            return Gentler(tuple(_around(end, end, 1) for end in ends))
        case 2:
            return Gentler(tuple(_around(end, end, 8) for end in ends))
        case 3:
            return Gentler(without_summaries=True)
        case 4:
            return Gentler((_around(first, last, 1),), without_summaries=True)
        case _:
            return Gentler((_around(0, last, 1),), without_summaries=True)


def _around(first: int, last: int, margin: int) -> range:
    return range(max(0, first - margin), last + margin + 1)


def _record_of(transcript: Transcript, index: int) -> int:
    """The record where the message of an index begins."""
    found = (block.place.record for message, block in transcript.blocks() if message.index == index)
    return next(found, 0)


def _warning(fault: RunFault) -> str:
    """What a gentler run says of the fault for which it was made."""
    said = f"At line {fault.line}, {fault.said.removesuffix('.')}"
    return f"Condensed less than possible. {said} otherwise. Please report this."
