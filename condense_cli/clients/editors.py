"""Roo Code and Cline: tasks in the folder that an editor gives an extension; Cline also outside an editor.

Folders: globalStorageUri in https://code.visualstudio.com/api/references/vscode-api, and `$CLINE_DATA_DIR`,
`$CLINE_DIR`/data or ~/.cline/data (cline/cline, sdk/packages/shared/src/storage/paths.ts). Indexes: Roo Code has
tasks/<id>/history_item.json and tasks/_index.json (src/core/task-persistence/TaskHistoryStore.ts), Cline
state/taskHistory.json (src/core/storage/disk.ts), and sessions/<id>/<id>.json outside an editor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ..core import json_text
from ..core.json_text import text_in, value_in
from .choices import Client
from .client import (
    NOTHING_KNOWN,
    Index,
    Indexes,
    KnownClient,
    KnownSession,
    Layout,
    Machine,
    Peek,
    SessionFile,
    SessionPlace,
    file_json,
    first_request,
    request_in,
    texts_in,
    title_of,
)

EDITORS: Final = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS: Final = (
    ".vscode-server",
    ".vscode-server-insiders",
    ".vscodium-server",
    ".cursor-server",
    ".windsurf-server",
)
"""Folders of an editor on the machine that it works on remotely (SSH, WSL, containers)."""

_TASKS: Final = ("*", "api_conversation_history.json")
_FOLDER: Final = re.compile(rb'# Current (?:Workspace|Working) Directory \(((?:[^"()\\\n]|\\\\)+)\)')
"""In the environment details of a user message."""
_TIME: Final = re.compile(rb'"ts"\s*:\s*(\d{12,14})\b')
_MODEL: Final = re.compile(rb'"modelId"\s*:\s*"([^"\\]+)"')


def _storages(machine: Machine) -> Iterator[Path]:
    """Yield the folders in which editors keep those of extensions."""
    config = machine.config
    if machine.platform == "darwin":
        config = machine.home / "Library" / "Application Support"
    elif machine.platform == "win32":
        config = machine.folder("APPDATA", "AppData", "Roaming")
    for editor in EDITORS:
        yield config / editor / "User" / "globalStorage"
    if machine.platform == "linux":
        for server in _SERVERS:
            yield machine.home / server / "data" / "User" / "globalStorage"


def _roo_places(machine: Machine) -> Iterator[SessionPlace]:
    for storage in _storages(machine):
        yield SessionPlace(Client.ROO, Layout.LOGS, storage / "rooveterinaryinc.roo-cline" / "tasks", _TASKS)


def _cline_places(machine: Machine) -> Iterator[SessionPlace]:
    for storage in _storages(machine):
        yield SessionPlace(Client.CLINE, Layout.LOGS, storage / "saoudrizwan.claude-dev" / "tasks", _TASKS)
    data = Path(machine.environment.get("CLINE_DATA_DIR") or machine.folder("CLINE_DIR", ".cline") / "data")
    yield SessionPlace(Client.CLINE, Layout.LOGS, data / "tasks", _TASKS)
    yield SessionPlace(Client.CLINE, Layout.MESSAGES, data / "sessions")


def title(data: bytes) -> str | None:
    return first_request(_asked(data))


def _asked(data: bytes) -> Iterator[str]:
    try:
        value: Any = json_text.parse(data)
    except (ValueError, RecursionError):
        return
    messages = value.get("messages") if isinstance(value, dict) else value
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            yield from texts_in(message.get("content"))


def project(data: bytes) -> str | None:
    found = _FOLDER.search(data)
    return found[1].replace(b"\\\\", b"\\").decode("utf-8", "replace") if found else None


def last_time(data: bytes) -> float | None:
    """Return the time of the last message that has one; `data` may be the end of a file alone."""
    found = _TIME.findall(data)
    return int(found[-1]) / 1000 if found else None


def model(data: bytes) -> str | None:
    """Return the model of the last answer, which Cline notes beside it."""
    found = _MODEL.findall(data)
    return found[-1].decode("utf-8", "replace") if found else None


def _known(file: SessionFile, indexes: Indexes) -> KnownSession:
    if file.place.layout is Layout.MESSAGES:
        return _manifest(file_json(Path(file.path).with_name(f"{file.id}.json")))
    folder = file.place.folder
    return (
        _item(file_json(Path(file.path).with_name("history_item.json")))
        or indexes.get(folder / "_index.json", _tasks).get(file.id)
        or indexes.get(folder.parent / "state" / "taskHistory.json", _tasks).get(file.id, NOTHING_KNOWN)
    )


def _tasks(path: Path) -> Index:
    index = file_json(path)
    entries: Any = index.get("entries") if isinstance(index, dict) else index
    found: Iterable[Any] = entries if isinstance(entries, list) else ()
    return {str(entry.get("id")): item for entry in found if (item := _item(entry))}


def _item(entry: Any) -> KnownSession | None:
    """Read an entry. Roo Code calls the project `workspace`, Cline `cwdOnTaskInitialization`."""
    if not isinstance(entry, dict):
        return None
    folder = text_in(entry, "workspace") or text_in(entry, "cwdOnTaskInitialization")
    return KnownSession(_request(entry.get("task")), folder)


def _manifest(manifest: Any) -> KnownSession:
    named = text_in(manifest, "metadata", "title")
    folder = text_in(manifest, "cwd") or text_in(manifest, "workspace_root")
    return KnownSession(title_of(named) if named else _request(value_in(manifest, "prompt")), folder)


def _request(value: Any) -> str | None:
    return request_in(value) if isinstance(value, str) else None


_PEEK: Final = Peek(title, project, lambda data: b'"role"' in data, last_time, model)
ROO: Final = KnownClient(_roo_places, _PEEK, lambda path: path.parent.name, _known)
CLINE: Final = KnownClient(_cline_places, _PEEK, lambda path: path.parent.name, _known)
