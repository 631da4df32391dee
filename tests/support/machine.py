"""A made-up machine with sessions of every client, for tests that look for them."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from build import claude_line
from helpers import Outcome, Records, as_lines, condense

NOW: Final = 1_780_000_000.0
"""When the newest session of most tests was changed, in seconds since 1970."""


@dataclass(frozen=True)
class Machine:
    """A home with what clients left in it; `env` are the variables of a process there."""

    home: Path
    cache: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.cache),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "CLAUDE_CONFIG_DIR": "",
            "CODEX_HOME": "",
        }

    @property
    def claude(self) -> Path:
        return self.home / ".claude" / "projects"

    def claude_code(
        self, id: str, *records: dict[str, Any], project: str = "/srv/app", age: float = 0, path: str | None = None
    ) -> Path:
        """A session of Claude Code; without records a short one."""
        folder = self.claude / re.sub(r"[^a-zA-Z0-9]", "-", project)
        file = self.claude / path if path else folder / f"{id}.jsonl"
        return written(file, as_lines(list(records or dialogue(project=project)), ensure_ascii=True), age)

    def codex(self, id: str, *records: dict[str, Any], age: float = 0, folder: str = "sessions/2026/05/28") -> Path:
        path = self.home / ".codex" / folder / f"rollout-2026-05-28T10-00-00-{id}.jsonl"
        return written(path, as_lines(list(records or rollout(id))), age)

    def task(
        self, id: str, messages: Records, *, extension: str = "rooveterinaryinc.roo-cline", age: float = 0
    ) -> Path:
        storage = self.home / ".config" / "Code" / "User" / "globalStorage" / extension
        return written(storage / "tasks" / id / "api_conversation_history.json", json.dumps(messages).encode(), age)

    def sessions(self, *arguments: str, cwd: Path | None = None, columns: int = 80) -> Outcome:
        return condense("sessions", *arguments, env={**self.env, "COLUMNS": str(columns)}, cwd=cwd)

    def rows(self, *arguments: str, cwd: Path | None = None) -> list[dict[str, Any]]:
        """The sessions of the JSON report."""
        outcome = self.sessions("--json", *arguments, cwd=cwd)
        assert outcome.status == 0, outcome.stderr
        found: list[dict[str, Any]] = outcome.json["sessions"]
        return found

    def ids(self, *arguments: str, cwd: Path | None = None) -> list[str]:
        return [row["id"] for row in self.rows(*arguments, cwd=cwd)]


def written(path: Path, data: bytes, age: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (NOW - age, NOW - age))
    return path


def dialogue(request: Any = "Fix the login.", *, project: str = "/srv/app", answer: str = "Fixed.") -> Records:
    """A request and an answer, as Claude Code writes them."""
    return [
        claude_line("user", "u1", None, request, cwd=project),
        claude_line("assistant", "a1", "u1", [{"type": "text", "text": answer}], cwd=project, reply="msg_1"),
    ]


def rollout(id: str, *items: dict[str, Any], project: str = "/srv/app") -> Records:
    """What Codex writes at the start of a session, and these items."""
    context = "<environment_context>\n<cwd>/srv/app</cwd>\n</environment_context>"
    return [
        {"timestamp": "2026-05-28T10:00:00.000Z", "type": "session_meta", "payload": {"id": id, "cwd": project}},
        said_to_codex(context),
        *(items or [said_to_codex("List the files.")]),
    ]


def said_to_codex(text: str) -> dict[str, Any]:
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"timestamp": "2026-05-28T10:00:01.000Z", "type": "response_item", "payload": payload}


def task(request: str = "<task>\nRename it.\n</task>", ts: int = 1_779_999_000_000) -> Records:
    """What Roo Code and Cline send for a task."""
    details = "<environment_details>\n# Current Workspace Directory (/srv/roo) Files\na.py\n</environment_details>"
    content = [{"type": "text", "text": request}, {"type": "text", "text": details}]
    return [
        {"role": "user", "content": content, "ts": ts},
        {"role": "assistant", "content": [{"type": "text", "text": "Renamed."}], "ts": ts + 1000},
    ]
