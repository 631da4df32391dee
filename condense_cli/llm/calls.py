"""Fulfil requests from the cache or by parallel calls, within the budget, in order.

One thread coordinates: it alone uses cache and budget, and starts a thread per call. Those threads only wait for the
server, so neither an interrupt nor a hanging server delays the exit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Final

from msgspec import Struct, field

from ..config.profiles import Access
from ..money.economics import Accounting, CallUsage
from .access import Redactor, connect
from .budget import Budget, Reserved, Spent, Worst, accounting_of, price_for, spent_on
from .cache import Cache, Stored, key_of
from .client import (
    HOPELESS,
    LASTING,
    Answer,
    CallError,
    Cause,
    Failure,
    ModelClient,
    ModelRequest,
    failure,
    max_output,
    names_of,
)
from .prompts import Count, worst_input

_GIVE_UP_AFTER: Final = 5
"""Consecutive failures after which no further call is tried: each takes long and may be charged."""

_LOOK: Final = 0.2
"""Seconds between looks at the clock during calls; on Windows also the delay of Ctrl-C."""


class CallOutcome(Struct, frozen=True):
    """Result of a request: a text, or the reason why there is none.

    `spent` is the cost of its own call. `is_cached`: there was no call, because the answer was in the cache or an equal
    request was called.
    """

    text: str | None
    failure: Failure | None = None
    spent: Spent = Spent()
    is_cached: bool = False


class Fulfilment(Struct, frozen=True):
    """One outcome per request, in order. `notes` are sentences about the cache."""

    outcomes: tuple[CallOutcome, ...]
    spent: Spent = Spent()
    is_interrupted: bool = False
    notes: tuple[str, ...] = ()


class Progress(Struct, frozen=True):
    """Number of finished requests, of all requests, and use by calls so far."""

    done: int
    total: int
    spent: Spent


class Patience:
    """Counts consecutive failures. `lost` is the reason why no further call is tried."""

    def __init__(self) -> None:
        self.lost: Failure | None = None
        self._failed = 0

    def take(self, why: Failure | None) -> None:
        """Count a call's failure, or success if None."""
        if why is None or why.reason is Cause.NOT_SMALLER:  # The model did answer.
            self._failed = 0
            return
        self._failed += 1
        if why.reason in HOPELESS or self._failed >= _GIVE_UP_AFTER:
            self.lost = why


class Caller(Struct, frozen=True):
    """Dependencies of calls. One instance serves a whole run, which shares its budget, cache and patience.

    `count` uses our vocabulary, which is the model's own if `exact`; `factor` is the typical number of model tokens per
    token of ours. `when` dates prices. `max_parallel_calls` lowers the profile's limit. `clock` returns seconds.
    `opened` makes a client; tests replace it.
    """

    access: Access
    count: Count
    when: datetime
    exact: bool = False
    factor: float = 1.0
    budget: Budget | None = None
    cache: Cache | None = None
    redactor: Redactor | None = None
    patience: Patience = field(default_factory=Patience)
    max_parallel_calls: int | None = None
    progress: Callable[[Progress], None] | None = None
    clock: Callable[[], float] = time.monotonic
    opened: Callable[[Access], ModelClient] = connect


def fulfil(requests: Sequence[ModelRequest], caller: Caller) -> Fulfilment:
    """Return one outcome per request. Equal requests are called once. Failing calls raise nothing.

    Ctrl-C stops early: finished requests keep their outcome, the others get INTERRUPTED.
    """
    redactor = caller.redactor
    if redactor is not None:
        requests = [redactor.request(request) for request in requests]
    keys = [key_of(request, caller.access.profile) for request in requests]
    asked = dict(zip(keys, requests, strict=True))
    run = _Run(asked, caller)
    try:
        run.work()
    except KeyboardInterrupt:
        run.interrupt()
    finally:
        run.close()
    outcomes: list[CallOutcome] = []
    paid: set[bytes] = set()
    for key, request in zip(keys, requests, strict=True):
        outcome = _checked(run.outcomes[key], request, caller)
        outcomes.append(outcome if key not in paid else CallOutcome(outcome.text, outcome.failure, Spent(), True))
        paid.add(key)
    notes = tuple(caller.cache.notes) if caller.cache is not None else ()
    return Fulfilment(tuple(outcomes), run.spent, run.is_interrupted, notes)


def _checked(outcome: CallOutcome, request: ModelRequest, caller: Caller) -> CallOutcome:
    """Refuse a whole answer that is not short enough."""
    if outcome.text is None:
        return outcome
    tokens = caller.count(outcome.text)
    if tokens > request.limit:
        reason, detail = Cause.OVER_LIMIT, f"({tokens} tokens, {request.limit} allowed.)"
    elif request.replaced is not None and tokens >= request.replaced:
        reason, detail = Cause.NOT_SMALLER, f"({tokens} tokens for {request.replaced}.)"
    else:
        return outcome
    refused = failure(reason, names_of(caller.access), detail)
    return CallOutcome(None, refused, outcome.spent, outcome.is_cached)


class _Call(Struct, frozen=True):
    reserved: Reserved
    deadline: float


class _Run:
    """State of one batch of calls."""

    def __init__(self, asked: dict[bytes, ModelRequest], caller: Caller) -> None:
        self.outcomes: dict[bytes, CallOutcome] = {}
        self.spent = Spent()
        self.is_interrupted = False
        self._asked = asked
        self._caller = caller
        self._names = names_of(caller.access)
        self._budget = caller.budget or Budget()
        allowed = caller.access.profile.max_parallel_calls
        self._at_once = min(allowed, caller.max_parallel_calls or allowed)
        self._waiting = deque(asked)
        self._running: dict[bytes, _Call] = {}
        self._results: SimpleQueue[tuple[bytes, Answer | CallError]] = SimpleQueue()
        self._client: ModelClient | None = None

    def work(self) -> None:
        self._look_up()
        self._stop_if_lost()
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._at_once:
                if not self._start(self._waiting[0]):
                    break
                self._waiting.popleft()
            if self._running:
                self._listen()

    def stop(self, why: Failure) -> None:
        """Start no further calls; running ones go on."""
        for key in self._waiting:
            self.outcomes[key] = CallOutcome(None, why)
        self._waiting.clear()

    def interrupt(self) -> None:
        """Give up all requests without outcome, including running calls. May be called at any point of the work."""
        self.is_interrupted = True
        given_up = failure(Cause.INTERRUPTED, self._names)
        for key in self._asked:
            if key not in self.outcomes:
                call = self._running.get(key)
                self.outcomes[key] = CallOutcome(None, given_up, self._settle(call.reserved, None) if call else Spent())

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _look_up(self) -> None:
        cache = self._caller.cache
        if cache is None:
            return
        for key in self._asked:
            stored = cache.get(key)
            if stored is not None:
                lasting = failure(stored.reason, self._names) if stored.reason else None
                self.outcomes[key] = CallOutcome(None if lasting else stored.text, lasting, is_cached=True)
        self._waiting = deque(key for key in self._asked if key not in self.outcomes)
        self._report()

    def _start(self, key: bytes) -> bool:
        """Start a call. False if it cannot start now, or ever."""
        request, access = self._asked[key], self._caller.access
        worst = worst_of(request, self._caller, is_in_money=self._budget.is_in_money)
        if not self._budget.covers(worst):
            return self._uncovered(worst)
        if self._client is None:
            try:
                self._client = self._caller.opened(access)
            except CallError as error:
                self.stop(error.failure)
                return False
        reserved = self._budget.reserve(worst)
        if reserved is None:
            return self._uncovered(worst)
        self._running[key] = _Call(reserved, self._caller.clock() + access.profile.total_seconds)
        arguments = (self._client, key, request, self._results)
        threading.Thread(target=_call, args=arguments, daemon=True, name="condense-call").start()
        return True

    def _uncovered(self, worst: Worst) -> bool:
        """Stop unless a running call may free enough of the budget. Returns False."""
        if not self._running:
            self.stop(not_covered(self._budget, worst, self._caller.access))
        return False

    def _listen(self) -> None:
        """Wait briefly for a call to end, and give up overdue ones."""
        try:
            key, result = self._results.get(timeout=_LOOK)
        except Empty:
            now = self._caller.clock()
            for late in [key for key, call in self._running.items() if now > call.deadline]:
                self._end(late, CallError(failure(Cause.TIMEOUT, self._names, "(total_seconds)")))
            return
        if key in self._running:
            self._end(key, result)

    def _end(self, key: bytes, result: Answer | CallError) -> None:
        call = self._running.pop(key)
        spent = self._settle(call.reserved, result.usage)
        if isinstance(result, Answer):
            self.outcomes[key] = CallOutcome(result.text, spent=spent)
            self._store(key, Stored(result.text))
            why = _checked(self.outcomes[key], self._asked[key], self._caller).failure
        else:
            why = result.failure
            self.outcomes[key] = CallOutcome(None, why, spent)
            if why.reason in LASTING:
                self._store(key, Stored(reason=why.reason))
        self._caller.patience.take(why)
        self._stop_if_lost()
        self._report()

    def _stop_if_lost(self) -> None:
        if self._caller.patience.lost is not None:
            self.stop(self._caller.patience.lost)

    def _settle(self, reserved: Reserved, usage: CallUsage | None) -> Spent:
        profile = self._caller.access.profile
        spent = spent_on(usage, profile, self._caller.when)
        is_known = usage is not None and usage.is_whole
        self._budget.settle(reserved, spent.tokens if is_known else None, None if spent.unknown else spent.cost)
        self.spent += spent
        return spent

    def _store(self, key: bytes, stored: Stored) -> None:
        if self._caller.cache is not None:
            self._caller.cache.put(key, stored)

    def _report(self) -> None:
        if self._caller.progress is not None:
            self._caller.progress(Progress(len(self.outcomes), len(self._asked), self.spent))


def worst_of(request: ModelRequest, caller: Caller, *, is_in_money: bool = True) -> Worst:
    """Compute the worst case of a call; its dollars only if needed."""
    profile = caller.access.profile
    read = worst_input(request, caller.count, exact=caller.exact)
    written = max_output(profile, request.limit)
    price = price_for(profile, caller.when, read) if is_in_money else None
    if price is None or price.output is None:
        return Worst(read + written, None)
    dearest = price.input
    if accounting_of(profile) is Accounting.OPENAI:  # It writes to its cache by default.
        dearest = max(dearest, price.cache_write_5m or dearest)
    return Worst(read + written, read * dearest + written * price.output)


def not_covered(budget: Budget, worst: Worst, access: Access) -> Failure:
    """Explain why a call with this worst case is not made."""
    if budget.is_in_money and worst.cost is None:
        return failure(Cause.UNPRICED, names_of(access))
    return failure(Cause.BUDGET_SPENT, names_of(access), budget.uncovered(worst))


def _call(
    client: ModelClient, key: bytes, request: ModelRequest, results: SimpleQueue[tuple[bytes, Answer | CallError]]
) -> None:
    try:
        results.put((key, client.call(request)))
    except CallError as error:
        results.put((key, error))
    except Exception as error:  # The coordinator waits for a result in any case.
        results.put((key, CallError(failure(Cause.MALFORMED, detail=f"{type(error).__name__}: {error}"))))
