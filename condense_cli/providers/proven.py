"""Run a provider and prove the result: it reads back as intended and breaks no rule that the input kept.

A result that does not read back is a defect of this program and is not written. The error names the message and a way
around it.
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
from ..passes import must_keep
from ..passes.condensation import Condensation, Proof
from ..passes.context import Context
from ..window.use import Sizing
from .manager import Manager
from .registry import Registry

REPORT: Final = "Nothing was written. This is a bug in condense; please report it."


class RunFault(Struct, frozen=True):
    """Fault in a result, between two message indices, and its line in the input."""

    first: int
    last: int
    line: int
    said: str

    @property
    def error(self) -> BrokenOutputError:
        """The error that refuses the result, with a way around it."""
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
    """Run the configured provider on a transcript, unless `sizing` says that it is not needed.

    `slim` also removes display-only data from the file. Raises CondenseError: BrokenOutputError for a result that does
    not read back, unless `proves` is false, and GoneError for one without a string that must be kept. An error inside
    the provider is the result's `error`.
    """
    if context.overrides.lossless_only:
        configuration = without_passes(configuration)
    result = Manager(registry).condense(transcript, configuration, context, sizing)
    strings = (*configuration.must_keep, *context.overrides.must_keep)
    if strings:
        must_keep.check(strings, transcript.messages, result.transcript.messages, "Nothing was written.")
    if slim and result.is_needed:
        shown = decode(transcript.messages).messages
        result = result.with_transcript(formats.slim(result.transcript, shown))
    if not (proves and result.transcript.is_changed and formats.format_named(result.transcript.format).is_writable):
        return result
    return replace(result, proof=Proof(result.transcript, checked(result)))


def fault_of(result: Condensation | Transcript, data: bytes) -> RunFault | None:
    """Return the fault in a changed transcript that is written as these bytes, or None."""
    transcript = result if isinstance(result, Transcript) else result.transcript
    for violation in () if isinstance(result, Transcript) else result.new_violations:
        records = (b.place.record for message, b in transcript.blocks() if message.index == violation.message)
        line = transcript.source.line_of(next(records, 0))
        return RunFault(violation.message, violation.message, line, f"it would be refused: {violation.said}")
    found = differences(data, transcript)
    if found is None:
        return None
    first, last = found
    return RunFault(first.message, last.message, transcript.source.line_of(first.record), first.said)


def checked(result: Condensation | Transcript) -> bytes:
    """Return a result's bytes in its format. Raises BrokenOutputError if they would be wrong."""
    transcript = result if isinstance(result, Transcript) else result.transcript
    if isinstance(result, Condensation) and result.proof is not None and result.proof.transcript is transcript:
        return result.proof.data
    data = formats.serialize(transcript)
    fault = fault_of(result, data) if transcript.is_changed else None
    if fault is not None:
        raise fault.error
    return data
