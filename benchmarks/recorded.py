"""Recorded transcripts beside the project, and pages of the documentation with measured tables in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.errors import CondenseError

PROJECT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = PROJECT / "docs"
SAMPLES: Final = PROJECT / "sample_transcripts"
TRANSCRIPTS: Final = PROJECT.parent / "shared" / "transcripts"
MORE: Final = PROJECT.parent / "shared" / "more-transcripts"
"""Both have a folder per kind of client."""


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Return the given files, and those directly in the given folders."""
    found: list[Path] = []
    for path in paths:
        found += sorted(inner for inner in path.iterdir() if inner.is_file()) if path.is_dir() else [path]
    return found


def readable(paths: Iterable[Path]) -> Iterator[tuple[Path, Transcript]]:
    """Yield the files that can be read, with their transcripts."""
    for path in paths:
        try:
            yield path, api.load(path)
        except CondenseError:
            continue


def replace_between(page: Path, begin: str, end: str, text: str) -> None:
    """Replace the text between two marks in a page."""
    before, _, rest = page.read_text().partition(begin)
    page.write_text(f"{before}{begin}\n\n{text.rstrip()}\n\n{end}{rest.partition(end)[2]}")
