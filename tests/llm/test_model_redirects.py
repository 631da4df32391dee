"""Redirects of model servers, with the real SDKs: text goes to the origin that the profile names, and nowhere else."""

from datetime import UTC, datetime

import model_server as played
import pytest
from model_server import Exchange, Play, model_server
from test_model_clients import APIS, REQUEST, Api, access, ask

from condense_cli.llm.access import connect
from condense_cli.llm.calls import Caller, fulfil
from condense_cli.llm.client import Answer, CallError, Cause, ModelRequest


def redirect(code: int, location: str) -> Play:
    def play(exchange: Exchange) -> None:
        exchange.promised = 0
        exchange.begin(code, "text/plain", Location=location)

    return play


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("api", APIS)
def test_nothing_is_sent_to_another_port(api: Api, code: int) -> None:
    with (
        model_server(played.good()) as elsewhere,
        model_server(redirect(code, "")) as server,
    ):
        server.play = redirect(code, f"{elsewhere.url.replace('//', '//me:secret@')}/v1/messages?key=k#here")
        error = ask(server.url, api)
    assert isinstance(error, CallError)
    assert (error.failure.reason, server.calls, elsewhere.calls) == (Cause.REDIRECTED, 1, 0)
    assert error.failure.detail == f"(It names {elsewhere.url}/v1/messages.)"


@pytest.mark.parametrize(
    "location", ["https://{host}/v1/messages", "http://localhost:{port}/v1/messages", "//[", "ftp:x"]
)
@pytest.mark.parametrize("api", APIS)
def test_another_scheme_or_host_is_another_origin(api: Api, location: str) -> None:
    with model_server(redirect(307, "")) as server:
        host = server.url.removeprefix("http://")
        server.play = redirect(307, location.format(host=host, port=host.partition(":")[2]))
        error = ask(server.url, api)
    assert isinstance(error, CallError)
    assert (error.failure.reason, server.calls) == (Cause.REDIRECTED, 1)


@pytest.mark.parametrize("api", APIS)
def test_other_errors_are_told_as_the_server_says_them(api: Api) -> None:
    with model_server(played.status(400, message="no such thing")) as server:
        error = ask(server.url, api)
    assert isinstance(error, CallError)
    assert error.failure.detail == ("" if api == "anthropic" else "Error code: 400 - ") + "no such thing"


@pytest.mark.parametrize("code", [307, 308])
@pytest.mark.parametrize("api", APIS)
def test_another_path_of_the_same_server_is_asked_with_the_same_text(api: Api, code: int) -> None:
    path = "/v1/messages/" if api == "anthropic" else "/v1/chat/completions/"
    with model_server(played.in_turn(redirect(code, path), played.good())) as server:
        answer = ask(server.url, api)
    assert isinstance(answer, Answer)
    assert server.paths == [path.rstrip("/"), path]
    assert server.bodies[0] == server.bodies[1]


@pytest.mark.parametrize("code", [302, 307])
@pytest.mark.parametrize("api", APIS)
def test_a_loop_of_redirects_ends_soon_and_the_calls_behind_it_are_not_made(api: Api, code: int) -> None:
    with model_server(redirect(code, "/v1/messages")) as server:
        requests = [ModelRequest("Shorten it.", f"text {number}", 100) for number in range(8)]
        caller = Caller(access(server.url, api, max_parallel_calls=1), len, datetime(2026, 11, 1, tzinfo=UTC))
        done = fulfil(requests, caller)
    assert {outcome.failure.reason for outcome in done.outcomes if outcome.failure} == {Cause.REDIRECTED}
    assert len(done.outcomes) == 8
    assert server.calls == (1 if code == 302 else 4)


@pytest.mark.parametrize("api", APIS)
def test_tokens_are_not_counted_elsewhere_either(api: Api) -> None:
    with model_server(played.number(7)) as elsewhere, model_server(redirect(307, "")) as server:
        server.play = redirect(307, f"{elsewhere.url}/v1/messages")
        client = connect(access(server.url, api))
        with pytest.raises(CallError) as caught:
            client.count_tokens(
                {"messages": [{"role": "user", "content": REQUEST.prompt}]} if api == "anthropic" else {}
            )
        client.close()
    assert (caught.value.failure.reason, elsewhere.calls) == (Cause.REDIRECTED, 0)
