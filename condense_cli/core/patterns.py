"""Regular expressions that users and projects write, so that none of them can hang a run.

The package `regex` reads them: it takes what Python's own `re` takes, lookarounds and references back included, and
stops at a time limit, which `re` cannot. An engine that never backtracks (RE2) would need no limit; its package has no
wheel for Alpine and knows neither of the two. What the limit costs is that a slow pattern is an error earlier on a slow
machine; it never changes what comes out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final

from ..errors import ConfigurationError
from .lazy_pattern import lazy_pattern

_SECONDS: Final = 5.0
"""Processor time that all searches of a process may take beyond their rate."""
_RATE: Final = 0.5e-6
"""Seconds that a search may take for each character. Slow patterns take a tenth of it, most a hundredth."""
_LONGEST: Final = 10_000
_LARGEST: Final = 1_000_000
"""Characters of a pattern; and as many with its counted repetitions written out, as reading it takes that long."""
_SHOWN: Final = 60
_VERBOSE: Final = lazy_pattern(r"\(\?[a-zA-Z]*x")
_COUNTED: Final = lazy_pattern(r"(\)\s*+)?\{(\d*+)(?:,(\d*+))?\}")
_HINT: Final = "Avoid nested repetition: write .*= instead of (.*)*=."

_left = _SECONDS
"""What is left of it, for all patterns together: a file may have many that are slow, but not too slow."""


class PatternError(ValueError):
    """A text is no regular expression, or one that takes too long to read."""


def searcher(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern is found in a text. Raises PatternError.

    The function that is given back raises ConfigurationError where looking takes too long.
    """
    compiled = _compiled(pattern)

    def search(text: str) -> bool:
        global _left
        allowed = _left + len(text) * _RATE
        started = time.process_time()
        try:
            found = compiled.search(text, timeout=allowed) is not None
        except TimeoutError:
            _left = _SECONDS
            raise ConfigurationError(
                f"The pattern {_shown(pattern)} takes too long; it was stopped in a text of {len(text):,} characters.",
                _HINT,
            ) from None
        _left = max(0.0, min(_SECONDS, allowed - (time.process_time() - started)))
        return found

    return search


def check(pattern: str) -> None:
    """Raises PatternError."""
    _compiled(pattern)


def _compiled(pattern: str) -> Any:
    """The pattern of the package `regex`, which says nothing of its types."""
    if len(pattern) > _LONGEST:
        raise PatternError(f"it has {len(pattern):,} characters, and {_LONGEST:,} is the limit")
    if _written_out(pattern) > _LARGEST:
        raise PatternError("it has too many nested counted repetitions")
    import regex  # 20 ms, and most runs have no pattern

    try:
        re.compile(pattern)  # Its words for what is wrong are those that people know.
        return regex.compile(pattern)
    except (re.error, regex.error, OverflowError) as error:
        raise PatternError(str(error)) from None
    except RecursionError:
        raise PatternError("it is nested too deeply") from None


def _written_out(pattern: str) -> int:
    """How many characters the pattern has without counted repetitions, at most: a group may hold all that is before."""
    times = 1
    is_verbose = _VERBOSE.search(pattern) is not None  # Then comments may hide what is repeated.
    for group, least, most in _COUNTED.findall(pattern):
        count = max(int(number or 1) for number in (least, most))
        times = times * count if group or is_verbose else max(times, count)
    return times * len(pattern)


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= _SHOWN else pattern[:_SHOWN] + "…")
