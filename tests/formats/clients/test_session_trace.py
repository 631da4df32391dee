"""Session traces of the Hugging Face Hub: evidence of the format, and what a changed one keeps."""

import json
from typing import Any

import further_agents
import pytest
from agent_work import SUPPRESS, WORK, cut, shape

from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse

HEADER = {"type": "session", "harness": "my-agent", "id": "s"}


def trace(*messages: dict[str, Any], header: dict[str, Any] = HEADER) -> bytes:
    lines = [header, *({"type": "message", "message": message} for message in messages)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_thinking_and_the_model_are_read() -> None:
    said = {"role": "assistant", "content": "Hello.", "reasoningContent": "They greet.", "model": "claude-opus-4-5"}
    transcript = parse(trace({"role": "user", "content": "Hi"}, said))
    assert shape(transcript) == [("user", ["text"]), ("assistant", ["thinking", "text"])]
    assert (transcript.format, transcript.model) == ("session-trace", "claude-opus-4-5")


# A session in pi's format may name a harness; any agent's header may say where it worked.
def test_sessions_in_the_format_of_pi_are_told_apart() -> None:
    place = {"timestamp": "2026-07-01T09:00:00.000Z", "cwd": "/src"}
    linked = {"type": "message", "id": "e1", "parentId": None, "timestamp": "2026-07-01T09:00:00.000Z"}
    entry = linked | {"message": {"role": "user", "content": "Hi"}}
    assert (
        parse(json.dumps(HEADER | place | {"version": 3}).encode() + b"\n" + json.dumps(entry).encode()).format == "pi"
    )
    assert parse(trace({"role": "user", "content": "Hi"}, header=HEADER | place)).format == "session-trace"


def test_what_goes_leaves_messages_as_they_have_to_be() -> None:
    data = further_agents.WRITABLE["session-trace"](WORK)
    header, *lines = cut(data, tool_results=SUPPRESS, message_text=SUPPRESS)
    assert header["harness"] == "my-agent"
    assert all(isinstance(line["message"]["content"], str) for line in lines)
    assert sum(len(line["message"].get("toolCalls", ())) for line in lines) == 3


@pytest.mark.parametrize("message", [{"role": "wizard", "content": "x"}, {"role": "user", "content": ["x"]}])
def test_other_lines_are_named(message: dict[str, Any]) -> None:
    with pytest.raises(UnknownFormatError, match="record 2 is not a message"):
        parse(trace(message), format="session-trace")
