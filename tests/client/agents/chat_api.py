"""Chat completions, as far as a client needs them: streamed answers from a script in the words of `messages_api`."""

import json
import uuid
from collections.abc import Iterator, Sequence
from itertools import count

from ..loopback import Answer, Json, Request

MODEL = "loopback-1"
_DONE = "data: [DONE]\n\n"


class Script:
    """Answers each request that offers tools with the next of the planned turns, then with "Done."."""

    def __init__(self, turns: Sequence[Sequence[Json]] = ()) -> None:
        self._turns = iter(turns)
        self._run = uuid.uuid4().hex[:8]
        self._numbers = count(1)

    def __call__(self, request: Request) -> Answer:
        if request.method != "POST" or not request.path.partition("?")[0].endswith("/chat/completions"):
            return Answer({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        # Requests without tools are the client's own, such as for a title.
        done = [{"type": "text", "text": "Done."}]
        blocks = next(self._turns, done) if request.body.get("tools") else done
        number = next(self._numbers)
        name = f"{self._run}_{number:04}"
        if request.body.get("stream"):
            return Answer(events=tuple(_events(name, blocks)), ending=_DONE)
        choice = {"index": 0, "message": _delta(name, blocks), "finish_reason": _reason(blocks)}
        return Answer({**_head(name), "object": "chat.completion", "choices": [choice], "usage": _USAGE})


_USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}


def _head(name: str) -> Json:
    return {"id": f"chatcmpl-{name}", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": MODEL}


def _reason(blocks: Sequence[Json]) -> str:
    return "tool_calls" if any(block["type"] == "tool_use" for block in blocks) else "stop"


def _delta(name: str, blocks: Sequence[Json]) -> Json:
    """The whole message."""
    message: Json = {"role": "assistant", "content": None}
    calls: list[Json] = []
    for index, block in enumerate(blocks):
        match block["type"]:
            case "text":
                message["content"] = (message["content"] or "") + block["text"]
            case "thinking":
                message["reasoning_content"] = block["thinking"]
            case _:
                function = {"name": block["name"], "arguments": json.dumps(block["input"])}
                calls.append(
                    {"index": len(calls), "id": f"call_{name}_{index}", "type": "function", "function": function}
                )
    return message | ({"tool_calls": calls} if calls else {})


def _events(name: str, blocks: Sequence[Json]) -> Iterator[Json]:
    head = _head(name)
    yield head | {"choices": [{"index": 0, "delta": _delta(name, blocks), "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(blocks)}]}
    yield head | {"choices": [], "usage": _USAGE}
