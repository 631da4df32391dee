"""Facts about sessions are cached, and a broken cache does no harm."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from helpers import COMMAND, LONG, as_lines, environment, snapshot
from machine import Machine, dialogue, written

from condense_cli.clients import listing
from condense_cli.clients.listing import NAME, FactsCache, facts_of
from condense_cli.clients.table import find, places
from condense_cli.storage.cache_files import CacheFile, is_broken

ROLLOUT = "019fc8be-3658-7ca3-9e29-00000000000a"


def test_listing_changes_nothing_but_its_memory(machine: Machine) -> None:
    """Sessions are only read; the memory is for nobody else to read."""
    machine.claude_code("a")
    machine.codex(ROLLOUT)
    before = snapshot(machine.home)
    machine.rows()
    assert snapshot(machine.home) == before
    assert [path.name for path in machine.cache.rglob("*") if path.is_file()] == [NAME]
    file = machine.cache / "condense" / NAME
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_session_that_changed_is_read_again(machine: Machine) -> None:
    path = machine.claude_code("a", *dialogue("one"))
    assert [row["title"] for row in machine.rows()] == ["one"]
    written(path, as_lines(dialogue("two")), age=-1)
    assert [row["title"] for row in machine.rows()] == ["two"]
    written(path, as_lines(dialogue("seven")), age=-1)
    assert [row["title"] for row in machine.rows()] == ["seven"]


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "other program", "garbage rows", "folder"])
def test_a_damaged_memory_is_set_aside(machine: Machine, damage: str) -> None:
    """Listing goes on, and remembers again."""
    machine.claude_code("a", *dialogue("one"))
    machine.rows()
    path = machine.cache / "condense" / NAME
    if damage == "text":
        path.write_bytes(b"this is no database, although it is long enough to be one" * 100)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "other program":
        path.unlink()
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE facts (something TEXT)")
        database.close()
    elif damage == "garbage rows":
        with sqlite3.connect(path) as database:
            database.execute("UPDATE facts SET facts = x'00ff'")
        database.close()
    else:
        path.unlink()
        path.mkdir()
    assert [row["title"] for row in machine.rows()] == ["one"]
    assert [row["title"] for row in machine.rows()] == ["one"]
    assert path.with_name(f"{NAME}.broken-1").exists() == (damage in ("text", "cut"))


def test_a_memory_that_breaks_while_it_is_open_is_set_aside(machine: Machine, tmp_path: Path) -> None:
    """Afterwards it returns nothing, and never raises."""
    path = machine.claude_code("a")
    (file,) = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    cache.put([(file, facts_of(file))])
    assert cache.get(file)
    cache.close()
    data = bytearray((machine.cache / NAME).read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (machine.cache / NAME).write_bytes(data)
    cache = FactsCache(machine.cache)
    cache.get(file)
    cache.put([(file, facts_of(file))])
    cache.put([(file, facts_of(file))])
    assert cache.get(file)
    cache.close()
    assert path.exists()


def test_what_is_remembered_is_read_on_where_nothing_can_be_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_WAIT", 0.01)
    machine.claude_code("a")
    (file,) = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    cache.put([(file, facts_of(file))])
    with closing(sqlite3.connect(machine.cache / NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        cache.put([(file, facts_of(file))])
        assert cache.get(file)
    cache.close()


def test_of_two_processes_one_sets_a_broken_file_aside(tmp_path: Path) -> None:
    """The other, which saw the damage too, must not move the new file away."""
    path = tmp_path / NAME
    path.write_bytes(b"this is no database" * 100)
    first, second = (CacheFile(path, "CREATE TABLE IF NOT EXISTS facts (path)", 1.0) for _ in range(2))
    for file in (first, second):
        with pytest.raises(sqlite3.DatabaseError) as caught:
            file.connect()
        assert is_broken(caught.value)
    assert first.set_aside() == tmp_path / f"{NAME}.broken-1"
    first.connect().close()
    assert second.set_aside() is None
    second.connect().close()
    assert sorted(tmp_path.glob("*.broken*")) == [tmp_path / f"{NAME}.broken-1"]


def test_without_a_place_to_write_listing_works(machine: Machine, tmp_path: Path) -> None:
    """The folder is a file, or the database is locked by someone."""
    machine.claude_code("a")
    machine.cache.write_bytes(b"a file where the folder should be")
    assert machine.ids() == ["a"]
    machine.cache.unlink()
    assert machine.ids() == ["a"]
    database = sqlite3.connect(machine.cache / "condense" / NAME, isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    machine.claude_code("b", age=-1)
    from condense_cli.clients import listing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_WAIT", 0.01)
        assert machine.ids() == ["b", "a"]
    database.execute("ROLLBACK")
    database.close()


@pytest.mark.slow
def test_several_processes_share_the_memory(machine: Machine) -> None:
    """Started at once, on a machine where nothing is remembered yet; every one gives the whole list."""
    for number in range(40):
        machine.claude_code(f"{number:08d}", age=number)
    command = [*COMMAND, "sessions", "--json", "--limit", "0"]
    running = [
        subprocess.Popen(command, env=environment(machine.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    outputs = [process.communicate(timeout=LONG) for process in running]
    assert {process.returncode for process in running} == {0}
    assert {err for _, err in outputs} == {b""}
    assert len({out for out, _ in outputs}) == 1
    assert len(json.loads(outputs[0][0])["sessions"]) == 40
    assert not list(machine.cache.rglob("*.broken*"))
    with sqlite3.connect(machine.cache / "condense" / NAME) as database:
        assert database.execute("SELECT count(*) FROM facts").fetchone() == (40,)
    database.close()


def test_the_memory_does_not_grow_for_ever(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest rows are kept."""
    from condense_cli.clients import listing as module

    monkeypatch.setattr(module, "_ROWS", 5)
    for number in range(12):
        machine.claude_code(f"{number:02d}", age=number)
    files = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    for file in files:
        cache.put([(file, facts_of(file))])
    assert [file.id for file in files if cache.get(file)] == [f"{number:02d}" for number in range(7, 12)]
    cache.close()


def test_what_another_version_remembered_is_not_used(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have counted otherwise, or not have known the format."""
    from condense_cli.clients import listing as module

    machine.claude_code("a")
    (file,) = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    cache.put([(file, facts_of(file))])
    cache.close()
    monkeypatch.setattr(module, "_SHAPE", 0)
    cache = FactsCache(machine.cache)
    assert cache.get(file) is None
    cache.close()
