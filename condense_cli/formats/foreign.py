"""Name files that are known and no transcript, and say what to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from ..core.json_text import value_in
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
