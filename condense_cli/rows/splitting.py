"""A trajectory as several rows: what a model would have seen that went on in a conversation condensed on the way.

Each row goes on where the one before it ended. Before that stands the conversation so far, condensed, which is what the
model is given; what follows is as it was, which is what it is trained to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import api, formats
from ..core.factor import Factor
from ..core.tokens import Counter
from ..core.transcript import Message, Transcript, cut_before
from ..core.values import Role
from ..errors import CondenseError
from ..passes.condensation import Condensation
from .tally import Tally

ROOM: Final = 0.6
"""The part of a row that the condensed conversation before it may take."""


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
    """Rows of at most so many of the model's tokens, where turns leave it at that. `condense` brings the beginning of
    the conversation to `ROOM` of it. Raises CondenseError."""
    messages = transcript.messages
    sizes = [count.message(message) for message in messages]
    parts: list[RowPart] = []
    before = RowPart(b"", 0, 0)
    begin = end = 0

    def part(stop: int) -> RowPart:
        """What stands before, and the messages from `begin` on."""
        data = b",".join(filter(None, (before.data, _raw(transcript, messages[begin:stop]))))
        return RowPart(data, before.messages + stop - begin, before.tokens + sum(sizes[begin:stop]))

    for position in _answers(messages):
        if position > begin and factor.shown(part(position + 1).tokens) > most:
            if end > begin:
                parts.append(part(end))
            before, begin = _condensed(transcript, messages[:position], condense, count), position
        end = position + 1
    return [*parts, part(len(messages))]


def tallied_parts(
    transcript: Transcript, parts: Sequence[RowPart], most: int, tally: Tally, bare: int, factor: Factor
) -> list[bytes] | None:
    """Count what became of a row of so many bare tokens. Gives the rows in its place, None where it stays."""
    tally.weigh(transcript, factor, bare)
    tally.shrink(transcript, factor, sum(part.tokens for part in parts), sum(part.messages for part in parts))
    tally.missed += any(factor.shown(part.tokens) > most for part in parts)
    if len(parts) == 1:
        return None
    tally.changed += 1
    tally.added += len(parts) - 1
    return [b"[" + part.data + b"]" for part in parts]


def _answers(messages: Sequence[Message]) -> Iterator[int]:
    """Where the assistant answers, and no call before that waits for its result."""
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
