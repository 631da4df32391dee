"""Promises of Live, over generated and recorded conversations that are sent request by request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import further_agents
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_replay import Eager, Replay, as_sent, requests_of
from real import MORE, SAMPLES, files_of
from response_items import request_items
from strategies import REPEATING, anthropic_messages, exchanges, openai_messages

from condense_cli import Live, api
from condense_cli.errors import CondenseError

TURNS = st.one_of(exchanges(), REPEATING)
PLAIN = st.one_of(exchanges(thinking=False), REPEATING)
CONVERSATIONS: dict[str, st.SearchStrategy[list[dict[str, Any]]]] = {
    "anthropic": anthropic_messages(TURNS),
    "openai-chat": openai_messages(PLAIN),
    "openai-responses": request_items(PLAIN),
    "bedrock-converse": openai_messages(PLAIN).map(lambda messages: further_agents.converse(messages)["messages"]),
    "gemini-contents": openai_messages(PLAIN).map(
        lambda messages: [*further_agents.contents(messages, is_joined=True)]
    ),
}
MODELS = st.sampled_from([None, "claude-opus-5-5"])
FEW = settings(max_examples=settings().max_examples // 5)
"""Each example is a whole conversation, condensed at every request."""
PRESETS = st.sampled_from(["balanced", "cost", "lossless"])


# Between decisions not a byte of the frozen part changes, a segment changes nothing before it, what is sent is valid,
# and the newest turns are whole.
@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("format", CONVERSATIONS)
@given(data=st.data(), model=MODELS, preset=PRESETS, keep_recent=st.integers(1, 4), renews=st.booleans())
@FEW
def test_a_replay_keeps_the_promises(
    format: str, data: st.DataObject, model: str | None, preset: str, keep_recent: int, renews: bool
) -> None:
    live = Live(preset=preset, policy=Eager(renews), keep_recent=keep_recent, format=format)
    replay = Replay(live, format, model, keep_recent)
    for request in requests_of(data.draw(CONVERSATIONS[format])):
        replay.send(request)


# After a rewind, an edit or a fork what is sent is right or as it came, and the first branch goes on as it was.
@pytest.mark.usefixtures("anywhere")
@given(anthropic_messages(TURNS), st.data())
@FEW
def test_a_changed_history_is_right_or_untouched(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    requests = [*requests_of(messages)]
    if len(requests) < 2:
        return
    live = Live(policy=Eager(), keep_recent=1, format="anthropic")
    replay = Replay(live, "anthropic")
    for request in requests:
        last = replay.send(request)
    other = json.loads(json.dumps(data.draw(st.sampled_from(requests))))
    edited = data.draw(st.integers(0, len(other) - 1))
    other[edited] = {"role": other[edited]["role"], "content": "something else was said here"}
    fitted = live.fit(other, decide=False)
    assert fitted.covered <= edited
    assert as_sent(fitted.messages[fitted.frozen :]) == as_sent(other[fitted.covered :])
    back = live.fit(requests[-1], decide=False)
    assert as_sent(back.messages) == as_sent(last.messages)


# A restart gives the same bytes, from the messages alone.
@pytest.mark.usefixtures("anywhere")
@given(messages=anthropic_messages(TURNS), model=MODELS, data=st.data())
@FEW
def test_a_restart_gives_the_same_bytes(
    messages: list[dict[str, Any]], model: str | None, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("state") / "live.db"
    requests = [*requests_of(messages)]
    replay = Replay(Live(policy=Eager(), state=path, keep_recent=1, format="anthropic"), "anthropic", model)
    for number, request in enumerate(requests):
        last = replay.send(request)
        if number % 4 == 3 or request is requests[-1]:
            again = Live(policy=Eager(), state=path, keep_recent=1, format="anthropic")
            assert as_sent(again.fit(request, model=model, decide=False).messages) == as_sent(last.messages)


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
