"""`condense install`: add hooks, status line and MCP server to a client, check them, or remove them."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

import typer

from ...clients.choices import Client, own_folder
from ...clients.client import Setup
from ...clients.hooks import faults_of
from ...clients.listing import project_root
from ...clients.settings import Target, forget, given_back, note_edits
from ...clients.table import CLIENTS
from ...core.wording import visible
from ...errors import UsageError
from ...storage.extras import how_to_install
from ..commands.session import HookedClient, InstallOptions
from ..console import say


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
