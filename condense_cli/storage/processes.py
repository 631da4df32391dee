"""Spread work over several processes, with results in the order of the tasks and few of them in memory, or over the
workers of Ray (the extra `ray`), on this machine or on a cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar, cast

from ..errors import CondenseError
from .extras import missing

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def usable_processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


TRIES: Final = 3
"""Times that a task is begun whose process is killed; after these, the task itself is most likely the cause."""


def in_order(
    work: Callable[[_Task], _Result],
    tasks: Iterable[_Task],
    jobs: int,
    *,
    ahead: int | None = None,
    died: Callable[[_Task, str], _Result] | None = None,
) -> Iterator[_Result]:
    """Apply `work` to each task, in order, in `jobs` processes; 1 uses this process alone.

    `work`, tasks and results are pickled, so `work` should be small. `ahead` tasks (by default two per process) are
    taken before the first result, and one more with each result, so only a few are in memory. Raises what `work`
    raises. A process that is killed is replaced and its task begun anew; if that happens TRIES times, `died` gives the
    result, and without it this raises CondenseError. If the iterator is left early, running tasks are given up; a
    process that is told to stop cleans up first.
    """
    if jobs <= 1:
        for task in tasks:
            yield work(task)
        return
    ahead = ahead or 2 * jobs
    workers = _Workers(work, died)
    # A thread per process hands it the next task while this one uses a result.
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
    """Processes that wait for tasks, each with a pipe of its own.

    The standard library's executor shares pipes and locks: a process stopped while it reads or writes leaves part
    of a message to the others. Here each can be stopped at any moment.
    """

    def __init__(self, work: Callable[[_Task], _Result], died: Callable[[_Task, str], _Result] | None) -> None:
        self._work, self._died = work, died
        self._are_stopped = False
        self._processes: list[SpawnProcess] = []
        self._pipes: list[Connection] = []
        self._idle: SimpleQueue[Connection] = SimpleQueue()

    def start(self) -> None:
        # Spawned on every system: a fork would have the locks of this process, but not its threads.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._work), daemon=True)
        with _without_interrupts():
            process.start()
        theirs.close()  # Otherwise the pipe would not end with the process.
        self._processes.append(process)
        self._pipes.append(ours)
        self._idle.put(ours)

    def ask(self, task: _Task) -> _Result:
        """Return the result of a task. Raises what the work raises, and CondenseError if its processes died."""
        for _ in range(TRIES):
            pipe = self._idle.get()
            if self._are_stopped:
                self._idle.put(pipe)
                break
            try:
                pipe.send(task)
                answer = pipe.recv_bytes()
            except (EOFError, OSError):
                pipe.close()
                self.start()
                continue
            except BaseException:  # A task that cannot be pickled.
                self._idle.put(pipe)
                raise
            self._idle.put(pipe)
            result, error = pickle.loads(answer)
            if error is not None:
                raise error
            return cast("_Result", result)
        if self._died is not None and not self._are_stopped:
            return self._died(task, f"Its process was killed {TRIES} times.")
        raise CondenseError(
            "A process that did part of the work was killed, most likely because memory ran out.",
            "Run it again with fewer processes: -j 1.",
        )

    def terminate(self) -> None:
        """Stop all processes, whatever they do."""
        self._are_stopped = True
        for process in self._processes:
            process.terminate()

    def close(self) -> None:
        """End the processes that wait for a task."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()


def _serve(pipe: Connection, work: Callable[[_Task], object]) -> None:
    """Work on tasks until nobody is at the other end of the pipe."""
    # Make a new process stop cleanly when told to, and end with the one that started it.
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # For systems where a process cannot be started with the signal blocked.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            task = pipe.recv()
            try:
                answer = ForkingPickler.dumps((work(task), None))
            except Exception as error:
                answer = ForkingPickler.dumps((None, _portable(error)))
            pipe.send_bytes(answer)


def _portable(error: Exception) -> Exception:
    """Make an error that can be pickled, with its traceback as a note."""
    error.add_note(traceback.format_exc())
    try:
        pickle.loads(ForkingPickler.dumps(error))
    except Exception:  # Its type has its own constructor, or it holds a value that cannot be pickled.
        return CondenseError(f"{type(error).__name__}: {error}")
    return error


def _follow(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that never see Ctrl-C: only the first process handles it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # Otherwise it starts with the first process, and unblocks the signals.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_RETRIES: Final = 3
"""Times that Ray begins a task again whose worker died."""

_AHEAD: Final = 2
"""Tasks per processor that wait at Ray, so that it never holds many."""


def with_ray(
    work: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    failed: Callable[[_Task, str], _Result],
    jobs: int | None = None,
) -> Iterator[_Result]:
    """Yield the result of `work` for each task as it is done, or that of `failed` for one whose workers died.

    `work` raises nothing. At most `jobs` tasks wait or run at a time. Ray is stopped at the end if it was started
    here. Raises CondenseError if Ray is not installed.
    """
    with _running() as ray:
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(_work_on)
        shared = ray.put(work)
        most = jobs or _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting: dict[Any, _Task] = {}
        coming = iter(tasks)
        while True:
            for task in coming:
                waiting[remote.remote(shared, task)] = task
                if len(waiting) >= most:
                    break
            if not waiting:
                return
            done, _ = ray.wait([*waiting], num_returns=1)
            task = waiting.pop(done[0])
            try:
                yield ray.get(done[0])
            except ray.exceptions.WorkerCrashedError:
                yield failed(task, f"Its worker died {_RETRIES + 1} times.")
            except ray.exceptions.RayError as error:
                why = str(error).strip().rpartition("\n")[2].rstrip(".")
                yield failed(task, f"Ray gave it up ({type(error).__name__}: {why}).")


def _work_on(work: Callable[[_Task], _Result], task: _Task) -> _Result:
    return work(task)


@contextmanager
def _running() -> Iterator[Any]:
    """Connect to Ray: the one in use, the cluster of RAY_ADDRESS or of this machine, or a new one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report its use to its makers.
    try:
        import ray
    except ImportError:
        raise missing("--engine ray needs Ray", "ray") from None
    if ray.is_initialized():
        yield ray
        return
    try:
        ray.init(log_to_driver=False, logging_level="error")
    except Exception as error:  # Ray raises the bare class where a busy machine is too slow for it.
        raise CondenseError(f"Ray did not start ({error}).") from None
    try:
        yield ray
    finally:
        ray.shutdown()
