"""A whole run, and its proof: read back, the result says what was meant, and breaks no rule that the input kept.

What does not read back is a defect of this program, and is not written. The error names the message and what to keep to
get around it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..config.models import Configuration
from ..config.overrides import without_passes
from ..core.transcript import Transcript
from ..errors import BrokenOutputError
from ..formats.engine.rereading import differences
from ..lossless.decode import decode
from ..passes.condensation import Condensation, Proof
from ..passes.context import Context
from .manager import Manager, Sizing
from .registry import Registry

REPORT: Final = "Nothing was written. This is a bug in condense; please report it."


class RunFault(Struct, frozen=True):
    """What is wrong with a result, from one message to another (their indices), and the line of the input for that."""

    first: int
    last: int
    line: int
    said: str

    @property
    def error(self) -> BrokenOutputError:
        """The error that refuses the result, with what to keep to get around it."""
        where = f"line {self.line}, message {self.first}"
        around = f"--keep {max(0, self.first - 1)}:{self.last + 2} leaves the messages there alone."
        return BrokenOutputError(f"The result would be wrong at {where}: {self.said}", f"{REPORT} Until then, {around}")


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
    """Run the configured provider on a transcript, unless `sizing` says that nothing need be done.

    `slim` leaves out of the file, on top, what only a client shows. Raises CondenseError, and BrokenOutputError for a
    result that would not read back, unless nothing `proves` it; an error inside the provider is the result's.
    """
    if context.overrides.lossless_only:
        configuration = without_passes(configuration)
    result = Manager(registry).condense(transcript, configuration, context, sizing)
    if slim and result.is_needed:
        shown = decode(transcript.messages).messages
        result = result.with_transcript(formats.slim(result.transcript, shown))
    if not (proves and result.transcript.is_changed and formats.format_named(result.transcript.format).is_writable):
        return result
    return replace(result, proof=Proof(result.transcript, checked(result)))


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
        raise fault.error
    return data


def _record_of(transcript: Transcript, index: int) -> int:
    """The record where the message of an index begins."""
    found = (block.place.record for message, block in transcript.blocks() if message.index == index)
    return next(found, 0)
