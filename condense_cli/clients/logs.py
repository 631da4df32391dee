"""Clients that keep a log for each session (pi, Gemini CLI, Kimi Code, Qwen Code, Copilot CLI), or one database.

Those without hooks for commands get a plugin that runs condense: one script in a folder of theirs.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from ..core import json_text
from ..core.json_text import text_in, value_in
from ..errors import UnreadableError
from ..storage import session_databases
from .choices import Client, own_folder
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
    Setup,
    file_bytes,
    file_json,
    first_request,
    records,
    records_with,
    title_of,
)
from .settings import InstallPlan, SettingsEdit, Target, program, read_text

_HEAD: Final = "// Added by condense install; condense install --remove takes it out.\n"
_PROGRAM: Final = "const PROGRAM = "


def setup(client: Client, folder: str, in_project: str) -> Setup:
    """Return the setup of a client that loads scripts from a folder beside its settings, and from one of a project."""

    def path(target: Target) -> Path:
        own = own_folder(client, target.home, target.environment) / folder
        return (own if target.project is None else target.project / in_project) / "condense.js"

    def edit(target: Target, after: str | None) -> InstallPlan:
        place = path(target)
        before = read_text(place)
        if before is not None and not before.startswith(_HEAD):
            return InstallPlan((), (f"{place} is not from condense; it was left alone.",))
        return InstallPlan((SettingsEdit(place, before, after),))

    def problems(target: Target) -> Iterator[str]:
        text = read_text(path(target)) or ""
        if not text.startswith(_HEAD):
            yield "The plugin is not installed."
            return
        named = re.search(rf'(?m)^{_PROGRAM}\[("[^"]+")', text)
        runs = json.loads(named[1]) if named else ""
        if named and not Path(runs).is_file():
            yield f"The plugin runs a program that is not there: {runs}"
        elif text != _script(client):
            yield "The plugin is of another version of condense; install it again."

    return Setup(
        lambda target: edit(target, _script(client)), lambda target: edit(target, None), problems, has_server=False
    )


def _script(client: Client) -> str:
    code = Path(__file__).with_name(f"plugin_{client}.js").read_text(encoding="utf-8")
    return f"{_HEAD}{_PROGRAM}{json.dumps(program())}\n{code}"


_USER: Final = re.compile(rb'"role"\s*:\s*"user"|"type"\s*:\s*"user(?:\.message)?"')
_FOLDER: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)+")')
_NOT_TYPED: Final = ("injection", "system_trigger")
"""Kinds of origin that Kimi Code gives to words of its own."""


def title(data: bytes) -> str | None:
    return first_request(_asked(data))


def _asked(data: bytes) -> Iterator[str]:
    found = records_with(data, b'"user') if b"\n" in data.strip() else records(data)
    for record in found:
        for message in record.get("messages") or [record]:
            yield from _texts(message) if isinstance(message, dict) else ()


def _texts(record: dict[str, Any]) -> Iterator[str]:
    kind, message, data = record.get("type"), record.get("message"), record.get("data")
    if kind == "user.message" and isinstance(data, dict):
        yield from _parts(data.get("content")) if not data.get("source") else ()
    elif isinstance(message, dict) and message.get("role") == "user":
        if value_in(message, "origin", "kind") not in _NOT_TYPED:
            yield from _parts(message.get("content", message.get("parts")))
    elif kind == "user":
        yield from _parts(record.get("content"))


def _parts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def project(data: bytes) -> str | None:
    """Return the folder that a log names first; logs of Gemini CLI and Kimi Code name none."""
    found = _FOLDER.search(data)
    try:
        return str(json_text.parse(found[1])) if found else None
    except ValueError:
        return None


def has_messages(data: bytes) -> bool:
    return _USER.search(data) is not None


_PEEK: Final = Peek(title, project, has_messages)


def _logs(client: Client, folder: Callable[[Machine], Path], *pattern: str) -> Callable[[Machine], list[SessionPlace]]:
    """Return the place of a client that keeps its logs below one folder."""
    return lambda machine: [SessionPlace(client, Layout.LOGS, folder(machine), pattern)]


def _gemini_known(file: SessionFile, indexes: Indexes) -> KnownSession:
    """Read the project from <project>/.project_root."""
    root = file_bytes(Path(file.path).parents[1] / ".project_root").decode("utf-8", "replace").strip()
    return KnownSession(None, root or None)


def _kimi_known(file: SessionFile, indexes: Indexes) -> KnownSession:
    """Read title and project from <session>/state.json."""
    state = file_json(Path(file.path).parents[2] / "state.json")
    named = text_in(state, "title") if value_in(state, "isCustomTitle") else None
    return KnownSession(title_of(named) if named else None, text_in(state, "cwd"))


PI: Final = KnownClient(
    _logs(
        Client.PI,
        lambda machine: own_folder(Client.PI, machine.home, machine.environment) / "sessions",
        "*", "*.jsonl",
    ),
    _PEEK,
    lambda path: path.stem.rpartition("_")[2],
    setup=setup(Client.PI, "extensions", ".pi/extensions"),
)  # fmt: skip
GEMINI: Final = KnownClient(
    _logs(Client.GEMINI, lambda machine: machine.home / ".gemini" / "tmp", "*", "chats", "session-*.json*"),
    # A client that resumes a session may leave a log in which nobody said anything.
    Peek(title, project, lambda data: title(data) is not None),
    lambda path: path.stem.rpartition("-")[2],
    _gemini_known,
    has_id_inside=True,
)
KIMI: Final = KnownClient(
    _logs(
        Client.KIMI,
        lambda machine: machine.home / ".kimi-code" / "sessions",
        "*", "*", "agents", "main", "wire.jsonl",
    ),
    _PEEK,
    lambda path: path.parents[2].name,
    _kimi_known,
)  # fmt: skip
QWEN: Final = KnownClient(
    _logs(Client.QWEN, lambda machine: machine.home / ".qwen" / "projects", "*", "chats", "*.jsonl"), _PEEK
)
COPILOT: Final = KnownClient(
    _logs(Client.COPILOT, lambda machine: machine.home / ".copilot" / "session-state", "*", "events.jsonl"),
    _PEEK,
    lambda path: path.parent.name,
)


_UNNAMED: Final = ("New session", "Child session - ", "CLI Session", "New Chat")
"""Beginnings of titles that say nothing."""


def _opencode_places(machine: Machine) -> Iterator[SessionPlace]:
    """Name the one database, in $XDG_DATA_HOME/opencode or ~/.local/share/opencode on every system."""
    folder = machine.folder("XDG_DATA_HOME", ".local", "share") / "opencode"
    yield SessionPlace(Client.OPENCODE, Layout.DATABASE, folder, ("opencode*.db",))


def _exported_title(data: bytes) -> str | None:
    messages = json_text.parse(data)["messages"]
    asked = (part for message in messages if message["info"].get("role") == "user" for part in message["parts"])
    return first_request(text for part in asked if isinstance(text := part.get("text"), str))


def _stored(database: Path) -> Index:
    """Read the titles in a database. A client names a session after its first request once a model has answered."""
    with contextlib.suppress(UnreadableError):
        return {
            stored.id: KnownSession(
                None if stored.title.startswith(_UNNAMED) else title_of(stored.title), stored.project
            )
            for stored in session_databases.sessions(database)
        }
    return {}


OPENCODE: Final = KnownClient(
    _opencode_places,
    Peek(
        _exported_title, lambda data: str(json_text.parse(data)["info"]["directory"]), has_messages, lambda data: None
    ),
    known=lambda file, indexes: indexes.get(Path(file.path).parent, _stored).get(file.id, NOTHING_KNOWN),
    setup=setup(Client.OPENCODE, "plugin", ".opencode/plugin"),
)


def _goose_places(machine: Machine) -> Iterator[SessionPlace]:
    """Name the one database, in data/sessions of $GOOSE_PATH_ROOT or in the folder for data of the system."""
    if machine.environment.get("GOOSE_PATH_ROOT"):
        folder = Path(machine.environment["GOOSE_PATH_ROOT"]) / "data"
    elif machine.platform == "win32":
        folder = machine.folder("APPDATA", "AppData", "Roaming") / "Block" / "goose" / "data"
    else:
        folder = machine.folder("XDG_DATA_HOME", ".local", "share") / "goose"
    yield SessionPlace(Client.GOOSE, Layout.DATABASE, folder / "sessions", ("sessions.db",))


def _goose_title(data: bytes) -> str | None:
    messages = json_text.parse(data)["conversation"]
    asked = (part for message in messages if message["role"] == "user" for part in message["content"])
    return first_request(text for part in asked if isinstance(text := part.get("text"), str))


GOOSE: Final = KnownClient(
    _goose_places,
    Peek(_goose_title, lambda data: str(json_text.parse(data)["working_dir"]), has_messages, lambda data: None),
    known=OPENCODE.known,
)
