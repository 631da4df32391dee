"""Messages of LangChain in their three forms, with calls that are repeated."""

import json
from collections.abc import Callable
from typing import Any

import further_agents
import pytest
from agent_work import EXPECTED, SUPPRESS, WORK, cut, holds, shape
from build import configuration, one_pass
from helpers import listing

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse

Json = dict[str, Any]
CLASSES = {"human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage", "system": "SystemMessage"}


def messages() -> list[Json]:
    return [json.loads(line)["data"] for line in further_agents.WRITABLE["langchain"](WORK).splitlines()]


def constructed(message: Json) -> Json:
    id = ["langchain", "schema", "messages", CLASSES[message["type"]]]
    return {"lc": 1, "type": "constructor", "id": id, "kwargs": message}


FORMS: dict[str, Callable[[Json], Json]] = {
    "data": lambda message: {"type": message["type"], "data": message},
    "kwargs": constructed,
    "flat": lambda message: {"response_metadata": {"model_name": "gpt-5.1"}, **message},
}


def written(form: str, said: list[Json]) -> bytes:
    return json.dumps({"messages": [FORMS[form](message) for message in said]}).encode()


def summarized(transcript: Transcript) -> Transcript:
    batch = one_pass(mode="batch", selection={"type": "preserve_recent", "keep_recent_count": 1})
    batch["batch_config"] = {"operation": "summarize", "summarization_config": {"keep_first": 2, "keep_last": 1}}
    return parse(api.dump(api.condense(transcript, configuration(batch, keep_first=0))))


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    transcript = parse(written(form, messages()))
    assert transcript.format == "langchain"
    assert shape(transcript) == EXPECTED
    assert transcript.model == ("gpt-5.1" if form == "flat" else None)
    again = summarized(transcript)
    assert again.messages[2].is_summary
    assert again.format == "langchain"


# Anthropic's content holds the calls once more; a copy goes with what was cut of its call.
def test_calls_in_the_content() -> None:
    said = messages()
    for message in said:
        calls = message.get("tool_calls", ())
        parts = [{"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]} for call in calls]
        if parts:
            message |= {"content": [{"type": "text", "text": message["content"]}, *parts], "additional_kwargs": {}}
    data = written("data", said)
    assert shape(parse(data)) == EXPECTED
    after = cut(data, tool_parameters=SUPPRESS)
    assert holds(data.decode(), listing(2)[:300])
    assert not holds(after, listing(2)[:300])
