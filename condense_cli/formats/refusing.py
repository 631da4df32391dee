"""Say of a file that no format fits which is the nearest, why it is not that one, and what to do.

Loaded when a file is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from ..core.wording import quoted


class KnownShape(Struct, frozen=True):
    """The keys that a conversation's records have in a format, and where such files come from."""

    keys: tuple[str, ...]
    source: str


_SESSIONS: Final = "Name a session file, as below {}."
_EXPORT: Final = "Export one: {} > session.json"
_SHAPES: Final = {
    "claude-code": KnownShape(
        ("type", "uuid", "parentUuid", "sessionId", "message"), _SESSIONS.format("~/.claude/projects")
    ),
    "qwen-code": KnownShape(
        ("type", "uuid", "parentUuid", "sessionId", "message"), _SESSIONS.format("~/.qwen/projects")
    ),
    "claude-stream-json": KnownShape(
        ("type", "session_id", "message"),
        "Record one: claude -p PROMPT --output-format stream-json --verbose > session.jsonl",
    ),
    "codex": KnownShape(("timestamp", "type", "payload"), _SESSIONS.format("~/.codex/sessions")),
    "cline": KnownShape(("role", "content", "ts", "id"), _SESSIONS.format("~/.cline")),
    "roo": KnownShape(("role", "content", "ts"), "Name api_conversation_history.json of a task."),
    "swe-agent": KnownShape(("trajectory", "history", "info"), "Name a .traj file."),
    "mini-swe-agent": KnownShape(("messages", "info", "trajectory_format"), "Name a .traj.json file."),
    "opencode": KnownShape(("info", "messages"), _EXPORT.format("opencode export ID")),
    "pi": KnownShape(("type", "id", "parentId", "timestamp", "message"), _SESSIONS.format("~/.pi/agent/sessions")),
    "session-trace": KnownShape(("type", "harness", "message"), "Name a trace with its first line."),
    "gemini": KnownShape(("id", "timestamp", "type", "content"), _SESSIONS.format("~/.gemini/tmp")),
    "gemini-log": KnownShape(("sessionId", "projectHash", "startTime"), _SESSIONS.format("~/.gemini/tmp")),
    "kimi": KnownShape(("type", "time", "event"), "Name a wire.jsonl, as below ~/.kimi-code/sessions."),
    "copilot": KnownShape(
        ("id", "type", "data", "timestamp", "parentId"), "Name an events.jsonl, as below ~/.copilot/session-state."
    ),
    "vscode-chat": KnownShape(("requests", "responderUsername"), "Export one in VS Code: Chat: Export Chat…"),
    "langchain": KnownShape(("type", "data"), "Write messages with messages_to_dict."),
    "google-adk": KnownShape(("id", "events", "app_name", "user_id"), "Name a session of the ADK, saved as JSON."),
    "gemini-contents": KnownShape(("role", "parts"), 'Contents are objects with a role and parts: {"role": "user", …}'),
    "ai-sdk-ui": KnownShape(("id", "role", "parts"), "Name the messages of one chat."),
    "goose": KnownShape(("id", "role", "created", "content"), _SESSIONS.format("~/.local/share/goose/sessions")),
    "atif": KnownShape(("steps", "session_id", "agent", "schema_version"), "Name a trajectory of Harbor."),
    "inspect": KnownShape(("eval", "samples", "status", "version"), "Name a log of Inspect with one sample."),
    "request-log": KnownShape(("type", "request_params", "response"), "Name a log that has requests and responses."),
    "tau2": KnownShape(("turn_idx", "role", "content"), "Name one simulation of tau2-bench."),
    "langfuse": KnownShape(("observations", "trace"), "Export one trace of Langfuse."),
    "langsmith": KnownShape(("run_type", "inputs", "child_runs", "start_time"), "Export one run of LangSmith."),
    "openhands": KnownShape(("history", "instance_id", "metadata"), "Name one line of an output.jsonl of OpenHands."),
    "openhands-sdk": KnownShape(
        ("id", "kind", "source", "timestamp"), "Name the events of one conversation of OpenHands."
    ),
    "sharegpt": KnownShape(("conversations",), "Name one conversation."),
    "openai-responses": KnownShape(("input", "model"), "Name a request, or the list of its items."),
    "openai-chat": KnownShape(("role", "content"), 'Messages are objects with a role and content: {"role": "user", …}'),
}
_NONE: Final = "No format is near. Write its messages one per line, each with its role and content."
_LEAST: Final = 0.5
"""Share of a format's keys that a record must have for it to be near."""
_NAMED: Final = 4
_ROLES: Final = ("user", "assistant", "human", "system")
_KINDS: Final = ("type", "role", "kind", "run_type")


def nearest_format(values: Sequence[Any]) -> str:
    """Return sentences on the nearest format, why the file is not of it, and what to do."""
    for path in _inner_messages(values[0]) if len(values) == 1 else ():
        return f"It holds messages at {path}. Extract them: jq '{path}' FILE > messages.json"
    records = [value for value in values if isinstance(value, dict)]
    having = Counter(key for shape in _SHAPES.values() for key in shape.keys)
    near = [
        (sum(1 / having[key] for key in shared) * len(shared) / len(shape.keys), name, record, shared)
        for name, shape in _SHAPES.items()
        for record in records
        if len(shared := [key for key in shape.keys if key in record]) >= _LEAST * len(shape.keys)
    ]
    if not near:
        return _NONE
    _, name, record, shared = max(near, key=lambda each: each[0])
    shape = _SHAPES[name]
    lacking = [key for key in shape.keys if key not in shared]
    if lacking:
        why = f"it has no {_listed(lacking)}"
    else:
        kind = next((key for key in _KINDS if isinstance(record.get(key), str)), None)
        kind_of = f"the {kind} {quoted(record[kind])}" if kind else f"{_listed(shared)} with other values"
        why = f"none of its records has {kind_of}"
    return f"The nearest format is {name}, but {why}. {shape.source}"


def _listed(keys: Sequence[str]) -> str:
    named = list(keys[:_NAMED])
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"


def _inner_messages(value: Any, path: str = "") -> Iterator[str]:
    """Yield where lists of messages are inside an object, at most two levels deep, as paths of jq."""
    if not isinstance(value, dict) or path.count(".") > 1:
        return
    for key, inside in value.items():
        here = f"{path}.{key}" if key.isidentifier() else f"{path}.{json.dumps(key)}"
        first = inside[0] if isinstance(inside, list) and inside else None
        if isinstance(first, dict) and first.get("role") in _ROLES and "content" in first:
            yield here
        else:
            yield from _inner_messages(inside, here)
