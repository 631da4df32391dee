"""Loops over the SDKs themselves, sync and async, with what reaches the server."""

import asyncio
import inspect
import json
from typing import Any

import anthropic
import openai
import pytest

from condense_cli.integrations.sdk import Condensing

from .wire import DONE, POLICY, TASK, TURNS, Wire, look, wire

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

TOOL = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {"part": {"type": "integer"}}},
}


def fitted(create: Any, wired: Wire) -> Condensing:
    return Condensing(create, policy=POLICY, on_decision=wired.decided)


def answered(block: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": block.id, "content": look(block.input["part"])}


async def come(answer: Any) -> Any:
    """The answer of a client, whether it is a sync or an async one."""
    return await answer if inspect.isawaitable(answer) else answer


async def loop_of_messages(create: Any) -> list[Any]:
    history: list[Any] = [{"role": "user", "content": TASK}]
    while True:
        answer = await come(create(model="claude-opus-4-6", max_tokens=100, tools=[TOOL], messages=history))
        history.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return history
        history.append({"role": "user", "content": [*map(answered, calls)]})


async def loop_of_chat(create: Any) -> list[Any]:
    history: list[Any] = [{"role": "user", "content": TASK}]
    while True:
        message = (await come(create(model="gpt-5.1", messages=history))).choices[0].message
        history.append(message)
        if not message.tool_calls:
            return history
        for call in message.tool_calls:
            found = look(json.loads(call.function.arguments)["part"])
            history.append({"role": "tool", "tool_call_id": call.id, "content": found})


async def loop_of_responses(create: Any) -> list[Any]:
    history: list[Any] = [{"role": "user", "content": TASK}]
    while True:
        answer = await come(create(model="gpt-5.1", input=history, store=False))
        history += answer.output
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return history
        for call in calls:
            found = look(json.loads(call.arguments)["part"])
            history.append({"type": "function_call_output", "call_id": call.call_id, "output": found})


@pytest.mark.parametrize("client_of", [anthropic.Anthropic, anthropic.AsyncAnthropic])
def test_anthropic(client_of: Any) -> None:
    with wire() as wired:
        client = client_of(api_key="none", base_url=wired.service.url)
        history = asyncio.run(loop_of_messages(fitted(client.messages.create, wired)))
    wired.check()
    assert history[-1]["content"][0].text == DONE
    assert len(history) == 2 * TURNS + 2
    assert all(look(part) in str(history[2 * part + 2]["content"][0]["content"]) for part in range(TURNS))
    assert "cache_control" in json.dumps(wired.requests[-1].body["messages"])


@pytest.mark.parametrize("client_of", [openai.OpenAI, openai.AsyncOpenAI])
@pytest.mark.parametrize("key", ["messages", "input"])
def test_openai(client_of: Any, key: str) -> None:
    with wire() as wired:
        client = client_of(api_key="none", base_url=f"{wired.service.url}/v1")
        if key == "messages":
            history = asyncio.run(loop_of_chat(fitted(client.chat.completions.create, wired)))
        else:
            history = asyncio.run(loop_of_responses(fitted(client.responses.create, wired)))
    wired.check(key)
    outputs = [each.get("content") or each.get("output") for each in history[1:] if isinstance(each, dict)]
    assert outputs == [look(part) for part in range(TURNS)]
