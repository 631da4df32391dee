"""Conversations on their way to Bedrock's Converse API and to Google's: the model is in the path."""

import json
from typing import Any

import further_agents
import pytest
from live_conversations import chat

from condense_cli.formats import parse
from condense_cli.money.economics import Accounting, CallUsage
from condense_cli.proxy.bodies import BEDROCK, GOOGLE, api_of, usual_upstream
from condense_cli.proxy.forwarding import UsageReader
from condense_cli.rules.validity import validate

from .upstream import Api, Running, ask

Json = dict[str, Any]
CONVERSE = "/model/us.anthropic.claude-opus-4-6-v1%3A0/converse"
VERTEX = "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:generateContent"
GEMINI = "/v1beta/models/gemini-2.5-pro:generateContent"
BEARER = {"authorization": "Bearer key"}
SIGNED = {"authorization": "AWS4-HMAC-SHA256 Credential=x/bedrock/aws4_request, Signature=y"}


def body(path: str) -> Json:
    if "converse" in path:
        made = further_agents.converse(chat(4))
        return {"messages": made["messages"], "system": [{"text": "Be brief."}], "inferenceConfig": {"maxTokens": 9}}
    return {"contents": [*further_agents.contents(chat(4))], "systemInstruction": {"parts": [{"text": "Be brief."}]}}


@pytest.mark.parametrize(
    "path", [CONVERSE, f"{CONVERSE}-stream", GEMINI, GEMINI.replace(":g", ":streamG") + "?alt=sse", VERTEX]
)
def test_only_the_messages_are_exchanged(path: str, model: Api, running: Running) -> None:
    given = body(path)
    key = next(iter(given))
    for _ in range(2):
        ask(running.url + path, json=given, headers=BEARER)
    first, second = model.asked
    assert (first.path, first.headers["authorization"]) == (path, "Bearer key")
    assert {**first.json, key: 0} == {**given, key: 0}
    assert len(first.body) < len(json.dumps(given)) / 2
    assert first.json[key][-1] == given[key][-1]
    assert second.body == first.body
    assert not validate(parse(json.dumps(first.json[key]).encode()))
    assert any(each.label for each in running.proxy.conversations.all())


# A signature covers the body.
def test_signed_requests_pass_as_they_are(model: Api, running: Running) -> None:
    ask(running.url + CONVERSE, json=body(CONVERSE), headers=SIGNED)
    (asked,) = model.asked
    assert asked.json == body(CONVERSE)


def test_the_path_names_the_model_and_the_vendor() -> None:
    found = api_of("POST", CONVERSE)
    assert found is not None
    assert (found.model, found.format) == ("us.anthropic.claude-opus-4-6-v1:0", "bedrock-converse")
    assert api_of("POST", CONVERSE) is found
    assert api_of("POST", GEMINI.replace("generateContent", "countTokens")) is None
    assert usual_upstream(CONVERSE, {}) == usual_upstream("/model/m/invoke", {}) == BEDROCK
    assert usual_upstream("/v1beta/models", {}) == usual_upstream(VERTEX, {"x-goog-api-key": "k"}) == GOOGLE


def test_what_google_keeps_is_left_alone(model: Api, running: Running) -> None:
    given = {**body(GEMINI), "cachedContent": "cachedContents/x"}
    ask(running.url + GEMINI, json=given)
    assert model.asked[0].json == given


def usage_of(kind: str, *pieces: bytes, accounting: Accounting) -> CallUsage | None:
    reader = UsageReader(kind, "")
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    return reader.usage(accounting)


CONVERSED = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 95, "cacheReadInputTokens": 70, "cacheDetails": [{}]}
GENERATED = {"promptTokenCount": 80, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "cachedContentTokenCount": 70}


def test_the_usage_of_converse_is_read_from_answers_and_frames() -> None:
    expected = CallUsage(10, 5, 0, 70)
    whole = json.dumps({"output": {}, "usage": CONVERSED}).encode()
    assert usage_of("application/json", whole, accounting=Accounting.ANTHROPIC) == expected
    frame = (
        b"\x00\x00\x01\x0b:event-type\x07\x00\x08metadata"
        + json.dumps({"metrics": {"latencyMs": 1}, "usage": CONVERSED}, separators=(",", ":")).encode()
    )
    kind = "application/vnd.amazon.eventstream"
    pieces = (b'\x00{"contentBlockDelta":{"delta":{"text":"Hi"}}}', frame[:40], frame[40:] + b"\x9f\x00")
    assert usage_of(kind, *pieces, accounting=Accounting.ANTHROPIC) == expected


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_usage_of_google_is_that_of_the_last_piece(is_stream: bool) -> None:
    first = {"candidates": [], "usageMetadata": {**GENERATED, "candidatesTokenCount": 1}}
    last = {"candidates": [], "usageMetadata": GENERATED}
    data = "".join(f"data: {json.dumps(each)}\r\n\r\n" for each in (first, last)).encode()
    kind = "text/event-stream"
    if not is_stream:
        data, kind = json.dumps([first, last]).encode(), "application/json"
    assert usage_of(kind, data, accounting=Accounting.OPENAI) == CallUsage(80, 7, 0, 70)
