"""Links in the place of a file of condense's own: it never writes through them, and says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import DATA, as_lines, condense
from many_files import run
from replacing import in_place
from rowsets import LONG, rows

from condense_cli.errors import ExitStatus
from condense_cli.llm.cache import Cache, Stored
from condense_cli.rows.many_files import NAME
from condense_cli.storage import backups

KEY = b"key"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A file of somebody else."""
    path = tmp_path / "elsewhere" / "mine.jsonl"
    path.parent.mkdir()
    path.write_text("mine")
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    for name, data in {
        "a/session.jsonl": DATA,
        "a/rows.jsonl": as_lines(rows(LONG, 1)),
        "b/session.jsonl": DATA,
    }.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "in"


@pytest.mark.parametrize("name", ["a/session.jsonl", "a/rows.jsonl"])
def test_a_file_that_is_a_link_in_the_folder_of_results_fails_alone(
    name: str, inputs: Path, elsewhere: Path, tmp_path: Path
) -> None:
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    done = run(inputs, "--out-dir", "out", "--json", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    (failed,) = [each for each in done.json["results"] if each["status"] == "failed"]
    assert "is a link" in failed["why"]
    assert (link.is_symlink(), elsewhere.read_text()) == (True, "mine")
    assert (tmp_path / "out/b/session.jsonl").is_file()


def test_a_link_to_nothing_makes_no_file_there(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "out/b").mkdir(parents=True)
    (tmp_path / "out/b/session.jsonl").symlink_to(tmp_path / "gone")
    assert run(inputs, "--out-dir", "out", cwd=tmp_path).status == ExitStatus.FAILED
    assert not (tmp_path / "gone").exists()


def test_a_folder_that_is_a_link_in_the_folder_of_results_is_not_entered(
    inputs: Path, elsewhere: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/b").symlink_to(elsewhere.parent)
    done = run(inputs, "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert os.listdir(elsewhere.parent) == [elsewhere.name]


def test_the_note_of_what_was_done_is_no_link(inputs: Path, elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).symlink_to(elsewhere)
    done = run(inputs, "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert "is a link" in done.stderr
    assert elsewhere.read_text() == "mine"
    assert os.listdir(tmp_path / "out") == [NAME]


# The user named these, and nobody else put them there.
def test_what_the_user_names_may_be_a_link(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    assert run(inputs, "--out-dir", "out", cwd=tmp_path).status == ExitStatus.DONE
    (tmp_path / "link.jsonl").symlink_to("target.jsonl")
    assert run(inputs / "b/session.jsonl", "-o", "link.jsonl", cwd=tmp_path).status == ExitStatus.DONE
    assert (tmp_path / "target.jsonl").read_bytes() == (tmp_path / "real/b/session.jsonl").read_bytes()
    assert (tmp_path / "link.jsonl").is_symlink()


def test_a_link_that_is_named_like_a_backup_is_none(elsewhere: Path, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(DATA)
    in_place(file)
    (file.parent / f"{file.name}.20991231T000000.000000Z.4-5f2c91d8a1b2.condense-backup").symlink_to(elsewhere)
    assert len(backups.backups_of(file)) == 1
    condense("undo", file)
    assert (file.is_symlink(), file.read_bytes()) == (False, DATA)


def test_a_cache_that_is_a_link_is_not_used(elsewhere: Path, tmp_path: Path) -> None:
    link = tmp_path / "cache" / "summaries.sqlite3"
    link.parent.mkdir()
    elsewhere.write_bytes(b"")
    elsewhere.chmod(0o644)
    link.symlink_to(elsewhere)
    cache = Cache(link)
    cache.put(KEY, Stored("an answer"))
    assert cache.get(KEY) is None
    assert any("is a link" in note for note in cache.notes)
    assert (elsewhere.read_bytes(), elsewhere.stat().st_mode & 0o777) == (b"", 0o644)
