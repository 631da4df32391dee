"""Condense messages since the last decision, in the context of the frozen ones, which stay.

Files at work keep most of their lines. An agent reads several files and edits each of them some twenty turns later;
what is cut in between has to be read again. In recorded sessions a token that the agent wrote is matched by a later
edit twice as often as one of a file that it read, and that six times as often as one that a shell printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.loading import load_preset
from ..config.models import Configuration, ExtractConfig, IndexRange, Predicates, WorthOf
from ..config.options import Overrides
from ..config.preset_folders import DEFAULT_PRESET
from ..core import json_text
from ..core.transcript import Message, Transcript, cut_before
from ..core.values import BlockKind
from ..errors import BrokenOutputError
from ..passes.summaries import Summarizer
from ..tokens.counting import Counter
from ..tokens.factor import Factor, factor_of
from ..tokens.models import binds_thinking
from ..toolcalls.files_at_work import blocks_at_work
from ..toolcalls.tools import AGENTS, name_of
from .requests import (
    Request,
    Rest,
    Segment,
    Segments,
    as_bytes,
    decoded,
    digest_of,
    end_of,
    last_marked,
    live_part,
    part_for,
    sent_for,
    size_of,
    with_blocks,
    without_marks,
    without_thinking,
)

MESSAGE_FORMATS: Final = ("anthropic", "openai-chat", "openai-responses", "bedrock-converse", "gemini-contents")


class Frozen(Struct, frozen=True):
    """Messages between the frozen ones and the newest turns, condensed.

    `end` is the number of input messages that are frozen now; `output` replaces those after the earlier frozen
    ones. Sizes are in the model's tokens: all messages before and after, the part frozen before (`prefix`), and the
    output.
    """

    end: int
    output: list[Any]
    format: str
    before: int
    after: int
    prefix: int
    tokens: int


_JUST_CAME: Final = 6
"""Newest messages whose results are spared: the next turns deal with what was just asked for."""

_WORTH: Final = 3.0
"""Worth that 1,000 tokens need to stay. Few hard cuts cost less than many mild ones and lose less: each rewrites the
cache, and until then everything is there."""

_WORTH_SPARED: Final = 0.15
"""The same for files at work, results that just came, and reports of sub-agents, which are dear to get again."""


def usual_configuration() -> Configuration:
    """Return preset `balanced`, which cuts more where it cuts at all."""
    return _with_extraction(load_preset(DEFAULT_PRESET), lambda config: replace(config, min_worth=_WORTH))


def _with_extraction(configuration: Configuration, change: Callable[[ExtractConfig], ExtractConfig]) -> Configuration:
    """Change every extraction that asks for a `min_worth`."""
    passes = tuple(
        replace(config, extract_config=change(config.extract_config))
        if config.extract_config is not None and config.extract_config.min_worth is not None
        else config
        for config in configuration.passes
    )
    return replace(configuration, passes=passes)


class FreezeSettings(Struct, frozen=True):
    """Settings of condensing: the configuration, how many newest turns stay whole, and who writes summaries.

    Less is cut of files at work in the newest `keep_reads` messages (see `blocks_at_work`) and of results that just
    came.
    """

    configuration: Configuration
    keep_recent: int
    summarizer: Summarizer | None = None
    keep_reads: int = 0


def freeze(
    messages: Sequence[Any],
    frozen: int,
    means: FreezeSettings,
    *,
    format_name: str | None,
    model: str | None,
    end: int | None = None,
    target: int | None = None,
) -> Frozen | str:
    """Condense messages[frozen:end] of a conversation, or return the reason why not.

    By default `end` is before the newest turns, where every call is answered. `target` is in tokens of the whole
    conversation. Raises CondenseError for messages that cannot be read.
    """
    transcript = replace(api.loads(messages, format=format_name), model=model)
    if transcript.format not in MESSAGE_FORMATS:
        return f"messages in the format {transcript.format} are not condensed here"
    cut = _cut(transcript, means.keep_recent, end)
    if cut is None or _record(transcript.messages[cut]) <= frozen:
        return "there is nothing to condense before the newest turns"
    end = _record(transcript.messages[cut])
    begin = sum(max(block.place.record for block in message.blocks) < frozen for message in transcript.messages)
    count = Counter.of(transcript, means.configuration.counter)
    factor = factor_of(transcript, count)
    try:
        result = api.condense(
            transcript,
            _within(means, transcript.messages, begin, cut, has_to_fit=target is not None),
            counter=count,
            factor=factor,
            target_tokens=target,
            summarizer=means.summarizer,
            overrides=Overrides(keep_recent=len(transcript.messages) - cut),
            settles=False,  # Frozen output is never condensed again.
        )
    except BrokenOutputError as error:
        return error.message
    if result.error is not None:
        return result.error.message
    if not result.changes:
        return f"nothing{' behind the last cut' if frozen else ''} would get smaller"
    output = api.dump_messages(result)
    rest = len(messages) - end
    if output[:frozen] != _plain(transcript, 0, frozen) or not _ends_alike(output, transcript, rest):
        return "frozen messages or the newest turns would change"
    kept = output[frozen : len(output) - rest]
    return Frozen(end, kept, transcript.format, *_sizes(result, begin, cut, count, factor))


def _cut(transcript: Transcript, keep_recent: int, end: int | None) -> int | None:
    """Return the position of the first message that stays: that of record `end`, or the one before the newest
    turns."""
    messages = transcript.messages
    if end is not None:
        return next((position for position, message in enumerate(messages) if _record(message) == end), None)
    position = cut_before(messages, len(messages) - max(1, keep_recent))
    # What Google's API has in one content, results and words of the user, is several messages.
    while position > 0 and _record(messages[position]) == _record(messages[position - 1]):
        position = cut_before(messages, position - 1)
    return position or None


def _within(
    means: FreezeSettings, messages: Sequence[Message], begin: int, end: int, *, has_to_fit: bool
) -> Configuration:
    """Limit the configuration to messages[begin:end]: the others are pinned, and references lead back only.

    With `has_to_fit` nothing is spared: the messages may consist of files at work alone.
    """
    configuration = means.configuration
    if not has_to_fit and means.keep_reads:
        spared = (*blocks_at_work(messages, begin, end, means.keep_reads), *_results(messages, begin, end))
        configuration = _sparing(configuration, spared)
    pins = [Predicates(range=IndexRange(start=end))]
    if begin:
        pins.append(Predicates(range=IndexRange(start=0, end=begin)))
    prelude = replace(configuration.lossless_prelude, keep="earliest")
    return replace(configuration, pins=(*configuration.pins, *pins), lossless_prelude=prelude)


def _sparing(configuration: Configuration, blocks: tuple[str, ...]) -> Configuration:
    """Make the configuration cut little of some blocks, or nothing if it asks for no worth."""
    if not blocks:
        return configuration
    less = WorthOf(match=blocks, min_worth=_WORTH_SPARED)
    found = _with_extraction(configuration, lambda config: replace(config, overrides=(*config.overrides, less)))
    if found == configuration:
        return replace(configuration, pins=(*configuration.pins, Predicates(match=blocks)))
    return found


def _results(messages: Sequence[Message], begin: int, end: int) -> Iterator[str]:
    """Yield selectors of results that just came, and of sub-agents' reports."""
    newest = len(messages) - _JUST_CAME
    to_agents = set[str | None]()
    for position, message in enumerate(messages[:end]):
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_CALL and name_of(block) in AGENTS:
                to_agents.add(block.call_id)
            is_spared = block.kind is BlockKind.TOOL_RESULT and (position >= newest or block.answers in to_agents)
            if is_spared and position >= begin:
                yield f"{message.index}.{number}"


def _record(message: Message) -> int:
    return min(block.place.record for block in message.blocks)


def _plain(transcript: Transcript, start: int, end: int) -> list[Any]:
    return [json_text.parse(transcript.source.raw(record)) for record in range(start, end)]


def _ends_alike(output: Sequence[Any], transcript: Transcript, rest: int) -> bool:
    """Check by the first and the last of the newest messages that all of them are there."""
    total = transcript.source.listed
    return len(output) >= rest and all(
        output[-back] == _plain(transcript, total - back, total - back + 1)[0] for back in (1, rest)
    )


def _sizes(result: api.Condensation, begin: int, cut: int, count: Counter, factor: Factor) -> tuple[int, int, int, int]:
    messages = result.before.messages
    prefix = sum(map(count.message, messages[:begin]))
    rest = sum(map(count.message, messages[cut:]))
    after = result.tokens_after
    sizes = (result.tokens_before, after, prefix, after - prefix - rest)
    before, after, prefix, tokens = map(factor.shown, sizes)
    return before, after, prefix, tokens


class NewSegments(Struct, frozen=True):
    """A new list of segments, and sizes in the model's tokens: messages before and after, and the part that stays
    cached.

    `original` is the number of tokens, `characters` that of characters, of messages that were not frozen before.
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
    means: FreezeSettings,
    format_name: str | None,
    model: str | None,
    target: int | None = None,
) -> NewSegments | str:
    """Condense what came since the last segment, or return the reason why not. Without segments, begin anew.

    Thinking that refers to messages no longer sent is left out. What follows the client's last cache mark is not
    read, as it may be gone in the next request.
    """
    start, taken = end_of(segments), len(request)
    marked = last_marked(request.given[start:])
    if marked is not None:
        request = request.first(start + marked + 1)
    rest = without_thinking(request, start) if binds_thinking(model) else live_part(request, segments)
    step = _step(request, segments, rest, means, format_name, model, target)
    if isinstance(step, str) or taken == len(request):
        return step
    return replace(step, segments=(*segments, replace(step.segments[-1], taken=taken)))


def recompute(request: Request, segments: Segments, means: FreezeSettings) -> tuple[Segments, str]:
    """Recompute missing outputs of segments; return the segments, and how the outcome differs if it does.

    A different outcome ends the list. A segment whose conversation went on differently cannot be recomputed: it and
    those after it are left out.
    """
    if all(segment.output is not None for segment in segments):
        return segments, ""
    done: Segments = ()
    for segment in segments:
        if segment.output is not None:
            done = (*done, segment)
            continue
        part = part_for(request, segment)
        found = None if part is None else _computed(part, done, segment, means)
        if found is None:
            break
        done = (*done, found)
        if found.digest != segment.digest:
            return done, "frozen messages came out differently, so they are sent again"
    return done, ""


def _computed(part: Request, before: Segments, segment: Segment, means: FreezeSettings) -> Segment | None:
    if segment.drops_thinking:
        rest = without_thinking(part, segment.start)
    else:
        rest = live_part(part, before)
    step = _step(part, before, rest, means, segment.format, segment.model, segment.target, end=segment.end)
    return None if isinstance(step, str) else replace(step.segments[-1], taken=segment.taken)


def _step(
    request: Request, segments: Segments, rest: Rest, means: FreezeSettings, format_name: str | None, model: str | None,
    target: int | None, end: int | None = None,
) -> NewSegments | str:  # fmt: skip
    frozen = sent_for(segments)
    working = frozen + [without_marks(decoded(as_bytes(message))) for message in rest.messages]
    found = freeze(
        working,
        len(frozen),
        means,
        format_name=format_name,
        model=model,
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
        saved=found.before - found.after, newest=size_of(request.plain(len(request) - 1)),
    )  # fmt: skip
    characters = sum(request.known[position].characters for position in rest.positions)
    return NewSegments(
        (*segments, segment), found.before, found.after, found.prefix, found.before - found.prefix, characters
    )
