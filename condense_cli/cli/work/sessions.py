"""`condense sessions`: list the sessions on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ...clients import listing
from ...clients.choices import tilde
from ...clients.client import SessionFile
from ...clients.table import find, session_places
from ...config.own import load_user_configuration
from ...core.wording import plural
from ...errors import UsageError
from ...report.lists.sessions import SessionList, sections
from ...report.sections import to_json
from ..commands.look import SessionsOptions
from ..console import console, print_parts, say, write_text


def sessions(options: SessionsOptions) -> None:
    """Print the list. Raises CondenseError."""
    if options.here and options.project is not None:
        raise UsageError("--here and --project cannot be used together.", "Use one of them.")
    everything, client = options.shows_all, options.client
    places = [place for place in session_places() if client is None or place.client is client]
    found = find(places, everything=everything)
    files: Sequence[SessionFile] = found.files
    folder = listing.project_root(Path.cwd()) if options.here else options.project
    if folder is not None:
        files = list(listing.of_project(files, folder))
    with _progress() as on_read:
        listed = listing.list_sessions(files, limit=options.limit or None, with_empty=everything, on_read=on_read)
    report = listing.report(listed, found, load_user_configuration())
    if options.json:
        write_text(to_json(report))
        return
    if not listed:
        _say_nothing_found(report, folder, flag="--here" if options.here else "--project", everything=everything)
        return
    print_parts(sections(report, datetime.now(UTC), console().width))
    _say_skipped(report)


@contextmanager
def _progress() -> Iterator[Callable[[SessionFile], None]]:
    """Count the files that are read on the terminal, if messages go to one."""
    if not sys.stderr.isatty():
        yield lambda file: None
        return
    read = 0
    with console(stderr=True).status("Reading sessions") as status:

        def on_read(file: SessionFile) -> None:
            nonlocal read
            read += 1
            status.update(f"Reading sessions: {read:,}")

        yield on_read


def _say_nothing_found(report: SessionList, folder: Path | None, *, flag: str, everything: bool) -> None:
    """Say where sessions were looked for, or which flags hide them."""
    if report.files:
        more = "" if everything else "--all lists archived and empty ones too"
        if folder is None:
            say(f"condense: no session has messages; {more}.")
        else:
            others = f"leave out {flag} to list those of every project"
            say(f"condense: no session of {tilde(str(folder))}; {others}{more and f', and {more}'}.")
    else:
        say("condense: no sessions found. Looked in:")
        for line in dict.fromkeys(f"  {place.client:<12}{_where(tilde(place.path))}" for place in report.places):
            say(line)
    _say_skipped(report)


def _where(path: str) -> str:
    """Return the name of a folder; the same extension in ten editors is one line."""
    _, storage, extension = path.partition("globalStorage")
    return f"{storage}{extension} of every editor" if storage else path


def _say_skipped(report: SessionList) -> None:
    for skipped in report.skipped:
        what = plural(skipped.count, "file or folder", "files or folders")
        say(f"condense: skipped {what} that {skipped.reason}, such as {tilde(skipped.path)}")
