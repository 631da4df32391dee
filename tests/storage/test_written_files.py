"""The files of a run: what is written keeps its permissions and links, what is read is never touched."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from helpers import SMALLER, condense, condense_process, snapshot

from condense_cli.errors import ExitStatus


def test_an_existing_output_keeps_its_permissions(file: Path, tmp_path: Path) -> None:
    """Writing over a private file leaves it private, and a shared one shared."""
    for mode in (0o600, 0o664, 0o755):
        out = tmp_path / f"out-{mode:o}"
        out.write_text("old")
        out.chmod(mode)
        assert condense("run", file, "-p", "speed", "-o", out).status == ExitStatus.DONE
        assert out.read_bytes() == SMALLER
        assert stat.S_IMODE(out.stat().st_mode) == mode


@pytest.mark.slow
def test_a_new_output_follows_the_umask(file: Path, tmp_path: Path) -> None:
    """A new file has the permissions that every program's new files have."""
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        out = tmp_path / f"out-{umask:o}"
        condense_process("run", file, "-q", "-o", out, "--report", tmp_path / "report.json", umask=umask)
        assert stat.S_IMODE(out.stat().st_mode) == mode


def test_an_output_that_is_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    """The file that the link names is written, not a new file in the link's place."""
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    assert condense("run", file, "-p", "speed", "-q", "-o", tmp_path / "link").status == ExitStatus.DONE
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == SMALLER


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
    """Bytes, inode, permissions and times of the input are the same after every kind of run."""
    file.chmod(0o640)
    os.utime(file, ns=(1_000_000_000_000_000_000, 1_000_000_000_000_000_000))
    before = snapshot(tmp_path)["session.jsonl"]
    assert condense("run", file, "-p", "speed", *arguments, cwd=tmp_path).status in (0, 4)
    assert snapshot(tmp_path)["session.jsonl"] == before


def test_an_input_without_write_permission_is_no_problem(file: Path, tmp_path: Path) -> None:
    """A read-only input is read like any other."""
    file.chmod(0o400)
    assert condense("run", file, "-p", "speed").stdout == SMALLER
