"""Work spread over several processes: results in the order of the tasks, and never many of them in memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import Final, TypeVar

from .errors import CondenseError

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_AHEAD: Final = 2
"""Tasks per process that are handed out before their results are wanted, so that none waits."""


def usable_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[_Task], _Result], tasks: Iterable[_Task], jobs: int) -> Iterator[_Result]:
    """What `work` makes of each task, in order, by so many processes; 1 is this process alone.

    `work`, tasks and results travel between processes, so they must be picklable, and `work` a small thing. A new task
    is taken only when a result was: however many there are, a few are in memory. Raises what `work` raises. When the
    iterator is left early, what is running is given up; a process that is told to stop cleans up first.
    """
    if jobs <= 1:
        for task in tasks:
            yield work(task)
        return
    # Each process starts anew on every system: a copy of this one would copy its locks, but not the threads in them.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    waiting: deque[Future[_Result]] = deque()
    is_done = False
    try:
        for task in tasks:
            with _without_interrupts():
                waiting.append(executor.submit(work, task))
            if len(waiting) >= jobs * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        is_done = True
    except BrokenProcessPool:
        raise CondenseError(
            "A process that did part of the work was killed, most likely because memory ran out.",
            "Run it again with fewer processes: -j 1.",
        ) from None
    finally:
        if not is_done:
            # The executor has no word for "stop now" before Python 3.14, which names it terminate_workers().
            for process in list((executor._processes or {}).values()):
                process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """What every process does first: stop cleanly when told to, and never outlive the one that started it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, which is for the first one to hear; that hears it a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
