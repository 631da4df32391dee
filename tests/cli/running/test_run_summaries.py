"""`condense run` with a model that writes the summaries, or fails: nothing is lost, and what it cost is told."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import model_server as played
import pytest
from desk import APIS, BY_MODEL, CALL, KEYS, WAYS, Desk, cost_of, reasons
from helpers import COMMAND, LONG, environment
from model_server import Play, model_server

from condense_cli import api
from condense_cli.core.markers import gaps_in, parse_summary
from condense_cli.errors import ExitStatus
from condense_cli.ledger.text import parse as parse_ledger


@pytest.mark.parametrize("name", APIS)
def test_single_results_are_summarized_each_by_a_call(desk: Desk, name: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        report = desk.report("individual", "--profile", name)
    (used,) = report["summaries"]
    assert used["profile"] == name
    assert used["written"] == used["calls"] == server.calls > 1
    assert (used["cached"], used["refused"], used["planned"], used["at_least"]) == (0, 0, False, False)
    assert cost_of(report) == CALL * server.calls
    summed = [text for text in desk.texts if BY_MODEL in text]
    assert len(summed) == server.calls
    for text in summed:
        (gap,) = gaps_in(text)
        assert gap.is_summary
        assert gap.lines == 40


# The summaries of a phase are called for as many at a time as it says, where the profile allows more.
@pytest.mark.parametrize("name", APIS)
def test_a_phase_limits_the_calls_at_a_time(desk: Desk, name: str) -> None:
    with model_server(played.good(BY_MODEL, together=2)) as server:
        desk.profiles(server, max_parallel_calls=5)
        report = desk.report("phases", "--profile", name)
    assert report["summaries"][0]["written"] == server.calls > 2
    assert server.most_at_once == 2
    assert sum(BY_MODEL in text for text in desk.texts) == server.calls


@pytest.mark.parametrize("way", ["batch", "native"])
@pytest.mark.parametrize("name", APIS)
def test_many_messages_are_summarized_by_one_call(desk: Desk, name: str, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", name)
    assert server.calls == 1
    assert cost_of(report) == CALL
    (text,) = [text for text in desk.texts if BY_MODEL in text]
    mark = parse_summary(text)
    assert mark
    others = [message for message in api.load(desk.output).messages if not message.is_summary]
    assert mark.messages + len(others) == report["messages"]["before"]
    ledger = parse_ledger(text)
    assert ledger
    assert text.index("<ledger>") > text.index(BY_MODEL)
    assert text.rstrip().endswith("</ledger>")
    assert "src/1.py" in text


def test_what_a_run_used_is_told_in_a_line(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        said = " ".join(desk.run("batch", "--profile", "openai").stderr.split())
        assert "1 summary written by openai: 1 call, 1,020 tokens, $0.0012." in said
        again = " ".join(desk.run("batch", "--profile", "openai").stderr.split())
    assert "1 summary written by openai (1 from the cache): 0 calls, 0 tokens, $0." in again


@pytest.mark.parametrize("most", [1, 3])
def test_as_many_calls_run_at_once_as_the_profile_allows(desk: Desk, most: int) -> None:
    with model_server(played.good(BY_MODEL, together=most)) as server:
        desk.profiles(server, max_parallel_calls=most)
        desk.report("individual", "--profile", "openai")
    assert server.most_at_once == most


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
def test_a_second_run_calls_nothing(desk: Desk, name: str, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        desk.report(way, "--profile", name)
        calls, first = server.calls, desk.output.read_bytes()
        report = desk.report(way, "--profile", name)
        assert server.calls == calls
        (used,) = report["summaries"]
        assert (used["cached"], used["calls"], used["written"]) == (calls, 0, calls)
        assert cost_of(report) == 0
        assert desk.output.read_bytes() == first
        desk.report(way, "--profile", name, "--no-cache")
        assert server.calls == 2 * calls


# Ctrl-C keeps what is done.
def test_refused_summaries_of_the_cache_are_none_that_were_written(desk: Desk) -> None:
    with model_server(played.good("banana banana")) as server:
        desk.profiles(server)
        for _ in range(2):
            report = desk.report("individual", "--profile", "openai", status=ExitStatus.CALLS_FAILED)
            (used,) = report["summaries"]
            assert used["refused"] > used["written"] == used["cached"] == 0


@pytest.mark.slow
def test_an_interrupt_leaves_what_is_done(desk: Desk) -> None:
    with model_server(played.in_turn(played.good(BY_MODEL), played.hang)) as server:
        desk.profiles(server, max_parallel_calls=1)
        process = subprocess.Popen(
            [*COMMAND, *desk.command("individual", "--profile", "openai", "--json")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(KEYS),
        )
        while server.calls < 2 and process.poll() is None:
            server.over.wait(0.01)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    assert process.returncode == ExitStatus.INTERRUPTED, err.decode()
    assert b"Traceback" not in err
    report = json.loads(out)
    (used,) = report["summaries"]
    assert used["written"] == 1
    before = [block.text for _, block in api.load(desk.input).blocks()]
    changed = [new for old, new in zip(before, desk.texts, strict=True) if new != old]
    assert len(changed) == 1
    assert BY_MODEL in changed[0]


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
