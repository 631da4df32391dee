"""`condense install`: hooks, status line and MCP server of a client."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UsageError
from ..console import exits, say

if TYPE_CHECKING:
    from ...clients.settings import InstallPlan, Target

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense install claude-code               shows what it writes, and asks\n"
    "condense install codex --dry-run\n"
    "condense install claude-code --project     for this project only\n"
    "condense install claude-code --status      whether it works\n"
    "condense install claude-code --remove"
)


class HookedClient(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


def install(
    client: Annotated[HookedClient, typer.Argument(metavar="claude-code|codex", help="The client to work in.")],
    project: Annotated[
        bool, typer.Option("--project", help="For the current project only; you must trust it in the client.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Show what would be written and stop.")] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Check whether it is installed and works; exit status 1 if not.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove all of it, and nothing else.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Let Claude Code or Codex use condense as you work.

    Adds hooks that back up the session before a compaction, give the model a recap of what was lost after it, and tell
    you when it is time to condense; a status line (Claude Code); and, with the extra mcp, tools to look up what markers
    replaced. You see what will be written first. Other settings are left alone.
    """
    with exits():
        if status and (dry_run or yes or remove):
            raise UsageError("--status changes nothing.", "Use it alone or with --project.")
        target = _target(project)
        from ...clients.choices import Client
        from ...clients.table import CLIENTS

        setup = CLIENTS[Client(client.value)].setup
        assert setup is not None
        if status:
            raise SystemExit(_say_status(client, target, list(setup.problems(target))))
        from ...clients.settings import forget, given_back, note_edits

        removal = setup.removal_plan(target)
        plan = given_back(removal) if remove else setup.install_plan(target)
        if not plan.changes:
            typer.echo(
                "Nothing to change: "
                + ("condense is not installed there." if remove else "everything is installed already.")
            )
        else:
            _show(plan)
            if not dry_run and _is_wanted(yes):
                for edit in plan.changes:
                    edit.write()
                if remove:
                    forget(plan.changes)
                else:
                    note_edits(plan.changes, {edit.path for edit in removal.changes})
                typer.echo("Removed." if remove else "Written. Restart the client to use it.")
        _say_rest(plan, lacks_mcp=not (remove or target.has_mcp))


def _target(project: bool) -> Target:
    from importlib.util import find_spec

    from ...clients.listing import project_root
    from ...clients.settings import Target

    folder = project_root(Path.cwd()) if project else None
    return Target(Path(os.path.expanduser("~")), os.environ, folder, find_spec("mcp") is not None)


def _show(plan: InstallPlan) -> None:
    from ...report.text.visible import visible

    for edit in plan.changes:
        for line in edit.shown():
            typer.echo(visible(line))


def _is_wanted(yes: bool) -> bool:
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("condense: nothing was written; --yes writes it.")
        return False
    return typer.confirm("Write this?", default=False)


def _say_rest(plan: InstallPlan, *, lacks_mcp: bool) -> None:
    for remark in plan.remarks:
        typer.echo(remark)
    if lacks_mcp:
        typer.echo("The MCP server was left out; it needs a package: pip install 'condense-cli[mcp]'")


def _say_status(client: HookedClient, target: Target, problems: list[str]) -> int:
    from datetime import datetime

    from ...clients.hooks import faults_of
    from ...report.text.visible import visible

    where = f"in {target.project}" if target.project else "for all projects"
    typer.echo(f"{client.value}, {where}: {'not everything works' if problems else 'installed'}.")
    for problem in problems:
        typer.echo(visible(problem))
    faults = faults_of(client.value)
    if faults:
        typer.echo(f"Hooks failed {len(faults)} times; the last ones:")
    for fault in faults[-5:]:
        time = datetime.fromtimestamp(fault.get("time", 0)).strftime("%Y-%m-%d %H:%M")
        typer.echo(visible(f"  {time}  {fault.get('event')}  {fault.get('what')}"))
    return 1 if problems else 0
