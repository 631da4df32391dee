"""Where clients keep their sessions, told from the home folder, the environment and the platform alone.

Claude Code: `$CLAUDE_CONFIG_DIR` or ~/.claude. Codex: `$CODEX_HOME` or ~/.codex (codex-rs/rollout).
Roo Code and Cline: the folder that an editor gives an extension
(globalStorageUri in https://code.visualstudio.com/api/references/vscode-api).
Cline outside an editor: `$CLINE_DATA_DIR`, `$CLINE_DIR`/data or ~/.cline/data
(cline/cline, sdk/packages/shared/src/storage/paths.ts).
opencode: one database in $XDG_DATA_HOME/opencode, or ~/.local/share/opencode on every system.
pi: ~/.pi/agent, or `$PI_CODING_AGENT_DIR`. Gemini CLI, Kimi Code, Qwen Code, Copilot CLI: a folder of theirs at home.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from .choices import Client as Client


class Layout(StrEnum):
    """How the session files lie in a folder."""

    PROJECTS = "projects"
    """<project>/<id>.jsonl; sub-agents in agent-*.jsonl beside it, or in <project>/<id>/subagents."""
    ROLLOUTS = "rollouts"
    """YYYY/MM/DD/rollout-<time>-<id>.jsonl, or the same without days."""
    ARCHIVE = "archive"
    """As ROLLOUTS; sessions that were put away."""
    TASKS = "tasks"
    """<id>/api_conversation_history.json."""
    MESSAGES = "messages"
    """<id>/<id>.messages.json; other *.messages.json beside it are sub-agents."""

    LOGS = "logs"
    """Files at the depth, and with the name, that the pattern of the place says."""
    DATABASE = "database"
    """Rows of opencode*.db."""


class SessionPlace(Struct, frozen=True):
    client: Client
    layout: Layout
    folder: Path
    pattern: tuple[str, ...] = ()
    """Of LOGS: what each folder on the way is called, and the file."""


EDITORS: Final = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS: Final = (
    ".vscode-server",
    ".vscode-server-insiders",
    ".vscodium-server",
    ".cursor-server",
    ".windsurf-server",
)
"""What an editor leaves on the machine that it works on from afar (SSH, WSL, containers)."""
_EXTENSIONS: Final = ((Client.ROO, "rooveterinaryinc.roo-cline"), (Client.CLINE, "saoudrizwan.claude-dev"))


def places(home: Path, environment: Mapping[str, str], platform: str) -> list[SessionPlace]:
    """Every folder that may hold sessions, whether it exists or not. `platform` is that of `sys.platform`."""
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    cline = Path(environment.get("CLINE_DIR") or home / ".cline")
    cline_data = Path(environment.get("CLINE_DATA_DIR") or cline / "data")
    own = environment.get("CLAUDE_CONFIG_DIR")
    claude = [Path(own)] if own else [home / ".claude", config / "claude"]
    return [
        *(SessionPlace(Client.CLAUDE_CODE, Layout.PROJECTS, folder / "projects") for folder in claude),
        SessionPlace(Client.CODEX, Layout.ROLLOUTS, codex / "sessions"),
        SessionPlace(Client.CODEX, Layout.ARCHIVE, codex / "archived_sessions"),
        *(
            SessionPlace(client, Layout.TASKS, storage / extension / "tasks")
            for client, extension in _EXTENSIONS
            for storage in _storages(home, environment, platform, config)
        ),
        SessionPlace(Client.CLINE, Layout.TASKS, cline_data / "tasks"),
        SessionPlace(Client.CLINE, Layout.MESSAGES, cline_data / "sessions"),
        *_logs(home, environment),
    ]


def _logs(home: Path, environment: Mapping[str, str]) -> Iterator[SessionPlace]:
    """The folders of clients that keep one log for each session, or one database for all."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield SessionPlace(Client.OPENCODE, Layout.DATABASE, data / "opencode", ("opencode*.db",))
    pi = Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
    main = ("*", "*", "agents", "main", "wire.jsonl")
    yield SessionPlace(Client.PI, Layout.LOGS, pi / "sessions", ("*", "*.jsonl"))
    yield SessionPlace(Client.GEMINI, Layout.LOGS, home / ".gemini" / "tmp", ("*", "chats", "session-*.json*"))
    yield SessionPlace(Client.KIMI, Layout.LOGS, home / ".kimi-code" / "sessions", main)
    yield SessionPlace(Client.QWEN, Layout.LOGS, home / ".qwen" / "projects", ("*", "chats", "*.jsonl"))
    yield SessionPlace(Client.COPILOT, Layout.LOGS, home / ".copilot" / "session-state", ("*", "events.jsonl"))


def _storages(home: Path, environment: Mapping[str, str], platform: str, config: Path) -> Iterator[Path]:
    """The folders in which editors keep those of extensions."""
    if platform == "darwin":
        config = home / "Library" / "Application Support"
    elif platform == "win32":
        config = Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    for editor in EDITORS:
        yield config / editor / "User" / "globalStorage"
    if platform == "linux":
        for server in _SERVERS:
            yield home / server / "data" / "User" / "globalStorage"
