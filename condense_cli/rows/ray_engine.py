"""Spread files over the workers of Ray (the extra `ray`), on this machine or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ..errors import CondenseError
from ..storage.extras import missing

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_TRIES: Final = 3
"""Retries of a task whose worker died; after these, the task itself is most likely the cause."""
_AHEAD: Final = 2
"""Tasks per processor that wait at Ray, so that it never holds many."""


def as_done(
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
        remote = ray.remote(num_cpus=1, max_retries=_TRIES, scheduling_strategy="SPREAD")(work_on)
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
                yield failed(task, f"Its worker died {_TRIES + 1} times.")
            except ray.exceptions.RayError as error:
                yield failed(task, f"Ray gave it up ({type(error).__name__}: {_last_line(error)}).")


def work_on(work: Callable[[_Task], _Result], task: _Task) -> _Result:
    """Work on one task, in a worker."""
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


def _last_line(error: Exception) -> str:
    return str(error).strip().rpartition("\n")[2].rstrip(".")
