"""Send the requests of a recorded conversation again, in another way, and bill them by the cache's rules.

A way turns what the client sent into what is sent in its place. Output costs the same in every way and is left out.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..core.transcript import Message, Transcript
from ..formats.engine.client_text import encrypted_thinking
from ..money.bill import Billed, BilledPart, BilledRequest, PromptCache
from ..tokens.counting import CALL_TOKENS, count_text

MARK: Final = {"cache_control": {"type": "ephemeral"}}
_PART: Final = 4
"""Tokens of a block beside its content."""
_IMAGE: Final = "x " * 1_200
"""As large as an image, or as thinking that is not shown."""

ApiMessage = dict[str, Any]
Way = Callable[[list[ApiMessage], float, int], list[ApiMessage]]
"""Turns a client's messages, the time in seconds and the previous request's tokens into the messages to send."""


class ClientRequest(Struct, frozen=True):
    """Messages that a client sent before the answer at `position`, with their time and model."""

    position: int
    messages: list[ApiMessage]
    at: float
    model: str = ""


def untouched(messages: list[ApiMessage], now: float, used: int) -> list[ApiMessage]:
    return messages


class BlockSizes:
    """Tokens of blocks, each counted once; `factor` is model tokens per token of ours."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self._known: dict[bytes, int] = {}

    def pieces(self, messages: Iterable[ApiMessage]) -> list[BilledPart]:
        found = []
        for message in messages:
            content = message.get("content") if message.get("role") else [message]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
            for part in parts:
                bare = {key: value for key, value in part.items() if key != "cache_control"}
                data = json.dumps([message.get("role"), bare], sort_keys=True).encode()
                digest = blake2b(data, digest_size=16).digest()
                if digest not in self._known:
                    self._known[digest] = round(self.factor * _tokens(bare))
                found.append(BilledPart(digest, self._known[digest], "cache_control" in part))
        return found


def _tokens(part: Mapping[str, Any]) -> int:
    tokens = _PART + count_text("\n".join(_texts(part)))
    if part.get("type") in ("tool_use", "function_call"):
        tokens += CALL_TOKENS
    if part.get("type") == "thinking":  # It is billed in full, whatever is shown.
        tokens += encrypted_thinking(part.get("signature"), str(part.get("thinking") or ""))
    return tokens


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        if value.get("type") in ("base64", "image", "redacted_thinking"):
            return [_IMAGE]
        return [text for key, each in value.items() if key not in ("signature", "id", "type") for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def api_messages(transcript: Transcript, messages: Sequence[Message] | None = None) -> list[ApiMessage]:
    """Convert a transcript, or other messages of its file, into messages of Anthropic's API. Raises CondenseError."""
    transcript = transcript if messages is None else replace(transcript, messages=tuple(messages))
    found = json.loads(api.convert(transcript, "anthropic").data) if transcript.messages else []
    found = found if isinstance(found, list) else found["messages"]
    return [message for message in found if message["role"] in ("user", "assistant") and message["content"]]


def answers_in(messages: Sequence[ApiMessage], start: int = 0) -> Iterator[int]:
    """Yield the positions of answers, which each ended a request."""
    for position in range(max(1, start), len(messages)):
        if messages[position]["role"] == "assistant" and messages[position - 1]["role"] != "assistant":
            yield position


def as_marked(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """Copy messages, with the cache mark of a usual client at their end."""
    request = copy.deepcopy([*messages])
    last = request[-1]
    if isinstance(last["content"], str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    last["content"][-1].update(MARK)
    return request


def replayed(
    requests: Iterable[ClientRequest], way: Way, cache: PromptCache, sizes: BlockSizes
) -> Iterator[tuple[ClientRequest, list[ApiMessage], BilledRequest]]:
    """Yield each request with what was sent in its place and how that is billed."""
    used = 0
    for request in requests:
        sent = way(request.messages, request.at, used)
        billed = cache.bill(sizes.pieces(sent), request.at, request.model)
        used = billed.tokens
        yield request, sent, BilledRequest(billed, request.at, request.model or None)


def total(billed: Iterable[BilledRequest]) -> Billed:
    return sum((each.billed for each in billed), Billed())
