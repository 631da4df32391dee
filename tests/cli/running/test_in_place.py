"""`condense run --in-place`: nothing is ever lost, and what is not safe is refused."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import DATA, SMALLER, condense, condense_on_terminal, snapshot
from replacing import GREW, beside, in_place

from condense_cli.clients import claude_code
from condense_cli.errors import ExitStatus
from condense_cli.storage import backups

IS_ROOT = os.geteuid() == 0


# The file holds what `-o` would have written, the backup what the file held.
def test_the_file_is_replaced_and_a_backup_stays(file: Path) -> None:
    done = in_place(file)
    assert (done.status, file.read_bytes()) == (ExitStatus.DONE, SMALLER)
    (backup,) = beside(file)
    assert backup.read_bytes() == DATA
    assert f"Condensed in place: {file} ({len(SMALLER):,} bytes)" in done.text
    assert backup.name in done.text


def test_the_json_report_names_the_backup(file: Path) -> None:
    report = in_place(file, "--json").json
    assert (report["output"], report["new_session"]) == (str(file), None)
    assert report["backup"] == str(beside(file)[0])
    assert condense("run", file, "--json").json["backup"] is None


def test_in_place_is_told_on_a_terminal_and_not_when_quiet(file: Path) -> None:
    assert "Condensed in place" in condense_on_terminal("run", file, "-p", "speed", "--in-place").plain
    assert file.read_bytes() == SMALLER
    quiet = in_place(file, "-q")
    assert (quiet.stdout, quiet.stderr) == (b"", "")


def test_nothing_changes_and_nothing_is_written_when_there_is_nothing_to_do(file: Path) -> None:
    file.write_bytes(SMALLER)
    before = snapshot(file.parent)
    done = in_place(file)
    assert "Nothing changed, so nothing was written." in done.text
    assert (done.status, snapshot(file.parent)) == (ExitStatus.DONE, before)
    assert in_place(file, "--json").json["output"] is None


def test_a_dry_run_writes_nothing(file: Path) -> None:
    before = snapshot(file.parent)
    assert in_place(file, "--dry-run").status == ExitStatus.DONE
    assert snapshot(file.parent) == before


def test_permissions_stay(file: Path) -> None:
    file.chmod(0o640)
    in_place(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert stat.S_IMODE(beside(file)[0].stat().st_mode) == 0o640


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 12_345, 54_321)
    in_place(file)
    assert (file.stat().st_uid, file.stat().st_gid) == (12_345, 54_321)


# A program that holds the old file open writes into the backup, not into nothing.
def test_what_is_written_to_the_open_old_file_is_in_the_backup(file: Path) -> None:
    with file.open("ab") as opened:
        assert in_place(file, "--force").status == ExitStatus.DONE
        opened.write(GREW)
    assert file.read_bytes() == SMALLER
    assert beside(file)[0].read_bytes() == DATA + GREW


@pytest.mark.skipif(not Path("/proc/self/fdinfo").is_dir(), reason="needs the /proc of Linux")
@pytest.mark.parametrize(("mode", "is_refused"), [("ab", True), ("r+b", True), ("rb", False)])
def test_a_file_that_a_program_holds_open_for_writing_is_refused(mode: str, is_refused: bool, file: Path) -> None:
    code = f"import sys; opened = open({str(file)!r}, {mode!r}); print('open', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        done = in_place(file)
        if is_refused:
            assert done.status == ExitStatus.FAILED
            assert f"process {holder.pid}" in done.message
            assert (file.read_bytes(), beside(file)) == (DATA, [])
            assert in_place(file, "--force").status == ExitStatus.DONE
        assert file.read_bytes() == SMALLER
    finally:
        holder.communicate()


def test_lsof_is_asked_where_there_is_no_proc(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lsof = tmp_path / "bin" / "lsof"
    lsof.parent.mkdir()
    lsof.write_text(
        f"#!/bin/sh\nprintf 'p{os.getpid()}\\ncpython\\nf3\\naw\\np77\\nctail\\nf3\\nar\\np78\\ncnode\\nf9\\nau\\n'"
    )
    lsof.chmod(0o755)
    monkeypatch.setattr(backups, "_PROCESSES", tmp_path / "nothing")
    monkeypatch.setenv("PATH", str(lsof.parent), prepend=os.pathsep)
    assert [str(writer) for writer in backups.writers(file)] == ["node (process 78)"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert backups.writers(file) == []


# Claude Code reads a session once: whoever has it open is told to resume it.
def test_a_running_client_is_named(tmp_path: Path) -> None:
    id = "5f0c9a1e-0000-4000-8000-000000000001"
    file = tmp_path / "projects" / "-home-dev" / f"{id}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(DATA)
    (tmp_path / "sessions").mkdir()
    entry = tmp_path / "sessions" / f"{os.getpid()}.json"
    entry.write_text("not JSON")
    assert claude_code.running(file) is None
    entry.write_text(json.dumps({"pid": os.getpid(), "sessionId": id}))
    assert in_place(file, "--json").json["warnings"] == [
        f"claude (process {os.getpid()}) has this session open and keeps using the old content until you resume it."
    ]
    entry.rename(entry.with_name("4194305.json"))  # No process has such a number.
    assert claude_code.running(file) is None


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_refused(what: str, file: Path) -> None:
    protected = file if what == "file" else file.parent
    mode = protected.stat().st_mode
    protected.chmod(0o555)
    try:
        done = in_place(file)
    finally:
        protected.chmod(mode)
    assert done.status == ExitStatus.FAILED
    assert str(file) in done.message
    assert (file.read_bytes(), beside(file)) == (DATA, [])


# The same without needing another user: the system refuses, and nothing is left behind.
@pytest.mark.parametrize("step", ["access", "link", "open"])
def test_what_the_system_refuses_leaves_everything_as_it_was(
    step: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    if step == "access":
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    if step == "link":
        monkeypatch.setattr(os, "link", refuse)
    if step != "access":
        monkeypatch.setattr(os, "open", refuse)
    done = in_place(file)
    assert done.status == ExitStatus.FAILED
    assert str(file) in done.message
    assert (file.read_bytes(), beside(file)) == (DATA, [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--in-place", "-o", "x.jsonl"], "-o and --in-place"),
        (["--in-place", "--new-session"], "--new-session and --in-place"),
        (["--new-session", "-o", "-"], "-o and --new-session"),
        (["--force"], "--force needs --in-place"),
    ],
)
def test_options_that_exclude_each_other(arguments: list[str], said: str, file: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = condense("run", file, *arguments, cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert said in done.message
    assert snapshot(tmp_path) == before


def test_standard_input_is_refused() -> None:
    for arguments in (("run", "-", "--in-place"), ("undo", "-"), ("undo", "-", "--list")):
        done = condense(*arguments, stdin=DATA)
        assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
        assert "not a file" in done.message


# A folder, or a pipe that would have to be read again.
def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe"):
        for arguments in (("run", name, "--in-place"), ("undo", name)):
            done = condense(*arguments)
            assert done.status == ExitStatus.USAGE
            assert re.search(r"is a folder|is not a file", done.message)


def test_output_that_is_the_input_points_to_in_place(file: Path) -> None:
    assert "--in-place" in condense("run", file, "-o", file).message
    assert "--in-place" not in condense("run", file, "--report", file).message
