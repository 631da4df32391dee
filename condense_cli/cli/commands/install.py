"""`condense install`: hooks, status line and MCP server of a client."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UsageError
from ..console import exits, say

if TYPE_CHECKING:
    from ...installing.plan import Plan
    from ...installing.target import Target

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense install claude-code               shows what it writes, and asks\n"
    "condense install codex --dry-run\n"
    "condense install claude-code --project     for the project you are in\n"
    "condense install claude-code --status      whether it works\n"
    "condense install claude-code --remove"
)


class HookedClient(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


def install(
    client: Annotated[HookedClient, typer.Argument(metavar="claude-code|codex", help="The client to work in.")],
    project: Annotated[
        bool, typer.Option("--project", help="For the project you are in instead of all; needs that you trust it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Show what would be written, and stop.")] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say whether it is installed and works. Exit status 1: no.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take out all of it, and nothing else.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Let Claude Code or Codex use condense as you work.

    After a compaction the model gets a recap of what was lost; before it the session is kept; at the end of a turn a
    line says when it is time to condense; Claude Code gets a status line; and the model can ask for what a marker
    stands for (with the extra mcp). What is written is shown first. Settings of others stay as they are.
    """
    with exits():
        if status and (dry_run or yes or remove):
            raise UsageError("--status only looks.", "Use it alone, or with --project.")
        target = _target(client.value, project)
        steps: Any = import_module(f"...installing.{client.value.replace('-', '_')}", __package__)
        if status:
            raise SystemExit(_say_status(target, list(steps.problems(target))))
        plan: Plan = steps.removed(target) if remove else steps.installed(target)
        if not plan.changes:
            typer.echo("Nothing to change: " + ("nothing of condense is there." if remove else "it is all there."))
        else:
            _show(plan)
            if not dry_run and _is_wanted(yes):
                for edit in plan.changes:
                    edit.write()
                typer.echo("Removed." if remove else "Written. Start the client anew to use it.")
        _say_rest(plan, lacks_mcp=not (remove or target.has_mcp))


def _target(client: str, project: bool) -> Target:
    from importlib.util import find_spec

    from ...installing.target import Target
    from ...sessions.listing import project_root

    folder = project_root(Path.cwd()) if project else None
    return Target(client, Path(os.path.expanduser("~")), os.environ, folder, find_spec("mcp") is not None)


def _show(plan: Plan) -> None:
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


def _say_rest(plan: Plan, *, lacks_mcp: bool) -> None:
    for remark in plan.remarks:
        typer.echo(remark)
    if lacks_mcp:
        typer.echo("The MCP server was left out; it needs a package: pip install 'condense-cli[mcp]'")


def _say_status(target: Target, problems: list[str]) -> int:
    from datetime import datetime

    from ...hooks.notes import faults_of
    from ...report.text.visible import visible

    where = f"in {target.project}" if target.project else "for all projects"
    typer.echo(f"{target.client}, {where}: {'not all works' if problems else 'installed'}.")
    for problem in problems:
        typer.echo(visible(problem))
    faults = faults_of(target.client)
    if faults:
        typer.echo(f"Hooks failed {len(faults)} times; the last ones:")
    for fault in faults[-5:]:
        time = datetime.fromtimestamp(fault.get("time", 0)).strftime("%Y-%m-%d %H:%M")
        typer.echo(visible(f"  {time}  {fault.get('event')}  {fault.get('what')}"))
    return 1 if problems else 0
