"""What a configuration asks for in the model's tokens, in those that are counted.

The passes count in tokens of a vocabulary that is at hand. A factor, which may come from the transcript's own recorded
usage, leads from those to the model's.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..core.factor import Factor
from ..core.markers import is_marked
from ..core.tokens import Counter
from ..core.transcript import Transcript
from .condensation import Condensation

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
        min_saving=factor.bare(configuration.min_saving),
    )


def is_met(transcript: Transcript, configuration: Configuration, count: Counter, factor: Factor) -> bool:
    """Whether a transcript that was condensed before is within the target, as far as that is known.

    Without this a second run would go on cutting where another factor is known after the first.
    """
    if not any(is_marked(block.content) for _, block in transcript.blocks()):
        return False
    return factor.is_within(count.transcript(transcript), configuration.target_tokens or 0)


def is_done(result: Condensation, configuration: Configuration, factor: Factor) -> bool:
    """Whether a run on the result would find nothing more to do by this factor."""
    tokens, target = result.tokens_after, configuration.target_tokens
    if target is not None and not factor.is_within(tokens, target):
        return False
    conditions = [config.execution.condition for config in configuration.passes]
    thresholds = [condition.token_threshold for condition in conditions if condition]
    return not any(result.factor.shown(tokens) <= most < factor.shown(tokens) for most in thresholds)
