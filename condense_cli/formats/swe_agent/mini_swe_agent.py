"""Trajectories of mini-SWE-agent (`.traj.json`): chat-completions messages, in an object or a bare list.

Its one tool is a shell. Without native tools the assistant's text holds the command between fences, and the next
user message is what it printed; both become tool blocks. The key `extra` of a message repeats it as the provider
sent it and as the command printed it. A message with the role `exit` tells how the run ended and is never sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ...core.transcript import Transcript
from ...core.values import Container, Family
from ..engine import repeats
from ..engine.base import Evidence, Format, not_a_message
from ..engine.container import Document, as_lazy
from ..engine.turns import Turn, joined
from ..openai.chat import ROLES
from .format import ActionReader

_ACTION: Final = re.compile(
    r"^```(?:mswea_bash_command|bash)[ \t]*\n(?P<command>.*?)\n```\s*", re.DOTALL | re.MULTILINE
)
_SUBMIT: Final = b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What every command to end a run prints; the prompts of the agent tell it so."""


def evidence(value: Any) -> Evidence:
    return Evidence.NO  # Single messages are those of chat completions.


def claims(document: Document) -> bool:
    envelope, source = document.envelope, document.source
    if source.container is Container.ARRAY:
        return any(_SUBMIT in source.raw(record) for record in range(min(2, len(source.spans))))
    info = envelope.get("info")
    named = envelope.get("trajectory_format")
    return (isinstance(named, str) and named.startswith("mini-swe-agent")) or (
        isinstance(info, dict) and "mini_version" in info
    )


def read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = ActionReader(_find, _fences)
    turns = []
    for record, value in enumerate(values):
        kind = value.get("role") if isinstance(value, dict) else None
        if record in document.source.unparsed or kind == "exit":
            continue
        role = ROLES.get(str(kind))
        if role is None:
            raise not_a_message(record, value, f"its role is none of {', '.join(ROLES)}, exit")
        blocks = list(as_lazy(reader.blocks(value, record, role), document.source))
        turns.append(Turn(role, blocks))
    return Transcript(
        "mini-swe-agent",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=_model(document.envelope.get("info")),
    )


def _find(text: str, action: str | None) -> tuple[int, int] | None:
    """The command in a text. The agent refuses a text that holds none, or several."""
    spans = [match.span("command") for match in _ACTION.finditer(text) if match["command"].strip()]
    return spans[0] if len(spans) == 1 else None


def _fences(text: str) -> list[tuple[int, int]]:
    """The fences of a text that holds several commands, with the white space around them, as the lines they begin.

    Where those of one command went, the agent would run another.
    """
    spans: list[tuple[int, int]] = []
    end = 0
    for match in _ACTION.finditer(text):
        start = match.start()
        while start > end and text[start - 1].isspace():
            start -= 1
        end = match.end()
        spans += [(start, match.start("command")), (match.end("command"), end)]
    return spans if len(spans) > 2 else []


def _model(info: Any) -> str | None:
    for key in ("config", "model", "model_name"):
        info = info.get(key) if isinstance(info, dict) else None
    return info if isinstance(info, str) and info else None


_SHOWN: Final = repeats.values_under("extra")

FORMAT = Format(
    "mini-swe-agent",
    Family.OPENAI_CHAT,
    "mini-SWE-agent trajectories (.traj.json)",
    evidence,
    read,
    claims=claims,
    complete=repeats.completing(_SHOWN),
    display=repeats.displaying(_SHOWN),
)
