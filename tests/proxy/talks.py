"""Conversations that a client sends request by request, and what arrives of them."""

import json
from typing import Any

import httpx
from build import assistant, read_turn, user
from helpers import LONG
from live_conversations import lines

from .upstream import Asked, Running, ask

EAGER: dict[str, Any] = {
    "policy": "tokens:1000", "keep_recent": 1, "preset": "speed", "patience": LONG, "cold_patience": LONG,
    "ahead": None,
}  # fmt: skip
"""Settings of a proxy that decides as soon as it may, and whose requests wait for that."""

HASTY: dict[str, Any] = {**EAGER, "patience": 0.05, "cold_patience": 0.05}
"""Those of one whose requests hardly wait."""

OPUS = "claude-opus-4-6"
BINDING = "claude-opus-5-5"
"""A model that refuses thinking once anything before it changed."""


def work(turns: int = 3, first: str = "Please find the bug.") -> list[Any]:
    """Messages of Anthropic's API: a request, and results that nobody needs any more."""
    middle = [message for n in range(turns) for message in read_turn(f"toolu_{n}", f"src/{n}.py", lines(f"file{n}"))]
    return [user(first), *middle, assistant("Found it."), user("Thanks, go on.")]


def further(messages: list[Any], number: int = 1) -> list[Any]:
    """The conversation some turns later."""
    return [*messages, *(each for n in range(number) for each in (assistant(f"Good {n}."), user(f"And now {n}?")))]


def post(running: Running, messages: list[Any], path: str = "/v1/messages", **more: Any) -> httpx.Response:
    headers = more.pop("headers", {})
    key = "input" if path.endswith("responses") else "messages"
    body = {"model": OPUS, "max_tokens": 9, key: messages, **more}
    return ask(running.url + path, json=body, headers=headers)


def sent(asked: Asked) -> list[bytes]:
    """The messages that arrived, as JSON, without cache marks."""
    found = json.loads(asked.body)
    return [json.dumps(_unmarked(message)).encode() for message in found.get("messages", found.get("input"))]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


def marks(asked: Asked) -> int:
    return asked.body.count(b'"cache_control"')
