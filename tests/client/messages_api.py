"""The Anthropic Messages API, as far as a client needs it: streamed answers from a script."""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from .loopback import Answer, Json, Request

MODEL = "claude-sonnet-4-5-20250929"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "c2lnbmVk") -> Json:
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(tool: str, **arguments: object) -> Json:
    return {"type": "tool_use", "name": tool, "input": arguments}


class Script:
    """Answers each request with the next of the planned turns, a list of content blocks; then with "Done.".

    `tokens` of the input are reported for each request, and the rest of its `usage`.
    """

    def __init__(
        self,
        turns: Sequence[Sequence[Json]] = (),
        tokens: Callable[[Request], int] = lambda _: 1000,
        usage: Json | None = None,
    ) -> None:
        self._usage = usage or {}
        self._turns = iter(turns)
        self._tokens = tokens
        self._run = uuid.uuid4().hex[:8]
        self._numbers = count(1)

    def __call__(self, request: Request) -> Answer:
        path = request.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            return Answer({"input_tokens": 1000})
        if path != "/v1/messages" or request.method != "POST":
            return Answer({})
        # Requests without tools are the client's own: titles, a probe of the quota.
        blocks = next(self._turns, [text("Done.")]) if request.body.get("tools") else [text("ok")]
        stream = request.body.get("stream") is True
        return self._message(request.body["model"], blocks, self._tokens(request), stream=stream)

    def _message(self, model: str, blocks: Sequence[Json], tokens: int, *, stream: bool) -> Answer:
        number = next(self._numbers)
        content = [
            block | {"id": f"toolu_{self._run}_{number:04}_{index}"} if block["type"] == "tool_use" else block
            for index, block in enumerate(blocks)
        ]
        stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        usage = {
            "input_tokens": tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 10,
        } | self._usage
        message = {
            "id": f"msg_{self._run}_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        return Answer(events=tuple(events(message))) if stream else Answer(message)


def events(message: Json) -> Iterator[Json]:
    """The stream of a message."""
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        empty, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    """A block as it is announced, and the pieces that fill it."""
    if block["type"] == "text":
        return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        words = {"type": "thinking_delta", "thinking": block["thinking"]}
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return block | {"thinking": "", "signature": ""}, [words, signature]
    return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
