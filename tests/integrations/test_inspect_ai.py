"""Inspect AI's react agent with the compaction strategy: over its providers of two APIs, and over its mockllm."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageTool, ModelOutput, get_model
from inspect_ai.tool import Tool, tool

from condense_cli import api
from condense_cli.integrations.inspect_ai import CondenseCompaction
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter

from .wire import DONE, TASK, TURNS, body_of, wire
from .wire import look as found_in

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

THRESHOLD = 13_000


class Encoding:
    """Counts as the real one does, which would be downloaded."""

    def encode(self, text: str, **_: Any) -> range:
        return range(Counter()(text))


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("get_encoding", "encoding_for_model"):
        monkeypatch.setattr(f"tiktoken.{name}", lambda name: Encoding())
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


@tool
def look() -> Tool:
    async def execute(part: int) -> str:
        """Looks at a part.

        Args:
            part: Its number.
        """
        return found_in(part)

    return execute


def evaluated(model: Any, folder: Path, samples: int = 1) -> EvalLog:
    agent = react(tools=[look()], submit=False, compaction=CondenseCompaction(threshold=THRESHOLD))
    task = Task(dataset=[Sample(input=TASK) for _ in range(samples)], solver=agent)
    (log,) = eval(task, model=model, log_dir=str(folder), display="none", message_limit=300)
    assert log.status == "success", log.error
    return log


def compactions(log: EvalLog) -> list[Any]:
    assert log.samples
    return [event for event in log.samples[0].events if event.event == "compaction"]


@pytest.mark.parametrize("api_name", ["anthropic", "openai"])
def test_provider(api_name: str, tmp_path: Path) -> None:
    with wire(per_request=0) as wired:
        name, base = ("anthropic/claude-opus-4-6", "") if api_name == "anthropic" else ("openai/gpt-5.1", "/v1")
        how: dict[str, Any] = {} if api_name == "anthropic" else {"responses_api": False}
        log = evaluated(get_model(name, base_url=wired.service.url + base, api_key="none", **how), tmp_path)
        requests = [request for request in wired.requests if "count_tokens" not in request.path]
    bodies = [body_of(request) for request in requests]
    assert len(bodies) == TURNS + 1
    anew = [number for number, (before, after) in enumerate(pairwise(bodies), 1) if not after.startswith(before)]
    assert 2 <= len(anew) == len(compactions(log)) < 12
    before, after = bodies[anew[1] - 1], bodies[anew[1]]
    assert after.startswith(before[: before.rindex("[condense: notes on")])
    for request in requests:
        assert not validate(api.loads(request.body["messages"]))
    assert log.samples
    found = [message.text for message in log.samples[0].messages if isinstance(message, ChatMessageTool)]
    assert found == [found_in(part) for part in range(TURNS)]
    assert log.samples[0].messages[-1].text == DONE


# Samples run at once through one strategy, and do not mix.
def test_samples_at_once(tmp_path: Path) -> None:
    def answer(messages: list[Any], *_: Any) -> ModelOutput:
        found = [message.tool_call_id for message in messages if isinstance(message, ChatMessageTool)]
        turn = int(found[-1].removeprefix("c")) + 1 if found else 0
        if turn == TURNS:
            return ModelOutput.from_content("mockllm/model", DONE)
        return ModelOutput.for_tool_call("mockllm/model", "look", {"part": turn}, tool_call_id=f"c{turn}")

    log = evaluated(get_model("mockllm/model", custom_outputs=answer), tmp_path, samples=3)
    assert log.samples
    assert len(compactions(log)) >= 2
    assert len({json.dumps([message.text for message in sample.messages]) for sample in log.samples}) == 1
    last = [event for event in log.samples[0].events if event.event == "model"][-1]
    made = [call.id for message in last.input for call in getattr(message, "tool_calls", None) or ()]
    assert made == [message.tool_call_id for message in last.input if isinstance(message, ChatMessageTool)]
    assert len(set(made)) == len(made) >= 2
