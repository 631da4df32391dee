"""`condense evaluate --html FILE`: where the page goes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...errors import OutputError, UsageError
from ..console import say


def check_page(page: Path | None, plot: Path | None, inputs: Iterable[str]) -> None:
    """Raises UsageError and OutputError before any work is done."""
    if page is None:
        return
    from ...storage.files import check_output

    if str(page) == "-":
        raise UsageError("--html writes a file.", "Name one, such as page.html.")
    for file in inputs:
        check_output(file, page, "Write the page to another file.")
    if plot is not None and plot.resolve() == page.resolve():
        raise UsageError("--plot and --html name the same file.", "Name two files.")
    if not page.absolute().parent.is_dir():
        raise OutputError(f"There is no folder {page.parent} to write {page} in.", "Nothing was measured.")


def write_page(page: Path, text: str) -> None:
    """Write the page, and say so. Raises OutputError."""
    from ...storage.files import write_bytes

    write_bytes(page, text.encode())
    say(f"Written: {page}")
