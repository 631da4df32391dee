"""Condense the rows of a batch that an engine hands over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from .. import api
from ..config.models import Configuration
from ..core.transcript import Transcript
from ..errors import CondenseError, UsageError
from ..tokens.factor import factor_of
from .arrow import batch_of
from .condensing import Counters, for_each_row
from .facts import Tally
from .reading import RowKind, RowLines

ADDED: Final = ("tokens_before", "tokens_after", "error")
_NO_VALUE: Final = "it has no value."


class RowWork(Struct, frozen=True):
    """Settings for the conversation in a column of each row."""

    configuration: Configuration
    column: str
    max_tokens: int | None = None
    model: str | None = None
    format: str | None = None

    def condense(self, given: Any, prefix: str) -> Any:
        """Condense the conversations of a batch and add three columns. Raises UsageError."""
        names = [prefix + name for name in ADDED]
        batch = batch_of(given, self.column)
        taken = ", ".join(name for name in names if name in batch.columns)
        if taken:
            raise UsageError(f"The rows have columns of their own that would be added: {taken}.", "Give a prefix.")
        count = Counters(self.configuration.counter)
        done = [_condensed(self, count, line, number) for number, line in enumerate(batch.lines, 1)]
        for row, outcome in enumerate(done):
            if outcome.line is not None:
                try:
                    batch.exchange(row, outcome.line)
                except CondenseError as error:
                    outcome.refuse(error.message)
        columns = ([one.before for one in done], [one.after for one in done], [one.error for one in done])
        return batch.finished(dict(zip(names, columns, strict=True)))


class RowOutcome(Struct):
    """Result of one row: its tokens, and its new line if it changed."""

    before: int = 0
    after: int = 0
    error: str = ""
    line: bytes | None = None

    def refuse(self, why: str) -> None:
        """Keep the row as it is."""
        self.after, self.error, self.line = self.before, why, None


def row_work(
    preset: str | None,
    configuration: Configuration | Mapping[str, Any] | None,
    column: str,
    max_tokens: int | None,
    model: str | None,
    format_name: str | None,
) -> RowWork:
    """Raises ConfigurationError, UsageError."""
    return RowWork(api.configuration_from(configuration, preset), column, max_tokens, model, format_name)


def _condensed(work: RowWork, count: Counters, line: bytes, number: int) -> RowOutcome:
    """Condense one row, whatever it holds."""
    tally, outcome = Tally(), RowOutcome()

    def condense(transcript: Transcript, _: int) -> bytes | None:
        return _worked(work, count, transcript, outcome)

    kind = RowKind((work.column,), work.format, is_named=True)
    [new] = for_each_row(RowLines(number, [line]), "row", kind, tally, condense)
    if not tally.rows:
        outcome.refuse(_NO_VALUE)
    elif tally.problems:
        outcome.refuse(tally.problems[0].why)
    elif new != line:
        outcome.line = new
    return outcome


def _worked(work: RowWork, counters: Counters, transcript: Transcript, outcome: RowOutcome) -> bytes | None:
    """Condense a conversation; return its new bytes, or None if it stays, and note sizes in `outcome`. Raises
    CondenseError."""
    if work.model is not None:
        transcript = transcript.continued_by(work.model)
    count = counters(transcript)
    factor = factor_of(transcript, count)
    outcome.before = outcome.after = factor.shown(count.transcript(transcript))
    if work.max_tokens is not None and outcome.before <= work.max_tokens:
        return None
    result = api.condense(transcript, work.configuration, target_tokens=work.max_tokens, counter=count, factor=factor)
    if result.error is not None:
        raise CondenseError(str(result.error))
    outcome.after = result.shown_after
    if work.max_tokens is not None and outcome.after > work.max_tokens:
        outcome.error = f"still {outcome.after:,} tokens, more than {work.max_tokens:,}."
    return api.dump(result) if result.transcript.is_changed else None
