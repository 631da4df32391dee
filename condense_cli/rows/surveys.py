"""What other commands do to all rows of a file: undo references, check the rules, see what fills them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Final, Self, TypeVar

from msgspec import Struct, field

from .. import api
from ..core.factor import CountName, factor_as
from ..core.tokens import CounterName
from ..core.transcript import Transcript, calls_by_id
from ..core.values import BlockKind
from ..report.inspection.facts import content_type
from ..report.lists.validation import check
from ..storage.processes import usable_processors
from .condensing import Counters, for_each_row
from .reading import RowLines
from .row import RowKind
from .tally import TOLD, Tally
from .working import flow, results

_LARGEST: Final = 100

_Found = TypeVar("_Found", bound=Tally)

Look = Callable[[Transcript, int], bytes | None]
"""What is done to the conversation in a line: its new bytes, or None to leave the row."""


def survey(
    file: str,
    name: str,
    kind: RowKind,
    nothing: Callable[[], _Found],
    looking: Callable[[_Found], Look],
    output: Path | IO[bytes] | None = None,
) -> _Found:
    """Look at every row, in several processes, and add up what is found. Raises CondenseError.

    `nothing` makes what is found before the first row; `looking` gives what looks at the rows of a batch and notes
    what it finds. The rows are written to the `output`; the `name` of the file is for messages.
    """
    found = nothing()
    with flow(file, kind, output) as (kind, lines, write):
        work = partial(_survey_batch, name, kind, nothing, looking, output is not None)
        for written, part in results(work, lines, usable_processors()):
            found.add(part)
            write(written)
    return found


def _survey_batch(
    name: str,
    kind: RowKind,
    nothing: Callable[[], _Found],
    looking: Callable[[_Found], Look],
    is_written: bool,
    batch: RowLines,
) -> tuple[list[bytes], _Found]:
    """The lines of a batch, where they are written, and what was found in them."""
    found = nothing()
    lines = for_each_row(batch, name, kind, found, looking(found))
    return lines if is_written else [], found


class Restored(Tally):
    """What restoring rows came to; the words are those of `api.Restoration`."""

    resolved: int = 0
    unresolved: int = 0
    elsewhere: int = 0
    gaps: int = 0
    look_alikes: int = 0


def restoring(found: Restored) -> Look:
    """Undoes the references of rows."""

    def restore(transcript: Transcript, line: int) -> bytes | None:
        result = api.restore(transcript)
        found.resolved += result.resolved
        found.unresolved += result.unresolved
        found.elsewhere += result.elsewhere
        found.gaps += result.gaps
        found.look_alikes += result.look_alikes
        found.changed += result.transcript.is_changed
        return api.dump(result) if result.transcript.is_changed else None

    return restore


class RowFault(Struct, frozen=True):
    """A broken rule of an API: the row, as its line from 1, and the message in it."""

    line: int
    message: int | None
    rule: str
    said: str


class CheckedRows(Tally):
    """`faulty` rows break a rule; `rules` counts how often which one. Not every fault is in the list."""

    faulty: int = 0
    faults: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    listed: list[RowFault] = field(default_factory=list)


def checking(found: CheckedRows) -> Look:
    """Notes what is wrong with rows."""

    def check_row(transcript: Transcript, line: int) -> None:
        result = check(transcript, source="")
        found.messages_before += result.messages
        found.formats[transcript.format] += 1
        found.faulty += not result.valid
        found.faults += len(result.faults)
        found.rules.update(fault.rule for fault in result.faults)
        for fault in result.faults[: TOLD - len(found.listed)]:
            found.listed.append(RowFault(line, fault.message, fault.rule, fault.said))

    return check_row


class LargeRow(Struct, frozen=True, order=True):
    tokens: int
    line: int


class Contents(Tally):
    """Tokens of many rows by content type and by tool; the largest rows, the largest first."""

    constants: int = 0
    content_types: Counter[str] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    parameters: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    largest: list[LargeRow] = field(default_factory=list)

    def add(self, other: Self) -> None:
        largest = sorted((*self.largest, *other.largest), reverse=True)[:_LARGEST]
        super().add(other)
        self.largest = largest


def weighing(model: str | None, counter: CounterName, how: CountName, found: Contents) -> Look:
    """Notes what fills rows, in the tokens that `how` names; `model` is the one that will continue them all."""
    counter_of = Counters(counter)

    def weigh(transcript: Transcript, line: int) -> None:
        if model is not None:
            transcript = transcript.continued_by(model)
        count = counter_of(transcript)
        factor = factor_as(how, transcript, count)
        calls = calls_by_id(transcript.messages)
        sizes: Counter[str] = Counter()
        for message, block in transcript.blocks():
            size = count.content(block)
            name = content_type(message, block)
            sizes[name] += size
            found.blocks[name] += 1
            if block.kind is BlockKind.TOOL_CALL:
                found.calls[block.tool or ""] += 1
                found.parameters[block.tool or ""] += factor.shown(size)
            elif block.answers is not None:
                call = calls.get(block.answers)
                found.results[(call.tool if call else block.tool) or ""] += factor.shown(size)
            found.estimated += 0 if block.forgotten else factor.shown(block.estimate)
        bare = count.transcript(transcript)
        *shown, constants = factor.parts([*sizes.values(), bare - sizes.total()])
        found.content_types.update(dict(zip(sizes, shown, strict=True)))
        found.constants += constants
        found.weigh(transcript, factor, bare)
        found.largest.append(LargeRow(factor.shown(bare), line))

    return weigh
