"""`condense undo`: bring back what a file was before it was condensed in place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UsageError
from ..console import console, exits, write_text
from ..options import Session
from ..reading import input_file

if TYPE_CHECKING:
    from ...storage.backups import Backup, Undone

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense undo session.jsonl                 restores the newest backup\n"
    "condense undo session.jsonl --list          lists all backups\n"
    "condense undo session.jsonl --force         even if the session continued\n"
    "condense undo --session latest\n"
    "condense undo session.jsonl --json | jq -r .restored.name"
)


def undo(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="File that condense run --in-place replaced.")
    ] = None,
    session: Session = None,
    list_: Annotated[bool, typer.Option("--list", "-l", help="List the backups; change nothing.")] = False,
    backup: Annotated[
        str | None,
        typer.Option("--backup", "-b", metavar="NAME", help="Backup to restore.  [default: the newest]"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Restore even if FILE has changed; the present FILE is kept.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done, or the list, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Undo condense run --in-place.

    Puts the newest backup back as FILE, with its old time and permissions. If FILE has changed since, for example by
    new turns, nothing happens unless you add --force, which keeps the present FILE next to it with the ending
    .condense-undone.
    """
    with exits():
        if list_ and (backup is not None or force):
            raise UsageError("--list cannot be used with --backup or --force.")
        if file is None and session is None:
            raise UsageError("No file given.", "Name the FILE that was condensed in place, or use --session.")
        from datetime import UTC, datetime

        from ...storage import backups

        file = input_file(file, session)
        if list_:
            _list(file, backups.backups_of(Path(file)), json)
            return
        if backup is None and _say_original(file, backups.backups_of(Path(file)), json=json, quiet=quiet):
            return
        done = backups.undo(Path(file), now=datetime.now(UTC), name=backup, force=force)
        if json:
            _print_json(file, restored=_as_json(done.restored), kept=done.kept.name if done.kept else None)
        elif not quiet:
            _show(file, done)


def _say_original(file: str, found: list[Backup], *, json: bool, quiet: bool) -> bool:
    """Whether the file is a session beside its original, so that nothing is to be brought back; tell so."""
    from ...clients.new_session import origin_of
    from ...report.text.visible import visible

    original = None if found else origin_of(file)
    if original is None:
        return False
    if json:
        _print_json(file, restored=None, kept=None, original=str(original))
    elif not quiet:
        console().print(
            f"Nothing to undo: this session was written beside its original, which is unchanged:\n"
            f"{visible(str(original))}",
            soft_wrap=True,
        )
    return True


def _list(file: str, found: list[Backup], json: bool) -> None:
    if json:
        _print_json(file, backups=[_as_json(backup) for backup in found])
        return
    from ...report.text.visible import visible

    screen = console()
    if not found:
        screen.print(f"There is no backup of {visible(file)}.", soft_wrap=True)
    for backup in found:
        made = backup.made.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        screen.print(f"{made}  {backup.size:>13,} bytes  {visible(backup.path.name)}", soft_wrap=True)


def _show(file: str, done: Undone) -> None:
    from ...report.text.visible import visible

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


def _print_json(file: str, **facts_: object) -> None:
    from ...report.run import facts

    write_text(facts.to_json({"version": facts.SHAPE, "input": file, **facts_}))
