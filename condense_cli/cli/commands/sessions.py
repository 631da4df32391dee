"""`condense sessions`: which sessions are on this machine."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...clients.choices import Client, Order
from ...core.wording import plural
from ...errors import UsageError
from ..console import console, exits, say, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...clients.client import SessionFile
    from ...report.lists.sessions import SessionList

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense sessions                              the newest 20\n"
    "condense sessions --here                       this project's\n"
    "condense sessions --sort largest --limit 5\n"
    "condense sessions --client codex --all         with archived ones\n"
    "condense sessions --json | jq -r '.sessions[0].path'\n"
    "condense run --session latest --preset cost\n"
    "condense inspect --session 5f2c91d8            part of an id is enough"
)


def sessions(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="PATH", help="Only sessions of this folder and its subfolders.")
    ] = None,
    here: Annotated[bool, typer.Option("--here", help="Only sessions of the current project.")] = False,
    client: Annotated[
        Client | None,
        typer.Option("--client", metavar="NAME", help=f"Only sessions of one client: {', '.join(Client)}."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="How many to list; 0 lists all.")] = 20,
    sort: Annotated[
        Order,
        typer.Option("--sort", metavar="ORDER", help="newest or largest first; for largest, every session is read."),
    ] = Order.NEWEST,
    shows_all: Annotated[bool, typer.Option("--all", help="Include sub-agents, archived and empty sessions.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the agent sessions on this machine.

    Covers Claude Code, Codex, Roo Code, Cline, opencode, pi, Gemini CLI, Kimi Code, Qwen Code and Copilot CLI. Tokens
    are those that the client would send now, as in condense inspect. Nothing is changed; counts are cached in your
    cache folder. Other commands take --session ID or --session latest in place of a file.
    """
    with exits():
        if here and project is not None:
            raise UsageError("--here and --project cannot be used together.", "Use one of them.")
        from ...clients import finding, listing
        from ...clients.choices import cache_folder
        from ...clients.table import session_places
        from ...config.files import load_user_configuration

        places = [place for place in session_places() if client is None or place.client is client]
        found = finding.find(places, everything=shows_all)
        files: Sequence[SessionFile] = found.files
        folder = listing.project_root(Path.cwd()) if here else project
        if folder is not None:
            files = list(listing.of_project(files, folder))
        with _progress() as on_read:
            sessions = listing.list_sessions(
                files,
                cache_folder(),
                limit=limit or None,
                order=sort,
                with_empty=shows_all,
                on_read=on_read,
            )
        report = listing.report(sessions, found, load_user_configuration())
        if json:
            from ...report.run import facts

            write_text(facts.to_json(report))
            return
        if not sessions:
            _say_nothing_found(report, folder, flag="--here" if here else "--project", everything=shows_all)
            return
        from datetime import UTC, datetime

        from ...report.lists.sessions import render_sessions

        screen = console()
        for part in render_sessions(report, datetime.now(UTC), screen.width):
            screen.print(part)
        _say_skipped(report)


@contextmanager
def _progress() -> Iterator[Callable[[SessionFile], None]]:
    """Something that is told of each file that is read, and says so where a person waits for it."""
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
    """Where it looked, unless there are sessions and the user asked for others."""
    from ...clients.choices import tilde

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
    """A folder that was looked in; those of an extension in ten editors are said in one line."""
    _, storage, extension = path.partition("globalStorage")
    return f"{storage}{extension} of every editor" if storage else path


def _say_skipped(report: SessionList) -> None:
    from ...clients.choices import tilde

    for skipped in report.skipped:
        what = plural(skipped.count, "file or folder", "files or folders")
        say(f"condense: skipped {what} that {skipped.reason}, such as {tilde(skipped.path)}")
