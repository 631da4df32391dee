"""Claude Code: hooks and status line in its settings, the MCP server among those of the user.

In a project they go to `.claude/settings.local.json`, which is not shared: the commands are those of this machine. MCP
servers are in `~/.claude.json`, those of a project under its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .commands import hook_command, is_our_server, program, runs
from .hook_entries import problems_of, runs_ours, with_hooks, without_hooks
from .json_settings import Settings, edit_of, part, settings_in
from .plan import InstallPlan, SettingsEdit
from .target import Target

CLIENT: Final = "claude-code"
SERVER: Final = "condense"


def installed(target: Target) -> InstallPlan:
    """What is to be written so that the client works with condense. Raises UnreadableError."""
    path = _settings(target)
    text, before = settings_in(path)
    after = with_hooks(before, CLIENT)
    remarks = []
    line = before.get("statusLine")
    if line is None or runs_ours(line):
        after["statusLine"] = {"type": "command", "command": hook_command(CLIENT, "status-line")}
    else:
        remarks.append("You have another status line; it was left alone.")
    if before.get("disableAllHooks") is True:
        remarks.append(f"disableAllHooks is set in {path}; no hook runs until you remove it.")
    edits = [edit_of(path, text, before, after)]
    if target.has_mcp:
        edits.append(_server(target, {"type": "stdio", "command": program()[0], "args": [*program()[1:], "mcp"]}))
    return InstallPlan(tuple(edits), tuple(remarks))


def removed(target: Target) -> InstallPlan:
    """What is to be written so that nothing of ours is left. Raises UnreadableError."""
    path = _settings(target)
    text, before = settings_in(path)
    after = without_hooks(before)
    if runs_ours(after.get("statusLine")):
        del after["statusLine"]
    return InstallPlan((edit_of(path, text, before, after), _server(target, None)))


def problems(target: Target) -> Iterator[str]:
    """What keeps the installed from working, in sentences."""
    path = _settings(target)
    _, settings = settings_in(path)
    yield from problems_of(settings)
    line = settings.get("statusLine")
    if line is None:
        yield "The status line is not installed."
    elif runs_ours(line) and not runs(line["command"]):
        yield f"The status line runs a program that is not there: {line['command']}"
    if settings.get("disableAllHooks") is True:
        yield f"disableAllHooks is set in {path}; no hook runs."
    if target.has_mcp and _servers(settings_in(_state(target))[1], target).get(SERVER) is None:
        yield "The MCP server is not installed."


def _settings(target: Target) -> Path:
    if target.project is not None:
        return target.project / ".claude" / "settings.local.json"
    return target.folder / "settings.json"


def _state(target: Target) -> Path:
    if target.environment.get("CLAUDE_CONFIG_DIR"):
        return target.folder / ".claude.json"
    return target.home / ".claude.json"


def _server(target: Target, wanted: Settings | None) -> SettingsEdit:
    """The client's own file with our server, or without. One of another make by this name is left alone."""
    path = _state(target)
    text, before = settings_in(path)
    servers = _servers(before, target)
    found = servers.get(SERVER)
    if found == wanted or (found is not None and not is_our_server(found)):
        return edit_of(path, text, before, before)
    others = {name: server for name, server in servers.items() if name != SERVER}
    return edit_of(path, text, before, _with_servers(before, target, others | ({SERVER: wanted} if wanted else {})))


def _servers(state: Settings, target: Target) -> Settings:
    holder = state
    if target.project is not None:
        holder = part(part(state, "projects", dict), str(target.project), dict)
    return part(holder, "mcpServers", dict)


def _with_servers(state: Settings, target: Target, servers: Settings) -> Settings:
    if target.project is None:
        return _with(state, "mcpServers", servers)
    projects = part(state, "projects", dict)
    project = _with(part(projects, str(target.project), dict), "mcpServers", servers)
    return _with(state, "projects", _with(projects, str(target.project), project))


def _with(holder: Settings, key: str, value: Settings) -> Settings:
    """An object with another value in its place; without the key where the value is empty, and was not before."""
    if not value:
        return {name: each for name, each in holder.items() if name != key}
    return {**holder, key: value}
