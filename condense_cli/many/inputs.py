"""The files of a run over many: those that are named, and those in folders that may be transcripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..compressed import SUFFIXES
from ..errors import UsageError
from ..files import STDIO

_TRANSCRIPTS: Final = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".traj"})
"""How the names of files in a folder end that may be transcripts that can be written. What they hold decides."""


class Input(Struct, frozen=True):
    """One file, and its path below the folder that all of them have in common. A `named` one is no guess."""

    path: Path
    below: Path
    named: bool


def find_inputs(arguments: Sequence[str], output: Path | None) -> list[Input]:
    """Every file once, in the order of the arguments, those of a folder by name; hidden ones are left out.

    Files below `output` are results of earlier runs and are left out of folders. Raises UsageError where standard
    input is among the arguments or a file would be written over itself.
    """
    if STDIO in arguments:
        raise UsageError("- reads one transcript, and there are several.", "Write it to a file first.")
    found: dict[Path, tuple[Path, bool]] = {}
    bases: list[Path] = []
    for argument in arguments:
        path = Path(os.path.abspath(argument))
        bases.append(path if path.is_dir() else path.parent)
        for file in _files_in(path, output) if path.is_dir() else [path]:
            found.setdefault(Path(os.path.realpath(file)), (file, not path.is_dir()))
    base = Path(os.path.commonpath(bases))
    inputs = [Input(file, file.relative_to(base), named) for file, named in found.values()]
    for each in inputs:
        if output is not None and os.path.realpath(output / each.below) == os.path.realpath(each.path):
            raise UsageError(f"{each.path} would be written over itself.", "Name another folder with --out-dir.")
    return inputs


def _files_in(folder: Path, output: Path | None) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(place, name) != output)
        for name in sorted(names):
            if not name.startswith(".") and _may_be_transcript(name):
                yield Path(place, name)


def _may_be_transcript(name: str) -> bool:
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in SUFFIXES else path).suffix in _TRANSCRIPTS
