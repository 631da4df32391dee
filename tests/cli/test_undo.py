"""`condense undo`: the file as it was, step by step, and what came later is never lost."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers import DATA, SMALLER, condense, snapshot
from replacing import GREW, appended, beside, in_place

from condense_cli.errors import ExitStatus
from condense_cli.storage import backups


# The file as it was, its permissions and time included; what condense wrote can be written again, so it goes.
def test_undo_brings_back_the_file(file: Path) -> None:
    file.chmod(0o640)
    os.utime(file, ns=(1_700_000_000_000_000_000,) * 2)
    before = snapshot(file.parent)
    in_place(file)
    done = condense("undo", file)
    assert (done.status, snapshot(file.parent)) == (ExitStatus.DONE, before)
    assert f"({len(DATA):,} bytes)" in done.text


def test_undo_does_not_offer_standard_input() -> None:
    done = condense("undo")
    assert (done.status, "standard input" in done.message) == (ExitStatus.USAGE, False)


def test_undo_goes_back_step_by_step(file: Path) -> None:
    in_place(file, "--keep-recent", "12")
    between = file.read_bytes()
    in_place(file)
    assert len({DATA, between, file.read_bytes()}) == 3
    condense("undo", file)
    assert file.read_bytes() == between
    condense("undo", file)
    assert (file.read_bytes(), beside(file)) == (DATA, [])


def test_a_session_that_went_on_is_not_undone(file: Path) -> None:
    in_place(file)
    appended(file)
    appended(file)
    before = snapshot(file.parent)
    done = condense("undo", file)
    assert (done.status, snapshot(file.parent)) == (ExitStatus.FAILED, before)
    assert f"2 lines ({2 * len(GREW)} bytes)" in done.message
    assert "--force" in done.message


# With --force nothing is lost either, and can be brought back by its name.
def test_undo_by_force_keeps_what_came_later(file: Path) -> None:
    in_place(file)
    appended(file)
    done = condense("undo", file, "--force")
    assert (done.status, file.read_bytes()) == (ExitStatus.DONE, DATA)
    (kept,) = beside(file)
    assert kept.name.endswith(".condense-undone")
    assert kept.read_bytes() == SMALLER + GREW
    assert kept.name in done.text
    refusal = condense("undo", file).message
    assert "was undone already" in refusal
    assert kept.name in refusal
    assert condense("undo", file, "--backup", kept.name).status == ExitStatus.FAILED
    again = condense("undo", file, "--backup", kept.name, "--force", "--json").json
    assert file.read_bytes() == SMALLER + GREW
    assert again["restored"]["name"] == kept.name
    assert (file.parent / again["kept"]).read_bytes() == DATA


# Whatever else is named like one hides no backup: a link to what is gone, a time that never was.
def test_names_that_lead_nowhere_are_no_backups(file: Path) -> None:
    in_place(file)
    (backup,) = beside(file)
    for time in ("20200101T000000.000000Z", "20991231T000000.000000Z"):
        (file.parent / f"{file.name}.{time}.5-5f2c91d8a1b2.condense-backup").symlink_to("gone")
    (file.parent / f"{file.name}.20261399T000000.000000Z.5-5f2c91d8a1b2.condense-backup").write_text("no date")
    assert [found.path for found in backups.backups_of(file)] == [backup]
    condense("undo", file)
    assert file.read_bytes() == DATA


def test_the_list_of_backups(file: Path) -> None:
    assert "no backup" in condense("undo", file, "--list").text
    in_place(file, "--keep-recent", "12")
    between = file.stat().st_size
    in_place(file)
    before = snapshot(file.parent)
    listed = condense("undo", file, "--list")
    lines = listed.text.splitlines()
    assert [line.split()[2] for line in lines] == [f"{between:,}", f"{len(DATA):,}"]
    found = condense("undo", file, "-l", "--json").json
    assert (found["version"], found["input"]) == (2, str(file))
    assert [(entry["kind"], entry["bytes"]) for entry in found["backups"]] == [
        ("backup", between),
        ("backup", len(DATA)),
    ]
    assert all(line.endswith(entry["name"]) for line, entry in zip(lines, found["backups"], strict=True))
    assert datetime.fromisoformat(found["backups"][0]["made"]).tzinfo == UTC
    assert snapshot(file.parent) == before


def test_an_older_backup_by_its_name(file: Path) -> None:
    in_place(file, "--keep-recent", "12")
    (oldest,) = beside(file)
    in_place(file)
    done = condense("undo", file, "--backup", str(oldest), "--json")
    assert file.read_bytes() == DATA
    assert done.json["restored"] | {"made": ""} == {
        "name": oldest.name,
        "kind": "backup",
        "made": "",
        "bytes": len(DATA),
    }
    assert done.json["kept"] is None


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], ExitStatus.INPUT, "no backup"),
        (["--backup", "x"], ExitStatus.USAGE, "no backup x"),
        (["--list", "--force"], ExitStatus.USAGE, "--list"),
        (["--list", "--backup", "x"], ExitStatus.USAGE, "--list"),
    ],
)
def test_what_undo_refuses(arguments: list[str], status: ExitStatus, said: str, file: Path) -> None:
    before = snapshot(file.parent)
    done = condense("undo", file, *arguments)
    assert (done.status, snapshot(file.parent)) == (status, before)
    assert said in done.message


def test_undo_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = condense("undo", tmp_path / "nowhere" / "session.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "no backup" in done.message
