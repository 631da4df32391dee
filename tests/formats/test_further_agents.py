"""The laws on the files of many agents, clients and tools, and what their formats have in common."""

from __future__ import annotations

import json
from typing import Any

import agent_logs
import further_agents
import laws
import pytest
from agent_logs import Messages
from agent_work import SUPPRESS, WORK, cut, holds, shape
from generated_configurations import configurations
from helpers import listing
from hypothesis import given, settings
from strategies import REPEATING, openai_messages

from condense_cli import api
from condense_cli.formats import parse, serialize
from condense_cli.ledger.collect import collect
from condense_cli.rules.validity import validate

WRITABLE = agent_logs.WRITABLE | further_agents.WRITABLE
CALLING = [format for format in WRITABLE if format != "swe-agent"]
"""Formats that tell calls from text."""
READ_ONLY = agent_logs.READ_ONLY | further_agents.READ_ONLY
WRITERS = WRITABLE | READ_ONLY
OF_USER = {"amp", "bedrock-converse", "bedrock-log", "bedrock-log, streams", "claude-stream-json", "droid", "iflow"}
"""Formats whose results are messages of the user."""
WITHOUT_SYSTEM = {
    "copilot",
    "qwen-code",
    "google-adk",
    "vscode-chat",
    "gemini-contents",
    "goose",
    "claude-export",
    *OF_USER,
}
"""Formats whose system prompt is no message of the conversation."""


@pytest.mark.parametrize("format", [*CALLING, *READ_ONLY])
def test_messages(format: str) -> None:
    data = WRITERS[format](WORK)
    transcript = parse(data)
    assert transcript.format == format.partition(",")[0]
    told = ("user" if format in OF_USER else "tool", ["tool_result"])
    work = [("assistant", ["text", "tool_call"]), told] * 3
    system = [] if format in WITHOUT_SYSTEM else [("system", ["text"])]
    request = [] if format == "claude-stream-json" else [("user", ["text"])]
    assert shape(transcript) == [*system, *request, *work, ("assistant", ["text"])]
    assert validate(transcript) == []
    assert serialize(transcript) == data


# The ledger knows the files and commands of every agent.
@pytest.mark.parametrize("format", [*CALLING, *READ_ONLY])
def test_what_was_done_is_known(format: str) -> None:
    done = collect(parse(WRITERS[format](WORK)).messages)
    assert [entry.path for entry in done.changed] == ["/src/a.py"]
    assert any("pytest -q" in str(command) for command in done.commands)


# What is left out of the messages is left out of all that repeats them.
@pytest.mark.parametrize("format", CALLING)
def test_copies_go(format: str) -> None:
    data = WRITABLE[format](WORK)
    new = cut(data, tool_results=SUPPRESS, tool_parameters=SUPPRESS)
    for number in (1, 2, 3):
        assert holds(data.decode(), listing(number)[:300])
        assert not holds(new, listing(number)[:300])
    if format in ("inspect", "tau2", "mini-swe-agent"):  # Nothing else changes its shape.
        assert [*map(keys_of, new)] == [keys_of(json.loads(data))]


def keys_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: keys_of(inner) for key, inner in value.items()}
    return [*map(keys_of, value)] if isinstance(value, list) else type(value)


# Whatever was said, the file is recognised, valid, and written back byte for byte.
@pytest.mark.parametrize("format", [*agent_logs.WRITABLE, *agent_logs.READ_ONLY, *further_agents.WRITABLE])
@settings(max_examples=settings().max_examples // 3)
@given(messages=openai_messages())
def test_files_are_recognised(format: str, messages: Messages) -> None:
    data = WRITERS[format](messages)
    if format == "request-log" and not data:
        return
    transcript = parse(data)
    assert transcript.format == format.partition(",")[0]
    assert validate(transcript) == []
    assert serialize(transcript) == data


@pytest.mark.parametrize("format", WRITABLE)
@settings(max_examples=max(2, settings().max_examples // 3))
@given(messages=openai_messages() | openai_messages(REPEATING), config=configurations())
def test_laws_hold(format: str, messages: Messages, config: Any) -> None:
    laws.check_all(api.loads(WRITABLE[format](messages)), config)
