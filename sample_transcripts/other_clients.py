"""The same recorded session as other clients would have written it."""

from __future__ import annotations

import json
from typing import Any, Protocol

from tools import Json


class Call(Protocol):
    name: str
    args: Json


def sharegpt(system: str, tools: list[Json], messages: list[Json]) -> list[Json]:
    """One conversation in the form of ShareGPT, from chat messages."""
    speakers = {"user": "human", "assistant": "gpt", "tool": "observation"}
    turns: list[Json] = []
    for message in messages:
        if message["role"] != "system" and message["content"] is not None:
            turns.append({"from": speakers[message["role"]], "value": message["content"]})
        calls: list[Any] = [
            {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
            for call in message.get("tool_calls", ())
        ]
        if calls:
            value = json.dumps(calls if len(calls) > 1 else calls[0])
            turns.append({"from": "function_call", "value": value})
    definitions = json.dumps([tool["function"] for tool in tools])
    return [{"conversations": turns, "system": system, "tools": definitions}]
