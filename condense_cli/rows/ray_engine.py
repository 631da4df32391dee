"""Files spread over the workers of Ray (the extra `ray`): on this machine, or on the cluster that is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ..errors import CondenseError

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_TRIES: Final = 3
"""So often a task begins again whose worker died; the next reason to die is most likely its own."""
_AHEAD: Final = 2
"""Tasks for each processor that wait at Ray: it knows of few, however many there are."""


def as_done(
    work: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    failed: Callable[[_Task, str], _Result],
    jobs: int | None = None,
) -> Iterator[_Result]:
    """What `work` makes of each task, as they are done, and what `failed` makes of one whose workers died.

    `work` raises nothing. So many `jobs` wait or run at a time. Ray that is started here is stopped in the end. Raises
    CondenseError where there is no Ray.
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
    """One task, in a worker."""
    return work(task)


@contextmanager
def _running() -> Iterator[Any]:
    """Ray: the one that this process is connected to, the cluster of RAY_ADDRESS or of this machine, or a new one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # It would tell its makers.
    try:
        import ray
    except ImportError:
        raise CondenseError(
            "--engine ray needs Ray, which is not installed.", "pip install 'condense-cli[ray]'"
        ) from None
    if ray.is_initialized():
        yield ray
        return
    try:
        ray.init(log_to_driver=False, logging_level="error")
    except (RuntimeError, ConnectionError, TimeoutError) as error:
        raise CondenseError(f"Ray did not start ({error}).") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _last_line(error: Exception) -> str:
    return str(error).strip().rpartition("\n")[2].rstrip(".")
