"""Chats of VS Code: the rendered message, rounds without an answer, and chats without rounds."""

from __future__ import annotations

import json
from typing import Any

import further_agents
from agent_work import WORK, shape
from build import texts

from condense_cli.formats import parse

Json = dict[str, Any]


def chat() -> Json:
    return json.loads(further_agents.READ_ONLY["vscode-chat"](WORK))  # type: ignore[no-any-return]


# What the client adds to a message is not the user's; without a rendered message its text counts.
def test_the_rendered_message() -> None:
    value = chat()
    rendered = [{"type": 1, "text": "<context>Monday</context>"}, {"type": 1, "text": "<ask>Fix the bug.</ask>"}]
    value["requests"][0]["result"]["metadata"]["renderedUserMessage"] = rendered
    first = parse(json.dumps(value).encode()).messages[0]
    assert [(block.text, block.injected) for block in first.blocks] == [
        ("<context>Monday</context>", True),
        ("<ask>Fix the bug.</ask>", False),
    ]


def test_thoughts_and_calls_that_were_stopped() -> None:
    value = chat()
    rounds = value["requests"][0]["result"]["metadata"]["toolCallRounds"]
    rounds[0]["thinking"] = {"id": "x", "text": "Hm.", "encrypted": "c2VjcmV0"}
    rounds.append({"response": "", "toolCalls": [{"id": "stopped", "name": "run", "arguments": "{}"}, 5]})
    found = shape(parse(json.dumps(value).encode()))
    assert found[1] == ("assistant", ["thinking", "text", "tool_call"])
    assert found[-1] == ("assistant", ["tool_call", "opaque"])


def test_a_chat_without_rounds() -> None:
    value = chat()
    value["requests"][0] |= {"result": {}, "response": [{"value": "Shown."}, {"kind": "thinking", "value": "Hm."}]}
    assert texts(parse(json.dumps(value).encode())) == ["Fix the bug.", "Shown."]
