"""What clients note about their sessions beside them: names and projects, in indexes of their own.

Codex: session_index.jsonl, whose newest entry counts (codex-rs/rollout/src/session_index.rs). Roo Code:
tasks/<id>/history_item.json and tasks/_index.json (src/core/task-persistence/TaskHistoryStore.ts). Cline:
state/taskHistory.json (src/core/storage/disk.ts), and sessions/<id>/<id>.json outside an editor. Gemini CLI:
<project>/.project_root. Kimi Code: <session>/state.json. opencode: its database.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, assert_never

from msgspec import Struct

from ..core import json_text
from ..errors import UnreadableError
from ..storage import opencode_database
from .finding import SessionFile
from .places import Client, Layout
from .records import records
from .requests import request_in, title_of


class KnownSession(Struct, frozen=True):
    """What an index says of a session."""

    title: str | None = None
    project: str | None = None


_NOTHING = KnownSession()
_UNNAMED = ("New session - ", "Child session - ")


class Names:
    """Reads each index once, when the first session of it is asked for. One that is broken says nothing."""

    def __init__(self) -> None:
        self._indexes: dict[Path, dict[str, KnownSession]] = {}

    def of(self, file: SessionFile) -> KnownSession:
        match file.place.layout:
            case Layout.ROLLOUTS | Layout.ARCHIVE:
                return self._index(file.place.folder.parent / "session_index.jsonl").get(file.id, _NOTHING)
            case Layout.TASKS:
                own = _item(_json(Path(file.path).with_name("history_item.json")))
                folder = file.place.folder
                return (
                    own
                    or self._index(folder / "_index.json").get(file.id)
                    or self._index(folder.parent / "state" / "taskHistory.json").get(file.id, _NOTHING)
                )
            case Layout.MESSAGES:
                return _manifest(_json(Path(file.path).with_name(f"{file.id}.json")))
            case Layout.DATABASE:
                return self._index(Path(file.path).parent).get(file.id, _NOTHING)
            case Layout.LOGS:
                return _beside_log(file)
            case Layout.PROJECTS:
                return _NOTHING
            case other:
                assert_never(other)

    def _index(self, path: Path) -> dict[str, KnownSession]:
        if path not in self._indexes:
            match path.suffix:
                case ".jsonl":
                    self._indexes[path] = _threads(path)
                case ".db":
                    self._indexes[path] = _stored(path)
                case _:
                    self._indexes[path] = _tasks(_json(path))
        return self._indexes[path]


def _beside_log(file: SessionFile) -> KnownSession:
    """What the logs of two clients do not say themselves."""
    path = Path(file.path)
    match file.place.client:
        case Client.GEMINI:
            root = _bytes(path.parents[1] / ".project_root").decode("utf-8", "replace").strip()
            return KnownSession(None, root or None)
        case Client.KIMI:
            state = _json(path.parents[2] / "state.json")
            known = state if isinstance(state, dict) else {}
            title = _text(known.get("title")) if known.get("isCustomTitle") else None
            return KnownSession(title_of(title) if title else None, _text(known.get("cwd")))
        case _:
            return _NOTHING


def _threads(path: Path) -> dict[str, KnownSession]:
    threads: dict[str, KnownSession] = {}
    for record in records(_bytes(path)):
        thread_id, name = record.get("id"), record.get("thread_name")
        if isinstance(thread_id, str) and isinstance(name, str) and name.strip():
            threads[thread_id] = KnownSession(title_of(name))
    return threads


def _stored(database: Path) -> dict[str, KnownSession]:
    """opencode names a session after what was asked first, once a model has answered."""
    with contextlib.suppress(UnreadableError):
        return {
            stored.id: KnownSession(
                None if stored.title.startswith(_UNNAMED) else title_of(stored.title), stored.project
            )
            for stored in opencode_database.sessions(database)
        }
    return {}


def _tasks(index: Any) -> dict[str, KnownSession]:
    entries: Any = index.get("entries") if isinstance(index, dict) else index
    found: Iterable[Any] = entries if isinstance(entries, list) else ()
    return {str(entry.get("id")): item for entry in found if (item := _item(entry))}


def _item(entry: Any) -> KnownSession | None:
    """Roo Code calls the project `workspace`, Cline `cwdOnTaskInitialization`."""
    if not isinstance(entry, dict):
        return None
    return KnownSession(
        _request(entry.get("task")), _text(entry.get("workspace")) or _text(entry.get("cwdOnTaskInitialization"))
    )


def _manifest(manifest: Any) -> KnownSession:
    if not isinstance(manifest, dict):
        return _NOTHING
    about = manifest.get("metadata")
    named = _text(about.get("title")) if isinstance(about, dict) else None
    project = _text(manifest.get("cwd")) or _text(manifest.get("workspace_root"))
    return KnownSession(title_of(named) if named else _request(manifest.get("prompt")), project)


def _request(value: Any) -> str | None:
    return request_in(value) if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _json(path: Path) -> Any:
    try:
        return json_text.parse(_bytes(path))
    except (ValueError, RecursionError):
        return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""
