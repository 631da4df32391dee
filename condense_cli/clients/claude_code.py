"""Claude Code: its sessions, and hooks, status line and MCP server in its settings.

In a project hooks go to `.claude/settings.local.json`, which is not shared: the commands are those of this machine. MCP
servers are in `~/.claude.json`, those of a project under its path.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ..core import json_text
from ..core.json_text import text_in
from ..core.transcript import JsonPath
from ..errors import UsageError
from ..storage.backups import WritingProcess, is_alive
from . import settings
from .choices import CLAUDE_FOLDER, CONDENSED, Client, own_folder
from .client import (
    NO_CHANCE,
    KnownClient,
    Layout,
    Machine,
    Peek,
    Session,
    SessionFiles,
    SessionPlace,
    Setup,
    first_request,
    records,
    records_with,
    texts_in,
    title_of,
)

_TITLES: Final = (("custom-title", "customTitle"), ("ai-title", "aiTitle"))
"""The user's own title wins over the client's."""
_NOT_ASKED: Final = ("isMeta", "isCompactSummary", "isSidechain", "isVisibleInTranscriptOnly")
_LONGEST_FOLDER: Final = 200
_MESSAGE: Final = re.compile(rb'"type"\s*:\s*"(?:user|assistant)"')


def title(data: bytes) -> str | None:
    """Return the newest title, else a summary of a message in this file, else the first request."""
    for kind, key in _TITLES:
        named = [record.get(key) for record in records_with(data, f'"{kind}"'.encode()) if record.get("type") == kind]
        if named and isinstance(named[-1], str) and title_of(named[-1]):
            return title_of(named[-1])
    return _summary(data) or first_request(_asked(data)) or first_request(_asked(data, everywhere=True))


def _titled(data: bytes, session_id: str) -> bytes:
    """Add a title as the client writes one that its user gave."""
    named = title(data)
    if named is None or named.endswith(CONDENSED):
        return data
    record = {"type": _TITLES[0][0], _TITLES[0][1]: f"{named} {CONDENSED}", "sessionId": session_id}
    end = b"" if data.endswith(b"\n") else b"\n"
    return data + end + json_text.encode(json_text.dump_compact(record)) + b"\n"


def _summary(data: bytes) -> str | None:
    """Return the last summary of this session. Those of older sessions name a message that is not in the file."""
    found = [record for record in records_with(data, b'"leafUuid"') if record.get("type") == "summary"]
    for record in reversed(found):
        leaf, text = record.get("leafUuid"), record.get("summary")
        if isinstance(text, str) and isinstance(leaf, str) and _is_line(data, leaf):
            return title_of(text)
    return None


def _is_line(data: bytes, uuid: str) -> bool:
    mark = f'"{uuid}"'.encode("utf-8", "replace")
    return any(record.get("uuid") == uuid for record in records_with(data, mark))


def _asked(data: bytes, *, everywhere: bool = False) -> Iterator[str]:
    """Yield texts of user lines; those of sub-agents only with `everywhere`."""
    for record in records_with(data, b'"user"'):
        message: Any = record.get("message")
        if record.get("type") != "user" or not isinstance(message, dict):
            continue
        if everywhere or not any(record.get(key) is True for key in _NOT_ASKED):
            yield from texts_in(message.get("content"))


def project(data: bytes) -> str | None:
    """Return the folder in which the session began, or to which the client moved it."""
    moved = (record for record in records_with(data, b'"relocatedCwd"') if record.get("type") == "relocated")
    folders = chain((text_in(each, "relocatedCwd") for each in moved), (text_in(each, "cwd") for each in records(data)))
    return next(filter(None, folders), None)


def has_messages(data: bytes) -> bool:
    """Check for messages. The client also writes files with nothing but titles and snapshots."""
    return _MESSAGE.search(data) is not None


def install_plan(target: settings.Target) -> settings.InstallPlan:
    """Plan the settings that make the client use condense. Raises UnreadableError."""
    path = _settings(target)
    text, before = settings.settings_in(path)
    after = settings.with_hooks(before, Client.CLAUDE_CODE)
    remarks = []
    line = before.get("statusLine")
    if line is None or settings.runs_ours(line):
        after["statusLine"] = {"type": "command", "command": settings.hook_command(Client.CLAUDE_CODE, "status-line")}
    else:
        remarks.append("You have another status line; it was left alone.")
    if before.get("disableAllHooks") is True:
        remarks.append(f"disableAllHooks is set in {path}; no hook runs until you remove it.")
    edits = [settings.edit_of(path, text, before, after)]
    command = _command(target)
    found = settings.read_text(command)
    if found is None or _OURS in found:
        edits.append(settings.SettingsEdit(command, found, _COMMAND))
    else:
        remarks.append(f"You have another command /condense ({command}); it was left alone.")
    if target.has_mcp:
        program, *arguments = settings.program()
        edits.append(_server(target, {"type": "stdio", "command": program, "args": [*arguments, "mcp"]}))
    return settings.InstallPlan(tuple(edits), tuple(remarks))


def removal_plan(target: settings.Target) -> settings.InstallPlan:
    """Plan the removal of everything that condense installed. Raises UnreadableError."""
    path = _settings(target)
    text, before = settings.settings_in(path)
    after = settings.without_hooks(before)
    if settings.runs_ours(after.get("statusLine")):
        del after["statusLine"]
    command = _command(target)
    found = settings.read_text(command)
    left = None if found is None or _OURS in found else found
    commands = settings.SettingsEdit(command, found, left)
    return settings.InstallPlan((settings.edit_of(path, text, before, after), commands, _server(target, None)))


def problems(target: settings.Target) -> Iterator[str]:
    """Yield sentences about what keeps the installation from working."""
    path = _settings(target)
    _, found = settings.settings_in(path)
    yield from settings.problems_of(found, Client.CLAUDE_CODE)
    line = found.get("statusLine")
    if line is None:
        yield "The status line is not installed."
    elif settings.runs_ours(line) and not settings.runs(line["command"]):
        yield f"The status line runs a program that is not there: {line['command']}"
    if found.get("disableAllHooks") is True:
        yield f"disableAllHooks is set in {path}; no hook runs."
    if settings.read_text(_command(target)) is None:
        yield "The command /condense is not installed."
    if target.has_mcp and _servers(settings.settings_in(_state(target))[1], target).get(settings.SERVER) is None:
        yield "The MCP server is not installed."


_OURS: Final = "Added by condense install"
_COMMAND: Final = f"""---
description: Write a smaller copy of this session, without a model
argument-hint: "[preset]"
disable-model-invocation: true
---
<!-- {_OURS}; condense install --remove takes it out. A hook answers the command, and the model never sees this. -->
Answer with this sentence alone: "No hook answered /condense: condense install claude-code --status says why; in a
shell, condense run --session latest --new-session --resume does the same."
"""


def _command(target: settings.Target) -> Path:
    own = _folder(target) if target.project is None else target.project / ".claude"
    return own / "commands" / "condense.md"


def _settings(target: settings.Target) -> Path:
    if target.project is not None:
        return target.project / ".claude" / "settings.local.json"
    return _folder(target) / "settings.json"


def _folder(target: settings.Target) -> Path:
    return own_folder(Client.CLAUDE_CODE, target.home, target.environment)


def _state(target: settings.Target) -> Path:
    if target.environment.get(CLAUDE_FOLDER):
        return _folder(target) / ".claude.json"
    return target.home / ".claude.json"


def _server(target: settings.Target, wanted: settings.Settings | None) -> settings.SettingsEdit:
    """Edit the client's own file to hold our server, or not. Another server of this name is left alone."""
    path = _state(target)
    text, before = settings.settings_in(path)
    servers = _servers(before, target)
    found = servers.get(settings.SERVER)
    if found == wanted or (found is not None and not settings.is_our_server(found)):
        return settings.edit_of(path, text, before, before)
    servers = {name: server for name, server in servers.items() if name != settings.SERVER}
    servers |= {settings.SERVER: wanted} if wanted else {}
    return settings.edit_of(path, text, before, _with_servers(before, target, servers))


def _servers(state: settings.Settings, target: settings.Target) -> settings.Settings:
    holder = state
    if target.project is not None:
        holder = settings.part(settings.part(state, "projects", dict), str(target.project), dict)
    return settings.part(holder, "mcpServers", dict)


def _with_servers(state: settings.Settings, target: settings.Target, servers: settings.Settings) -> settings.Settings:
    if target.project is None:
        return _with(state, "mcpServers", servers)
    projects = settings.part(state, "projects", dict)
    project = _with(settings.part(projects, str(target.project), dict), "mcpServers", servers)
    return _with(state, "projects", _with(projects, str(target.project), project))


def _with(holder: settings.Settings, key: str, value: settings.Settings) -> settings.Settings:
    """Set a key of an object; an empty value removes it."""
    if not value:
        return {name: each for name, each in holder.items() if name != key}
    return {**holder, key: value}


def running(session: Path) -> WritingProcess | None:
    """Return the process that has a session file open, or None.

    It holds no file open: it reads a session once, and appends by name. It lists itself in `sessions/<process>.json`
    of its configuration folder, and removes that when it ends (seen with 2.1.197).
    """
    # A session is <configuration>/projects/<folder>/<id>.jsonl.
    configuration = session.absolute().parent.parent.parent
    with contextlib.suppress(OSError):
        for file in sorted((configuration / "sessions").glob("*.json")):
            with contextlib.suppress(OSError, ValueError):
                entry = json.loads(file.read_bytes())
                if isinstance(entry, dict) and entry.get("sessionId") == session.stem and is_alive(int(file.stem)):
                    return WritingProcess(int(file.stem), "claude")
    return None


def _places(machine: Machine) -> Iterator[SessionPlace]:
    own = own_folder(Client.CLAUDE_CODE, machine.home, machine.environment)
    for folder in [own] if machine.environment.get(CLAUDE_FOLDER) else [own, machine.config / "claude"]:
        yield SessionPlace(Client.CLAUDE_CODE, Layout.PROJECTS, folder / "projects")


def _session_of(values: Iterable[Any], name: str, folder: str) -> Session:
    stem = name.removesuffix(".jsonl")
    ids: dict[str, None] = {}
    places: dict[str, None] = {}
    for value in values:
        if not isinstance(value, dict) or value.get("isSidechain") is not False:
            continue  # Records of sub-agents carry the id of the session that started them.
        if isinstance(value.get("sessionId"), str):
            ids[value["sessionId"]] = None
        if isinstance(value.get("cwd"), str):
            places[value["cwd"]] = None
    if not ids:
        raise UsageError(f"{name} is not a session that Claude Code can resume: no message in it names one.", NO_CHANCE)
    # The client looks in a folder named after the one it was started in; the session may have moved on from there.
    started = [place for place in places if _is_kept_in(place, folder)]
    return Session(stem if stem in ids else list(ids)[-1], cwd=next(iter([*started, *places]), None))


def claude_folder(project: str) -> str:
    """Return the folder in which Claude Code keeps the sessions of a project, as far as the path tells.

    A name of more than 200 characters is cut, and a hash follows that the path does not tell.
    """
    return _folder_name(project)[:_LONGEST_FOLDER]


def _folder_name(project: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "-", project)


def _is_kept_in(project: str, folder: str) -> bool:
    name = _folder_name(project)
    return folder.startswith(f"{claude_folder(project)}-") if len(name) > _LONGEST_FOLDER else folder == name


def _id_places(value: dict[str, Any], session_id: str) -> Iterator[JsonPath]:
    if value.get("sessionId") == session_id:
        yield ("sessionId",)


CLAUDE_CODE: Final = KnownClient(
    _places,
    Peek(title, project, has_messages),
    setup=Setup(install_plan, removal_plan, problems),
    files=SessionFiles(
        "Claude Code",
        _session_of,
        _id_places,
        lambda name, session, new: f"{new}.jsonl",
        lambda folders: list(folders[1:2]) == ["projects"],
        ("claude", "--resume"),
        takes_path=True,
        titled=_titled,
    ),
)
"""Resuming was tried with version 2.1.197."""
