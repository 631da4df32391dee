"""Values that a message quotes: short enough to be read there, however long somebody made them."""

from __future__ import annotations

from typing import Any, Final

_MOST: Final = 60


def brief(text: str, most: int = _MOST) -> str:
    """A text of at most so many characters, the last of which tells that more would follow."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: Any, most: int = _MOST) -> str:
    """A value as Python writes it, not longer than a message bears."""
    return repr(brief(value, most)) if isinstance(value, str) else brief(repr(value), most)
