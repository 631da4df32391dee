"""The files of a run over many: those that are named, and those in folders that may be transcripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..errors import UsageError
from ..storage.files import STDIO, SUFFIXES

TRANSCRIPTS: Final = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".traj"})
"""How the names of files in a folder end that may be transcripts that can be written. What they hold decides."""


class Input(Struct, frozen=True):
    """One file, and its path below the folder that all of them have in common. A `named` one is no guess."""

    path: Path
    below: Path
    named: bool

    @property
    def base(self) -> Path:
        return self.path.parents[len(self.below.parts) - 1]


def find_inputs(arguments: Sequence[str], output: Path | None) -> list[Input]:
    """Every file once, in the order of the arguments, those of a folder by name; hidden ones are left out.

    Files below `output` are results of earlier runs and are left out of folders. Raises UsageError where standard
    input is among the arguments or a file would be written over itself.
    """
    if STDIO in arguments:
        raise UsageError("- reads one transcript, but several are given.", "Write it to a file first.")
    found: dict[str, tuple[Path, bool]] = {}
    bases: list[Path] = []
    for argument in arguments:
        path = Path(os.path.abspath(argument))
        bases.append(path if path.is_dir() else path.parent)
        for file in files_in(path, output) if path.is_dir() else [path]:
            first, is_named = found.get(_place(file), (file, False))
            found[_place(file)] = (first, is_named or not path.is_dir())
    try:
        base = Path(os.path.commonpath(bases))
    except ValueError:  # Of Windows, where no folder holds two drives.
        raise UsageError("The files are on several drives.", "Condense each drive separately.") from None
    inputs = [Input(file, file.relative_to(base), named) for file, named in found.values()]
    for each in inputs:
        over = found.get(_place(output / each.below)) if output is not None else None
        if over is not None:
            what = "itself" if over[0] == each.path else f"{over[0]}, which is an input too"
            raise UsageError(f"{each.path} would overwrite {what}.", "Name another folder with --out-dir.")
    return inputs


def files_in(folder: Path, output: Path | None = None) -> Iterator[Path]:
    """The files in a folder, and in those below it, that may be transcripts; without hidden ones and the results."""
    results = _place(output) if output is not None else None
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            each for each in folders if not each.startswith(".") and _place(Path(place, each)) != results
        )
        for name in sorted(names):
            if not name.startswith(".") and _may_be_transcript(name):
                yield Path(place, name)


def _place(path: Path) -> str:
    """The one name of a place, however it is spelled."""
    return os.path.normcase(os.path.realpath(path))


def _may_be_transcript(name: str) -> bool:
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in SUFFIXES else path).suffix in TRANSCRIPTS
