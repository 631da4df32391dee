"""Compile regular expressions on first use. Most runs use few, and compiling all takes a tenth of a small run."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Proxy of a compiled pattern. Each method is stored as an attribute on first access."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that compiles on first use. `match.re` is another object than the proxy.

    Raises `re.error` on first use if the pattern is invalid.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
