"""Compressed files, in and out: rows and single transcripts, whole or cut off."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from helpers import as_lines, condense, condense_process, snapshot
from rowsets import DATA, SPEED, expected, rows

from condense_cli.errors import ExitStatus, UnreadableError
from condense_cli.storage import files
from condense_cli.storage.files import packed, unpacked


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
