"""What other commands do to all rows of a file: undo references, check the rules, see what fills them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Final, Generic, TypeVar

from msgspec import Struct, field

from .. import api
from ..core.exchanges import calls_by_id
from ..core.factor import CountName, factor_as
from ..core.transcript import BlockKind, Transcript
from ..report.inspection.facts import content_type
from ..report.lists.validation import check
from ..storage.processes import usable_processors
from .condensing import Counters, for_each_row
from .reading import RowLines
from .row import RowKind
from .tally import TOLD, Summable, Tally
from .working import flow, results

_LARGEST: Final = 100

_Found = TypeVar("_Found", bound=Summable)

Look = Callable[[Transcript, int], bytes | None]
"""What is done to the conversation in a line: its new bytes, or None to leave the row."""


class _Batch(Struct, Generic[_Found], frozen=True):
    """What came of one batch; the `lines` only where they are written."""

    lines: list[bytes]
    tally: Tally
    found: _Found


def survey(
    file: str,
    name: str,
    kind: RowKind,
    nothing: Callable[[], _Found],
    looking: Callable[[Tally, _Found], Look],
    output: Path | IO[bytes] | None = None,
) -> tuple[Tally, _Found]:
    """Look at every row, in several processes, and add up what is found. Raises CondenseError.

    `nothing` makes what is found before the first row; `looking` gives what looks at the rows of a batch and notes
    what it finds. The rows are written to the `output`; the `name` of the file is for messages.
    """
    tally, found = Tally(), nothing()
    with flow(file, kind, output) as (kind, lines, write):
        work = partial(_survey_batch, name, kind, nothing, looking, output is not None)
        for batch in results(work, lines, usable_processors()):
            tally.add(batch.tally)
            found.add(batch.found)
            write(batch.lines)
    return tally, found


def _survey_batch(
    name: str,
    kind: RowKind,
    nothing: Callable[[], _Found],
    looking: Callable[[Tally, _Found], Look],
    is_written: bool,
    batch: RowLines,
) -> _Batch[_Found]:
    tally, found = Tally(), nothing()
    lines = for_each_row(batch, name, kind, tally, looking(tally, found))
    return _Batch(lines if is_written else [], tally, found)


class Restored(Summable):
    """What restoring rows came to; the words are those of `api.Restoration`."""

    resolved: int = 0
    unresolved: int = 0
    elsewhere: int = 0
    gaps: int = 0


def restore_row(transcript: Transcript, tally: Tally, found: Restored) -> bytes | None:
    """The new bytes of a row's conversation, None where it holds no reference."""
    result = api.restore(transcript)
    found.resolved += result.resolved
    found.unresolved += result.unresolved
    found.elsewhere += result.elsewhere
    found.gaps += result.gaps
    tally.changed += result.transcript.is_changed
    return api.dump(result) if result.transcript.is_changed else None


class RowFault(Struct, frozen=True):
    """A broken rule of an API: the row, as its line from 1, and the message in it."""

    line: int
    message: int | None
    rule: str
    said: str


class CheckedRows(Summable):
    """`faulty` rows break a rule; `rules` counts how often which one. Not every fault is in the list."""

    faulty: int = 0
    faults: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    listed: list[RowFault] = field(default_factory=list)


def check_row(transcript: Transcript, line: int, tally: Tally, found: CheckedRows) -> None:
    """Note what is wrong with the row in a line."""
    result = check(transcript, source="")
    tally.messages_before += result.messages
    tally.formats[transcript.format] += 1
    found.faulty += not result.valid
    found.faults += len(result.faults)
    found.rules.update(fault.rule for fault in result.faults)
    for fault in result.faults[: TOLD - len(found.listed)]:
        found.listed.append(RowFault(line, fault.message, fault.rule, fault.said))


class LargeRow(Struct, frozen=True, order=True):
    tokens: int
    line: int


class Contents(Summable):
    """Tokens of many rows by content type and by tool; the largest rows, the largest first."""

    tokens: int = 0
    constants: int = 0
    content_types: Counter[str] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    parameters: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    largest: list[LargeRow] = field(default_factory=list)

    def add(self, other: Contents) -> None:
        largest = sorted((*self.largest, *other.largest), reverse=True)[:_LARGEST]
        super().add(other)
        self.largest = largest


def weigh_row(
    transcript: Transcript, line: int, tally: Tally, found: Contents, counter_of: Counters, how: CountName = "model"
) -> None:
    """Note what fills the row in a line, in the tokens that `how` names."""
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
        tally.estimated += factor.shown(block.estimate)
    bare = count.transcript(transcript)
    *shown, constants = factor.parts([*sizes.values(), bare - sizes.total()])
    found.content_types.update(dict(zip(sizes, shown, strict=True)))
    found.constants += constants
    tokens = factor.shown(bare)
    tally.messages_before += len(transcript.messages)
    tally.tokens_before += tokens
    tally.tokens_before_of[transcript.model or ""] += tokens
    tally.formats[transcript.format] += 1
    found.tokens += tokens
    found.largest.append(LargeRow(tokens, line))
