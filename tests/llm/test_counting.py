"""A transcript counted by its provider: what is sent, what comes of the answer, and every way it can fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import model_server as played
import pytest
from build import call, result, text, thinking
from helpers import session
from hypothesis import given
from model_server import ModelServer, Play, model_server
from strategies import FILES as FILES_OF_ANY_FORMAT
from test_model_clients import APIS, FAILURES, Api, access

from condense_cli import api as library
from condense_cli.core.transcript import Transcript
from condense_cli.errors import UsageError
from condense_cli.formats import parse
from condense_cli.llm import counting
from condense_cli.llm.access import Redactor
from condense_cli.llm.client import Answer, CallError, Cause, ModelRequest
from condense_cli.llm.counting import counted_factor
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import Factor, Known

SESSION = library.loads(session())
PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
FORMAT = {"anthropic": "anthropic", "openai": "openai-responses"}


def count(url: str, api: Api, transcript: Transcript = SESSION, **changes: Any) -> Factor:
    return counted_factor(transcript, Counter.of(transcript), access(url, api, **changes))


def refused(play: Play, api: Api, **changes: Any) -> CallError:
    with model_server(play) as server, pytest.raises(CallError) as caught:
        count(server.url, api, **changes)
    return caught.value


def sent(server: ModelServer) -> dict[str, Any]:
    """The part of the transcript that was sent."""
    _, body = server.bodies
    return body


def sent_of(transcript: Transcript, api: Api, redactor: Redactor | None = None) -> dict[str, Any]:
    with model_server(played.counting(1)) as server:
        counted_factor(transcript, Counter.of(transcript), access(server.url, api), redactor)
    return sent(server)


def of(*messages: dict[str, Any]) -> Transcript:
    return library.loads(messages)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.37, 3.5])
def test_the_factor_is_that_of_the_text(api: Api, factor: float) -> None:
    with model_server(played.counting(factor)) as server:
        found = count(server.url, api)
    assert found.value == pytest.approx(factor, rel=0.01), "what an API puts around every request is no text"
    assert (found.known, found.is_given, found.error) == (Known.COUNTED, True, None)


@pytest.mark.parametrize("api", APIS)
def test_a_transcript_of_one_word_has_a_factor(api: Api) -> None:
    with model_server(played.counting(1.5)) as server:
        found = count(server.url, api, of({"role": "user", "content": "Hi"}))
    assert 1 <= found.value <= 1.5


@pytest.mark.parametrize("api", APIS)
def test_the_text_is_sent_once_and_behind_a_request_without_any(api: Api) -> None:
    with model_server(played.counting(1.2)) as server:
        count(server.url, api)
    assert server.paths == ["/v1/messages/count_tokens" if api == "anthropic" else "/v1/responses/input_tokens"] * 2
    first, second = map(json.dumps, server.bodies)
    assert "listing" not in first
    assert all(f"{number}: line 40 of the listing" in second for number in range(1, 9))
    assert "Please look around." in second
    assert all(body["model"] == "some-model" for body in server.bodies)
    assert "k1" in server.headers[0].get("x-api-key", server.headers[0].get("authorization", ""))
    assert not {"max_tokens", "stream", "temperature"} & sent(server).keys()


# Requests that hold calls have to define their tools; what those take is in both requests and cancels out.
def test_tools_that_are_called_are_defined() -> None:
    with model_server(played.counting(1.2)) as server:
        count(server.url, "anthropic")
    tools = [{"name": "Read", "input_schema": {"type": "object"}}]
    assert [body["tools"] for body in server.bodies] == [tools, tools]


@pytest.mark.parametrize("api", APIS)
def test_thinking_and_images_stay_here(api: Api) -> None:
    transcript = of(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [text("What is it?"), PIXEL]},
        {"role": "assistant", "content": [thinking("A secret thought"), text("A picture.")]},
        {"role": "user", "content": "Go on."},
    )
    body = sent_of(transcript, api)
    said = json.dumps(body)
    assert all(each in said for each in ("Be brief.", "What is it?", "A picture.", "Go on."))
    assert "thought" not in said
    assert "iVBOR" not in said


# An open end, which APIs refuse, is closed by next to nothing.
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("end", [[text("Done.")], [call("toolu_1", command="ls")]], ids=["answer", "open call"])
def test_what_is_sent_keeps_the_rules_of_the_api(api: Api, end: list[dict[str, Any]]) -> None:
    body = sent_of(of({"role": "user", "content": "List it."}, {"role": "assistant", "content": end}), api)
    transcript = parse(json.dumps(body).encode(), format=FORMAT[api])
    assert validate(transcript) == []
    if api == "anthropic":
        assert body["messages"][-1]["role"] == "user"
    else:
        calls = {item["call_id"] for item in body["input"] if item["type"] == "function_call"}
        outputs = {item["call_id"] for item in body["input"] if item["type"] == "function_call_output"}
        assert calls == outputs


class Told:
    """A client that keeps what it is asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def count_tokens(self, body: dict[str, Any]) -> int:
        json.dumps(body, ensure_ascii=False).encode()
        self.bodies.append(body)
        return 4

    def call(self, request: ModelRequest) -> Answer:
        raise AssertionError

    def close(self) -> None:
        pass


@given(FILES_OF_ANY_FORMAT)
def test_any_transcript_is_sent_by_the_rules(data: bytes) -> None:
    transcript = parse(data)
    for api in APIS:
        told = Told()
        with suppress(UsageError, CallError), pytest.MonkeyPatch.context() as patch:
            patch.setattr(counting, "connect", lambda access, told=told: told)
            counted_factor(transcript, Counter(), access("http://127.0.0.1:1", api))
        for body in told.bodies:
            body.pop("tools", None)
            assert validate(parse(json.dumps(body).encode(), format=FORMAT[api])) == []


@pytest.mark.slow
def test_secrets_are_masked_wherever_they_stand(masking_rules: Path) -> None:
    secret = "hunter2hunter2"
    transcript = of(
        {"role": "user", "content": f"I use {secret} everywhere."},
        {"role": "assistant", "content": [call("toolu_1", command=f"login --password={secret}")]},
        {"role": "user", "content": [result("toolu_1", f"password: {secret}")]},
    )
    redactor = Redactor(masking_rules)
    for api in APIS:
        said = json.dumps(sent_of(transcript, api, redactor))
        assert secret not in said
        assert said.count("[secret 1]") == 3


def test_a_lone_surrogate_stops_nothing() -> None:
    body = sent_of(library.loads('[{"role": "user", "content": "odd \\ud800 text"}]'), "anthropic")
    assert body["messages"][0]["content"] == "odd ? text"


def test_no_text_is_not_counted() -> None:
    with model_server(played.counting(1)) as server, pytest.raises(UsageError, match="no text"):
        count(server.url, "anthropic", of({"role": "user", "content": [PIXEL]}))
    assert server.calls == 0


ODD: Sequence[Any] = (None, "many", 3.5, -1, True, [], {"tokens": 3})


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("told", ODD, ids=str)
def test_what_is_no_number_is_no_count(api: Api, told: Any) -> None:
    assert refused(played.number(told), api).failure.reason is Cause.MALFORMED


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("play", [played.counting(0.79), played.counting(4.1), played.number(400), played.number(0)])
def test_a_count_that_cannot_be_is_not_believed(api: Api, play: Play) -> None:
    error = refused(play, api)
    assert error.failure.reason is Cause.NOT_BELIEVED
    assert "0.8 to 4" in str(error)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "text", ["", "{not json", "<html>Welcome</html>", "{}", "[]", "null", '{"hello": 1}', '{"input_tokens": 12']
)
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_a_malformed_answer_is_no_count(api: Api, text: str, kind: str) -> None:
    assert refused(played.raw(text, kind), api).failure.reason is Cause.MALFORMED


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("case", [case for case in FAILURES if case[:3].isdigit() and case != "404"])
def test_every_failure_has_its_reason(case: str, api: Api) -> None:
    play, reason = FAILURES[case]
    error = refused(play, api)
    assert error.failure.reason is reason
    assert error.failure.hint
    assert "k1" not in str(error)


@pytest.mark.parametrize("api", APIS)
def test_a_server_without_the_endpoint_gets_no_text(api: Api) -> None:
    with model_server(played.status(404, "not_found")) as server, pytest.raises(CallError) as caught:
        count(server.url, api)
    assert caught.value.failure.reason is Cause.NO_COUNTING
    assert "127.0.0.1" in str(caught.value)
    assert "listing" not in json.dumps(server.bodies)


@pytest.mark.parametrize("api", APIS)
def test_what_passes_is_tried_again(api: Api) -> None:
    busy = played.status(429, "rate_limit_error")
    with model_server(played.in_turn(busy, played.counting(1.3), busy, played.counting(1.3))) as server:
        assert count(server.url, api).value == pytest.approx(1.3, rel=0.01)
    assert server.calls == 4


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("before", [(), (played.counting(1),)], ids=["at once", "on the text"])
def test_a_server_that_says_nothing(api: Api, before: tuple[Play, ...]) -> None:
    error = refused(played.in_turn(*before, played.hang), api, timeout_seconds=0.2, max_retries=0)
    assert error.failure.reason is Cause.TIMEOUT


@pytest.mark.parametrize("api", APIS)
def test_an_answer_that_breaks_off(api: Api) -> None:
    def play(exchange: played.Exchange) -> None:
        exchange.promised = 100_000
        played.number(1)(exchange)

    assert refused(play, api, max_retries=0).failure.reason in (Cause.CUT_OFF, Cause.CONNECTION)


@pytest.mark.parametrize("api", APIS)
def test_no_server(api: Api) -> None:
    with model_server(played.counting(1)) as server:
        pass
    with pytest.raises(CallError) as caught:
        count(server.url, api, max_retries=0)
    assert caught.value.failure.reason is Cause.CONNECTION
