"""A piece of work of an agent that calls functions, which several formats hold, and what is left of it."""

import json
from typing import Any

from build import configuration, one_pass
from helpers import listing

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse

SUPPRESS = {"operation": "suppress"}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


def asked(*calls: dict[str, Any], text: str = "I look.") -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": [*calls]}


def answer(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


WORK = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Fix the bug."},
    asked(call("c1", "read_file", path="/src/a.py")),
    answer("c1", listing(1)),
    asked(call("c2", "edit_file", path="/src/a.py", command="str_replace", old_str=listing(2), new_str="x")),
    answer("c2", "done"),
    asked(call("c3", "run_command", command="pytest -q")),
    answer("c3", listing(3)),
    {"role": "assistant", "content": "It works."},
]


def shape(transcript: Transcript) -> list[tuple[str, list[str]]]:
    return [(message.role.value, [block.kind.value for block in message.blocks]) for message in transcript.messages]


def cut(data: bytes, **types: Any) -> list[dict[str, Any]]:
    """The records of a file without what the operations leave out of all messages but the last."""
    pass_ = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 1})
    pass_["individual_config"] = {"defaults": types}
    result = api.condense(parse(data), configuration(pass_, keep_first=0))
    assert result.changes
    data = api.dump(result)
    return [json.loads(value) for value in (data.splitlines() if b"}\n{" in data else [data])]


def holds(value: Any, text: str) -> bool:
    return json.dumps(text)[1:-1].replace("\\", "") in json.dumps(value).replace("\\", "")


EXPECTED = [
    ("system", ["text"]),
    ("user", ["text"]),
    *[("assistant", ["text", "tool_call"]), ("tool", ["tool_result"])] * 3,
    ("assistant", ["text"]),
]
