"""Codex: its sessions, and hooks in `hooks.json`, the MCP server in `config.toml`, and the user's trust in the hooks.

Codex runs no hook that nobody has looked at: in the client, `/hooks` shows them and trusts them. A hook whose command
changes has to be trusted anew. Sessions are in `$CODEX_HOME` or ~/.codex (codex-rs/rollout); their names in
session_index.jsonl, whose newest entry counts (codex-rs/rollout/src/session_index.rs).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Timer
from typing import Any, Final

from ..core.json_text import text_in, value_in
from ..core.transcript import JsonPath
from ..errors import UsageError
from . import settings
from .choices import Client, own_folder
from .client import (
    NO_CHANCE,
    NOTHING_KNOWN,
    Index,
    Indexes,
    KnownClient,
    KnownSession,
    Layout,
    Machine,
    Peek,
    Session,
    SessionFile,
    SessionFiles,
    SessionPlace,
    Setup,
    file_bytes,
    first_request,
    records,
    records_with,
    texts_in,
    title_of,
)


def title(data: bytes) -> str | None:
    """Return the first request as the client shows it, else as the model gets it."""
    return first_request(_shown(data)) or first_request(_sent(data))


def _shown(data: bytes) -> Iterator[str]:
    for payload in _payloads(data, "event_msg", b'"user_message"'):
        if payload.get("type") == "user_message" and isinstance(payload.get("message"), str):
            # Editors put the names of open files before the request.
            yield payload["message"].rpartition("## My request for Codex:\n")[2]


def _sent(data: bytes) -> Iterator[str]:
    for payload in _payloads(data, "response_item", b'"user"'):
        if payload.get("type") == "message" and payload.get("role") == "user":
            yield from texts_in(payload.get("content"), ("input_text",))


def _payloads(data: bytes, kind: str, mark: bytes) -> Iterator[dict[str, Any]]:
    for record in records_with(data, mark):
        payload = record.get("payload")
        if record.get("type") == kind and isinstance(payload, dict):
            yield payload


def project(data: bytes) -> str | None:
    return next((folder for record in records(data) if (folder := text_in(record, "payload", "cwd"))), None)


def has_messages(data: bytes) -> bool:
    return b'"response_item"' in data


_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROLLOUT: Final = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-.+\.jsonl")
_TABLE: Final = f"mcp_servers.{settings.SERVER}"

TRUST: Final = "Codex runs hooks only once you trust them: start codex, type /hooks, and trust those of condense."

_MOVED: Final = "Codex identifies hooks by position, so it may ask you to trust later ones again."


def install_plan(target: settings.Target) -> settings.InstallPlan:
    """Plan the settings that make the client use condense. Raises UnreadableError."""
    path = _hooks(target)
    text, before = settings.settings_in(path)
    edits = [settings.edit_of(path, text, before, settings.with_hooks(before, Client.CODEX))]
    remarks = [TRUST]
    if target.has_mcp:
        program, *arguments = settings.program()
        edits.append(_server(target, {"command": program, "args": [*arguments, "mcp"]}))
    if target.project is not None:
        remarks.append(f"Codex reads {target.project / '.codex'} only in trusted projects.")
    return settings.InstallPlan(tuple(edits), tuple(remarks))


def removal_plan(target: settings.Target) -> settings.InstallPlan:
    """Plan the removal of everything that condense installed. Raises UnreadableError."""
    path = _hooks(target)
    text, before = settings.settings_in(path)
    after = settings.without_hooks(before)
    remarks = (_MOVED,) if after != before and after.get("hooks") else ()
    return settings.InstallPlan((settings.edit_of(path, text, before, after), _server(target, None)), remarks)


def problems(target: settings.Target) -> Iterator[str]:
    """Yield sentences about what keeps the installation from working."""
    path = _hooks(target)
    _, known = settings.settings_in(path)
    yield from settings.problems_of(known, Client.CODEX)
    found = dict(settings.commands_in(known))
    tables = settings.tables_in(_config(target), settings.read_text(_config(target)))
    if value_in(tables, "features", "hooks") is False:
        yield f"Hooks are switched off in {_config(target)} (features.hooks)."
    elif found:
        waiting = untrusted(target, path, found)
        if waiting:
            yield f"Not trusted yet: {', '.join(waiting)}. {TRUST}"
    if target.has_mcp and value_in(tables, "mcp_servers", settings.SERVER) is None:
        yield "The MCP server is not installed."


def _hooks(target: settings.Target) -> Path:
    return _settings_folder(target) / "hooks.json"


def _config(target: settings.Target) -> Path:
    return _settings_folder(target) / "config.toml"


def _settings_folder(target: settings.Target) -> Path:
    return _home(target) if target.project is None else target.project / ".codex"


def _server(target: settings.Target, wanted: dict[str, str | list[str]] | None) -> settings.SettingsEdit:
    """Edit the configuration to hold our server, or not. Another server of this name is left alone."""
    path = _config(target)
    text = settings.read_text(path)
    found = value_in(settings.tables_in(path, text), "mcp_servers", settings.SERVER)
    is_other = found is not None and not settings.is_our_server(found)
    is_there = wanted is not None and all(value_in(found, key) == value for key, value in wanted.items())
    if is_other or is_there or (found is None and wanted is None):
        return settings.SettingsEdit(path, text, text)
    left = settings.without_table(text or "", _TABLE)
    after = settings.with_table(left, _TABLE, wanted) if wanted is not None else left
    settings.tables_in(path, after)
    return settings.SettingsEdit(path, text, after if after.strip() else None)


_SECONDS: Final = 10
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def untrusted(target: settings.Target, hooks: Path, events: Mapping[str, str]) -> list[str]:
    """List the events whose hook does not run."""
    said = listed_hooks(target)
    if said is not None:
        trusted = {
            str(hook.get("eventName", "")).casefold()
            for hook in said
            if settings.is_ours(hook.get("command"))
            and hook.get("trustStatus") in ("trusted", "managed")
            and hook.get("enabled")
        }
        return [event for event in events if event.casefold() not in trusted]
    config = _home(target) / "config.toml"
    state = value_in(settings.tables_in(config, settings.read_text(config)), "hooks", "state")
    known = [
        key
        for key, value in (state.items() if isinstance(state, dict) else ())
        if value_in(value, "trusted_hash") and value_in(value, "enabled") is not False
    ]
    places = {os.path.realpath(hooks), str(hooks)}
    return [
        event
        for event in events
        if not any(key.startswith(f"{place}:{_CAPITAL.sub('_', event).lower()}:") for key in known for place in places)
    ]


def listed_hooks(target: settings.Target) -> list[dict[str, Any]] | None:
    """Ask Codex for its hooks, without starting a session. None if it cannot be asked."""
    codex = shutil.which("codex", path=target.environment.get("PATH"))
    if codex is None:
        return None
    try:
        process = subprocess.Popen(
            [codex, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(target.environment),
        )
    except OSError:
        return None
    limit = Timer(_SECONDS, process.kill)
    limit.start()
    try:
        with process:
            answer = _listed_hooks(process, str(target.project or target.home))
            process.kill()
        return answer
    except (OSError, ValueError):
        return None
    finally:
        limit.cancel()


def _listed_hooks(process: subprocess.Popen[bytes], folder: str) -> list[dict[str, Any]] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    client = {"name": "condense", "title": "condense", "version": "0"}
    for request in (
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}},
    ):
        process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        answer = json.loads(line)
        if value_in(answer, "id") == 2:
            data = value_in(answer, "result", "data")
            return [hook for each in data or () for hook in each.get("hooks", ())] if isinstance(data, list) else None
    return None


def _home(target: settings.Target) -> Path:
    return own_folder(Client.CODEX, target.home, target.environment)


def _places(machine: Machine) -> Iterator[SessionPlace]:
    folder = own_folder(Client.CODEX, machine.home, machine.environment)
    yield SessionPlace(Client.CODEX, Layout.ROLLOUTS, folder / "sessions")
    yield SessionPlace(Client.CODEX, Layout.ARCHIVE, folder / "archived_sessions")


def _known(file: SessionFile, indexes: Indexes) -> KnownSession:
    return indexes.get(file.place.folder.parent / "session_index.jsonl", _threads).get(file.id, NOTHING_KNOWN)


def _threads(path: Path) -> Index:
    threads: dict[str, KnownSession] = {}
    for record in records(file_bytes(path)):
        thread_id, name = text_in(record, "id"), text_in(record, "thread_name")
        if thread_id and name and name.strip():
            threads[thread_id] = KnownSession(title_of(name))
    return threads


def _session_of(values: Iterable[Any], name: str, folder: str) -> Session:
    for value in values:
        if value_in(value, "type") == "session_meta":
            session_id, began, cwd = (text_in(value, "payload", key) for key in ("id", "timestamp", "cwd"))
            if session_id and _UUID.fullmatch(session_id):
                return Session(session_id, began, cwd)
    raise UsageError(f"{name} is not a session that Codex can resume: it has no session_meta with an id.", NO_CHANCE)


def _id_places(value: dict[str, Any], session_id: str) -> Iterator[JsonPath]:
    for key in ("id", "session_id") if value.get("type") == "session_meta" else ():
        if value_in(value, "payload", key) == session_id:
            yield ("payload", key)


def _new_name(name: str, session: Session, new: str) -> str:
    """Return a name that Codex accepts. A file that was renamed gets the time that its session began."""
    found = _ROLLOUT.fullmatch(name)
    time = found.group(1) if found else re.sub(r"[.Z].*", "", session.began or "1970-01-01T00:00:00").replace(":", "-")
    return f"rollout-{time}-{new}.jsonl"


CODEX: Final = KnownClient(
    _places,
    Peek(title, project, has_messages),
    known=_known,
    setup=Setup(install_plan, removal_plan, problems),
    files=SessionFiles(
        "Codex",
        _session_of,
        _id_places,
        _new_name,
        lambda folders: list(folders[3:4]) == ["sessions"],
        ("codex", "resume"),
    ),
)
"""Resuming was tried with version 0.169.0."""
