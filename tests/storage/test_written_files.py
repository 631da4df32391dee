"""The files of a run: permissions, links and order of writing; compressed files and sessions in a database."""

import gzip
import os
import re
import sqlite3
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers import SMALLER, as_lines, condense, condense_process, snapshot
from rowsets import DATA, SPEED, expected, rows

from condense_cli.errors import ExitStatus, UnreadableError
from condense_cli.storage import files
from condense_cli.storage.backups import replace_in_place, undo
from condense_cli.storage.files import create_bytes, packed, stamp, unpacked, write_bytes
from condense_cli.storage.session_databases import exported


@pytest.mark.slow
def test_a_new_output_follows_the_umask(file: Path, tmp_path: Path) -> None:
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        out = tmp_path / f"out-{umask:o}"
        condense_process("run", file, "-q", "-o", out, "--report", tmp_path / "report.json", umask=umask)
        assert stat.S_IMODE(out.stat().st_mode) == mode


def test_an_output_may_be_a_device(file: Path) -> None:
    """`-o /dev/null` and `-o /dev/stdout` are written to as they are, not replaced."""
    assert condense_process("run", file, "-p", "speed", "-q", "-o", "/dev/null").status == ExitStatus.DONE
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert condense_process("run", file, "-p", "speed", "-q", "-o", "/dev/stdout").stdout == SMALLER


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-o", "small.jsonl"),
        ("-o", "-"),
        ("--json", "--explain"),
        ("--dry-run",),
        ("--report", "report.json", "--html", "page.html", "-q"),
        ("--target-tokens", "10", "--strict"),
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_the_input_is_never_touched(arguments: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    os.utime(file, ns=(1_000_000_000_000_000_000, 1_000_000_000_000_000_000))
    before = snapshot(tmp_path)["session.jsonl"]
    assert condense("run", file, "-p", "speed", *arguments, cwd=tmp_path).status in (0, 4)
    assert snapshot(tmp_path)["session.jsonl"] == before


def test_an_input_without_write_permission_is_no_problem(file: Path, tmp_path: Path) -> None:
    file.chmod(0o400)
    assert condense("run", file, "-p", "speed").stdout == SMALLER


NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Calls to the system: `file` and `folder` for flushes, `replace` and `link` for new names."""
    made: list[str] = []
    fsync, replace, link = os.fsync, os.replace, os.link

    def flushed(handle: int) -> None:
        status = os.fstat(handle)
        made.append("folder" if stat.S_ISDIR(status.st_mode) else f"file of {status.st_size}")
        fsync(handle)

    def replaced(old: Path, new: Path) -> None:
        made.append("replace")
        replace(old, new)

    def linked(old: Path, new: Path) -> None:
        made.append("link")
        link(old, new)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "link", linked)
    return made


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_is_flushed_before_it_takes_its_name(is_there: bool, tmp_path: Path, calls: list[str]) -> None:
    path = tmp_path / "out"
    if is_there:
        path.write_bytes(b"old")
    write_bytes(path, b"new content")
    assert calls == ["file of 11", "replace", "folder"]


def test_a_new_file_is_flushed_before_it_takes_its_name(tmp_path: Path, calls: list[str]) -> None:
    (tmp_path / "like").write_bytes(b"")
    assert create_bytes(tmp_path / "out", b"new content", like=tmp_path / "like")
    assert calls == ["file of 11", "link", "folder"]


def test_a_backup_is_on_the_disk_before_anything_takes_the_place_of_the_file(tmp_path: Path, calls: list[str]) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"long content")
    replace_in_place(path, b"short", read=b"long content", seen=stamp(path), now=NOW)
    assert calls == ["file of 12", "link", "folder", "file of 5", "replace", "folder"]
    calls.clear()
    undo(path, now=NOW)
    assert calls == ["file of 5", "link", "folder", "replace", "folder"]
    assert path.read_bytes() == b"long content"


@pytest.mark.parametrize("out", ["small.jsonl", "small.jsonl.gz", "small.jsonl.zst"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.jsonl.zst", "rows.bin"])
def test_rows_are_unpacked_and_packed(tmp_path: Path, name: str, out: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(DATA) if name == "rows.bin" else packed(DATA, name))
    done = condense("run", tmp_path / name, *SPEED, "-o", tmp_path / out)
    assert done.status == ExitStatus.DONE
    assert unpacked((tmp_path / out).read_bytes(), out) == expected(DATA)
    assert (tmp_path / out).read_bytes() == packed(expected(DATA), out), "the same run writes the same bytes"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_rows_come_through_a_pipe(suffix: str) -> None:
    done = condense("run", "-", *SPEED, stdin=packed(DATA, "rows" + suffix))
    assert (done.status, done.stdout) == (ExitStatus.DONE, expected(DATA))


# A small file can hold more than any memory.
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_nothing_is_unpacked_without_bound(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(b" " * 3_000_000, f"x{suffix}")
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 3_000_000)
    assert len(unpacked(data, "x")) == 3_000_000
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 2_999_999)
    with pytest.raises(UnreadableError, match="x unpacks to more than 2,999,999 bytes"):
        unpacked(data, "x")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_single_transcripts_may_be_packed(tmp_path: Path, suffix: str) -> None:
    line = DATA.splitlines(keepends=True)[0]
    path, small = tmp_path / f"one.json{suffix}", tmp_path / f"small.json{suffix}"
    path.write_bytes(packed(line, path))
    assert condense("run", path, *SPEED, "-o", small, "-q").status == ExitStatus.DONE
    assert unpacked(small.read_bytes(), "small") == expected(line)
    assert condense("restore", small, "-o", tmp_path / f"whole{suffix}").status == ExitStatus.DONE
    assert unpacked((tmp_path / f"whole{suffix}").read_bytes(), "") == expected(line)
    assert condense("validate", path).status == ExitStatus.DONE
    for option in ("--in-place", "--new-session"):
        refused = condense("run", path, *SPEED, option)
        assert (refused.status, "compressed" in refused.message) == (ExitStatus.USAGE, True)
    assert unpacked(path.read_bytes(), "") == line


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_sizes_say_whether_they_are_those_on_disk(tmp_path: Path, suffix: str) -> None:
    line = DATA.splitlines(keepends=True)[0]
    plain, path, small = tmp_path / "one.json", tmp_path / f"one.json{suffix}", tmp_path / f"small.json{suffix}"
    plain.write_bytes(line)
    path.write_bytes(packed(line, path))
    done = condense("run", path, *SPEED, "-o", small)
    assert done.text == f"Written: {small} ({small.stat().st_size:,} bytes)\n"
    row = rf"\bbytes +{len(line):,} "
    for arguments in ((path, "--dry-run"), (path, "-o", tmp_path / "small.json"), (plain, "-o", small)):
        assert re.search(f"^unpacked {row}", condense("run", *arguments, *SPEED, "-v").plain, re.MULTILINE)
    assert re.search(f"^{row}", condense("run", plain, *SPEED, "-v", "--dry-run").plain, re.MULTILINE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("command", ["run", "restore", "validate", "inspect", "estimate"])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, suffix: str, command: str) -> None:
    whole = packed(as_lines(rows(*range(1, 30))), "x" + suffix)
    path = tmp_path / f"rows.jsonl{suffix}"
    for broken in (whole[:-10], whole[: len(whole) // 2], whole[:3], whole[:40] + b"\x00\xff" * 20 + whole[80:]):
        path.write_bytes(broken)
        before = snapshot(tmp_path)
        output = ("-o", tmp_path / "small.jsonl") if command in ("run", "restore") else ()
        done = condense(command, path, *output)
        assert done.status == ExitStatus.INPUT
        assert any(word in done.message for word in ("cut off", "cannot be unpacked", "not JSON", "not a transcript"))
        assert snapshot(tmp_path) == before


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        (tmp_path / name).write_bytes(packed(b"", name))
        for arguments in ((), ("--format", "anthropic")):
            assert "is empty" in condense("run", tmp_path / name, *arguments).message


def test_compressed_bytes_survive_a_process(tmp_path: Path) -> None:
    done = condense_process("run", "-", *SPEED, stdin=packed(DATA, "x.zst"))
    assert (done.status, done.stdout) == (ExitStatus.DONE, expected(DATA))


@pytest.mark.parametrize("data", ["null", "[" * 200_000, "{"])
def test_a_part_that_is_no_object_is_told(tmp_path: Path, data: str) -> None:
    with sqlite3.connect(tmp_path / "opencode.db") as database:
        database.executescript("CREATE TABLE session (id); CREATE TABLE part (id, message_id, session_id, data)")
        database.execute("INSERT INTO session VALUES ('ses_1')")
        database.execute("INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', ?)", (data,))
    with pytest.raises(UnreadableError, match=r"Cannot read .*opencode\.db"):
        exported(tmp_path / "opencode.db" / "ses_1")
