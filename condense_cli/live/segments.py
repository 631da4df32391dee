"""Frozen parts of a conversation, and which of them belong to the messages of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from .requests import Request, decoded, is_thinking

_raws: Final = lru_cache(256)(msgspec.json.Decoder(list[Raw]).decode)


class Segment(Struct, frozen=True):
    """What became of messages[start:end] of a conversation, decided when it had `known` messages.

    `before` is the digest of messages[:end], `then` that of messages[:known]: what a line is worth depends on what came
    later. `output` is the JSON of the messages that are sent in their place, None where it has to be computed again,
    and `digest` its digest. With `drops_thinking` that of messages[end:known] stays away: it was bound to what changed.
    `target` are the tokens that it was brought to, if it was. The output has `tokens`, the model's, in `sent` messages,
    `saved` fewer than what it stands for, and `model` is who it was meant for. `taken` is how many messages there were
    when it was sent first, where that is later than when it was decided.
    """

    start: int
    end: int
    known: int
    before: str
    then: str
    digest: str
    tokens: int
    sent: int
    format: str
    model: str | None = None
    drops_thinking: bool = False
    target: int | None = None
    output: bytes | None = None
    taken: int | None = None
    saved: int = 0

    @property
    def sent_from(self) -> int:
        """How many messages the conversation had when it was sent first."""
        return self.taken or self.known


Segments = tuple[Segment, ...]
"""Neighbours, the first from 0 on: together they stand for the beginning of a conversation."""


class Rest(Struct, frozen=True):
    """The messages behind the frozen ones, as they are sent: `positions` are those in the request."""

    positions: tuple[int, ...]
    messages: tuple[Any, ...]


def sent_for(segments: Segments) -> list[Any]:
    """The messages that are sent in place of those that segments stand for, as values of the caller's own."""
    return [*chain.from_iterable(decoded(segment.output or b"[]") for segment in segments)]


def raws_for(segments: Segments) -> list[Any]:
    """The same as JSON texts, which take no time to make."""
    return [*chain.from_iterable(_raws(segment.output or b"[]") for segment in segments)]


def end_of(segments: Segments) -> int:
    return segments[-1].end if segments else 0


def live_part(request: Request, segments: Segments, over: int | None = None) -> Rest:
    """What follows the frozen messages: as it came, without the thinking that the last decision made invalid.

    From `over` on thinking was made over what is not sent any more, and goes too.
    """
    stop = segments[-1].sent_from if segments and segments[-1].drops_thinking else 0
    start, end = end_of(segments), len(request)
    return without_thinking(
        request, start, lambda position: position < stop or position >= (end if over is None else over)
    )


def without_thinking(request: Request, start: int, of: Callable[[int], bool] = lambda _: True) -> Rest:
    """The messages from `start` on, some without thinking; a message of nothing else goes."""
    positions: list[int] = []
    messages: list[Any] = []
    for position in range(start, len(request)):
        for message in _unthinking(request, position) if of(position) else [request.given[position]]:
            positions.append(position)
            messages.append(message)
    return Rest(tuple(positions), tuple(messages))


def _unthinking(request: Request, position: int) -> list[Any]:
    """The message without thinking; none where there is nothing else in it."""
    message = request.plain(position)
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not any(map(is_thinking, content)):
        return [request.given[position]]
    left = [part for part in content if not is_thinking(part)]
    return [{**message, "content": left}] if left else []


def matching(request: Request, lists: Iterable[Segments]) -> Segments:
    """Of lists, the one that stands for most of the request's first messages; of equal ones the first.

    What can be sent counts before what is only known.
    """
    best: Segments = ()
    most = 0, 0
    chains: dict[int, str] = {}
    for segments in lists:
        found = sent = 0
        for segment in segments:
            # Something has to follow: the newest turn is never frozen.
            if segment.end >= len(request):
                break
            if segment.end not in chains:
                chains[segment.end] = request.chain(segment.end)
            if chains[segment.end] != segment.before:
                break
            if sent == found and (segment.output is not None or is_given_by(request, segment)):
                sent += 1
            found += 1
        ends = end_of(segments[:sent]), end_of(segments[:found])
        if ends > most:
            best, most = segments[:found], ends
    return best


def is_given_by(request: Request, segment: Segment) -> bool:
    """Whether the request begins with all that the segment was decided over, so that it can be computed again."""
    return segment.known <= len(request) and request.chain(segment.known) == segment.then


def are_neighbours(segments: Sequence[Segment]) -> bool:
    """Whether segments may be one list."""
    if not segments or segments[0].start != 0:
        return not segments
    return all(one.end == other.start < other.end for one, other in pairwise(segments))
