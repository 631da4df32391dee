"""One decision: the next segment, the whole anew, or what a restart has to compute again."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ..core.factor import binds_thinking
from .breakpoints import last_marked, with_blocks
from .freezing import Means, freeze
from .requests import Request, as_bytes, decoded, digest_of, without_marks
from .segments import Rest, Segment, Segments, end_of, is_given_by, live_part, sent_for, without_thinking


class NewSegments(Struct, frozen=True):
    """A new list of segments, and sizes in the model's tokens: of the messages before, after, and of what stays cached.

    `original` are the tokens of the messages that were not frozen, and `characters` their characters.
    """

    segments: Segments
    before: int
    after: int
    prefix: int
    original: int
    characters: int


def next_segment(
    request: Request,
    segments: Segments,
    means: Means,
    format_name: str | None,
    model: str | None,
    target: int | None = None,
) -> NewSegments | str:
    """Condense what came since the last of the segments, without any all that the caller has; why not, in words.

    What was thought over messages that are not sent any more is left out.
    """
    rest = without_thinking(request, end_of(segments)) if binds_thinking(model) else live_part(request, segments)
    return _step(request, segments, rest, means, format_name, model, target)


def again(request: Request, segments: Segments, means: Means) -> tuple[Segments, str]:
    """The segments with their output, computed again where it is not there, and in which way that came out different.

    What comes out different ends the list. One whose conversation went on otherwise cannot be computed: it is left out,
    with what follows it.
    """
    if all(segment.output is not None for segment in segments):
        return segments, ""
    done: Segments = ()
    for segment in segments:
        if segment.output is not None:
            done = (*done, segment)
            continue
        if not is_given_by(request, segment):
            break
        found = _computed(request, done, segment, means)
        if found is None:
            break
        done = (*done, found)
        if found.digest != segment.digest:
            return done, "frozen messages came out differently, so they are sent again"
    return done, ""


def _computed(request: Request, before: Segments, segment: Segment, means: Means) -> Segment | None:
    part = Request([request.plain(position) for position in range(segment.known)])
    if segment.drops_thinking:
        rest = without_thinking(part, segment.start)
    else:
        rest = live_part(part, before)
    step = _step(part, before, rest, means, segment.format, segment.model, segment.target, end=segment.end)
    return None if isinstance(step, str) else replace(step.segments[-1], taken=segment.taken)


def _step(
    request: Request, segments: Segments, rest: Rest, means: Means, format_name: str | None, model: str | None,
    target: int | None, end: int | None = None,
) -> NewSegments | str:  # fmt: skip
    frozen = sent_for(segments)
    working = frozen + [without_marks(decoded(as_bytes(message))) for message in rest.messages]
    marked = last_marked(rest.messages)
    found = freeze(
        working,
        len(frozen),
        means,
        format_name=format_name,
        model=model,
        most=None if marked is None or end is not None else len(frozen) + marked + 1,
        end=None if end is None else len(frozen) + rest.positions.index(end),
        target=target,
    )
    if isinstance(found, str):
        return found
    stop = rest.positions[found.end - len(frozen)]
    if found.format == "anthropic":
        found.output[-1:] = map(with_blocks, found.output[-1:])
    output = as_bytes(found.output)
    segment = Segment(
        start=end_of(segments), end=stop, known=len(request),
        before=request.chain(stop), then=request.chain(len(request)),
        digest=digest_of(output), tokens=found.tokens, sent=len(found.output),
        format=found.format, model=model, drops_thinking=binds_thinking(model), target=target, output=output,
        saved=found.before - found.after,
    )  # fmt: skip
    characters = sum(request.known[position].characters for position in rest.positions)
    return NewSegments(
        (*segments, segment), found.before, found.after, found.prefix, found.before - found.prefix, characters
    )
