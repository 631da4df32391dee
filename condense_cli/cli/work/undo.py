"""`condense undo`: bring back a file as it was before it was replaced in place."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ...core.wording import visible
from ...errors import UsageError
from ...report.sections import SHAPE, to_json
from ...storage import backups
from ...storage.backups import Backup, Undone
from ..commands.shrink import UndoOptions
from ..console import console, write_text
from .reading import input_file


def undo(options: UndoOptions) -> None:
    """Restore a backup, or list all. Raises CondenseError."""
    if options.lists and (options.backup is not None or options.force):
        raise UsageError("--list cannot be used with --backup or --force.")
    if options.file is None and options.session is None:
        raise UsageError("No file given.", "Name the FILE that was replaced in place, or use --session.")
    file = input_file(options.file, options.session)
    if options.lists:
        _list(file, backups.backups_of(Path(file)), options.json)
        return
    if options.backup is None and not backups.backups_of(Path(file)) and (original := _original(file)) is not None:
        if options.json:
            _print_json(file, restored=None, kept=None, original=str(original))
        elif not options.quiet:
            console().print(
                f"Nothing to undo: this session was written beside its original, which is unchanged:\n"
                f"{visible(str(original))}",
                soft_wrap=True,
            )
        return
    done = backups.undo(Path(file), now=datetime.now(UTC), name=options.backup, force=options.force)
    if options.json:
        _print_json(file, restored=_as_json(done.restored), kept=done.kept.name if done.kept else None)
    elif not options.quiet:
        _show(file, done)


def _original(file: str) -> Path | None:
    from ...clients.new_session import origin_of  # With all clients.

    return origin_of(file)


def _list(file: str, found: list[Backup], json: bool) -> None:
    if json:
        _print_json(file, backups=[_as_json(backup) for backup in found])
        return
    screen = console()
    if not found:
        screen.print(f"There is no backup of {visible(file)}.", soft_wrap=True)
    for backup in found:
        made = backup.made.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        kind = "undone" if backup.kind == "undone" else "backup"
        screen.print(f"{made}  {backup.size:>13,} bytes  {kind}  {visible(backup.path.name)}", soft_wrap=True)


def _show(file: str, done: Undone) -> None:
    screen = console()
    made = done.restored.made.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    screen.print(
        f"Restored {visible(file)} to its state before {made} ({done.restored.size:,} bytes).",
        style="bold",
        soft_wrap=True,
    )
    if done.kept is not None:
        screen.print(f"Its previous content is kept as {visible(done.kept.name)}", soft_wrap=True)


def _as_json(backup: Backup) -> dict[str, object]:
    return {
        "name": backup.path.name,
        "kind": backup.kind,
        "made": backup.made.isoformat(),
        "bytes": backup.size,
    }


def _print_json(file: str, **values: object) -> None:
    write_text(to_json({"version": SHAPE, "input": file, **values}))
