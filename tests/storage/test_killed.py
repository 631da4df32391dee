"""Whatever moment a process is killed at: the old file or the new one, whole, and nothing is lost."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import killing
import pytest
from helpers import LONG, environment
from real import PROJECT

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
