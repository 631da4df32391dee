"""What a file records of the tokens that an API counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..transcript import Usage


def recorded(message: int, sent: Iterable[Any], answered: Any, *, is_older: bool = False) -> Iterator[Usage]:
    """The usage of the request that a message answers, from the parts of what was sent; nothing where none is told."""
    tokens = sum(number for number in sent if isinstance(number, int))
    if tokens > 0:
        yield Usage(message, tokens, answered if isinstance(answered, int) and answered > 0 else 0, is_older)
