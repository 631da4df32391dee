"""LangChain agents with the middleware and the edit: over its clients of two APIs, and over a model of its own."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from condense_cli.integrations.langchain import CondenseEdit, CondenseMiddleware
from condense_cli.live.deciding import Fitted

from .wire import DONE, PER_REQUEST, POLICY, TASK, TURNS, Wire, look, wire

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

PROMPT = "You look at parts, one after the other."
LIMIT = {"recursion_limit": 200}


def look_tool(part: int) -> str:
    """Looks at a part."""
    return look(part)


look_tool.__name__ = "look"


def anthropic(wired: Wire) -> Any:
    return ChatAnthropic(model="claude-opus-4-6", api_key="none", base_url=wired.service.url, max_retries=0)


def openai(wired: Wire, **how: Any) -> Any:
    return ChatOpenAI(model="gpt-5.1", api_key="none", base_url=f"{wired.service.url}/v1", max_retries=0, **how)


def whole(messages: Sequence[AnyMessage]) -> bool:
    """Check that the agent's own history holds everything that was found."""
    found = [message.content for message in messages if isinstance(message, ToolMessage)]
    return found == [look(part) for part in range(TURNS)] and messages[-1].text == DONE


@pytest.mark.parametrize("caches", [False, True])
def test_anthropic(caches: bool) -> None:
    with wire() as wired:
        ours = CondenseMiddleware(policy=POLICY, on_decision=wired.decided)
        middleware = [AnthropicPromptCachingMiddleware(), ours] if caches else [ours]
        agent = create_agent(anthropic(wired), [look_tool], system_prompt=PROMPT, middleware=middleware)
        state = agent.invoke({"messages": [HumanMessage(TASK)]}, LIMIT)
    assert whole(state["messages"])
    wired.check()
    marked = [body for body in wired.requests if "cache_control" in str(body.body["messages"])]
    assert len(marked) == len(wired.requests) - wired.changes[0]
    assert all(str(request.body).count("'cache_control'") <= 4 for request in wired.requests)


@pytest.mark.parametrize("api", ["messages", "input"])
def test_openai(api: str) -> None:
    with wire() as wired:
        model = openai(wired, use_responses_api=api == "input")
        ours = CondenseMiddleware(policy=POLICY, on_decision=wired.decided)
        agent = create_agent(model, [look_tool], middleware=[ours])
        state = asyncio.run(agent.ainvoke({"messages": [HumanMessage(TASK)]}, LIMIT))
    assert whole(state["messages"])
    wired.check(api)


def test_edit() -> None:
    with wire() as wired:
        edit = CondenseEdit(policy=POLICY, model="gpt-5.1", on_decision=wired.decided)
        agent = create_agent(openai(wired), [look_tool], middleware=[ContextEditingMiddleware(edits=[edit])])
        state = agent.invoke({"messages": [HumanMessage(TASK)]}, LIMIT)
    assert whole(state["messages"])
    wired.check()


class Looking(BaseChatModel):
    """Looks at two parts at a time, and remembers what it was sent."""

    _sent: list[list[AnyMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "looking"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        turn = len(self._sent)
        self._sent.append(list(messages))
        calls = [{"name": "look", "args": {"part": 2 * turn + side}, "id": f"c{turn}{side}"} for side in (0, 1)]
        usage = {"input_tokens": PER_REQUEST * turn, "output_tokens": 1, "total_tokens": PER_REQUEST * turn + 1}
        said = AIMessage(DONE if turn == TURNS else "", tool_calls=calls if turn < TURNS else [], usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=said)])


def test_types_and_pairs() -> None:
    fits: list[Fitted] = []
    model = Looking()
    agent = create_agent(model, [look_tool], middleware=[CondenseMiddleware(policy=POLICY, on_decision=fits.append)])
    state = agent.invoke({"messages": [HumanMessage(TASK)]}, LIMIT)
    assert sum(fitted.decision.is_change for fitted in fits) >= 2
    last = model._sent[-1]
    assert last[-2] is state["messages"][-3]
    originals = {message.id: message for message in state["messages"]}
    notes = [message for message in last if message.id not in originals]
    assert notes
    assert all(isinstance(message, HumanMessage) and "[condense: notes on" in message.content for message in notes)
    for message in last:
        assert isinstance(message.content, str)
        original = originals.get(message.id, message)
        assert type(message) is type(original)
        assert len(message.content) <= len(original.content)
    asked = [call["id"] for message in last if isinstance(message, AIMessage) for call in message.tool_calls]
    assert asked == [message.tool_call_id for message in last if isinstance(message, ToolMessage)]
    assert sum(len(message.content) for message in last) < 0.7 * sum(len(each.content) for each in state["messages"])
