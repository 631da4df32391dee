"""Regular expressions that are compiled when they are first used: most runs use few of those that their modules have.

Compiling them all takes a tenth of a run on a small file.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Looks like the pattern that it becomes; a method asked for once is an attribute from then on."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern as `re.compile` makes it, but for its identity: no `match.re` is it.

    A mistake in it raises `re.error` where it is used.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
