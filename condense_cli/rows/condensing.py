"""Work on rows one by one: condense, split or survey them, and write their file.

A row may hold several conversations, as sets of preferences do (prompt, chosen, rejected); each is worked on.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Final, Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from .. import api, formats
from ..core.transcript import Message, Transcript, calls_by_id, cut_before
from ..core.values import BlockKind, Role
from ..errors import CondenseError, UnknownFormatError
from ..formats.engine.container import BOM
from ..passes.condensation import Condensation
from ..passes.receipts import Kept
from ..report.inspection.facts import content_type
from ..report.lists.validation import check
from ..report.run.facts import estimated_tokens
from ..storage.files import STDIO, writing, written_whole
from ..storage.processes import in_order, usable_processors
from ..tokens.counting import BUILT_IN, Counter, CounterName, encoding_for
from ..tokens.factor import CountName, Factor, factor_as
from .arrow import ParquetRows, check_no_parquet, check_output
from .facts import TOLD, Tally
from .reading import ArrayRows, Row, RowKind, RowLines, batches, is_array, is_parquet, opened, partners_of, read_row

New = bytes | Sequence[bytes] | None
"""Bytes that replace a conversation, or several that each become a row; None to keep it."""


def with_conversations(row: bytes, kind: RowKind, place: str, do: Callable[[Transcript], New]) -> bytes:
    """Apply `do` to each conversation of a row; several rows are returned as lines.

    Raises CondenseError, also for a row without a conversation.
    """
    found = read_row(row, kind, place)
    row = _exchanged(row, found, do)
    for column in kind.partners if kind.is_named else partners_of(found.column):
        if b"\n" in row or f'"{column[-1]}"'.encode() not in row:
            continue
        try:
            beside = read_row(row, replace(kind, column=column, is_named=True), place)
        except UnknownFormatError:  # The other column holds no conversation.
            continue
        row = _exchanged(row, beside, do)
    return row


def _exchanged(row: bytes, found: Row, do: Callable[[Transcript], New]) -> bytes:
    new = do(found.transcript) if found.transcript is not None else None
    if new is None:
        return row
    return b"\n".join(map(found.holding, [new] if isinstance(new, bytes) else new))


_BLANK: Final = b" \t\r\n"


class Counters:
    """A counter per encoding. `forget` between batches, or they grow for ever."""

    def __init__(self, counter: CounterName = BUILT_IN) -> None:
        self._counter: CounterName = counter
        self._counters: dict[str, Counter] = {}

    def __call__(self, transcript: Transcript) -> Counter:
        name = encoding_for(transcript.model, self._counter).name
        return self._counters.setdefault(name, Counter(name, counter=self._counter))

    def forget(self) -> None:
        for counter in self._counters.values():
            counter.forget()


def for_each_row(
    batch: RowLines, name: str, kind: RowKind, tally: Tally, do: Callable[[Transcript, int], New]
) -> list[bytes]:
    """Apply `do` to the conversation of each row in a batch, and return the lines.

    `do` also gets the line's number. It returns the bytes of the new conversation, or of several that become lines
    of their own, or None to keep the row. A row that cannot be read, or for which it raises, is passed through and
    counted as bad.
    """
    lines = []
    for number, line in enumerate(batch.lines, batch.first):
        lines.append(line)
        tally.bytes_before += len(line)
        text = line.removeprefix(BOM) if number == 1 else line
        text = text.strip(_BLANK)
        if text:
            tally.rows += 1
            place = f"{name}:{number}"
            changed = tally.changed
            try:
                new = with_conversations(text, kind, place, partial(_given, do, number))
            except CondenseError as error:
                tally.refuse(number, error.message.removeprefix(f"{place}:").strip())
            except MemoryError:
                raise
            except Exception as error:  # One row of a million must not stop the others.
                tally.refuse(number, f"internal error ({type(error).__name__}: {error}); please report it.")
            else:
                tally.changed = min(tally.changed, changed + 1)
                if new is not text:
                    start = line.index(text)
                    lines[-1] = line[:start] + new + line[start + len(text) :]
        tally.bytes_after += len(lines[-1])
    return lines


def _given(do: Callable[[Transcript, int], New], number: int, transcript: Transcript) -> New:
    return do(transcript, number)


def tally_result(result: Condensation, tally: Tally, line: int, *, is_written: bool = True) -> bytes | None:
    """Count a condensed row, and return its new bytes, or None if it stays. Raises CondenseError.

    What is not written may be of a format that is only read.
    """
    is_changed = result.transcript.is_changed
    is_reported = not is_written and not formats.format_named(result.transcript.format).is_writable
    data = api.dump(result) if is_changed and not is_reported else None
    if result.error is not None:
        tally.refuse(line, str(result.error))
        if data is None:
            return None
    add_conversation(result, tally)
    tally.changed += is_changed
    tally.note(line, result.shown_before, result.shown_after)
    return data


def add_conversation(result: Condensation, tally: Tally) -> None:
    """Add the figures of a conversation, from a row or a file."""
    transcript, factor = result.before, result.factor
    tally.weigh(transcript, factor, result.tokens_before)
    tally.shrink(transcript, factor, result.tokens_after, len(result.transcript.messages))
    tally.lossless_saved += factor.shown(result.lossless_saved)
    tally.estimated += factor.shown(estimated_tokens(transcript))
    tally.not_summarized += sum(receipt.kept is Kept.NO_SUMMARY for receipt in result.receipts)
    tally.missed += result.is_target_missed
    tally.fallen_back += result.metrics is not None and result.metrics.fallback is not None


_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
Write = Callable[[list[bytes]], None]

_FEW: Final = 4
"""Batches that are done sooner than other processes start."""


@contextmanager
def flow(
    file: str, kind: RowKind, output: Path | IO[bytes] | None
) -> Iterator[tuple[RowKind, Iterator[RowLines], Write]]:
    """Open a file of rows: yield its kind, its rows in batches, and a function that takes their lines in the same
    order.

    The lines are written to the `output` file, whole or not at all, or to that stream as they come. The kind is
    more exact than the one given. Raises UnreadableError, OutputError, UsageError.
    """
    name = "standard input" if file == STDIO else file
    if is_parquet(file):
        check_output(file, output)
        rows = ParquetRows(file, kind)
        with _target(output) as stream, rows.writer(stream) as write:
            yield rows.kind, rows.batches(), write
        return
    if isinstance(output, Path):
        check_no_parquet(output)
    is_one_array = is_array(file)
    with (
        opened(file) as source,
        _target(output) as target,
        writing(target, output if isinstance(output, Path) else "") if target else nullcontext() as stream,
    ):
        write = stream.writelines if stream else lambda lines: None
        if is_one_array:
            array = ArrayRows(source, name)
            with array.writer(write) as write_elements:
                yield kind, array.batches(), write_elements
        else:
            yield kind, batches(source, name), write


def _target(output: Path | IO[bytes] | None) -> AbstractContextManager[IO[bytes] | None]:
    return written_whole(output) if isinstance(output, Path) else nullcontext(output)


def work_in_order(work: Callable[[_Task], _Result], tasks: Iterator[_Task], jobs: int) -> Iterator[_Result]:
    """Apply `work` to each batch, in order, with other processes for more than a few."""
    few = list(islice(tasks, _FEW))
    return in_order(work, chain(few, tasks), jobs if len(few) == _FEW else 1)


ROOM: Final = 0.6
"""Part of a row that the condensed conversation before it may take."""


class RowPart(Struct, frozen=True):
    """A row: its messages, and their bare tokens."""

    data: bytes
    messages: int
    tokens: int


def split(
    transcript: Transcript,
    most: int,
    condense: Callable[[Transcript], Condensation],
    count: Counter,
    factor: Factor,
) -> list[RowPart]:
    """Split a trajectory into rows of at most `most` of the model's tokens, as far as turns allow.

    Each row goes on where the one before it ended. It begins with the conversation so far, condensed, which the
    model is given; what follows is unchanged, which it is trained to say. `condense` brings the beginning to `ROOM`
    of a row. Raises CondenseError.
    """
    messages = transcript.messages
    sizes = [count.message(message) for message in messages]
    parts: list[RowPart] = []
    before = RowPart(b"", 0, 0)
    begin = end = 0

    def part(stop: int) -> RowPart:
        """Join the condensed beginning and messages[begin:stop]."""
        data = b",".join(filter(None, (before.data, _raw(transcript, messages[begin:stop]))))
        return RowPart(data, before.messages + stop - begin, before.tokens + sum(sizes[begin:stop]))

    for position in _answers(messages):
        if position > begin and factor.shown(part(position + 1).tokens) > most:
            if end > begin:
                parts.append(part(end))
            before, begin = _condensed(transcript, messages[:position], condense, count), position
        end = position + 1
    return [*parts, part(len(messages))]


def tally_parts(
    transcript: Transcript, parts: Sequence[RowPart], most: int, tally: Tally, bare: int, factor: Factor
) -> list[bytes] | None:
    """Count a split row of `bare` tokens; return the rows that replace it, or None if it stays."""
    tally.weigh(transcript, factor, bare)
    tally.shrink(transcript, factor, sum(part.tokens for part in parts), sum(part.messages for part in parts))
    tally.missed += any(factor.shown(part.tokens) > most for part in parts)
    if len(parts) == 1:
        return None
    tally.changed += 1
    tally.added += len(parts) - 1
    return [b"[" + part.data + b"]" for part in parts]


def _answers(messages: Sequence[Message]) -> Iterator[int]:
    """Yield positions of the assistant's answers before which no call waits for its result."""
    for position, message in enumerate(messages):
        if message.role is Role.ASSISTANT and cut_before(messages, position) == position:
            yield position


def _condensed(
    transcript: Transcript, messages: Sequence[Message], condense: Callable[[Transcript], Condensation], count: Counter
) -> RowPart:
    data = b"[" + _raw(transcript, messages) + b"]"
    beginning = replace(formats.parse(data, format=transcript.format), model=transcript.model)
    result = condense(beginning)
    if result.error is not None:
        raise CondenseError(str(result.error))
    written = api.dump(result).strip()
    left = result.transcript.messages
    return RowPart(written[1:-1].strip(), len(left), sum(map(count.message, left)))


def _raw(transcript: Transcript, messages: Sequence[Message]) -> bytes:
    records = dict.fromkeys(block.place.record for message in messages for block in message.blocks)
    return b",".join(transcript.source.raw(record) for record in records)


_LARGEST: Final = 100

_Found = TypeVar("_Found", bound=Tally)

Look = Callable[[Transcript, int], bytes | None]
"""Look at a conversation in a line; return its new bytes, or None to leave the row."""


def survey(
    file: str,
    name: str,
    kind: RowKind,
    nothing: Callable[[], _Found],
    looking: Callable[[_Found], Look],
    output: Path | IO[bytes] | None = None,
) -> _Found:
    """Look at every row, in several processes, and add up the findings. Raises CondenseError.

    `nothing` makes the findings before the first row; `looking` makes the function that looks at the rows of a
    batch and notes findings. The rows are written to `output`; `name` is the file, for messages.
    """
    found = nothing()
    with flow(file, kind, output) as (kind, lines, write):
        work = partial(_survey_batch, name, kind, nothing, looking, output is not None)
        for written, part in work_in_order(work, lines, usable_processors()):
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
    """Return the lines of a batch, if they are written, and the findings."""
    found = nothing()
    lines = for_each_row(batch, name, kind, found, looking(found))
    return lines if is_written else [], found


class Restored(Tally):
    """Sums of restored rows, named as in `api.Restoration`."""

    resolved: int = 0
    unresolved: int = 0
    elsewhere: int = 0
    gaps: int = 0
    look_alikes: int = 0


def restoring(found: Restored) -> Look:
    """Make a function that undoes the references of rows."""

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
    """A broken API rule: the row's line, from 1, and the message in it."""

    line: int
    message: int | None
    rule: str
    said: str


class CheckedRows(Tally):
    """Rows that break rules: `faulty` counts rows, `rules` the faults by rule. The list of faults is cut off."""

    faulty: int = 0
    faults: int = 0
    rules: collections.Counter[str] = field(default_factory=collections.Counter)
    listed: list[RowFault] = field(default_factory=list)


def checking(found: CheckedRows) -> Look:
    """Make a function that notes the faults of rows."""

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
    """Tokens of many rows by content type and by tool, and the largest rows, largest first."""

    constants: int = 0
    content_types: collections.Counter[str] = field(default_factory=collections.Counter)
    blocks: collections.Counter[str] = field(default_factory=collections.Counter)
    calls: collections.Counter[str] = field(default_factory=collections.Counter)
    parameters: collections.Counter[str] = field(default_factory=collections.Counter)
    results: collections.Counter[str] = field(default_factory=collections.Counter)
    largest: list[LargeRow] = field(default_factory=list)

    def add(self, other: Self) -> None:
        largest = sorted((*self.largest, *other.largest), reverse=True)[:_LARGEST]
        super().add(other)
        self.largest = largest


def weighing(model: str | None, counter: CounterName, how: CountName, found: Contents) -> Look:
    """Make a function that sums up the contents of rows, in the tokens that `how` names; `model` will continue them
    all."""
    counter_of = Counters(counter)

    def weigh(transcript: Transcript, line: int) -> None:
        if model is not None:
            transcript = transcript.continued_by(model)
        count = counter_of(transcript)
        factor = factor_as(how, transcript, count)
        calls = calls_by_id(transcript.messages)
        sizes: collections.Counter[str] = collections.Counter()
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
