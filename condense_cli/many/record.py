"""What runs wrote into a folder: a line for every file, so that the next run leaves alone what is up to date."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from ..core import json_text
from ..errors import CondenseError
from ..rows.tally import Tally
from ..storage.files import input_errors, output_errors

NAME: Final = ".condense-run.jsonl"
RECORD: Final = 3
"""Goes up when an earlier run with the same flags may have written something else: then all is done again."""

_PIECE: Final = 1 << 20


class FileRecord(Struct, frozen=True):
    """One file that was written: its path in the folder, what it was made from and how, its hash, and what came of it.

    `made_from` is the hash of the input's bytes and of everything that decides what becomes of them. Records of 0.1.0
    have no tally: what they tell of was made otherwise, and is done again.
    """

    output: str
    made_from: str
    sha256: str
    tally: Tally = field(default_factory=Tally)


def read_record(folder: Path) -> dict[str, FileRecord]:
    """The entries of a folder by their output; the last one counts, and lines that are not whole are passed over."""
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
    """Note a file that stands whole in the folder. Raises OutputError."""
    path = folder / NAME
    line = json.dumps(msgspec.to_builtins(entry), separators=(",", ":"))  # A name need not be UTF-8.
    with output_errors(path), path.open("ab") as file:
        file.write(b"\n" * bool(file.tell()) + line.encode())


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes. Raises UnreadableError."""
    digest = hashlib.sha256()
    with input_errors(path), path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def is_up_to_date(entry: FileRecord | None, made_from: str, output: Path) -> bool:
    """Whether the output was made from the same by the same, and is still what was written."""
    if entry is None or entry.made_from != made_from:
        return False
    try:
        return file_hash(output) == entry.sha256
    except CondenseError:
        return False
