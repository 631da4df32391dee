"""Work spread over processes: order, errors, and what happens when it is left early."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import LONG

from condense_cli.errors import CondenseError, NotJsonError
from condense_cli.storage.processes import TRIES, in_order


class _TwoWordsError(Exception):
    """An error that cannot be made again from what it was told."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def _fail(task: int) -> int:
    if task == 2:
        raise NotJsonError("it is broken", "mend it")
    return task


def _fail_strangely(task: int) -> int:
    raise _TwoWordsError("strange", "thing")


def _give_a_function(task: int) -> object:
    return lambda: task


def _work_long(folder: Path) -> None:
    (folder / "begun").touch()
    time.sleep(LONG)
    (folder / "done").touch()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    assert list(in_order(abs, [-3, 2, -1], jobs)) == [3, 2, 1]
    assert list(in_order(abs, [], jobs)) == []


# What is handed out waits in memory: never more than a few tasks, however many there are.
@pytest.mark.parametrize(("ahead", "most"), [(None, 8), (6, 9)])
def test_tasks_are_taken_as_they_are_needed(ahead: int | None, most: int) -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    results = in_order(abs, endless(), 2, ahead=ahead)
    assert [next(results) for _ in range(3)] == [1, 2, 3]
    results.close()  # type: ignore[attr-defined]
    assert taken <= most


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_where_its_result_would(jobs: int) -> None:
    results = in_order(_fail, [1, 2, 3], jobs)
    assert next(results) == 1
    with pytest.raises(NotJsonError, match="it is broken") as refused:
        next(results)
    assert refused.value.hint == "mend it"


def test_an_error_tells_where_it_was_raised() -> None:
    with pytest.raises(NotJsonError) as refused:
        list(in_order(_fail, [2], 2))
    assert "_fail" in refused.value.__notes__[0]


@pytest.mark.slow
def test_errors_and_results_that_cannot_travel_are_told() -> None:
    with pytest.raises(CondenseError, match="_TwoWordsError: strange thing"):
        list(in_order(_fail_strangely, [1], 2))
    with pytest.raises(Exception, match="pickle"):
        list(in_order(_give_a_function, [1], 2))


def _die_once(path: Path) -> str:
    if not path.exists():
        path.touch()
        os._exit(9)
    return path.name


def _die_always(path: Path) -> str:
    with path.open("a") as file:
        file.write("x")
    if path.name == "b":
        os._exit(9)
    return path.name


@pytest.mark.slow
def test_a_killed_process_is_an_error_and_no_endless_wait() -> None:
    with pytest.raises(CondenseError, match="was killed") as refused:
        list(in_order(os._exit, [9, 9], 2))
    assert "-j 1" in refused.value.hint


@pytest.mark.slow
def test_a_task_whose_process_was_killed_is_begun_anew(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcd"]
    assert list(in_order(_die_once, paths, 2)) == ["a", "b", "c", "d"]


@pytest.mark.slow
def test_a_task_that_kills_its_processes_stops_no_other(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcd"]
    found = list(in_order(_die_always, paths, 2, died=lambda path, why: f"{path.name}: {why}"))
    assert found == ["a", f"b: Its process was killed {TRIES} times.", "c", "d"]
    assert [len(path.read_text()) for path in paths] == [1, TRIES, 1, 1]


def test_what_runs_is_given_up_when_nobody_wants_it(tmp_path: Path) -> None:
    def tasks() -> Iterator[Path]:
        yield tmp_path
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(in_order(_work_long, tasks(), 2))
    assert not (tmp_path / "done").exists()
