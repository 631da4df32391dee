"""`condense run` with a model that writes the summaries: in the file, in the report, in the cache."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import model_server as played
import pytest
from desk import APIS, BY_MODEL, CALL, KEYS, WAYS, Desk, cost_of
from helpers import COMMAND, LONG, environment
from model_server import model_server

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
