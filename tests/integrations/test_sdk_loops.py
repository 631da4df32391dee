"""Loops over the SDKs themselves, sync and async, with what reaches the server."""

from __future__ import annotations

import asyncio
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


def test_anthropic() -> None:
    with wire() as wired:
        client = anthropic.Anthropic(api_key="none", base_url=wired.service.url)
        create = fitted(client.messages.create, wired)
        history: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            answer = create(model="claude-opus-4-6", max_tokens=100, tools=[TOOL], messages=history)
            history.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                break
            history.append({"role": "user", "content": [*map(answered, calls)]})
    wired.check()
    assert answer.content[0].text == DONE
    assert len(history) == 2 * TURNS + 2
    assert all(look(part) in str(history[2 * part + 2]["content"][0]["content"]) for part in range(TURNS))
    assert "cache_control" in json.dumps(wired.requests[-1].body["messages"])


def test_anthropic_async() -> None:
    async def loop(wired: Wire) -> None:
        history: list[Any] = [{"role": "user", "content": TASK}]
        async with anthropic.AsyncAnthropic(api_key="none", base_url=wired.service.url) as client:
            create = fitted(client.messages.create, wired)
            for _ in range(TURNS + 1):
                answer = await create(model="claude-opus-4-6", max_tokens=100, tools=[TOOL], messages=history)
                history.append({"role": "assistant", "content": answer.content})
                results = [answered(block) for block in answer.content if block.type == "tool_use"]
                history.append({"role": "user", "content": results})

    with wire() as wired:
        asyncio.run(loop(wired))
    wired.check()


def test_openai_chat() -> None:
    with wire() as wired:
        client = openai.OpenAI(api_key="none", base_url=f"{wired.service.url}/v1")
        create = fitted(client.chat.completions.create, wired)
        history: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            message = create(model="gpt-5.1", messages=history).choices[0].message
            history.append(message)
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                found = look(json.loads(call.function.arguments)["part"])
                history.append({"role": "tool", "tool_call_id": call.id, "content": found})
    wired.check()


def test_openai_responses() -> None:
    with wire() as wired:
        client = openai.OpenAI(api_key="none", base_url=f"{wired.service.url}/v1")
        create = fitted(client.responses.create, wired)
        history: list[Any] = [{"role": "user", "content": TASK}]
        calls: list[Any] = [None]
        while calls:
            answer = create(model="gpt-5.1", input=history, store=False)
            history += answer.output
            calls = [item for item in answer.output if item.type == "function_call"]
            for call in calls:
                found = look(json.loads(call.arguments)["part"])
                history.append({"type": "function_call_output", "call_id": call.call_id, "output": found})
    wired.check("input")
