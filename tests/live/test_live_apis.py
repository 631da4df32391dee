"""A conversation that goes on in the forms of Bedrock's Converse API and of Google's."""

import copy
import json
from base64 import b64decode
from typing import Any

import further_agents
import pytest
from live_conversations import chat
from live_replay import Eager, Replay
from pictures import PIXEL

from condense_cli import Live
from condense_cli.live.deciding import DecisionKind
from condense_cli.live.requests import marks_in, tokens_of

Json = dict[str, Any]
POINT: Json = {"cachePoint": {"type": "default"}}
CONVERSE = further_agents.converse(chat(10))["messages"]
CONTENTS = [*further_agents.contents(chat(10))]


def live(**more: Any) -> Live:
    return Live(preset="cost", policy=Eager(), keep_recent=2, **more)


@pytest.mark.parametrize(("format", "messages"), [("bedrock-converse", CONVERSE), ("gemini-contents", CONTENTS)])
@pytest.mark.parametrize("is_named", [True, False])
def test_it_is_condensed(format: str, messages: list[Json], is_named: bool) -> None:
    one = live(format=format if is_named else None)
    fitted = Replay(one, format, keep_recent=2).send(messages)
    assert fitted.decision.kind is DecisionKind.SEGMENT
    assert len(json.dumps(fitted.messages)) < len(json.dumps(messages)) / 2
    again = one.fit([*messages, messages[1], messages[0]], decide=False)
    assert again.messages[: again.frozen] == fitted.messages[: fitted.frozen]


def test_marks_of_converse_are_parts() -> None:
    marked = copy.deepcopy(CONVERSE)
    marked[-3]["content"].append(POINT)
    marked[-1]["content"].append(POINT)
    fitted = live().fit(marked, system=[{"text": "Be brief."}, POINT], tools={"tools": [POINT]})
    assert fitted.decision.kind is DecisionKind.SEGMENT
    places = [at for at, message in enumerate(fitted.messages) for part in message["content"] if "cachePoint" in part]
    assert places == [fitted.frozen - 1, len(fitted.messages) - 1]
    assert (marks_in([{"text": "Be brief."}, POINT]), marks_in({"tools": [POINT]})) == (1, 1)
    unmarked = live().fit(CONVERSE)
    assert "cachePoint" not in json.dumps(unmarked.messages)


def test_marks_that_move_change_nothing() -> None:
    one, two = copy.deepcopy(CONVERSE), copy.deepcopy([*CONVERSE, *CONVERSE[1:3]])
    one[-1]["content"].append(POINT)
    two[-1]["content"].append(POINT)
    live_ = live()
    first = live_.fit(one)
    second = live_.fit(two, decide=False)
    assert second.frozen == first.frozen > 0


@pytest.mark.parametrize("format", ["bedrock-converse", "gemini-contents"])
def test_files_stay_bytes(format: str) -> None:
    data = b64decode(PIXEL)
    if format == "bedrock-converse":
        messages = copy.deepcopy(CONVERSE)
        messages[0]["content"].append({"image": {"format": "png", "source": {"bytes": data}}})
        path = ["content", -1, "image", "source", "bytes"]
    else:
        messages = copy.deepcopy(CONTENTS)
        messages[0]["parts"].append({"inline_data": {"mime_type": "image/png", "data": data}})
        path = ["parts", -1, "inline_data", "data"]
    fitted = live(format=format).fit(messages)
    assert fitted.frozen > 0
    found: Any = fitted.messages[0]
    for key in path:
        found = found[key]
    assert found == data


def test_thinking_that_became_invalid_goes() -> None:
    messages = copy.deepcopy(CONVERSE)
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln" * 20}}}
    messages[-2]["content"].insert(0, thought)
    fitted = live(model="us.anthropic.claude-fable-5-1").fit(messages)
    assert fitted.frozen > 0
    assert "reasoningContent" not in json.dumps(fitted.messages)


def test_usage_counts_what_came_from_the_cache_once() -> None:
    converse = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "totalTokens": 115}
    gemini = {"promptTokenCount": 110, "candidatesTokenCount": 5, "cachedContentTokenCount": 100}
    assert (tokens_of(converse), tokens_of(gemini)) == (115, 115)
