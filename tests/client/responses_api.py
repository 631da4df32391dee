"""The OpenAI Responses API, as far as a client needs it: streamed answers from a script."""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from .loopback import Answer, Json, Request

MODEL = "gpt-5.5"
"""One that the client knows, so that it offers its usual tools."""


def text(words: str) -> Json:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def reasoning(words: str, encrypted: str = "Z0FBQUFB") -> Json:
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": words}],
        "encrypted_content": encrypted,
    }


def call(tool: str, **arguments: object) -> Json:
    return {"type": "function_call", "name": tool, "arguments": json.dumps(arguments)}


def custom_call(tool: str, words: str) -> Json:
    return {"type": "custom_tool_call", "name": tool, "input": words}


class Script:
    """Answers each request with the next of the planned turns, a list of items; then with "Done.".

    `tokens` of the input are reported for each request.
    """

    def __init__(self, turns: Sequence[Sequence[Json]] = (), tokens: Callable[[Request], int] = lambda _: 1000) -> None:
        self._turns = iter(turns)
        self._tokens = tokens
        self._run = uuid.uuid4().hex[:8]
        self._numbers = count(1)

    def __call__(self, request: Request) -> Answer:
        if request.method != "POST" or not request.path.partition("?")[0].endswith("/responses"):
            return Answer({"object": "list", "data": [], "models": []})
        number = next(self._numbers)
        items = [
            _named(item, f"{self._run}{number:04}{index}")
            for index, item in enumerate(next(self._turns, [text("Done.")]))
        ]
        return Answer(events=tuple(_events(f"resp_{self._run}{number:04}", items, self._tokens(request))))


def _named(item: Json, name: str) -> Json:
    """The item with the ids that the service gives it."""
    kind = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}[item["type"]]
    ids = {"id": f"{kind}_{name}"}
    return item | ids | ({"call_id": f"call_{name}"} if kind in ("fc", "ctc") else {})


def _events(name: str, items: Sequence[Json], tokens: int) -> Iterator[Json]:
    response = {"id": name, "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 10,
    }
    yield {
        "type": "response.completed",
        "response": response | {"status": "completed", "output": list(items), "usage": usage},
    }
