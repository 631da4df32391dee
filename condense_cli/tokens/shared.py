"""Share what was worked out of one conversation among all that work on it, by the counter that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .counting import Counter

T = TypeVar("T")

_SHARED: Final[WeakKeyDictionary[Counter, dict[Callable[[], Any], Any]]] = WeakKeyDictionary()


@contextmanager
def sharing(count: Counter) -> Iterator[None]:
    """Meanwhile all who ask with this counter share what they read: later steps read mostly what earlier ones read."""
    if count in _SHARED:
        yield
        return
    _SHARED[count] = {}
    try:
        yield
    finally:
        del _SHARED[count]


def shared(count: Counter, make: Callable[[], T]) -> T:
    """Return what is shared of this kind; a new one, of nobody else, where nothing is shared."""
    kinds = _SHARED.get(count)
    if kinds is None:
        return make()
    found: T = kinds[make] if make in kinds else kinds.setdefault(make, make())
    return found
