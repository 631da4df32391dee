"""What is to become of files: worked out whole, shown, and then written."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ..errors import OutputError, UnreadableError
from ..storage.files import check_replaceable, output_errors, write_bytes


class SettingsEdit(Struct, frozen=True):
    """A file as it is, and as it is to be; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def is_change(self) -> bool:
        return self.before != self.after

    def shown(self) -> Iterator[str]:
        """The lines that go and come, with a few around."""
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        where = f"{self.path} → {os.path.realpath(self.path)}" if self.path.is_symlink() else str(self.path)
        yield f"{where}{' (new)' if self.before is None else ' (removed)' if self.after is None else ''}"
        for line in list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]:
            yield f"  {line}" if not line.startswith("@@") else "  …"

    def write(self) -> None:
        """Raises OutputError, also where the file is no longer what was shown."""
        target = Path(os.path.realpath(self.path))  # Some keep their settings elsewhere, with a link to them.
        if read(target) != self.before:
            raise OutputError(f"{self.path} changed just now.", "Nothing was written. Try again.")
        with output_errors(self.path):
            check_replaceable(target)
            if self.after is None:
                target.unlink()
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, self.after.encode())


class InstallPlan(Struct, frozen=True):
    """Edits of files, and sentences about what is left to the user or was left alone."""

    edits: tuple[SettingsEdit, ...]
    remarks: tuple[str, ...] = ()

    @property
    def changes(self) -> list[SettingsEdit]:
        return [edit for edit in self.edits if edit.is_change]


def read(path: Path) -> str | None:
    """The text of a file; None where there is none. Raises UnreadableError."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{path} cannot be read: {error}.", "Nothing was written.") from error
