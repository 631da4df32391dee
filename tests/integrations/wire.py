"""A model that looks at one part after the other, on a server of this machine, and what reached that server.

It reports more and more usage, so that a policy of 60,000 tokens decides by what was reported alone.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final

from client.loopback import Answer, Request, Service, serve
from client.messages_api import events
from msgspec import Struct, field

from condense_cli import api
from condense_cli.live.deciding import Fitted
from condense_cli.rules.validity import validate

Json = dict[str, Any]

TURNS: Final = 34
POLICY: Final = "tokens:60000"
PER_REQUEST: Final = 4_000
TASK: Final = "Why does the total of part 3 differ from the sum of its prices?"
DONE: Final = "The third price was counted twice."


def look(part: int) -> str:
    """Results of the tool: text that nothing later needs."""
    return "\n".join(f"line {line} of part {part}: total = prices[{line}] * {line * part}" for line in range(60))


class Wire(Struct):
    """The server, what it was asked, and the decisions with the number of the request that they were made for."""

    service: Service
    fits: list[tuple[int, Fitted]] = field(default_factory=list)

    def decided(self, fitted: Fitted) -> None:
        self.fits.append((len(self.requests), fitted))

    @property
    def requests(self) -> list[Request]:
        return [request for request in self.service.requests if request.method == "POST"]

    @property
    def changes(self) -> list[int]:
        return [number for number, fitted in self.fits if fitted.decision.is_change]

    def check(self, key: str = "messages") -> None:
        """The laws of requests that follow each other, on the bytes that were sent."""
        bodies = [body_of(request, key) for request in self.requests]
        assert len(bodies) == TURNS + 1
        assert len(self.changes) >= 2
        for number, (before, after) in enumerate(pairwise(bodies), 1):
            kept = before.rindex("lines #") if number in self.changes and "lines #" in before else len(before)
            if number not in self.changes or "lines #" in before:
                assert after.startswith(before[:kept]), number
        for request in self.requests:
            messages = request.body[key]
            assert not validate(api.loads(messages)), request.body
            assert TASK in json.dumps(messages[:2])
        assert len(bodies[-1]) < 0.75 * sum(len(json.dumps(look(part))) for part in range(TURNS))
        assert all(json.dumps(look(TURNS - 1 - back))[1:-1] in bodies[-1] for back in range(2))


def body_of(request: Request, key: str = "messages") -> str:
    """The bytes of a request's messages without cache marks, which move, and without the bracket at the end."""
    found = json.JSONDecoder().raw_decode
    text = request.data.decode()
    start = re.search(rf'"{key}":\s*', text)
    assert start
    _, end = found(text, start.end())
    return re.sub(r',\s*"cache_control":\s*\{[^}]*\}', "", text[start.end() : end - 1])


@contextmanager
def wire(per_request: int = PER_REQUEST) -> Iterator[Wire]:
    """A server of all three APIs. With each request it reports so many tokens more, or what is there with 0."""

    def respond(request: Request) -> Answer:
        number = sum("count_tokens" not in each.path for each in found.requests)
        if "count_tokens" in request.path:
            return Answer({"input_tokens": len(request.data) // 4})
        answer = _answer(request, number, per_request * number or len(request.data) // 4)
        return Answer(events=tuple(events(answer))) if request.body.get("stream") else Answer(answer)

    with serve(respond) as service:
        found = Wire(service)
        yield found


def _answer(request: Request, number: int, given: int) -> Json:
    """The answer to a request by its number, from 1."""
    is_last = number > TURNS
    arguments = {"part": number - 1}
    if "/messages" in request.path:
        block = {"type": "text", "text": DONE} if is_last else {
            "type": "tool_use", "id": f"toolu_{number:04}", "name": "look", "input": arguments}  # fmt: skip
        return {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.body["model"],
            "content": [{"type": "text", "text": f"I look at part {number - 1}."}, block] if not is_last else [block],
            "stop_reason": "end_turn" if is_last else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": given, "output_tokens": 10,
                      "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        }  # fmt: skip
    if "/chat/completions" in request.path:
        function = {"name": "look", "arguments": json.dumps(arguments)}
        message = {"role": "assistant", "content": DONE} if is_last else {
            "role": "assistant", "content": None,
            "tool_calls": [{"id": f"call_{number:04}", "type": "function", "function": function}]}  # fmt: skip
        return {
            "id": f"chat_{number}", "object": "chat.completion", "created": 1, "model": request.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop" if is_last else "tool_calls"}],
            "usage": {"prompt_tokens": given, "completion_tokens": 10, "total_tokens": given + 10},
        }  # fmt: skip
    item = (
        {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": DONE, "annotations": []}]}
        if is_last else
        {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number:04}", "name": "look",
         "status": "completed", "arguments": json.dumps(arguments)}
    )  # fmt: skip
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "output": [item],
        "model": request.body["model"], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": given, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                  "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": given + 10},
    }  # fmt: skip
