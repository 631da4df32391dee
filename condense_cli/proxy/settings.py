"""What a run of the proxy does, as its user said."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from threading import BoundedSemaphore
from typing import Any, Final

from msgspec import Struct, field

from ..config.models import Configuration
from ..live.conversation import KEEP_RECENT

PATIENCE: Final = 2.0
"""Seconds that a request waits for a decision."""

COLD_PATIENCE: Final = 30.0
"""And where the cache holds nothing of it, so that rewriting is free: never again does it cost that little."""

AHEAD: Final = 0.8
"""From this part of a threshold on a decision is prepared, so that hardly any request waits for one."""

AT_ONCE: Final = 2
"""Decisions that are worked out at a time: more would only keep each other, and all requests, waiting."""


class ProxySettings(Struct, frozen=True):
    """`upstream` is the API that all requests go to; None for the vendor that each is meant for, or the address that
    `vendors` has in its place. With `watches` nothing
    is changed. `hosts` are the names by which the page may be asked for, and `token` is what it asks for. `is_local`:
    nobody but this machine can reach it.
    Decisions take turns by `turn`."""

    token: str
    hosts: frozenset[str]
    is_local: bool = True
    upstream: str | None = None
    vendors: Mapping[str, str] = {}
    preset: str | None = None
    configuration: Configuration | None = None
    policy: str = "economic"
    keep_recent: int = KEEP_RECENT
    window: int | None = None
    watches: bool = False
    patience: float = PATIENCE
    cold_patience: float = COLD_PATIENCE
    ahead: float | None = AHEAD
    turn: AbstractContextManager[Any] = field(default_factory=lambda: BoundedSemaphore(AT_ONCE))
