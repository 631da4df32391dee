"""A `Live` for each conversation that an agent leads, as many frameworks hand all of them to one object."""

from __future__ import annotations

import inspect
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from ..errors import UsageError
from ..live.conversation import Live
from ..live.decisions import DecisionKind, Fitted
from ..live.state import StateFile

MOST: Final = 256
"""Conversations that are held, the newest: a `Live` holds digests of its messages and what is frozen."""

_log = logging.getLogger("condense_cli")

OnDecision = Callable[[Fitted], None]


class _Held(Struct):
    live: Live
    usage: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class FittedConversations:
    """Fits the messages of any conversation, told apart by a key. From any thread.

    `options` are those of `Live`. `on_decision` is called with what came of each fit that decided or tried something;
    what it raises is logged (`condense_cli`, ERROR) and stops nothing, as a request waits for its messages. Raises
    ConfigurationError and UsageError for options that cannot be.
    """

    def __init__(self, *, on_decision: OnDecision | None = None, **options: Any) -> None:
        if on_decision is not None and not _can_be_called(on_decision):
            raise UsageError(f"on_decision cannot be {on_decision!r}.", "Give a function of one argument, not async.")
        if isinstance(options.get("state"), str | Path):
            options["state"] = StateFile(options["state"])
        self._options = options
        self._on_decision = on_decision
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()
        self._lock = threading.Lock()
        self._first: Live | None = Live(**options)

    def fit(self, key: Hashable, messages: Sequence[Any], *, usage: Any = None, **request: Any) -> Fitted:
        """What to send; `usage` is of the conversation's request before, None for what was `reported`."""
        held = self._of(key)
        with held.lock:
            fitted = held.live.fit(messages, usage=held.usage if usage is None else usage, **request)
        if self._on_decision is not None and fitted.decision.kind is not DecisionKind.NONE:
            try:
                self._on_decision(fitted)
            except Exception:
                _log.exception("on_decision raised; the request goes out all the same")
        return fitted

    def reported(self, key: Hashable, usage: Any) -> None:
        """Remember what the API reported for the last request of a conversation."""
        self._of(key).usage = usage

    def _of(self, key: Hashable) -> _Held:
        with self._lock:
            held = self._held.pop(key, None)
            if held is None:
                live, self._first = self._first or Live(**self._options), None
                held = _Held(live)
            self._held[key] = held
            if len(self._held) > MOST:
                self._held.popitem(last=False)
            return held


def _can_be_called(value: Any) -> bool:
    """Whether it is a function that runs when it is called."""
    return callable(value) and not any(map(inspect.iscoroutinefunction, (value, value.__call__)))
