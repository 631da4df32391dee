"""Remember what was read of a conversation, for callers that try one choice after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from ..core.transcript import Message
from ..tokens.counting import Counter
from .shorten import Priced
from .survey import Survey

_FIRST: Final[WeakKeyDictionary[Counter, Priced | None]] = WeakKeyDictionary()
"""By its counter, what was read of a conversation first. What passes make of that in between is not asked for again."""


def remember(count: Counter) -> None:
    """From now on remember what is read with this counter. It lives as long as that does, and takes as much again."""
    _FIRST.setdefault(count, None)


def priced_of(messages: Sequence[Message], count: Counter) -> Priced:
    """Return the costs and worth of a conversation's units: read anew, unless they are remembered."""
    known = _FIRST.get(count)
    if known is not None and _are_same(known.survey.messages, messages):
        return known
    found = Priced(Survey(messages, count))
    if known is None and count in _FIRST:
        _FIRST[count] = found
    return found


def _are_same(before: Sequence[Message], now: Sequence[Message]) -> bool:
    return len(before) == len(now) and all(one is other or one == other for one, other in zip(before, now, strict=True))
