"""What a run over rows or over many files is told: what to do with each conversation, and what to show in the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import UsageError

if TYPE_CHECKING:
    from ..rows.condensing import Work
    from .summarizing import Calls


class Settings(Struct, frozen=True):
    """What is the same for every conversation."""

    work: Work
    calls: Calls
    format: str | None
    lenient: bool
    strict: bool
    allow_partial: bool


class Telling(Struct, frozen=True):
    """What the report says and where it goes; `jobs` is None for as many processes as there are processors."""

    configuration: str
    jobs: int | None
    json: bool
    quiet: bool
    report: Path | None


def is_several(files: list[str], out_dir: Path | None) -> bool:
    """Whether the arguments of `condense run` name more than one transcript."""
    return out_dir is not None or len(files) > 1 or (len(files) == 1 and Path(files[0]).is_dir())


def check_several(files: list[str], out_dir: Path | None, refused: dict[str, object], *, dry_run: bool) -> None:
    """Raises UsageError for options that make no sense with many files; `refused` are those, with their values."""
    for option, value in refused.items():
        if value:
            raise UsageError(f"{option} is for one transcript, and there are many.", "--out-dir DIR takes them all.")
    if not files:
        raise UsageError(
            "There is no transcript to work on.", "Name files or folders: condense run FILE… --out-dir DIR"
        )
    if out_dir is None and not dry_run:
        what = f"{files[0]} is a folder" if len(files) == 1 else "There are several files"
        raise UsageError(f"{what}: say where to write.", "--out-dir DIR writes them there; --dry-run only reports.")
