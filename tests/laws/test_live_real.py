"""What Live promises, over recorded conversations that are sent request by request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_replay import Eager, Replay, requests_of
from real import MORE, SAMPLES, files_of

from condense_cli import Live, api
from condense_cli.errors import CondenseError

APIS = ("anthropic", "openai-chat", "openai-responses")
MOST = 3
"""So many requests of each conversation are sent."""

RECORDED = [
    *files_of("claude-code")[:1],
    *files_of("openai-chat")[:1],
    *(MORE / "codex").glob("savekirk-*.jsonl"),
]


def messages_of(path: Path, to: str) -> list[Any]:
    """The first messages of a file for an API; none where it holds no conversation for it."""
    try:
        found = json.loads(api.convert(api.load(path), to).data)
    except CondenseError:
        return []
    messages: list[Any] = found if isinstance(found, list) else found.get("messages") or found.get("input")
    return messages[:60]


def replayed(path: Path, to: str, model: str | None) -> None:
    requests = [*requests_of(messages_of(path, to))]
    live = Live(policy=Eager(), keep_recent=3, format=to)
    replay = Replay(live, to, model, keep_recent=3)
    for request in requests[:: max(1, len(requests) // MOST)]:
        replay.send(request)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("to", APIS)
def test_samples(path: Path, to: str) -> None:
    replayed(path, to, None)


@pytest.mark.real
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
@pytest.mark.parametrize("model", [None, "claude-fable-5-1"])
def test_recorded_conversations(path: Path, model: str | None) -> None:
    replayed(path, "anthropic", model)


@pytest.mark.real
@pytest.mark.parametrize("path", RECORDED[-1:], ids=lambda path: path.name)
@pytest.mark.parametrize("to", APIS[1:])
def test_recorded_conversations_for_other_apis(path: Path, to: str) -> None:
    replayed(path, to, None)
