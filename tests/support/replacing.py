"""A session condensed in place, what then stands beside it, and ways in which it goes on meanwhile."""

from pathlib import Path

from helpers import Outcome, condense

GREW = b'{"role": "user", "content": "And now?"}\n'


def in_place(file: Path, *arguments: str) -> Outcome:
    return condense("run", file, "-p", "speed", "--in-place", *arguments)


def beside(file: Path) -> list[Path]:
    """Backups and whatever else came to stand beside a file."""
    return sorted(path for path in file.parent.iterdir() if path.name != file.name)


def appended(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(GREW)
