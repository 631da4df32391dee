"""Codex: hooks in `hooks.json`, the MCP server in `config.toml`, and whether the user trusts the hooks.

Codex runs no hook that nobody has looked at: in the client, `/hooks` shows them and trusts them. A hook whose command
changes has to be trusted anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .codex_trust import untrusted
from .commands import is_our_server, program
from .hook_entries import commands_in, problems_of, with_hooks, without_hooks
from .json_settings import edit_of, settings_in
from .plan import InstallPlan, SettingsEdit, read
from .target import Target
from .toml_block import tables_in, with_table, without_table

CLIENT: Final = "codex"
SERVER: Final = "condense"
_TABLE: Final = f"mcp_servers.{SERVER}"

TRUST: Final = "Codex runs hooks only once you trust them: start codex, type /hooks, and trust those of condense."

_MOVED: Final = "Codex identifies hooks by position, so it may ask you to trust later ones again."


def installed(target: Target) -> InstallPlan:
    """What is to be written so that the client works with condense. Raises UnreadableError."""
    path = _hooks(target)
    text, before = settings_in(path)
    edits = [edit_of(path, text, before, with_hooks(before, CLIENT))]
    remarks = [TRUST]
    if target.has_mcp:
        edits.append(_server(target, {"command": program()[0], "args": [*program()[1:], "mcp"]}))
    if target.project is not None:
        remarks.append(f"Codex reads {target.project / '.codex'} only in trusted projects.")
    return InstallPlan(tuple(edits), tuple(remarks))


def removed(target: Target) -> InstallPlan:
    """What is to be written so that nothing of ours is left. Raises UnreadableError."""
    path = _hooks(target)
    text, before = settings_in(path)
    after = without_hooks(before)
    remarks = (_MOVED,) if after != before and after.get("hooks") else ()
    return InstallPlan((edit_of(path, text, before, after), _server(target, None)), remarks)


def problems(target: Target) -> Iterator[str]:
    """What keeps the installed from working, in sentences."""
    path = _hooks(target)
    _, settings = settings_in(path)
    yield from problems_of(settings)
    found = dict(commands_in(settings))
    tables = tables_in(_config(target), read(_config(target)))
    features = tables.get("features")
    if isinstance(features, dict) and features.get("hooks") is False:
        yield f"Hooks are switched off in {_config(target)} (features.hooks)."
    elif found:
        waiting = untrusted(target, path, found)
        if waiting:
            yield f"Not trusted yet: {', '.join(waiting)}. {TRUST}"
    if target.has_mcp and SERVER not in _servers(tables):
        yield "The MCP server is not installed."


def _hooks(target: Target) -> Path:
    return _folder(target) / "hooks.json"


def _config(target: Target) -> Path:
    return _folder(target) / "config.toml"


def _folder(target: Target) -> Path:
    return target.folder if target.project is None else target.project / ".codex"


def _servers(tables: dict[str, Any]) -> dict[str, Any]:
    servers = tables.get("mcp_servers")
    return servers if isinstance(servers, dict) else {}


def _server(target: Target, wanted: dict[str, str | list[str]] | None) -> SettingsEdit:
    """The configuration with our server, or without. One of another make by this name is left alone."""
    path = _config(target)
    text = read(path)
    found = _servers(tables_in(path, text)).get(SERVER)
    known: dict[str, Any] = found if isinstance(found, dict) else {}
    is_ours = is_our_server(found)
    if (found is not None and not is_ours) or (found is None and wanted is None):
        return SettingsEdit(path, text, text)
    if is_ours and wanted is not None and all(known.get(key) == value for key, value in wanted.items()):
        return SettingsEdit(path, text, text)
    left = without_table(text or "", _TABLE)
    after = with_table(left, _TABLE, wanted) if wanted is not None else left
    tables_in(path, after)
    return SettingsEdit(path, text, after if after.strip() else None)
