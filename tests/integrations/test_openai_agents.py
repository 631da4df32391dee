"""The OpenAI Agents SDK with the filter: over its model of the Responses API, and over its ScriptedModel."""

import asyncio
import json
from typing import Any

import openai
import pytest
from agents import (
    Agent,
    ModelResponse,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.run import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call

from condense_cli.integrations.openai_agents import CondenseFilter
from condense_cli.live.deciding import Fitted

from .wire import DONE, PER_REQUEST, POLICY, TASK, TURNS, wire
from .wire import look as found_in

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

set_tracing_disabled(True)


@function_tool
def look(part: int) -> str:
    return found_in(part)


async def run(model: Any, fitting: CondenseFilter) -> Any:
    agent = Agent(name="Looker", instructions="Look.", model=model, tools=[look])
    how = RunConfig(call_model_input_filter=fitting)
    return await Runner.run(agent, TASK, max_turns=200, hooks=fitting, run_config=how)


def test_responses() -> None:
    async def loop() -> Any:
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{wired.service.url}/v1") as client:
            model = OpenAIResponsesModel(model="gpt-5.1", openai_client=client)
            return await run(model, CondenseFilter(policy=POLICY, on_decision=wired.decided))

    with wire() as wired:
        result = asyncio.run(loop())
    assert result.final_output == DONE
    wired.check("input")
    outputs = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert outputs == [found_in(part) for part in range(TURNS)]


def scripted() -> ScriptedModel:
    def step(turn: int) -> ModelResponse:
        said = [assistant_message(DONE)] if turn == TURNS else [
            function_call("look", json.dumps({"part": 2 * turn + side}), call_id=f"c{turn}-{side}") for side in (0, 1)
        ]  # fmt: skip
        given = PER_REQUEST * turn
        return ModelResponse(said, Usage(1, given, output_tokens=1, total_tokens=given + 1), None)

    return ScriptedModel([step(turn) for turn in range(TURNS + 1)])


def test_pairs() -> None:
    fits: list[Fitted] = []
    model = scripted()
    asyncio.run(run(model, CondenseFilter(policy=POLICY, on_decision=fits.append)))
    assert sum(fitted.decision.is_change for fitted in fits) >= 2
    last: list[Any] = [*model.calls[-1].input]
    made = [item["call_id"] for item in last if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in last if item.get("type") == "function_call_output"]
    assert made == answered
    assert 0 < len(made) < 2 * TURNS  # The others are notes.
    assert "[condense: notes on" in str(last)
    assert len(str(last)) < 0.7 * sum(len(found_in(part)) for part in range(2 * TURNS))


# An exception in a filter would end the run.
def test_it_raises_nothing() -> None:
    given = ModelInputData(input=[{"role": "user", "content": {1, 2}}], instructions=None)
    data = CallModelData(model_data=given, agent=Agent(name="Looker"), context=None)
    assert asyncio.run(CondenseFilter()(data)).input == given.input
