"""`condense install`, `sessions` and `mcp`: hooks in clients, their sessions, and tools for their models."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import typer

from ...clients import finding, listing
from ...clients.choices import Client, cache_folder, own_folder, tilde
from ...clients.client import SessionFile, Setup
from ...clients.hooks import faults_of
from ...clients.listing import project_root
from ...clients.mcp_tools import Library
from ...clients.settings import Target, forget, given_back, note_edits
from ...clients.table import CLIENTS, session_places
from ...config.own import load_user_configuration
from ...core.wording import plural, visible
from ...errors import UsageError
from ...report.lists.sessions import SessionList, sections
from ...report.sections import to_json
from ...storage.extras import how_to_install, missing
from ..commands.look import SessionsOptions
from ..commands.session import HookedClient, InstallOptions, McpOptions
from ..console import console, print_parts, say, write_text
from .reading import input_file


def install(options: InstallOptions) -> None:
    """Show the changes and write them if the user agrees. Raises CondenseError."""
    if options.status and (options.dry_run or options.yes or options.remove):
        raise UsageError("--status changes nothing.", "Use it alone or with --project.")
    target = _target(options.project)
    if options.client is None:
        if not options.status:
            raise UsageError("install needs a client.", f"Name one of {', '.join(HookedClient)}.")
        raise SystemExit(_say_all(target))
    client = options.client.value
    setup = _setup_of(client)
    if options.status:
        raise SystemExit(_say_status(client, target, list(setup.problems(target))))
    removal = setup.removal_plan(target)
    plan = given_back(removal) if options.remove else setup.install_plan(target)
    if not plan.changes:
        already = "condense is not installed there." if options.remove else "everything is installed already."
        typer.echo(f"Nothing to change: {already}")
    else:
        for edit in plan.changes:
            for line in edit.shown():
                typer.echo(visible(line))
        if not options.dry_run and _is_wanted(options.yes):
            for edit in plan.changes:
                edit.write()
            if options.remove:
                forget(plan.changes)
            else:
                note_edits(plan.changes, {edit.path for edit in removal.changes})
            typer.echo("Removed." if options.remove else "Written. Restart the client to use it.")
    for remark in plan.remarks:
        typer.echo(remark)
    if setup.has_server and not (options.remove or target.has_mcp):
        typer.echo(f"The MCP server was left out; it needs a package: {how_to_install('mcp')}")


def _target(project: bool) -> Target:
    folder = project_root(Path.cwd()) if project else None
    return Target(Path(os.path.expanduser("~")), os.environ, folder, find_spec("mcp") is not None)


def _is_wanted(yes: bool) -> bool:
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("condense: nothing was written; --yes writes it.")
        return False
    return typer.confirm("Write this?", default=False)


def _setup_of(client: str) -> Setup:
    setup = CLIENTS[Client(client)].setup
    assert setup is not None
    return setup


def _say_all(target: Target) -> int:
    """Say what is on in each client of this machine; return 1 if something of it does not work."""
    status = 0
    is_any = False
    for client in HookedClient:
        setup = _setup_of(client)
        is_installed = bool(setup.removal_plan(target).changes)
        if is_installed:
            status |= _say_status(client, target, [*setup.problems(target)])
        elif own_folder(Client(client), target.home, target.environment).exists():
            typer.echo(f"{client}: not installed; condense install {client} shows what it adds.")
        else:
            continue
        is_any = True
    if not is_any:
        typer.echo("There is no client here that condense can be installed in.")
    return status


def _say_status(client: str, target: Target, problems: list[str]) -> int:
    where = f"in {target.project}" if target.project else "for all projects"
    typer.echo(f"{client}, {where}: {'not everything works' if problems else 'installed'}.")
    for problem in problems:
        typer.echo(visible(problem))
    faults = faults_of(client)
    if faults:
        typer.echo(f"Hooks failed {len(faults)} times; the last ones:")
    for fault in faults[-5:]:
        time = datetime.fromtimestamp(fault.get("time", 0)).strftime("%Y-%m-%d %H:%M")
        typer.echo(visible(f"  {time}  {fault.get('event')}  {fault.get('what')}"))
    return 1 if problems else 0


def sessions(options: SessionsOptions) -> None:
    """Print the list. Raises CondenseError."""
    if options.here and options.project is not None:
        raise UsageError("--here and --project cannot be used together.", "Use one of them.")
    everything, client = options.shows_all, options.client
    places = [place for place in session_places() if client is None or place.client is client]
    found = finding.find(places, everything=everything)
    files: Sequence[SessionFile] = found.files
    folder = listing.project_root(Path.cwd()) if options.here else options.project
    if folder is not None:
        files = list(listing.of_project(files, folder))
    with _progress() as on_read:
        listed = listing.list_sessions(
            files,
            cache_folder(),
            limit=options.limit or None,
            order=options.sort,
            with_empty=everything,
            on_read=on_read,
        )
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


def mcp(options: McpOptions) -> None:
    """Serve until the client closes standard input. Raises CondenseError."""
    file, session = options.file, options.session
    if file == "-":
        raise UsageError("Standard input belongs to the client.", "Name its file.")
    named = input_file(file, session, is_latest_said=False) if file or session else None
    library = Library(session_places(), Path.cwd(), named)
    if named is not None:
        library.session()
    try:
        from ...clients.mcp_server import serve, server  # With the package mcp.
    except ImportError as error:
        raise missing("The MCP server needs the package mcp", "mcp") from error
    serve(server(library, load_user_configuration()))
