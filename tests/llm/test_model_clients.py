"""Calls of both APIs with the real SDKs against a server on this machine: an answer, or one clear reason."""

from typing import Any, Literal

import model_server as played
import pytest
from model_server import INPUT, OUTPUT, Play, model_server

from condense_cli.config.profiles import Access, Profile
from condense_cli.llm.access import connect
from condense_cli.llm.client import Answer, CallError, Cause, ModelRequest
from condense_cli.money.economics import CallUsage

Api = Literal["anthropic", "openai"]
APIS: tuple[Api, ...] = ("anthropic", "openai")
REQUEST = ModelRequest("Shorten it.", "<transcript-1>\nA long text.\n</transcript-1>", 100)


def access(url: str, api: Api, **changes: Any) -> Access:
    settings: dict[str, Any] = {"timeout_seconds": 5, "max_retries": 2, "context_window": 50_000, **changes}
    base_url = url if api == "anthropic" else f"{url}/v1"
    return Access("test", Profile(api=api, model="some-model", base_url=base_url, key_variable="KEY", **settings), "k1")


def ask(url: str, api: Api, request: ModelRequest = REQUEST, **changes: Any) -> Answer | CallError:
    client = connect(access(url, api, **changes))
    try:
        return client.call(request)
    except CallError as error:
        return error
    finally:
        client.close()


def answered(play: Play, api: Api, **changes: Any) -> Answer:
    with model_server(play) as server:
        result = ask(server.url, api, **changes)
    assert isinstance(result, Answer), result
    return result


def refused(play: Play, api: Api, **changes: Any) -> CallError:
    with model_server(play) as server:
        result = ask(server.url, api, **changes)
    assert isinstance(result, CallError), result
    return result


@pytest.mark.parametrize("api", APIS)
def test_a_whole_answer_comes_with_its_usage(api: Api) -> None:
    answer = answered(played.good("What   was found."), api)
    assert answer == Answer("What   was found.", CallUsage(INPUT, OUTPUT))


@pytest.mark.parametrize("api", APIS)
def test_what_is_sent(api: Api) -> None:
    with model_server(played.good()) as server:
        ask(server.url, api)
    body, headers = server.bodies[0], server.headers[0]
    assert server.paths == ["/v1/messages" if api == "anthropic" else "/v1/chat/completions"]
    assert body["model"] == "some-model"
    assert body["stream"] is True
    assert body["messages"][-1] == {"role": "user", "content": REQUEST.prompt}
    if api == "anthropic":
        assert body["system"] == REQUEST.system
        assert body["max_tokens"] == 150
    else:
        assert body["messages"][0] == {"role": "system", "content": REQUEST.system}
        assert body["max_completion_tokens"] == 150
        assert body["stream_options"] == {"include_usage": True}
    assert "k1" in headers.get("x-api-key", headers.get("authorization", ""))
    assert not {"temperature", "top_p", "top_k", "thinking", "tools"} & body.keys()


# A model that reasons gets room for it, and never more than the profile allows.
@pytest.mark.parametrize(("settings", "expected"), [({"reasoning_tokens": 1000}, 1150), ({"max_tokens": 120}, 120)])
@pytest.mark.parametrize("api", APIS)
def test_how_much_a_model_may_write(api: Api, settings: dict[str, Any], expected: int) -> None:
    with model_server(played.good()) as server:
        ask(server.url, api, **settings)
    assert server.bodies[0]["max_tokens" if api == "anthropic" else "max_completion_tokens"] == expected


def test_the_cached_part_of_the_input() -> None:
    cached = {"prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 50}}
    answer = answered(played.good(usage={**played.OPENAI_USAGE, **cached}), "openai")
    assert answer.usage == CallUsage(INPUT, OUTPUT, 50, 900)

    def play(exchange: played.Exchange) -> None:
        usage = {"input_tokens": 25, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900}
        exchange.start({**usage, "output_tokens": 1})
        exchange.text("Done.")
        exchange.end("end_turn", {"output_tokens": 15})

    assert answered(play, "anthropic").usage == CallUsage(25, 15, 100, 900)


CACHED = "prompt_tokens_details"
NO_USAGE: dict[str, dict[str, Any] | None] = {
    "nothing": None,
    "null": {"prompt_tokens": None},
    "words": {**played.OPENAI_USAGE, CACHED: {"cached_tokens": "some"}},
    "parts": {**played.OPENAI_USAGE, CACHED: {"cached_tokens": 0.5}},
    "less than nothing": {**played.OPENAI_USAGE, "prompt_tokens": -1},
}


@pytest.mark.parametrize("usage", NO_USAGE.values(), ids=NO_USAGE)
def test_a_server_that_reports_no_usage(usage: dict[str, Any] | None) -> None:
    assert answered(played.good(usage=usage), "openai").usage is None


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("odd", ["some", 0.5, -1])
def test_a_compatible_server_that_reports_no_numbers(odd: Any) -> None:
    def play(exchange: played.Exchange) -> None:
        exchange.start({"input_tokens": INPUT, "cache_read_input_tokens": odd, "output_tokens": 1})
        exchange.text("Done.")
        exchange.end("end_turn", {"output_tokens": OUTPUT})

    assert answered(play, "anthropic").usage is None


FAILURES: dict[str, tuple[Play, Cause]] = {
    "cut stream": (played.cut, Cause.CUT_OFF),
    "overloaded inside the stream": (played.error_inside("overloaded_error"), Cause.OVERLOADED),
    "server error inside the stream": (played.error_inside("api_error"), Cause.SERVER_ERROR),
    "unknown error inside the stream": (played.error_inside("new_kind_of_error"), Cause.SERVER_ERROR),
    "400": (played.status(400, "invalid_request_error"), Cause.REQUEST_REFUSED),
    "401": (played.status(401, "authentication_error"), Cause.UNAUTHORISED),
    "402": (played.status(402), Cause.OUT_OF_CREDIT),
    "403": (played.status(403, "permission_error"), Cause.UNAUTHORISED),
    "404": (played.status(404, "not_found_error"), Cause.MODEL_NOT_FOUND),
    "413": (played.status(413, "request_too_large"), Cause.REQUEST_REFUSED),
    "429 for ever": (played.status(429, "rate_limit_error"), Cause.RATE_LIMITED),
    "429 without credit": (played.status(429, "insufficient_quota"), Cause.OUT_OF_CREDIT),
    "500 for ever": (played.status(500, "api_error"), Cause.SERVER_ERROR),
    "529": (played.status(529, "overloaded_error"), Cause.OVERLOADED),
    "empty answer": (played.ending("end_turn", "stop", ""), Cause.EMPTY),
    "blank answer": (played.ending("end_turn", "stop", " \n\t"), Cause.EMPTY),
    "stopped at the limit": (played.ending("max_tokens", "length"), Cause.OVER_LIMIT),
    "refusal": (played.ending("refusal", "content_filter"), Cause.REFUSED_BY_MODEL),
    "tool call": (played.ending("tool_use", "tool_calls"), Cause.MALFORMED),
    "wrong JSON": (played.raw("event: message_start\ndata: {not json\n\n"), Cause.MALFORMED),
    "another shape": (
        played.raw('event: message_start\ndata: {"type": "message_start", "hello": 1}\n\n'),
        Cause.MALFORMED,
    ),
    "a web page": (played.raw("<html>Welcome</html>", "text/html"), Cause.MALFORMED),
    "nothing": (played.raw(""), Cause.MALFORMED),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("case", FAILURES)
def test_every_failure_has_its_reason(case: str, api: Api) -> None:
    play, reason = FAILURES[case]
    error = refused(play, api)
    assert error.failure.reason is reason
    assert error.failure.what
    assert error.failure.hint
    assert "k1" not in str(error)


# Tokens are paid for although there is no summary.
@pytest.mark.parametrize(
    ("case", "anthropic", "openai"),
    [
        ("stopped at the limit", CallUsage(INPUT, OUTPUT), CallUsage(INPUT, OUTPUT)),
        ("empty answer", CallUsage(INPUT, OUTPUT), CallUsage(INPUT, OUTPUT)),
        ("cut stream", CallUsage(INPUT, 1, is_whole=False), None),
        ("overloaded inside the stream", CallUsage(INPUT, 1, is_whole=False), None),
        ("401", None, None),
    ],
)
def test_what_a_failed_call_has_used(case: str, anthropic: CallUsage | None, openai: CallUsage | None) -> None:
    assert refused(FAILURES[case][0], "anthropic").usage == anthropic
    assert refused(FAILURES[case][0], "openai").usage == openai


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("code", "kind"), [(429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")])
def test_what_passes_is_tried_again(api: Api, code: int, kind: str) -> None:
    busy = played.status(code, kind)
    with model_server(played.in_turn(busy, busy, played.good())) as server:
        assert isinstance(ask(server.url, api), Answer)
    assert server.calls == 3


@pytest.mark.parametrize("api", APIS)
def test_a_wrong_key_is_not_tried_again(api: Api) -> None:
    with model_server(played.status(401, "authentication_error")) as server:
        ask(server.url, api)
    assert server.calls == 1


@pytest.mark.parametrize("api", APIS)
def test_a_server_that_says_nothing(api: Api) -> None:
    assert refused(played.hang, api, timeout_seconds=0.2, max_retries=0).failure.reason is Cause.TIMEOUT


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_stops_without_an_end(api: Api) -> None:
    def play(exchange: played.Exchange) -> None:
        played.cut(exchange)
        played.hang(exchange)

    assert refused(play, api, timeout_seconds=0.2, max_retries=0).failure.reason is Cause.TIMEOUT


@pytest.mark.parametrize("api", APIS)
def test_a_connection_that_breaks(api: Api) -> None:
    def play(exchange: played.Exchange) -> None:
        exchange.promised = 100_000
        played.cut(exchange)

    assert refused(play, api).failure.reason is Cause.CUT_OFF


@pytest.mark.parametrize("api", APIS)
def test_no_server(api: Api) -> None:
    with model_server(played.good()) as server:
        pass
    result = ask(server.url, api, max_retries=0)
    assert isinstance(result, CallError)
    assert result.failure.reason is Cause.CONNECTION
    assert "127.0.0.1" in result.failure.what


def refusing(*parameters: str) -> Play:
    """A compatible server that does not know some parameters."""

    def play(exchange: played.Exchange) -> None:
        for name in parameters:
            if name in exchange.body:
                played.status(400, "invalid_request_error", f"Unrecognized request argument: {name}")(exchange)
                return
        played.good()(exchange)

    return play


def test_a_compatible_server_that_knows_only_max_tokens() -> None:
    with model_server(refusing("max_completion_tokens")) as server:
        client = connect(access(server.url, "openai"))
        assert client.call(REQUEST).text
        assert client.call(REQUEST).text
        client.close()
    assert [body.get("max_tokens") for body in server.bodies] == [None, 150, 150], "it is asked only once"


def test_a_compatible_server_that_refuses_several_parameters() -> None:
    play = refusing("stream_options", "max_completion_tokens", "reasoning_effort")
    answered(play, "openai", reasoning_effort="low")


def test_a_refusal_of_something_else_is_not_worked_round() -> None:
    with model_server(played.status(400, "invalid_request_error", "max_tokens is too large")) as server:
        result = ask(server.url, "openai")
    assert isinstance(result, CallError)
    assert result.failure.reason is Cause.REQUEST_REFUSED
    assert "too large" in str(result.failure)
    assert server.calls == 1


# Without the effort the model would answer otherwise, and the old name of the limit it may refuse.
@pytest.mark.parametrize(
    ("parameter", "code"), [("max_completion_tokens", "invalid_value"), ("reasoning_effort", "unsupported_value")]
)
def test_a_refused_value_is_not_worked_round(parameter: str, code: str) -> None:
    play = played.status(400, code, f"{parameter} cannot have this value", parameter)
    with model_server(play) as server:
        result = ask(server.url, "openai", reasoning_effort="low")
    assert isinstance(result, CallError)
    assert "cannot have this value" in str(result.failure)
    assert server.calls == 1


CHUNK: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def test_a_refusal_in_words() -> None:
    def play(exchange: played.Exchange) -> None:
        exchange.begin()
        delta = {"refusal": "I cannot help with that."}
        exchange.event({**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]})

    assert refused(play, "openai").failure.reason is Cause.REFUSED_BY_MODEL


# Some servers tell with each word what was used so far.
@pytest.mark.parametrize("finish", [None, "stop"])
def test_usage_that_comes_before_the_end(finish: str | None) -> None:
    def play(exchange: played.Exchange) -> None:
        exchange.begin()
        choice = {"index": 0, "delta": {"content": "Half of an"}, "finish_reason": finish}
        exchange.event({**CHUNK, "choices": [choice], "usage": played.OPENAI_USAGE})

    result = answered(play, "openai") if finish else refused(play, "openai")
    assert result.usage == CallUsage(INPUT, OUTPUT, is_whole=finish is not None)


# A folder's environment must not send a transcript elsewhere, nor another key with it.
@pytest.mark.parametrize("api", APIS)
def test_the_environment_redirects_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(played.good()) as elsewhere, model_server(played.good()) as server:
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, elsewhere.url)
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, "key-of-the-environment")
        ask(server.url, api)
    assert (server.calls, elsewhere.calls) == (1, 0)
    assert "key-of-the-environment" not in str(server.headers)


def test_a_key_is_never_shown() -> None:
    assert "k1" not in repr(access("http://127.0.0.1:1", "openai"))
