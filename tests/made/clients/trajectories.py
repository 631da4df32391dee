"""Trajectories of SWE-agent: actions inside text, native tools, and files of them."""

import json
from typing import Any

from build import LONG, assistant, user

from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse

PROMPT = "\n(Open file: /repo/a.py)\n(Current directory: /repo)\nbash-$"
SYSTEM = {"role": "system", "content": "You are a programmer.", "agent": "primary"}
TASK = user("Please fix the bug." + PROMPT)
EDIT = f"edit 10:12\n{LONG}\nend_of_edit\n"


def act(action: str, thought: str = "I go on.", tail: str = "") -> dict[str, Any]:
    content = f"{thought}\n```\n{action}```{tail}"
    return assistant(content) | {"thought": f"{thought}\n", "action": action, "agent": "primary"}


def act_in_tags(action: str, thought: str = "I go on.") -> dict[str, Any]:
    return assistant(f"{thought}\n<command>\n{action}\n</command>") | {"thought": thought, "action": action}


def tool_turn(call_id: str, tool: str, answer: str, **arguments: Any) -> list[dict[str, Any]]:
    call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    asked = assistant("I open a.py now.") | {"action": "open a.py", "tool_calls": [call]}
    return [asked, {"role": "tool", "content": answer, "message_type": "observation", "tool_call_ids": [call_id]}]


def spelled(*history: dict[str, Any], **keys: Any) -> bytes:
    steps = [{"action": message.get("action"), "observation": ""} for message in history if "action" in message]
    whole = {"environment": "main", "trajectory": steps, "history": [*history], "info": {}, **keys}
    return json.dumps(whole, indent=2).encode()


def traj(*history: dict[str, Any], **keys: Any) -> Transcript:
    transcript = parse(spelled(*history, **keys))
    assert transcript.format == "swe-agent"
    return transcript


def session() -> list[dict[str, Any]]:
    return [
        SYSTEM,
        TASK,
        act("open src/a.py 12\n"),
        user(LONG + PROMPT),
        act(EDIT, tail="\nThat is all."),
        user("[File: src/a.py (90 lines total)]\n" + LONG + PROMPT),
        act("submit\n", "Now I submit."),
    ]
