"""Limits of a run: the target, limits that grow stricter, the least saving; in tokens as they are counted."""

from __future__ import annotations

from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import (
    BatchConfig,
    Configuration,
    ContentOperation,
    Execution,
    ExtractConfig,
    ImageOperation,
    PassConfig,
)
from ..core.markers import is_marked
from ..core.transcript import Transcript
from ..core.wording import percent_in
from ..tokens.counting import Counter
from ..tokens.factor import Factor
from .summaries import OFFLINE, Summarizer, WorksOffline


def target_of(configuration: Configuration, tokens: int) -> int | None:
    """The target of a configuration for a transcript of so many tokens."""
    if configuration.target_tokens is not None:
        return configuration.target_tokens
    if configuration.target_reduction_percent is not None:
        return int(tokens * (100 - configuration.target_reduction_percent) / 100)
    return None


_CHOOSER: Final = (
    ("", "Lines that later work needs", 6, ExtractConfig(may_summarize=True, out_of_reach="leave")),
    ("-newer", "Lines of newer turns", 1, ExtractConfig(may_summarize=True, out_of_reach="leave")),
    ("-all", "Lines of all turns", 0, ExtractConfig(may_summarize=True)),
)
"""How a target is met: the lines that later work needs least go first, and the oldest messages become one summary where
more stays that way. The six newest turns stay while they take no more than a third of the target, then one, then none.
What the user said goes last. Each step: the end of its id, its name, the newest turns that stay, and how it works."""


def in_steps(config: PassConfig) -> list[PassConfig]:
    """The passes that run for one of a configuration: three for one in mode target, itself for any other."""
    if config.mode != "target":
        return [config]
    return [
        replace(
            config,
            id=f"{config.id}{end}",
            name=name,
            selection=replace(config.selection, type="preserve_recent", keep_recent_count=turns),
            mode="extract",
            extract_config=extraction,
            execution=Execution(type="target"),
        )
        for end, name, turns, extraction in _CHOOSER
    ]


def strictnesses(config: PassConfig, target: int | None) -> list[float]:
    """How much of its limits each round of a pass uses: all of them, then ever less while a target is missed."""
    if config.repeat is None or target is None:
        return [1.0]
    return [config.repeat.threshold_reduction_factor**number for number in range(config.repeat.max_passes)]


def operations_of(config: PassConfig) -> list[ContentOperation | ImageOperation]:
    individual = config.individual_config
    if individual is None:
        return []
    parts = [individual.defaults, *(override.operations for override in individual.overrides)]
    found = [getattr(part, field) for part in parts for field in part.__struct_fields__]
    return [operation for operation in found if isinstance(operation, ContentOperation | ImageOperation)]


def keeps_all(config: PassConfig) -> bool:
    """Whether a pass changes nothing, whatever it selects."""
    match config.mode:
        case "batch":
            return config.batch_config is None or _keeps_batch(config.batch_config)
        case "individual":
            return all(found.operation == "keep" for found in operations_of(config))
        case "extract" | "target":
            return False
        case other:
            assert_never(other)


def _keeps_batch(config: BatchConfig) -> bool:
    match config.operation:
        case "keep":
            return True
        case "summarize" | "drop_older_half":
            return False
        case other:
            assert_never(other)


def needs_target(config: PassConfig) -> bool:
    """Whether a pass does nothing without a target."""
    match config.execution.type:
        case "target":
            return True
        case "always" | "conditional":
            has_worth = config.extract_config is not None and config.extract_config.min_worth is not None
            return config.mode == "target" or (config.mode == "extract" and not has_worth)
        case other:
            assert_never(other)


def is_offline(config: PassConfig, summarizer: Summarizer) -> bool:
    """Whether a batch pass is sure to get its summary without a model, so that it may be tried again."""
    summarization = config.batch_config and config.batch_config.summarization_config
    profile = summarization.api_profile if summarization else None
    return profile == OFFLINE or (isinstance(summarizer, WorksOffline) and summarizer.works_offline(profile))


def summarizes_blocks(config: PassConfig) -> bool:
    return config.mode == "individual" and any(found.operation == "summarize" for found in operations_of(config))


def asks_for_summaries(config: PassConfig) -> bool:
    """Whether a summary that a pass asks for could be refused."""
    return config.mode != "individual" or summarizes_blocks(config)


_LEAST_AGAIN: Final = 100
"""Tokens that a further run has to save, where `min_saving` is a share."""


def least_saving(configuration: Configuration, transcript: Transcript, tokens: int) -> int:
    """The fewest tokens that a run has to save of a transcript of so many; a run that saves fewer changes nothing.

    A second look that finds hardly more than the first is not worth a broken cache.
    """
    least = configuration.min_saving
    if not isinstance(least, str):
        return max(1, least)
    share = int(tokens * (percent_in(least) or 0) / 100)
    if not share or share >= _LEAST_AGAIN:  # All texts are looked through for marks only where that decides.
        return max(1, share)
    return _LEAST_AGAIN if is_condensed(transcript) else share


def is_condensed(transcript: Transcript) -> bool:
    """Whether the transcript was condensed before."""
    return any(is_marked(block.content) for _, block in transcript.blocks())


def too_little(saved: int, least: int, configuration: Configuration, factor: Factor) -> str:
    """Say of a result that it saves too few tokens; `least` are those that it has to save."""
    shown = factor.shown
    if saved < 0:
        return f"be {shown(-saved):,} tokens larger"
    if least == 1:
        return "save 0 tokens, not smaller"
    share = f"{configuration.min_saving} of the transcript: " if isinstance(configuration.min_saving, str) else ""
    return f"save {shown(saved):,} tokens, less than min_saving ({share}{shown(least):,})"


_OF_BLOCKS: Final = "min_tokens"
"""Key of passes whose numbers are tokens of a single block."""


def in_our_tokens(configuration: Configuration, factor: Factor) -> Configuration:
    """A configuration with every number of tokens as they are counted, but for the thresholds of passes.

    Limits of single blocks go by what is typical of the model, so that a second run has the same ones.
    """
    if factor.value == factor.typical == 1:
        return configuration

    def converted(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(converted, value))
        if not isinstance(value, Struct):
            return value
        new = {name: converted(getattr(value, name)) for name in value.__struct_fields__}
        if isinstance(new.get(_OF_BLOCKS), int):
            new[_OF_BLOCKS] = int(new[_OF_BLOCKS] / factor.typical)
        return replace(value, **{name: item for name, item in new.items() if item != getattr(value, name)})

    target = configuration.target_tokens
    return replace(
        configuration,
        passes=converted(configuration.passes),
        pins=converted(configuration.pins),
        target_tokens=None if target is None else max(1, factor.bare(target)),
        min_saving=least if isinstance(least := configuration.min_saving, str) else factor.bare(least),
    )


def is_met(transcript: Transcript, configuration: Configuration, count: Counter, factor: Factor) -> bool:
    """Whether a transcript that was condensed before is within the target, as far as that is known.

    Without this a second run would go on cutting where another factor is known after the first.
    """
    target = configuration.target_tokens or 0
    return is_condensed(transcript) and factor.is_within(count.transcript(transcript), target)
