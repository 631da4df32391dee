"""Condensing what came since the last decision, in the context of what is frozen, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.models import Configuration, ExtractConfig, IndexRange, Predicates, WorthOf
from ..config.options import Overrides
from ..config.preset_folders import DEFAULT_PRESET
from ..config.presets import load_preset
from ..core import json_text
from ..core.factor import Factor, factor_of
from ..core.tokens import Counter
from ..core.transcript import Message, Transcript, cut_before
from ..core.values import BlockKind
from ..errors import BrokenOutputError
from ..passes.summaries import Summarizer
from .files_at_work import blocks_at_work

MESSAGE_FORMATS: Final = ("anthropic", "openai-chat", "openai-responses")


class Frozen(Struct, frozen=True):
    """What became of the messages between the frozen ones and the newest turns.

    `end` is the number of messages of the input that are frozen now, `output` what is sent for those behind the frozen
    ones. Sizes are in the model's tokens: of the whole as it was and as it is, of what was frozen before, and of the
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
"""Of so many of the newest messages results are spared: the next turns speak of what was asked for just now."""

_WORTH: Final = 0.7
"""What 1,000 tokens have to be worth to stay. Few hard cuts cost less than many mild ones, and lose less: each has to
pay for the cache that it rewrites, and until it is made all is there."""

_WORTH_SPARED: Final = 0.1
"""The same of files at work and of results that just came."""


def usual_configuration() -> Configuration:
    """Preset `balanced`, which cuts more where it cuts at all."""
    return _with_extraction(load_preset(DEFAULT_PRESET), lambda config: replace(config, min_worth=_WORTH))


def _with_extraction(configuration: Configuration, change: Callable[[ExtractConfig], ExtractConfig]) -> Configuration:
    """The configuration with a change to all that asks lines for a worth."""
    passes = tuple(
        replace(config, extract_config=change(config.extract_config))
        if config.extract_config is not None and config.extract_config.min_worth is not None
        else config
        for config in configuration.passes
    )
    return replace(configuration, passes=passes)


class Means(Struct, frozen=True):
    """What condenses: the configuration, how many of the newest turns stay whole, and who writes summaries.

    Less is cut of what was read of files in the newest `keep_reads` messages, as `files_at_work` has it, and of results
    that just came.
    """

    configuration: Configuration
    keep_recent: int
    summarizer: Summarizer | None = None
    keep_reads: int = 0


def freeze(
    messages: Sequence[Any],
    frozen: int,
    means: Means,
    *,
    format_name: str | None,
    model: str | None,
    most: int | None = None,
    end: int | None = None,
    target: int | None = None,
) -> Frozen | str:
    """Condense messages[frozen:end] of a conversation, or say why that cannot be.

    `end` is before the newest turns, where every call is answered, and at most `most`, unless it is given. `target` are
    tokens for the whole. Raises CondenseError for messages that cannot be read.
    """
    transcript = replace(api.loads(messages, format=format_name), model=model)
    if transcript.format not in MESSAGE_FORMATS:
        return f"messages in the format {transcript.format} are not condensed here"
    cut = _cut(transcript, means.keep_recent, len(messages) if most is None else most, end)
    if cut is None or _record(transcript.messages[cut]) <= frozen:
        return "there is nothing to condense before the newest turns"
    end = _record(transcript.messages[cut])
    begin = sum(_last_record(message) < frozen for message in transcript.messages)
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
            settles=False,  # What is frozen is never run again.
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


def _cut(transcript: Transcript, keep_recent: int, most: int, end: int | None) -> int | None:
    """The position of the first message that stays: the one with record `end`, or before the newest turns."""
    messages = transcript.messages
    if end is not None:
        return next((position for position, message in enumerate(messages) if _record(message) == end), None)
    position = cut_before(messages, len(messages) - max(1, keep_recent))
    while position > 0 and _record(messages[position]) > most:
        position = cut_before(messages, position - 1)
    return position or None


def _within(means: Means, messages: Sequence[Message], begin: int, end: int, *, has_to_fit: bool) -> Configuration:
    """The configuration for messages[begin:end] alone: the others are pinned, and references lead back only.

    What `has_to_fit` may be nothing but files at work: then none of them has to stay.
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
    """The configuration that cuts little of some blocks, or nothing where it does not ask lines for a worth."""
    if not blocks:
        return configuration
    less = WorthOf(match=blocks, min_worth=_WORTH_SPARED)
    found = _with_extraction(configuration, lambda config: replace(config, overrides=(*config.overrides, less)))
    if found == configuration:
        return replace(configuration, pins=(*configuration.pins, Predicates(match=blocks)))
    return found


def _results(messages: Sequence[Message], begin: int, end: int) -> Iterator[str]:
    """The results that just came."""
    for message in messages[max(begin, len(messages) - _JUST_CAME) : end]:
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_RESULT:
                yield f"{message.index}.{number}"


def _record(message: Message) -> int:
    return min(block.place.record for block in message.blocks)


def _last_record(message: Message) -> int:
    return max(block.place.record for block in message.blocks)


def _plain(transcript: Transcript, start: int, end: int) -> list[Any]:
    return [json_text.parse(transcript.source.raw(record)) for record in range(start, end)]


def _ends_alike(output: Sequence[Any], transcript: Transcript, rest: int) -> bool:
    """Whether the newest messages are all there, by the first and the last of them."""
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
