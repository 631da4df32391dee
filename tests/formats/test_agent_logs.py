"""The laws on the logs of other agents: generated ones, and conversations of real files that hold several."""

from __future__ import annotations

from typing import Any

import agent_logs
import laws
import pytest
from generated_configurations import configurations
from hypothesis import given, settings
from strategies import MODELS, REPEATING, openai_messages

from condense_cli import api
from condense_cli.formats import parse, serialize
from condense_cli.rules.validity import validate

MESSAGES = openai_messages()


# Whatever messages an agent wrote down, its file is recognised, valid, and written back byte for byte.
@pytest.mark.parametrize("format", [*agent_logs.WRITABLE, *agent_logs.READ_ONLY])
@settings(max_examples=settings().max_examples // 2)
@given(messages=MESSAGES)
def test_files_are_recognised(format: str, messages: agent_logs.Messages) -> None:
    data = (agent_logs.WRITABLE | agent_logs.READ_ONLY)[format](messages)
    if format == "request-log" and not data:
        return
    transcript = parse(data)
    assert transcript.format == format
    assert validate(transcript) == []
    assert serialize(transcript) == data


# Every law holds for any configuration.
@pytest.mark.parametrize("format", list(agent_logs.WRITABLE))
@settings(max_examples=settings().max_examples // 2)
@given(messages=MESSAGES, config=configurations(), model=MODELS)
def test_laws_hold(format: str, messages: agent_logs.Messages, config: Any, model: str | None) -> None:
    laws.check_all(api.loads(agent_logs.WRITABLE[format](messages)), config)


# Every law holds where content comes again.
@pytest.mark.parametrize("format", list(agent_logs.WRITABLE))
@settings(max_examples=settings().max_examples // 3)
@given(messages=openai_messages(REPEATING), config=configurations())
def test_laws_hold_where_content_comes_again(format: str, messages: agent_logs.Messages, config: Any) -> None:
    laws.check_all(api.loads(agent_logs.WRITABLE[format](messages)), config)
