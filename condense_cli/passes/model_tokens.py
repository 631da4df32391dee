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
from ..core.tokens import Counter
from ..core.transcript import Transcript
from .limits import is_condensed

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
