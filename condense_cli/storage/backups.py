"""Replace a file by its condensed version with a backup beside it, and restore backups.

The backup is the old file itself under a second name, so a program that still holds it open loses nothing: what it
writes is in the backup. If the file system has no second names, the backup is a copy.

The name of a backup says when it was made and, by size and digest, what replaced it:

    session.jsonl.20261121T033000.123456Z.8229-5f2c91d8a1b2.condense-backup

so `undo` can tell from the folder's names alone if the session went on since. No name ends in `.jsonl` or `.json`:
clients list such files as sessions. If `undo` replaces more than what `condense` wrote, that is kept in the same way as
`….condense-undone`.

A `….condense-snapshot` is a copy from before a client compacted: the file goes on, and the name holds the size and
digest that it had then.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, cast, get_args

from msgspec import Struct

from ..core.wording import plural
from ..errors import OutputError, UnreadableError, UsageError
from .files import STDIO, Stamp, check_replaceable, create_bytes, holds, output_errors, stamp, sync_folder, write_bytes

_TIME: Final = "%Y%m%dT%H%M%S.%fZ"
_DIGITS: Final = 12
_SNAPSHOTS: Final = 3
"""Newest snapshots that are kept per file: a client that compacts often would fill the disk."""

Kind = Literal["backup", "undone", "snapshot"]
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_TAIL: Final = re.compile(rf"\.(\d{{8}}T\d{{6}}\.\d{{6}}Z)\.(\d+)-([0-9a-f]{{12}})\.condense-({'|'.join(_KINDS)})")


class Backup(Struct, frozen=True):
    """Older content of a file; `successor_size` and `successor_digest` describe what replaced it.

    A `backup` was replaced by condense, an `undone` one by a backup; a `snapshot` is what the file began with.
    """

    path: Path
    kind: Kind
    made: datetime
    size: int
    successor_size: int
    successor_digest: str


class Undone(Struct, frozen=True):
    """Result of `undo`: the backup that became the file, and the name under which other content is kept."""

    file: Path
    restored: Backup
    kept: Path | None


def replace_in_place(path: Path, data: bytes, *, read: bytes, seen: Stamp, now: datetime, force: bool = False) -> Path:
    """Replace a file, or the target of a link, by its condensed version; return the path of the backup.

    `read` are the bytes that were condensed, `seen` the stamp of the file from before they were read, `now` the
    time. Raises OutputError, and changes nothing, if the file changed since or a process holds it open for writing;
    `force` replaces it all the same.
    """
    target = _real(path)

    def check() -> None:
        if not (force or (holds(target, read) and stamp(target) == seen)):
            raise OutputError(
                f"{path} changed while it was condensed.", "Nothing was changed. Close the client that uses it first."
            )

    with output_errors(path):
        check_replaceable(target)
        check()
        if not force:
            _check_unused(path, target)
        backup = _keep(target, data, "backup", now)
        try:
            write_bytes(target, data, last_check=check)
        except BaseException:
            _drop(backup, target)
            raise
        late = backup.stat().st_size - len(read)
        if late and not force:
            raise OutputError(
                f"{path} was condensed, but a program wrote {late:,} bytes to it at that moment.",
                f"They are only in {backup.name}; condense undo restores it.",
            )
    return backup


def keep_snapshot(path: str | Path, *, now: datetime | None = None) -> Path | None:
    """Copy a file beside itself; return None if there is a copy already. Raises OutputError.

    A second name would not do, because a client goes on writing to the file. Only the newest few snapshots are
    kept.
    """
    path = Path(path)
    target = _real(path)
    with output_errors(path):
        data = target.read_bytes()
        digest = sha256(data).hexdigest()[:_DIGITS]
        older = [backup for backup in backups_of(path) if backup.kind == "snapshot"]
        if any((each.successor_size, each.successor_digest) == (len(data), digest) for each in older):
            return None
        kept = _name_of(target, data, "snapshot", now or datetime.now(UTC))
        create_bytes(kept, data, like=target)
        for each in older[_SNAPSHOTS - 1 :]:
            each.path.unlink(missing_ok=True)
    return kept


def snapshot_of(name: str) -> tuple[str, str] | None:
    """Split the name of a snapshot into that of its file and the time; None for other names."""
    tail = _TAIL.search(name)
    if tail is None or tail.end() != len(name) or tail[4] != "snapshot":
        return None
    return name[: tail.start()], tail[1]


def backups_of(path: Path) -> list[Backup]:
    """List the backups of a file, newest first. Raises UsageError if it is no file, such as standard input."""
    target = _real(path)
    return sorted(_found(target), key=lambda backup: (backup.made, backup.path.name), reverse=True)


def undo(path: Path, *, now: datetime, name: str | None = None, force: bool = False) -> Undone:
    """Restore the newest backup of a file, or the one of that name.

    The backup becomes the file again. What it replaces is dropped only if it is exactly what condense wrote.
    Otherwise OutputError is raised; with `force` it is kept as `….condense-undone`. Raises UnreadableError if there
    is no backup, UsageError if none has the name.
    """
    target = _real(path)
    found = backups_of(path)
    chosen = _chosen(path, found, name)
    with output_errors(path):
        before = stamp(target)
        check_replaceable(target)
        content = target.read_bytes() if before.size is not None else b""
        new = _not_by_condense(content, found)
        if not force:
            if new:
                raise OutputError(
                    f"{path} holds {new} that condense did not write: the session continued or was edited.",
                    "Nothing was changed. --force restores the backup and keeps the present file next to it.",
                )
            _check_unused(path, target)
        kept = _keep(target, chosen.path.read_bytes(), "undone", now) if before.size is not None else None
        try:
            if stamp(target) != before and not force:
                raise OutputError(f"{path} changed just now.", "Nothing was changed. Try again.")
            chosen.path.replace(target)
        except BaseException:
            if kept is not None:
                _drop(kept, target)
            raise
        if kept is not None and not new and holds(kept, content):  # Otherwise a program wrote to it at the last moment.
            kept.unlink()
            kept = None
        sync_folder(target.parent)
    return Undone(target, chosen, kept)


def _real(path: Path) -> Path:
    if str(path) == STDIO or (path.exists() and not path.is_file()):
        raise UsageError(f"{path} is not a file that can be replaced.", "Name the file of a transcript.")
    return Path(os.path.realpath(path))


def _check_unused(path: Path, target: Path) -> None:
    found = writers(target)
    if found:
        raise OutputError(
            f"{path} is open for writing in {', '.join(map(str, found))}.", "Nothing was changed. Close it there first."
        )


def _keep(target: Path, successor: bytes, kind: Kind, now: datetime) -> Path:
    """Give a file a second name before it is replaced. Raises OSError."""
    backup = _name_of(target, successor, kind, now)
    with contextlib.suppress(OSError), target.open("rb") as file:
        os.fsync(file.fileno())  # Windows flushes only what is open for writing.
    try:
        os.link(target, backup)
    except FileExistsError:
        raise
    except OSError:
        create_bytes(backup, target.read_bytes(), like=target)
    sync_folder(target.parent)
    return backup


def _name_of(target: Path, successor: bytes, kind: Kind, now: datetime) -> Path:
    digest = sha256(successor).hexdigest()[:_DIGITS]
    time = now.astimezone(UTC).strftime(_TIME)
    return target.with_name(f"{target.name}.{time}.{len(successor)}-{digest}.condense-{kind}")


def _drop(backup: Path, target: Path) -> None:
    """Remove a backup whose original was not replaced."""
    with contextlib.suppress(OSError):
        if backup.samefile(target) or holds(target, backup.read_bytes()):
            backup.unlink()


def _found(target: Path) -> Iterator[Backup]:
    with output_errors(target.parent), contextlib.suppress(FileNotFoundError):
        for path in target.parent.iterdir():
            backup = _backup_of(target, path)
            if backup is not None:
                yield backup


def _backup_of(target: Path, path: Path) -> Backup | None:
    """Return the backup at `path`; None if it is missing or no backup. Raises OSError."""
    tail = _TAIL.fullmatch(path.name.removeprefix(target.name))
    if tail is None or not path.name.startswith(target.name) or path.is_symlink():  # No backup is made as a link.
        return None
    time, size, digest, kind = tail.groups()
    try:
        made = datetime.strptime(time, _TIME).replace(tzinfo=UTC)
        # A run killed before the replacement leaves a second name of the file itself.
        if target.exists() and path.samefile(target):
            return None
        return Backup(path, cast("Kind", kind), made, path.stat().st_size, int(size), digest)
    except (ValueError, FileNotFoundError):
        return None


def _chosen(path: Path, found: Sequence[Backup], name: str | None) -> Backup:
    if name is None:
        kept = [backup for backup in found if backup.kind != "undone"]
        if not kept and found:
            hint = f"condense undo FILE --backup {found[0].path.name} --force takes that back."
            raise UnreadableError(f"{path} was undone already.", hint)
        if not (kept or path.exists()):
            raise UnreadableError(f"{path} does not exist, and there is no backup of it.", "Check the name.")
        if not kept:
            raise UnreadableError(f"There is no backup of {path}.", "condense run FILE --in-place makes one.")
        return kept[0]
    for backup in found:
        if backup.path.name == Path(name).name:
            return backup
    raise UsageError(f"There is no backup {name} of {path}.", "condense undo FILE --list shows the backups.")


def _not_by_condense(content: bytes, found: Sequence[Backup]) -> str:
    """Describe the part of a file that condense did not write; "" if it wrote all of it."""
    for backup in found:
        written = content[: backup.successor_size]
        if backup.kind != "undone" and sha256(written).hexdigest()[:_DIGITS] == backup.successor_digest:
            rest = content[backup.successor_size :]
            lines = rest.count(b"\n") + (not rest.endswith(b"\n"))
            return f"{plural(lines, 'line')} ({plural(len(rest), 'byte')})" if rest else ""
    return f"{len(content):,} bytes" if content else ""


_PROCESSES: Final = Path("/proc")
_LSOF_SECONDS: Final = 10
"""lsof can hang on a network file system that does not answer."""


class WritingProcess(Struct, frozen=True):
    """Number of a process, and name of its program."""

    process: int
    program: str

    def __str__(self) -> str:
        return f"{self.program} (process {self.process})"


def writers(path: Path) -> list[WritingProcess]:
    """List other processes that hold the file open for writing, as far as this user may see them."""
    if (_PROCESSES / "self" / "fdinfo").is_dir():
        return list(_from_proc(path))
    return list(_from_lsof(path))


def is_alive(process: int) -> bool:
    """Check if a process runs; True if the system offers no harmless way to ask."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _from_proc(path: Path) -> Iterator[WritingProcess]:
    name = f"/{path.name}"
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        # A process may end, or close a file, meanwhile; those of other users are not readable.
        with contextlib.suppress(OSError):
            for link in (folder / "fd").iterdir():
                with contextlib.suppress(OSError, ValueError):
                    # By name first: asking for the status of an open file can hang on a network file system.
                    if os.readlink(link).endswith(name) and link.samefile(path) and _is_for_writing(folder, link.name):
                        yield WritingProcess(int(folder.name), (folder / "comm").read_text().strip())
                        break


def _is_for_writing(process: Path, descriptor: str) -> bool:
    """Read `flags`, which are those of open(2), in octal (proc_pid_fdinfo(5))."""
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        key, _, value = line.partition(":")
        if key == "flags":
            return int(value, 8) & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)
    return False


def _from_lsof(path: Path) -> Iterator[WritingProcess]:
    program = shutil.which("lsof")
    if program is None:
        return
    try:
        # One field a line, its letter first: process, command, access (lsof(8), "OUTPUT FOR OTHER PROGRAMS").
        done = subprocess.run(
            [program, "-nP", "-Fpca", "--", str(path)], capture_output=True, text=True, timeout=_LSOF_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return
    process, command = 0, ""
    for line in done.stdout.splitlines():
        field, value = line[:1], line[1:]
        if field == "p":
            process = int(value)
        elif field == "c":
            command = value
        elif field == "a" and value in ("w", "u") and process != os.getpid():
            yield WritingProcess(process, command)
