"""`condense install`: add hooks, status line and MCP server to a client, check them, or remove them."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from ...errors import UsageError
from ...hooks.notes import faults_of
from ...installing.before_install import forget, given_back, note
from ...installing.plan import InstallPlan
from ...installing.target import Target
from ...report.text.visible import visible
from ...sessions.listing import project_root
from ..commands.session import InstallOptions
from ..console import say


def install(options: InstallOptions) -> None:
    """Show the changes and write them if the user agrees. Raises CondenseError."""
    if options.status and (options.dry_run or options.yes or options.remove):
        raise UsageError("--status changes nothing.", "Use it alone or with --project.")
    target = _target(options.client.value, options.project)
    steps: Any = import_module(f"...installing.{options.client.value.replace('-', '_')}", __package__)
    if options.status:
        raise SystemExit(_say_status(target, list(steps.problems(target))))
    removal: InstallPlan = steps.removed(target)
    plan: InstallPlan = given_back(removal) if options.remove else steps.installed(target)
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
                note(plan.changes, {edit.path for edit in removal.changes})
            typer.echo("Removed." if options.remove else "Written. Restart the client to use it.")
    for remark in plan.remarks:
        typer.echo(remark)
    if not (options.remove or target.has_mcp):
        typer.echo("The MCP server was left out; it needs a package: pip install 'condense-cli[mcp]'")


def _target(client: str, project: bool) -> Target:
    folder = project_root(Path.cwd()) if project else None
    return Target(client, Path(os.path.expanduser("~")), os.environ, folder, find_spec("mcp") is not None)


def _is_wanted(yes: bool) -> bool:
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("condense: nothing was written; --yes writes it.")
        return False
    return typer.confirm("Write this?", default=False)


def _say_status(target: Target, problems: list[str]) -> int:
    where = f"in {target.project}" if target.project else "for all projects"
    typer.echo(f"{target.client}, {where}: {'not everything works' if problems else 'installed'}.")
    for problem in problems:
        typer.echo(visible(problem))
    faults = faults_of(target.client)
    if faults:
        typer.echo(f"Hooks failed {len(faults)} times; the last ones:")
    for fault in faults[-5:]:
        time = datetime.fromtimestamp(fault.get("time", 0)).strftime("%Y-%m-%d %H:%M")
        typer.echo(visible(f"  {time}  {fault.get('event')}  {fault.get('what')}"))
    return 1 if problems else 0
