"""Refuse a file that no format fits: name what it is, or the nearest format, why it is not that, and what to do.

Loaded when a file is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from ..core.json_text import value_in
from ..core.wording import quoted
from . import iflow, openhands, parts
from .engine.base import Evidence


class Foreign(Struct, frozen=True):
    """A kind of file, recognised by its first record. `what` follows "is"."""

    is_one: Callable[[Any], bool]
    what: str
    instead: str


def _is_display_copy(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("say", "ask") and value["type"] in value and "ts" in value


def _is_session_log(value: Any) -> bool:
    kinds = ("user_message", "tool_call", "ai_response")
    return isinstance(value, dict) and value.get("type") in kinds and "session_id" in value


def _is_tau_bench(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("traj"), list) and "task_id" in value


def _is_tau2(value: Any) -> bool:
    simulations = value_in(value, "simulations")
    return (
        isinstance(simulations, list)
        and bool(simulations)
        and all("messages" in one for one in simulations if isinstance(one, dict))
    )


def _is_autogen(value: Any) -> bool:
    messages = value.get("messages") if isinstance(value, dict) and "response" in value else None
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, dict) and str(first.get("type")).endswith("Message") and "content" in first


def _is_replay(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("prompts"), list) and "totalLogEntries" in value


def _is_bare_rollout(value: Any) -> bool:
    # Since openai/codex pull request 3380 each line is `{timestamp, type, payload}`, and no other is read.
    return isinstance(value, dict) and {"id", "timestamp", "instructions"} <= value.keys() and "payload" not in value


_FOREIGN: Final = (
    Foreign(
        _is_display_copy,
        "what Roo Code or Cline displays of a task, not what the model gets",
        "Name api_conversation_history.json in the same folder.",
    ),
    Foreign(
        _is_session_log,
        "a session log without the tool results",
        "Name the api_conversation_history.json of the task.",
    ),
    Foreign(
        _is_tau_bench,
        "a tau-bench result, with a conversation next to its task",
        "Extract it: jq '[.] | flatten | .[0].traj' FILE > chat.json. An array of several already is a set of rows.",
    ),
    Foreign(
        _is_tau2,
        "a tau2-bench result with several conversations",
        "Extract one: jq '.simulations[0]' FILE > simulation.json",
    ),
    Foreign(
        _is_autogen,
        "an AutoGen recording of requests and answers",
        'Extract one request: jq \'[.[-1].messages[] | {role: {SystemMessage: "system", UserMessage: "user", '
        'AssistantMessage: "assistant"}[.type], content: (.content | if type == "array" then map(strings // tojson) | '
        'join("\\n") else . end)}]\' FILE > chat.json',
    ),
    Foreign(
        _is_replay,
        "a replay log of VS Code, which repeats every request",
        "Name a chat that was exported with Chat: Export Chat…",
    ),
    Foreign(
        _is_bare_rollout,
        "a Codex CLI rollout from before September 2025, which later versions cannot read",
        "To condense its content, extract the items in the Responses format: jq -c 'select(.type)' FILE > items.jsonl",
    ),
    Foreign(
        lambda value: parts.converse_evidence(value) is Evidence.YES,
        "a conversation of Amazon Bedrock's Converse API",
        "Leave out --format, or name bedrock-converse.",
    ),
    Foreign(
        lambda value: parts.amp_evidence(value) is Evidence.YES,
        "a thread of Amp",
        "Leave out --format, or name amp.",
    ),
    Foreign(
        lambda value: iflow.evidence(value) is Evidence.YES,
        "a session of iFlow CLI",
        "Leave out --format, or name iflow.",
    ),
    Foreign(
        openhands.is_run,
        "OpenHands output with several runs, one per line",
        "Extract one: sed -n 1p FILE > run.jsonl",
    ),
)


def foreign(value: Any) -> Foreign | None:
    """Return the kind of file that a first record belongs to, if it is known."""
    return next((kind for kind in _FOREIGN if kind.is_one(value)), None)


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
