"""Folders of many files, and runs on them by one process."""

import gzip
from pathlib import Path

from helpers import DATA, KEPT, Outcome, as_lines, condense, session
from rowsets import LONG, SPEED, rows

SHORT = as_lines(session(KEPT))
"""A session in which there is nothing to cut."""


def grow(folder: Path) -> Path:
    """Two files of one name, a compressed one, a set of rows, one without anything to do, and files of other kinds."""
    for name, data in {
        "a/session.jsonl": DATA,
        "b/session.jsonl": DATA.replace(b"look around", b"have a look"),
        "b/deep/rows.jsonl": as_lines(rows(LONG, 1)),
        "packed.jsonl.gz": gzip.compress(DATA),
        "short.jsonl": SHORT,
        "package.json": b'{"name": "x"}',
        "notes.txt": b"no transcript",
        ".hidden/session.jsonl": DATA,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def run(*arguments: str | Path, cwd: Path) -> Outcome:
    return condense("run", *arguments, *SPEED, "-j", "1", cwd=cwd)
