"""Content is on disk before its name, and the name before any report, as a power cut would show.

Nothing but the calls of the system tells, so they are what is looked at, in their order.
"""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from condense_cli.storage.backups import replace_in_place, undo
from condense_cli.storage.files import create_bytes, stamp, write_bytes

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
