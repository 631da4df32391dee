"""What a file records of the tokens that an API counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...core.transcript import Usage

_MOST: Final = 100_000_000
"""Tokens beyond which a number is none that an API counted."""


def is_count(value: Any) -> bool:
    """Whether it can be a number of tokens that somebody counted; 0 and true are none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST


def recorded(
    message: int, sent: Iterable[Any], answered: Any, *, is_older: bool = False, model: Any = None
) -> Iterator[Usage]:
    """The usage of the request that a message answers, from the parts of what was sent; nothing where none is told."""
    numbers = [number for number in sent if isinstance(number, int) and not isinstance(number, bool)]
    if any(number < 0 for number in numbers) or not 0 < sum(numbers) <= _MOST:
        return
    output = answered if is_count(answered) else 0
    yield Usage(message, sum(numbers), output, is_older, model if isinstance(model, str) and model else None)
