"""Pydantic AI's agents with the capability: over its models of two APIs, and over a FunctionModel."""

import asyncio
from typing import Any

import anthropic
import pytest
from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage, UsageLimits

from condense_cli.integrations.pydantic_ai import Condense
from condense_cli.live.deciding import Fitted

from .wire import DONE, PER_REQUEST, POLICY, TASK, TURNS, wire
from .wire import look as found_in

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

LIMITS = UsageLimits(request_limit=200)


def agent_of(model: Any, on_decision: Any, **how: Any) -> Agent[None, str]:
    agent = Agent(model, capabilities=[Condense(policy=POLICY, on_decision=on_decision)], instructions="Look.", **how)

    @agent.tool_plain
    def look(part: int) -> str:
        return found_in(part)

    return agent


def run(agent: Agent[None, str], *, is_awaited: bool) -> AgentRunResult[str]:
    if is_awaited:
        return asyncio.run(agent.run(TASK, usage_limits=LIMITS))
    return agent.run_sync(TASK, usage_limits=LIMITS)


def returned(messages: list[ModelMessage]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


WHOLE = [found_in(part) for part in range(TURNS)]


@pytest.mark.parametrize(("caches", "is_awaited"), [(False, False), (True, False), (False, True)])
def test_anthropic(caches: bool, is_awaited: bool) -> None:
    with wire() as wired:
        client = anthropic.AsyncAnthropic(api_key="none", base_url=wired.service.url, max_retries=0)
        model = AnthropicModel("claude-opus-4-6", provider=AnthropicProvider(anthropic_client=client))
        settings: Any = {"anthropic_cache": True, "anthropic_cache_instructions": True} if caches else {}
        result = run(agent_of(model, wired.decided, model_settings=settings), is_awaited=is_awaited)
    assert result.output == DONE
    assert returned(result.all_messages()) == WHOLE
    wired.check()
    assert all(str(request.body).count("'cache_control'") <= 4 for request in wired.requests)
    assert all("cache_control" in str(each.body["messages"]) for each in wired.requests[wired.changes[0] :])


@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize("api", ["messages", "input"])
def test_openai(api: str, is_awaited: bool) -> None:
    with wire() as wired:
        provider = OpenAIProvider(api_key="none", base_url=f"{wired.service.url}/v1")
        model = (OpenAIChatModel if api == "messages" else OpenAIResponsesModel)("gpt-5.1", provider=provider)
        result = run(agent_of(model, wired.decided), is_awaited=is_awaited)
    assert returned(result.all_messages()) == WHOLE
    wired.check(api)


def test_types_and_history() -> None:
    fits: list[Fitted] = []
    sent: list[list[ModelMessage]] = []

    def looking(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = len(sent)
        sent.append(messages)
        usage = RequestUsage(input_tokens=PER_REQUEST * turn, output_tokens=1)
        if turn == TURNS:
            return ModelResponse([TextPart(DONE)], usage=usage)
        calls = [ToolCallPart("look", {"part": 2 * turn + side}, f"c{turn}-{side}") for side in (0, 1)]
        return ModelResponse([ThinkingPart("The next ones."), *calls], usage=usage)

    result = run(agent_of(FunctionModel(looking), fits.append), is_awaited=False)
    assert sum(fitted.decision.is_change for fitted in fits) >= 2
    history = result.all_messages()
    assert returned(history) == [found_in(part) for part in range(2 * TURNS)]
    last = sent[-1]
    assert "[condense: notes on" in str(last)
    assert last[-2:] == history[-3:-1]
    made = [part.tool_call_id for message in last for part in message.parts if isinstance(part, ToolCallPart)]
    answered = [part.tool_call_id for message in last for part in message.parts if isinstance(part, ToolReturnPart)]
    assert made
    assert made == answered
    assert len("".join(returned(last))) < 0.7 * len("".join(returned(history)))
