"""The bodies that came last: the next one of a conversation begins with nearly all of what the one before held.

Comparing bytes is ten times cheaper than reading them. At most LARGEST_KEPT bytes are kept, in memory alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ..live.requests import KnownMessage
from .apis import Api
from .bodies import Body, body_of

LARGEST_KEPT: Final = 64 << 20
_BEGINNING: Final = 512
"""Bytes by which bodies are told apart where a client does not name its conversations."""

Names = tuple[str, ...]


class _Seen(Struct, frozen=True):
    body: Body
    known: Sequence[KnownMessage]


class Recent:
    """Bodies and what is known of their messages, by the names of their conversations and by how they begin."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[object, ...], _Seen] = OrderedDict()
        self._size = 0

    def read(self, data: bytes, encoding: str, api: Api, names: Names) -> tuple[Body, Sequence[KnownMessage]] | None:
        """The body, and what is known of the messages that it shares with one before."""
        before = self._seen.get(_key(api, names, data))
        body = body_of(data, encoding, api, None if before is None else before.body)
        return None if body is None else (body, before.known if before is not None and body.same else ())

    def keep(self, data: bytes, names: Names, body: Body, known: Sequence[KnownMessage]) -> None:
        """Keep a body for the next one; those that were not asked for longest go where they are too many."""
        key = _key(body.api, names, data)
        old = self._seen.pop(key, None)
        self._size += len(body.data) - (len(old.body.data) if old is not None else 0)
        self._seen[key] = _Seen(body, known)
        while self._size > LARGEST_KEPT:
            self._size -= len(self._seen.popitem(last=False)[1].body.data)


def _key(api: Api, names: Names, data: bytes) -> tuple[object, ...]:
    return api.path, names, data[:_BEGINNING]
