"""Work spread over several processes: results in the order of the tasks, and never many of them in memory."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Generic, TypeVar, cast

from ..errors import CondenseError

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def usable_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[_Task], _Result], tasks: Iterable[_Task], jobs: int, *, ahead: int | None = None
) -> Iterator[_Result]:
    """What `work` makes of each task, in order, by so many processes; 1 is this process alone.

    `work`, tasks and results travel between processes, so they must be picklable, and `work` a small thing. So many
    tasks are taken before the first result is wanted (two for each process, where `ahead` says nothing), and then one
    with each result: however many there are, a few are in memory. Raises what `work` raises. When the iterator is left
    early, what is running is given up; a process that is told to stop cleans up first.
    """
    if jobs <= 1:
        for task in tasks:
            yield work(task)
        return
    ahead = ahead or 2 * jobs
    workers = _Workers(work)
    # A thread waits for each process and gives it the next task, whatever this one does with a result meanwhile.
    threads = ThreadPoolExecutor(jobs)
    waiting: deque[Future[_Result]] = deque()
    try:
        for number, task in enumerate(tasks):
            if number < jobs:
                workers.start()
            waiting.append(threads.submit(workers.ask, task))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BaseException:
        workers.terminate()
        raise
    finally:
        threads.shutdown(wait=True, cancel_futures=True)
        workers.close()


class _Workers(Generic[_Task, _Result]):
    """Processes that wait for tasks, each at the end of a pipe of its own.

    The executor of the standard library lets its processes share pipes and locks: one that is stopped while it reads
    or writes leaves a part of a message for the others to stumble over. Here each may be stopped at any moment.
    """

    def __init__(self, work: Callable[[_Task], _Result]) -> None:
        self._work = work
        self._processes: list[SpawnProcess] = []
        self._pipes: list[Connection] = []
        self._idle: SimpleQueue[Connection] = SimpleQueue()

    def start(self) -> None:
        """Start one more process."""
        # It starts anew on every system: a copy of this one would have its locks, but not its threads.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._work), daemon=True)
        with _without_interrupts():
            process.start()
        theirs.close()  # Or the end of the process would not be the end of the pipe.
        self._processes.append(process)
        self._pipes.append(ours)
        self._idle.put(ours)

    def ask(self, task: _Task) -> _Result:
        """What the work makes of a task. Raises what the work raises, and CondenseError where the process died."""
        pipe = self._idle.get()
        try:
            pipe.send(task)
            answer = pipe.recv_bytes()
        except (EOFError, OSError):
            raise CondenseError(
                "A process that did part of the work was killed, most likely because memory ran out.",
                "Run it again with fewer processes: -j 1.",
            ) from None
        finally:
            self._idle.put(pipe)
        result, error = pickle.loads(answer)
        if error is not None:
            raise error
        return cast("_Result", result)

    def terminate(self) -> None:
        """Tell all processes to stop, whatever they do."""
        for process in self._processes:
            process.terminate()

    def close(self) -> None:
        """Send the processes home that are waiting for a task."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()


def _serve(pipe: Connection, work: Callable[[_Task], object]) -> None:
    """What a process does: work on what comes, until nobody is at the other end."""
    _begin()
    with suppress(EOFError, OSError):
        while True:
            task = pipe.recv()
            try:
                answer = ForkingPickler.dumps((work(task), None))
            except Exception as error:
                answer = ForkingPickler.dumps((None, _portable(error)))
            pipe.send_bytes(answer)


def _portable(error: Exception) -> Exception:
    """The error as it may travel: where it was raised goes with it as a note."""
    error.add_note(traceback.format_exc())
    try:
        pickle.loads(ForkingPickler.dumps(error))
    except Exception:  # Its type has a constructor of its own, or it holds what cannot be pickled.
        return CondenseError(f"{type(error).__name__}: {error}")
    return error


def _begin() -> None:
    """What every process does first: stop cleanly when told to, and never outlive the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # For systems where a process cannot be started without hearing it.
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
    resource_tracker.ensure_running()  # It starts with the first process otherwise, and lets the signals in again.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
