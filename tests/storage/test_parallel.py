"""Work spread over processes: order, errors, what happens when it is left early, or killed at any moment."""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import killing
import pytest
from helpers import LONG, environment
from real import PROJECT

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


SUPPORT = Path(killing.__file__).parent
OLD = killing.session()

Files = dict[str, bytes]
"""Files in a folder after a kill, by name."""


# One test, so that the kills happen once, however many processes share the tests.
@pytest.mark.slow
def test_every_kill_leaves_whole_files(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, killing.__file__, tmp_path],
        env=environment({"PYTHONPATH": f"{PROJECT}:{SUPPORT}"}),
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    assert done.returncode == 0, done.stderr
    found = {case.name: {file.name: file.read_bytes() for file in case.iterdir()} for case in tmp_path.iterdir()}
    new = found["in-place-whole"][killing.FILE]
    assert len(new) < len(OLD)
    check_in_place(cases(found, "in-place"), new)
    check_undo(cases(found, "undo"), new)
    check_undo_of_a_session_that_went_on(cases(found, "undo-force"), new + killing.GREW)
    check_output(cases(found, "output"), new)
    check_new_session(cases(found, "new-session"), found["new-session-whole"])
    for case, files in found.items():
        check_leftovers(case, files)


def cases(found: dict[str, Files], command: str) -> list[Files]:
    name = re.compile(rf"{command}-(step-\d+|moment-\d+|whole)")
    matching = [files for case, files in found.items() if name.fullmatch(case)]
    assert len(matching) > killing.AT_RANDOM + 3, "it was killed at too few steps"
    return matching


def kept(files: Files) -> list[bytes]:
    return [data for name, data in files.items() if name.endswith((".condense-backup", ".condense-undone"))]


def check_in_place(found: list[Files], new: bytes) -> None:
    """The file is the old one or the new one; as soon as it is the new one, the old one is there as a backup."""
    seen: Counter[bool] = Counter()
    for files in found:
        assert files[killing.FILE] in (OLD, new)
        assert all(data == OLD for data in kept(files))
        assert files[killing.FILE] == OLD or len(kept(files)) == 1
        seen[files[killing.FILE] == OLD] += 1
    assert seen[True] > 3, "never killed before the replacement"
    assert seen[False] > 1, "never killed after the replacement"


def check_undo(found: list[Files], new: bytes) -> None:
    """The condensed version, with the backup; or the old file, with or without what condense can write again."""
    for files in found:
        assert (files[killing.FILE], sorted(kept(files))) in (
            (new, [OLD]),
            (new, sorted([OLD, new])),
            (OLD, [new]),
            (OLD, []),
        )


def check_undo_of_a_session_that_went_on(found: list[Files], grown: bytes) -> None:
    """Later content is in the file or beside it."""
    for files in found:
        assert files[killing.FILE] in (OLD, grown)
        assert {files[killing.FILE], *kept(files)} == {OLD, grown}


def check_output(found: list[Files], new: bytes) -> None:
    """The input, and the file that was there or the new one."""
    for files in found:
        assert files[killing.FILE] == OLD
        assert files["small.jsonl"] in (killing.GREW, new)


def check_new_session(found: list[Files], whole: Files) -> None:
    """The new session is there whole, or not at all."""
    assert len(sessions_in(whole)) == 2
    for files in found:
        assert sessions_in(files) in (sessions_in(whole), {killing.FILE: OLD})


def sessions_in(files: Files) -> Files:
    return {name: data for name, data in files.items() if name.endswith(".jsonl")}


def check_leftovers(case: str, files: Files) -> None:
    """Clients list what ends in .jsonl or .json: no leftover does, and there is at most one."""
    sessions = {name for name in files if name.endswith((".json", ".jsonl"))} - {killing.FILE, "small.jsonl"}
    assert not sessions or case.startswith("new-session")
    assert sum(name.endswith(".part") for name in files) <= 1
