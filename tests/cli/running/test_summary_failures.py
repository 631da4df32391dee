"""A model that fails: nothing is lost, and what went wrong and what it cost is told."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import model_server as played
import pytest
from desk import APIS, BY_MODEL, CALL, WAYS, Desk, cost_of, reasons
from model_server import Play, model_server

from condense_cli import api
from condense_cli.errors import ExitStatus


def wordy(exchange: played.Exchange) -> None:
    """A whole answer that is longer than any limit."""
    exchange.start()
    exchange.text("word " * 6_000)
    exchange.end(
        "end_turn" if exchange.is_anthropic else "stop", None if exchange.is_anthropic else played.OPENAI_USAGE
    )


WHOLE: Final = dict.fromkeys(APIS, CALL)
BEGUN: Final = {"anthropic": Decimal("0.00101"), "openai": Decimal(0)}

NOTHING: Final = dict.fromkeys(APIS, Decimal(0))
"""Dollars that are known of a failed call: Anthropic tells the usage of the input at the beginning."""

FAILURES: Final[Mapping[str, tuple[Play, str, Mapping[str, Decimal]]]] = {
    "401": (played.status(401, "authentication_error"), "sends no key", NOTHING),
    "404": (played.status(404, "not_found_error"), "does not know the model", NOTHING),
    "429": (played.status(429, "rate_limit_error"), "because of its rate limit", NOTHING),
    "500": (played.status(500, "api_error"), "127.0.0.1 failed", NOTHING),
    "529": (played.status(529, "overloaded_error"), "is overloaded", NOTHING),
    "cut off": (played.cut, "was cut off", BEGUN),
    "error inside": (played.error_inside("overloaded_error"), "is overloaded", BEGUN),
    "empty": (played.good(""), "empty answer", WHOLE),
    "too long": (wordy, "longer than the limit", WHOLE),
    "stopped at the limit": (played.ending("max_tokens", "length"), "longer than the limit", WHOLE),
    "refused": (played.ending("refusal", "content_filter"), "refused to answer", WHOLE),
    "malformed": (played.raw("<html>no</html>", "text/html"), "not an answer of this API", NOTHING),
    "hanging": (played.hang, "did not answer in time", NOTHING),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_loses_nothing(desk: Desk, failure: str, name: str, way: str) -> None:
    play, why, known = FAILURES[failure]
    with model_server(play) as server:
        desk.profiles(server, total_seconds=0.3 if failure == "hanging" else 60)
        report = desk.report(way, "--profile", name, status=ExitStatus.CALLS_FAILED)
    assert desk.is_unchanged
    told = [reason for reason in reasons(report) if why in reason]
    assert told, reasons(report)
    assert any("Not summarized, so left unchanged" in warning and why in warning for warning in report["warnings"])
    assert not any(".)." in warning for warning in report["warnings"])
    (used,) = report["summaries"]
    assert used["written"] == 0
    assert used["refused"] > 0
    assert cost_of(report) == known[name] * used["calls"]
    assert used["at_least"] == (known is not WHOLE)
    if failure != "hanging":  # A call that is given up so soon may not have arrived.
        assert server.calls >= used["calls"]


@pytest.mark.parametrize("way", WAYS)
def test_allow_partial_makes_it_no_failure(desk: Desk, way: str) -> None:
    with model_server(played.status(401, "authentication_error")) as server:
        desk.profiles(server)
        desk.report(way, "--profile", "openai", "--allow-partial")
    assert desk.is_unchanged


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
def test_a_failure_that_passes_is_tried_again(desk: Desk, name: str, way: str) -> None:
    with model_server(played.in_turn(played.status(429, "rate_limit_error"), played.good(BY_MODEL))) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", name)
    (used,) = report["summaries"]
    assert server.calls == used["calls"] + 1
    assert cost_of(report) == CALL * used["calls"]


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_reports_no_usage_leaves_the_cost_unknown(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL, usage=None)) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", "openai")
    (used,) = report["summaries"]
    assert (used["cost"], used["at_least"], used["written"]) == (None, True, server.calls)
    assert any(BY_MODEL in text for text in desk.texts)


@pytest.mark.parametrize("name", APIS)
def test_where_some_calls_fail_the_other_summaries_are_written(desk: Desk, name: str) -> None:
    with model_server(played.in_turn(played.good(BY_MODEL), played.good(""), played.good(BY_MODEL))) as server:
        desk.profiles(server, max_parallel_calls=1)
        report = desk.report("individual", "--profile", name, status=ExitStatus.CALLS_FAILED)
        (used,) = report["summaries"]
        assert (used["refused"], used["written"]) == (1, server.calls - 1)
        assert cost_of(report) == CALL * server.calls
        before = [block.text for _, block in api.load(desk.input).blocks()]
        for old, new in zip(before, desk.texts, strict=True):
            assert new == old or BY_MODEL in new
        calls = server.calls
        desk.report("individual", "--profile", name, "--allow-partial")
        assert server.calls == calls, "a refused answer is kept as well"


# The known part of the cost is told even if a call broke off.
def test_the_known_cost_is_told_where_a_call_broke_off(desk: Desk) -> None:
    with model_server(played.in_turn(played.good(BY_MODEL), played.cut, played.good(BY_MODEL))) as server:
        desk.profiles(server, max_parallel_calls=1)
        said = " ".join(desk.run("individual", "--profile", "openai", "--no-cache").stderr.split())
        assert f"{server.calls} calls" in said
        assert f", at least ${CALL * (server.calls - 1)}." in said


def test_what_to_do_about_a_failure_is_told(desk: Desk) -> None:
    with model_server(played.status(401, "authentication_error")) as server:
        desk.profiles(server, key_variable="OPENAI_API_KEY")
        report = desk.report("batch", "--profile", "openai", status=ExitStatus.CALLS_FAILED)
    assert any("OPENAI_API_KEY" in warning for warning in report["warnings"])


def test_no_key_calls_nothing(desk: Desk) -> None:
    with model_server(played.good()) as server:
        desk.profiles(server, key_variable="NO_SUCH_KEY")
        report = desk.report("batch", "--profile", "openai", status=ExitStatus.CALLS_FAILED)
        assert server.calls == 0
    assert desk.is_unchanged
    assert any("NO_SUCH_KEY" in warning for warning in report["warnings"])


# Of a pass whose summaries were all refused nobody can say that it completed.
@pytest.mark.parametrize("way", WAYS)
def test_a_pass_without_summaries_failed(desk: Desk, way: str) -> None:
    with model_server(played.ending("end_turn", "stop", "")) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", APIS[0], status=ExitStatus.CALLS_FAILED)
    (failed,) = [each for each in report["passes"] if each["status"] == "failed"]
    assert failed["reason"]
