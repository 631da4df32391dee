"""Notes of what an installation changed in each file, so that removing it gives back the same bytes.

The settings alone do not tell whether a list was empty or missing, or how a file ended. So what was there before is
noted, and used as long as a file is still what the installation wrote.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.user_folders import cache_folder
from ..errors import OutputError
from ..storage.files import write_bytes
from .plan import InstallPlan, SettingsEdit

_FILE: Final = "installed.json"


class Exchanged(Struct, frozen=True):
    """The hash of the text that was written, and the characters that others gave way to, from `start` to `end`
    characters before the end of it. `old` is None where there was no file."""

    written: str
    start: int = 0
    end: int = 0
    old: str | None = None

    @classmethod
    def of(cls, before: str | None, after: str) -> Exchanged:
        start = _alike(before or "", after)
        rest = (before or "")[start:]
        end = _alike(rest[::-1], after[start:][::-1])
        old = None if before is None else rest[: len(rest) - end]
        return cls(_hash(after), start, end, old)

    def before(self, written: str) -> str | None:
        """The text that was there before this one was written."""
        return None if self.old is None else written[: self.start] + self.old + written[len(written) - self.end :]


def note(edits: Iterable[SettingsEdit], had_ours: Container[Path]) -> None:
    """Note what the edits of an installation changed. A file that `had_ours` without a note of it gets none."""
    known = _read()
    for edit in edits:
        if edit.after is None:
            continue
        place = os.path.realpath(edit.path)
        found = _of(known, edit)
        if found is not None and edit.before is not None:
            known[place] = Exchanged.of(found.before(edit.before), edit.after)
        elif edit.path not in had_ours:
            known[place] = Exchanged.of(edit.before, edit.after)
        else:
            known.pop(place, None)
    _write(known)


def given_back(plan: InstallPlan) -> InstallPlan:
    """The plan of a removal, in which files that nobody changed since become what they were before."""
    known = _read()

    def edit(each: SettingsEdit) -> SettingsEdit:
        found = _of(known, each) if each.is_change else None
        return each if found is None else replace(each, after=found.before(each.before or ""))

    return replace(plan, edits=tuple(map(edit, plan.edits)))


def forget(edits: Iterable[SettingsEdit]) -> None:
    """Drop the notes of files from which ours was removed."""
    known = _read()
    gone = {os.path.realpath(edit.path) for edit in edits}
    if gone & known.keys():
        _write({place: found for place, found in known.items() if place not in gone})


def _of(known: dict[str, Exchanged], edit: SettingsEdit) -> Exchanged | None:
    found = known.get(os.path.realpath(edit.path))
    return found if found is not None and found.written == _hash(edit.before or "") else None


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read() -> dict[str, Exchanged]:
    try:
        return msgspec.json.decode((Path(cache_folder()) / _FILE).read_bytes(), type=dict[str, Exchanged])
    except (OSError, msgspec.MsgspecError):
        return {}


def _write(known: dict[str, Exchanged]) -> None:
    """Without a note, ours is taken out all the same."""
    path = Path(cache_folder()) / _FILE
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        write_bytes(path, msgspec.json.encode(known))
