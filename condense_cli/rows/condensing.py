"""Working on rows: each is a conversation of its own, so that any batch of them can be worked on anywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from .. import api
from ..core.tokens import BUILT_IN, Counter, CounterName, encoding_for
from ..core.transcript import Transcript
from ..errors import CondenseError
from ..formats.engine.container import BOM
from ..passes.condensation import Condensation
from ..passes.receipts import Kept
from ..report.run.facts import estimated_tokens
from .pairs import New, with_conversations
from .reading import RowLines
from .row import RowKind
from .tally import Tally

_BLANK: Final = b" \t\r\n"


class Counters:
    """A counter for every encoding. What they remember is forgotten between batches, or it would grow for ever."""

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
    """The lines of a batch after something was done to the conversation of each row.

    `do` gets the number of the line as well; it gives the bytes of the new conversation, those of several, which make
    lines of their own, or None to leave the row. A row that cannot be read, or for which it raises, is passed through
    and counted as bad; no other suffers from it.
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


def tallied(result: Condensation, tally: Tally, line: int) -> bytes | None:
    """Count what became of a row's conversation. Gives its new bytes, None where it stays. Raises CondenseError."""
    data = api.dump(result) if result.transcript.is_changed else None
    if result.error is not None:
        tally.refuse(line, str(result.error))
        if data is None:
            return None
    add_conversation(result, tally)
    tally.changed += data is not None
    tally.note(line, result.shown_before, result.shown_after)
    return data


def add_conversation(result: Condensation, tally: Tally) -> None:
    """Add the figures of a conversation, whether it is a row or a file."""
    transcript, factor = result.before, result.factor
    tally.weigh(transcript, factor, result.tokens_before)
    tally.shrink(transcript, factor, result.tokens_after, len(result.transcript.messages))
    tally.lossless_saved += factor.shown(result.lossless_saved)
    tally.estimated += factor.shown(estimated_tokens(transcript))
    tally.not_summarized += sum(receipt.kept is Kept.NO_SUMMARY for receipt in result.receipts)
    tally.missed += result.is_target_missed
    tally.fallen_back += result.metrics is not None and result.metrics.fallback is not None
