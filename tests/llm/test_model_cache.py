"""The cache of answers: what it keeps, who may read it, and that nothing wrong with it stops a run."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from condense_cli.config.profiles import BUILT_IN
from condense_cli.llm import cache as cache_module
from condense_cli.llm.cache import Cache, Stored, cache_path, key_of
from condense_cli.llm.client import Cause, ModelRequest

MINI = BUILT_IN["gpt-4o-mini"]
REQUEST = ModelRequest("Shorten it.", "a text", 100)
KEY = key_of(REQUEST, MINI)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "summaries.sqlite3"


def test_what_was_put_is_there_for_the_next_run(path: Path) -> None:
    first = Cache(path)
    first.put(KEY, Stored("a summary — 日本語"))
    first.close()
    assert Cache(path).get(KEY) == Stored("a summary — 日本語")


def test_a_refusal_is_kept_too(path: Path) -> None:
    Cache(path).put(KEY, Stored(reason=Cause.EMPTY))
    assert Cache(path).get(KEY) == Stored(reason=Cause.EMPTY)


def test_what_was_never_put_is_not_there(path: Path) -> None:
    cache = Cache(path)
    assert cache.get(KEY) is None
    assert cache.notes == []


def test_a_lone_surrogate_stops_nothing(path: Path) -> None:
    cache = Cache(path)
    cache.put(key_of(replace(REQUEST, prompt="\ud800"), MINI), Stored("half \ud800 a character"))
    assert cache.notes == []


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_user_may_read_it(path: Path) -> None:
    cache = Cache(path)
    cache.put(KEY, Stored("a summary"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes.pop("summaries.sqlite3") == 0o600
    assert set(modes.values()) <= {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_holds_no_question(path: Path) -> None:
    cache = Cache(path)
    cache.put(key_of(ModelRequest("my system", "my secret text", 9), MINI), Stored("an answer"))
    cache.close()
    held = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"an answer" in held
    assert b"secret" not in held
    assert b"my system" not in held


# Whatever decides what a model answers is part of the key; nothing else is.
@pytest.mark.parametrize(
    ("request_changes", "profile_changes"),
    [
        ({"system": "Shorten it!"}, {}),
        ({"prompt": "a text."}, {}),
        ({"limit": 101}, {}),
        ({}, {"model": "gpt-4o"}),
        ({}, {"api": "anthropic"}),
        ({}, {"base_url": "http://localhost:1/v1"}),
        ({}, {"reasoning_effort": "low"}),
        ({}, {"max_tokens": 120}),
    ],
)
def test_what_the_key_depends_on(request_changes: dict[str, Any], profile_changes: dict[str, Any]) -> None:
    assert key_of(replace(REQUEST, **request_changes), replace(MINI, **profile_changes)) != KEY


@pytest.mark.parametrize("changes", [{"max_retries": 9}, {"max_parallel_calls": 1}, {"key_variable": "OTHER"}])
def test_what_the_key_does_not_depend_on(changes: dict[str, Any]) -> None:
    assert key_of(replace(REQUEST, replaced=5), replace(MINI, **changes)) == KEY


def test_a_text_that_moves_from_prompt_to_system_is_another_request() -> None:
    assert key_of(ModelRequest("ab", "c", 9), MINI) != key_of(ModelRequest("a", "bc", 9), MINI)


def test_the_version_of_the_prompts_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "PROMPT_VERSION", "another")
    assert key_of(REQUEST, MINI) != KEY


@pytest.mark.parametrize("content", [b"this is no database at all, but a text file", bytes(range(256)) * 32])
def test_a_broken_file_is_set_aside(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    cache = Cache(path)
    assert cache.get(KEY) is None
    cache.put(KEY, Stored("new"))
    assert Cache(path).get(KEY) == Stored("new")
    assert path.with_name("summaries.sqlite3.broken-1").read_bytes() == content
    (note,) = cache.notes
    assert "broken-1" in note


def test_a_database_that_breaks_later_is_set_aside(path: Path) -> None:
    cache = Cache(path)
    for number in range(300):
        cache.put(key_of(replace(REQUEST, prompt=str(number)), MINI), Stored("text " * 100))
    cache.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    again = Cache(path)
    assert again.get(KEY) is None
    again.put(KEY, Stored("new"))
    assert Cache(path).get(KEY) == Stored("new")


# The log that SQLite keeps beside a database must not be written into the new one.
def test_the_log_of_a_broken_file_is_not_taken_for_that_of_the_new_one(path: Path, tmp_path: Path) -> None:
    cache = Cache(path)
    for number in range(300):
        cache.put(key_of(replace(REQUEST, prompt=str(number)), MINI), Stored("text " * 100))
    cache.close()
    cache.put(key_of(replace(REQUEST, prompt="late"), MINI), Stored("in the log only"))
    copy = tmp_path / "copy.sqlite3"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    copy.write_bytes(data)
    copy.with_name("copy.sqlite3-wal").write_bytes(path.with_name(f"{path.name}-wal").read_bytes())
    again = Cache(copy)
    for number in range(300):
        again.get(key_of(replace(REQUEST, prompt=str(number)), MINI))
    again.put(KEY, Stored("new"))
    assert again.info().answers == 1
    again.close()
    assert sqlite3.connect(copy).execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("make", [lambda path: path.mkdir(parents=True), lambda path: path.parent.write_text("a file")])
def test_where_nothing_can_be_written_the_run_goes_on(path: Path, make: Any) -> None:
    make(path)
    cache = Cache(path)
    assert cache.get(KEY) is None
    cache.put(KEY, Stored("a summary"))
    assert cache.get(KEY) is None
    (note,) = cache.notes
    assert "the run continues without it" in note


def test_a_locked_cache_is_done_without(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_WAIT", 0.01)
    Cache(path).put(KEY, Stored("a summary"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache = Cache(path)
    cache.put(KEY, Stored("another"))
    other.close()
    assert len(cache.notes) == 1


CHILD = """
import sys
from pathlib import Path
from condense_cli.llm.cache import Cache, Stored
cache = Cache(Path(sys.argv[1]))
for number in range(100):
    cache.put(f"{sys.argv[2]}-{number}".encode(), Stored(f"text {number}"))
    assert cache.get(f"{sys.argv[2]}-{number}".encode()) == Stored(f"text {number}")
print(cache.notes)
"""


def test_several_processes_at_once(path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(path)]
    processes = [subprocess.Popen([*command, str(each)], stdout=subprocess.PIPE, text=True) for each in range(4)]
    assert [process.communicate()[0] for process in processes] == ["[]\n"] * 4
    assert Cache(path).info().answers == 400


def test_info_and_clear(path: Path) -> None:
    cache = Cache(path)
    assert cache.info().answers == cache.info().bytes == cache.clear() == 0
    assert not path.exists(), "asking makes no file"
    cache.put(KEY, Stored("a summary"))
    cache.put(b"other", Stored(reason=Cause.OVER_LIMIT))
    found = cache.info()
    assert (found.path, found.answers, found.refused) == (path, 2, 1)
    assert found.bytes > 0
    assert cache.clear() == 2
    assert cache.get(KEY) is None
    cache.put(KEY, Stored("again"))
    assert cache.info().answers == 1


def test_it_lies_in_the_users_cache_folder(isolated_home: Path) -> None:
    assert cache_path().is_relative_to(isolated_home)
