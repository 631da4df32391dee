"""Backups by themselves: their names, which of them is meant, and what every refusal says."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

import pytest

from condense_cli.errors import OutputError, UnreadableError, UsageError
from condense_cli.storage import backups
from condense_cli.storage.backups import Backup, Undone, backups_of, replace_in_place, undo
from condense_cli.storage.files import Stamp, stamp, write_bytes

OLD, NEW = b"one\ntwo\nthree\n", b"one\n"
NOW = datetime(2026, 11, 21, 3, 30, 0, 123_456, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
TIME = "20261121T033000.123456Z"


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:12]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(OLD)
    return path


def replaced(path: Path, data: bytes = NEW, now: datetime = NOW, *, force: bool = False) -> Path:
    return replace_in_place(path, data, read=path.read_bytes(), seen=stamp(path), now=now, force=force)


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "writers", lambda target: ["claude (7)", "vim (8)"])


def test_the_name_of_a_backup(path: Path) -> None:
    backup = replaced(path)
    assert backup.name == f"session.jsonl.{TIME}.{len(NEW)}-{digest(NEW)}.condense-backup"
    assert (backup.read_bytes(), path.read_bytes()) == (OLD, NEW)
    assert backups_of(path) == [Backup(backup, "backup", NOW, len(OLD), len(NEW), digest(NEW))]


def test_the_time_in_a_name_is_that_of_greenwich(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        there = NOW.astimezone(timezone(timedelta(hours=5)))
        assert TIME in replaced(path, now=there).name
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_file_that_is_not_as_it_was_read_is_left_alone(path: Path) -> None:
    seen = stamp(path)
    for read, stamped in ((b"other", seen), (OLD, Stamp()), (OLD, Stamp(seen.device, seen.inode, seen.size, 0))):
        with pytest.raises(OutputError) as caught:
            replace_in_place(path, NEW, read=read, seen=stamped, now=NOW)
        assert caught.value.message == f"{path} changed while it was condensed."
        assert caught.value.hint == "Nothing was changed. Close the client that uses it first."
        assert (path.read_bytes(), names(path)) == (OLD, ["session.jsonl"])
    backup = replace_in_place(path, NEW, read=b"other", seen=Stamp(), now=NOW, force=True)
    assert (path.read_bytes(), backup.read_bytes()) == (NEW, OLD)


def test_a_file_that_is_in_use_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch)
    with pytest.raises(OutputError) as caught:
        replaced(path)
    assert caught.value.message == f"{path} is open for writing in claude (7), vim (8)."
    assert caught.value.hint == "Nothing was changed. Close it there first."
    assert (path.read_bytes(), names(path)) == (OLD, ["session.jsonl"])
    assert replaced(path, force=True).read_bytes() == OLD


@pytest.mark.parametrize("force", [False, True])
def test_an_error_in_the_last_moment_leaves_no_backup(force: bool, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(backups, "write_bytes", fail)
    with pytest.raises(KeyboardInterrupt):
        replaced(path, force=force)
    assert (path.read_bytes(), names(path)) == (OLD, ["session.jsonl"])


def test_a_copy_goes_with_an_error_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "link", fail)
    monkeypatch.setattr(backups, "write_bytes", fail)
    with pytest.raises(OutputError):
        replaced(path)
    assert (path.read_bytes(), names(path)) == (OLD, ["session.jsonl"])


def change_after_keeping(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = backups._keep

    def keep_and_change(*arguments: object) -> Path:
        kept = keep(*arguments)  # type: ignore[arg-type]
        with path.open("ab") as file:
            file.write(b"more")
        return kept

    monkeypatch.setattr(backups, "_keep", keep_and_change)


def test_a_file_that_changes_while_its_backup_is_made_is_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_after_keeping(path, monkeypatch)
    with pytest.raises(OutputError, match="changed while it was condensed"):
        replaced(path)
    assert (path.read_bytes(), names(path)) == (OLD + b"more", ["session.jsonl"])


# The backup is the old file itself, so what comes late is in it.
@pytest.mark.parametrize("force", [False, True])
def test_what_comes_late_is_told(force: bool, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handle, write = path.open("ab", buffering=0), write_bytes

    def with_more(target: Path, data: bytes, *, last_check: Callable[[], None]) -> None:
        write(target, data, last_check=last_check)
        handle.write(b"x" * 1_234)

    monkeypatch.setattr(backups, "write_bytes", with_more)
    monkeypatch.setattr(backups, "writers", lambda target: [])
    name = f"session.jsonl.{TIME}.{len(NEW)}-{digest(NEW)}.condense-backup"
    with handle:
        if force:
            replaced(path, force=True)
        else:
            with pytest.raises(OutputError) as caught:
                replaced(path)
            said = f"{path} was condensed, but a program wrote 1,234 bytes to it at that moment."
            assert caught.value.message == said
            assert caught.value.hint == f"They are only in {name}; condense undo restores it."
    assert (path.parent / name).stat().st_size == len(OLD) + 1_234


def test_a_backup_takes_no_place_of_another(path: Path) -> None:
    replaced(path)
    path.write_bytes(OLD)
    with pytest.raises(OutputError):
        replaced(path)
    assert path.read_bytes() == OLD


def test_where_there_are_no_second_names_it_is_a_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    path.chmod(0o640)
    monkeypatch.setattr(os, "link", refuse)
    backup = replaced(path)
    assert (backup.read_bytes(), backup.stat().st_mode & 0o777) == (OLD, 0o640)


@pytest.mark.parametrize("name", ["-", "folder"])
def test_what_is_no_file_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"")
    with pytest.raises(UsageError) as caught:
        backups_of(Path(name))
    assert caught.value.message == f"{name} is not a file that can be replaced."
    assert caught.value.hint == "Name the file of a transcript."


def test_the_newest_comes_first(path: Path) -> None:
    first, second = replaced(path, b"12"), replaced(path, b"1", LATER)
    assert [backup.path for backup in backups_of(path)] == [second, first]
    assert backups_of(path.with_name("other.jsonl")) == []
    assert backups_of(path.with_name("gone") / "session.jsonl") == []


@pytest.mark.parametrize(
    "name",
    [
        f"session.jsonl.{TIME}.4-{'a' * 12}.condense-backup.jsonl",
        f"session.jsonl.{TIME}.4-{'a' * 11}.condense-backup",
        f"session.jsonl.{TIME}.4-{'A' * 12}.condense-backup",
        f"session.jsonl.{TIME}.-{'a' * 12}.condense-backup",
        f"session.jsonl.{TIME}.4-{'a' * 12}.condense-other",
        f"other.jsonl.{TIME}.4-{'a' * 12}.condense-backup",
        f".{TIME}.4-{'a' * 12}.condense-backup",
        f"session.jsonl.20261321T033000.123456Z.4-{'a' * 12}.condense-backup",
    ],
)
def test_other_names_are_no_backups(name: str, path: Path) -> None:
    (path.parent / name).write_bytes(b"x")
    assert backups_of(path) == []


def test_a_second_name_of_the_file_is_no_backup(path: Path) -> None:
    os.link(path, path.with_name(f"session.jsonl.{TIME}.4-{'a' * 12}.condense-backup"))
    assert backups_of(path) == []
    path.unlink()
    assert len(backups_of(path)) == 1


def test_the_newest_backup_comes_back(path: Path) -> None:
    first, second = replaced(path, b"12"), replaced(path, b"1", LATER)
    done = undo(path, now=LATER)
    assert (done.file, done.restored.path, done.kept) == (path, second, None)
    assert (path.read_bytes(), names(path)) == (b"12", ["session.jsonl", first.name])
    assert isinstance(done, Undone)


def test_one_of_a_name_comes_back(path: Path) -> None:
    first, second = replaced(path, b"12"), replaced(path, b"1", LATER)
    done = undo(path, now=LATER, name=str(Path("elsewhere") / first.name))
    assert done.restored.path == first
    assert (path.read_bytes(), names(path)) == (OLD, ["session.jsonl", second.name])
    with pytest.raises(UsageError) as caught:
        undo(path, now=LATER, name="none-such")
    assert caught.value.message == f"There is no backup none-such of {path}."
    assert caught.value.hint == "condense undo FILE --list shows the backups."


def test_without_a_backup_nothing_is_undone(path: Path) -> None:
    with pytest.raises(UnreadableError) as caught:
        undo(path, now=NOW)
    assert caught.value.message == f"There is no backup of {path}."
    path.unlink()
    with pytest.raises(UnreadableError, match="does not exist, and there is no backup of it"):
        undo(path, now=NOW)
    assert caught.value.hint == "condense run FILE --in-place makes one."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (NEW + b"four\n", "1 line (5 bytes)"),
        (NEW + b"four\nfive", "2 lines (9 bytes)"),
        (NEW + b"four\n" * 1_000, "1,000 lines (5,000 bytes)"),
        (b"another", "7 bytes"),
        (NEW[:-1], "3 bytes"),
        (b"x" * 1_234, "1,234 bytes"),
    ],
)
def test_what_condense_did_not_write_is_not_taken_away(content: bytes, said: str, path: Path) -> None:
    backup = replaced(path)
    path.write_bytes(content)
    with pytest.raises(OutputError) as caught:
        undo(path, now=LATER)
    assert (
        caught.value.message == f"{path} holds {said} that condense did not write: the session continued or was edited."
    )
    assert caught.value.hint == (
        "Nothing was changed. --force restores the backup and keeps the present file next to it."
    )
    assert (path.read_bytes(), names(path)) == (content, ["session.jsonl", backup.name])
    done = undo(path, now=LATER, force=True)
    assert path.read_bytes() == OLD
    assert done.kept is not None
    kept = f"session.jsonl.20261121T043000.123456Z.{len(OLD)}-{digest(OLD)}.condense-undone"
    assert (done.kept.name, done.kept.read_bytes()) == (kept, content)
    with pytest.raises(UnreadableError):
        undo(path, now=LATER)
    assert [each.kind for each in backups_of(path)] == ["undone"]


# What gave way to a backup came from somewhere else, whatever its name says of what followed.
def test_only_backups_tell_what_condense_wrote(path: Path) -> None:
    replaced(path)
    path.write_bytes(b"another")
    undo(path, now=LATER, force=True)
    replaced(path, b"zzz", LATER)
    path.write_bytes(OLD)
    with pytest.raises(OutputError, match="14 bytes"):
        undo(path, now=LATER + timedelta(hours=1))


@pytest.mark.parametrize("content", [NEW, b""])
def test_what_condense_wrote_or_nothing_goes(content: bytes, path: Path) -> None:
    replaced(path)
    path.write_bytes(content)
    assert undo(path, now=LATER).kept is None
    assert (path.read_bytes(), names(path)) == (OLD, ["session.jsonl"])


def test_a_file_that_is_gone_comes_back(path: Path) -> None:
    replaced(path)
    path.unlink()
    done = undo(path, now=LATER)
    assert (done.kept, path.read_bytes(), names(path)) == (None, OLD, ["session.jsonl"])


def test_a_file_in_use_is_not_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup = replaced(path)
    busy(monkeypatch)
    with pytest.raises(OutputError, match=r"is open for writing in claude \(7\), vim \(8\)"):
        undo(path, now=LATER)
    assert names(path) == ["session.jsonl", backup.name]
    undo(path, now=LATER, force=True)
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_changes_just_then(force: bool, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup = replaced(path)
    change_after_keeping(path, monkeypatch)
    if force:
        done = undo(path, now=LATER, force=True)
        assert path.read_bytes() == OLD
        assert done.kept is not None
        assert done.kept.read_bytes() == NEW + b"more"
        return
    with pytest.raises(OutputError) as caught:
        undo(path, now=LATER)
    assert caught.value.message == f"{path} changed just now."
    assert caught.value.hint == "Nothing was changed. Try again."
    assert (path.read_bytes(), names(path)) == (NEW + b"more", ["session.jsonl", backup.name])


def test_a_link_leads_to_the_file_that_is_replaced(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    backup = replaced(link)
    assert backup.name.startswith("session.jsonl.")
    assert undo(link, now=LATER).file == path
    assert (link.is_symlink(), path.read_bytes()) == (True, OLD)
