"""Writing what was chosen, and taking that back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from .. import api
from ..delivering import Delivery, Destination, Where
from ..errors import OutputError, UsageError
from ..report.text.visible import visible
from ..storage.backups import undo
from ..storage.files import check_output, holds, make_folder, output_errors, read_bytes, stamp, write_bytes
from .choice import UserChoice
from .opened import OpenSession


class SavedResult(Struct, frozen=True):
    """What was written, told in sentences; what takes it back, None where nothing was written."""

    said: tuple[str, ...]
    take_back: Callable[[], str] | None


def check_new_file(source: str, path: str) -> None:
    """Raises UsageError, OutputError where no new file can be written there."""
    if not path.strip():
        raise UsageError("A file needs a name.")
    file = Path(path).expanduser()
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} exists already.", "Name another file.")
    if not file.absolute().parent.is_dir():
        raise OutputError(f"There is no folder {file.parent}.")
    check_output(source, file)


def write(session: OpenSession, choice: UserChoice, where: Where, file: str | None = None) -> SavedResult:
    """Condense the session as chosen, prove the result and write it. Raises CondenseError."""
    output = str(Path(file).expanduser()) if file is not None else None
    to = Destination(where, session.path, output, dry_run=False, force=False, seen=session.seen)
    to.check(session.transcript)
    data = api.dump(session.condensed(choice, time.perf_counter, proves=True))
    delivery = to.write(data, session.transcript)
    if delivery.backup is not None:
        return SavedResult((*delivery.said, *delivery.warnings), lambda: _restore(session))
    created = _created(delivery)
    return SavedResult(delivery.said, None if created is None else taking_away(created))


def _created(delivery: Delivery) -> Path | None:
    """The file that is there because of this; None where it was there before."""
    if delivery.output is None or (delivery.new_session is not None and not delivery.new_session.is_new):
        return None
    return Path(delivery.output)


def _restore(session: OpenSession) -> str:
    """Bring the original back. Raises OutputError where the file went on meanwhile."""
    undo(Path(session.path), now=datetime.now(UTC))
    session.seen = stamp(Path(session.path))
    return f"Restored {visible(session.path)}."


def taking_away(path: Path) -> Callable[[], str]:
    """What removes a file that was just written, unless it is something else by then (OutputError)."""
    data = path.read_bytes()

    def take_away() -> str:
        _check_unchanged(path, data)
        with output_errors(path):
            path.unlink()
        return f"Removed {visible(str(path))}."

    return take_away


def _check_unchanged(path: Path, data: bytes) -> None:
    if not (path.exists() and holds(path, data)):
        raise OutputError(f"{path} is no longer what was written.", "It stays as it is.")


def write_text(path: str, text: str) -> SavedResult:
    """Write a configuration; taking that back brings what was there before. Raises OutputError."""
    file = Path(path).expanduser()
    before = read_bytes(file) if file.exists() else None
    make_folder(file.parent)
    write_bytes(file, text.encode())
    take_away = taking_away(file)

    def put_back() -> str:
        assert before is not None
        _check_unchanged(file, text.encode())
        write_bytes(file, before)
        return f"Put {visible(str(file))} back as it was."

    return SavedResult((f"Written: {visible(str(file))}",), take_away if before is None else put_back)
