"""Dependencies of a run: counter, summarizer, clock, selectors, and what the caller decides."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ..config.models import PassConfig
from ..config.options import NO_OVERRIDES, Overrides
from ..tokens.counting import Counter
from ..tokens.factor import AS_COUNTED, Factor
from .selection import FindSelector, no_selectors
from .summaries import Summarizer


class LastResort(Struct, frozen=True):
    """A pass that runs in the end if a summary failed and so many of the model's tokens are over a limit."""

    config: PassConfig
    is_due: Callable[[int], bool]


class Context(Struct, frozen=True):
    """Who counts, who summarizes, what the time is, which flags were given, which selectors are installed.

    `clock` gives seconds. With `stop_at_target` every pass works only until the target is reached, as if the
    configuration said so for each. `factor` converts between the tokens that are counted and the model's, in which a
    configuration speaks. A run that `settles` goes on until it would find nothing more in its own result.
    `on_pass` is told the name of each pass when it begins.
    """

    count: Counter
    summarizer: Summarizer
    clock: Callable[[], float] = lambda: 0.0
    overrides: Overrides = NO_OVERRIDES
    stop_at_target: bool = False
    selectors: FindSelector = no_selectors
    factor: Factor = AS_COUNTED
    settles: bool = True
    on_pass: Callable[[str], None] = lambda name: None
    last_resort: LastResort | None = None
