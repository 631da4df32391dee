"""Inputs of a run over many files, and the record by which a later run skips what is done."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from ..core import json_text
from ..errors import CondenseError, UsageError
from ..storage.files import STDIO, SUFFIXES, input_errors, output_errors
from .facts import Tally

TRANSCRIPTS: Final = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".traj"})
"""Endings of files in a folder that may be writable transcripts; their content decides."""


class Input(Struct, frozen=True):
    """One file, and its path below the folder that all inputs share. `named`: the user named it, so it is no guess."""

    path: Path
    below: Path
    named: bool

    @property
    def base(self) -> Path:
        return self.path.parents[len(self.below.parts) - 1]


def find_inputs(arguments: Sequence[str], output: Path | None) -> list[Input]:
    """List every file once, in the order of the arguments, those of a folder by name; hidden ones are left out.

    Folders leave out what is below `output`: results of earlier runs. Raises UsageError for standard input among
    the arguments, or if a file would be overwritten by its own result.
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
    except ValueError:  # On Windows no folder holds two drives.
        raise UsageError("The files are on several drives.", "Condense each drive separately.") from None
    inputs = [Input(file, file.relative_to(base), named) for file, named in found.values()]
    for each in inputs:
        over = found.get(_place(output / each.below)) if output is not None else None
        if over is not None:
            what = "itself" if over[0] == each.path else f"{over[0]}, which is an input too"
            raise UsageError(f"{each.path} would overwrite {what}.", "Name another folder with --out-dir.")
    return inputs


def files_in(folder: Path, output: Path | None = None) -> Iterator[Path]:
    """Yield possible transcripts in a folder and those below, without hidden files and earlier results."""
    results = _place(output) if output is not None else None
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            each for each in folders if not each.startswith(".") and _place(Path(place, each)) != results
        )
        for name in sorted(names):
            if not name.startswith(".") and _may_be_transcript(name):
                yield Path(place, name)


def _place(path: Path) -> str:
    """Return one name for a place, however it is spelled."""
    return os.path.normcase(os.path.realpath(path))


def _may_be_transcript(name: str) -> bool:
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in SUFFIXES else path).suffix in TRANSCRIPTS


NAME: Final = ".condense-run.jsonl"
RECORD: Final = 3
"""Raise it when an earlier run with the same flags may have written something else: then everything is done again."""

_PIECE: Final = 1 << 20


class FileRecord(Struct, frozen=True):
    """A written file: its path in the folder, what it was made from and how, its hash, and its figures.

    `made_from` is the hash of the input's bytes and of everything that decides the output. Records of 0.1.0 have no
    tally; their files were made differently and are done again.
    """

    output: str
    made_from: str
    sha256: str
    tally: Tally = field(default_factory=Tally)


def read_record(folder: Path) -> dict[str, FileRecord]:
    """Read the entries of a folder, keyed by output; the last one counts, and incomplete lines are skipped."""
    entries: dict[str, FileRecord] = {}
    try:
        lines = (folder / NAME).read_bytes().splitlines()
    except OSError:
        return entries
    for line in lines:
        try:
            entry = msgspec.convert(json_text.parse(line), FileRecord, dec_hook=lambda counter, value: counter(value))
        except (ValueError, TypeError, RecursionError):
            continue
        entries[entry.output] = entry
    return entries


def add_entry(folder: Path, entry: FileRecord) -> None:
    """Note a complete file in the folder. Raises OutputError."""
    path = folder / NAME
    line = json.dumps(msgspec.to_builtins(entry), separators=(",", ":"))  # A name need not be UTF-8.
    with output_errors(path), path.open("ab") as file:
        file.write(b"\n" * bool(file.tell()) + line.encode())


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes. Raises UnreadableError."""
    digest = hashlib.sha256()
    with input_errors(path), path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def is_up_to_date(entry: FileRecord | None, made_from: str, output: Path) -> bool:
    """Check that the output was made from the same input and settings, and is unchanged."""
    if entry is None or entry.made_from != made_from:
        return False
    try:
        return file_hash(output) == entry.sha256
    except CondenseError:
        return False
