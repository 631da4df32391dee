"""Fulfilling many requests: order, concurrency, failures, interrupts, and what it cost by the accounts of each API."""

import os
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import model_server as played
import pytest
from fake_client import EACH, WHEN, Reply, caller, echo, failing, profile, reasons, request, run
from helpers import LONG
from model_server import INPUT, OUTPUT, Play, model_server

from condense_cli.config.profiles import BUILT_IN, Access, PriceOverride, Profile
from condense_cli.llm import calls
from condense_cli.llm.budget import Spent, price_for, spent_on
from condense_cli.llm.cache import Cache
from condense_cli.llm.calls import Fulfilment, Progress, fulfil
from condense_cli.llm.client import Answer, CallError, Cause, ModelClient, ModelRequest, ReasonNames, failure
from condense_cli.money.economics import CallUsage


def test_outcomes_come_in_the_order_asked() -> None:
    others_are_done = threading.Event()

    def first_is_last(request: ModelRequest) -> Answer:
        if request.prompt == "text 0":
            assert others_are_done.wait(LONG)
        return echo(request)

    def tell(progress: Progress) -> None:
        if progress.done == 11:
            others_are_done.set()

    done, fake = run([request(number) for number in range(12)], first_is_last, progress=tell)
    assert [outcome.text for outcome in done.outcomes] == [f"summary of text {number}" for number in range(12)]
    assert done.spent == Spent(12, 12 * (INPUT + OUTPUT), Decimal("0.0144"))
    assert fake.is_closed


def test_nothing_asked_opens_nothing() -> None:
    def opened(access: Access) -> ModelClient:
        raise AssertionError

    assert fulfil([], caller(opened=opened)) == Fulfilment(())


# A server that answers five at a time: as many calls are under way as the profile allows, all along.
@pytest.mark.slow
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_calls_run_side_by_side(api: Any) -> None:
    five = threading.Barrier(5)

    def play(exchange: played.Exchange) -> None:
        five.wait(LONG)
        played.good()(exchange)

    with model_server(play) as server:
        base_url = server.url if api == "anthropic" else f"{server.url}/v1"
        usual = profile(api=api, base_url=base_url, timeout_seconds=LONG, total_seconds=LONG)
        done = fulfil([request(number) for number in range(50)], caller(usual))
    assert all(outcome.text for outcome in done.outcomes)
    assert server.calls == 50
    assert server.most_at_once == usual.max_parallel_calls == 5


def test_equal_requests_are_called_once() -> None:
    done, fake = run([request("a"), request("b"), request("a")])
    assert sorted(fake.asked) == ["text a", "text b"]
    assert done.outcomes[0].text == done.outcomes[2].text
    assert [outcome.spent for outcome in done.outcomes] == [EACH, EACH, Spent()]
    assert done.spent.calls == 2


def test_an_answer_over_the_limit_is_refused_and_paid_for() -> None:
    done, _ = run([request("a", limit=3), request("b", limit=4)])
    assert reasons(done) == [Cause.OVER_LIMIT, None]
    assert done.outcomes[0].text is None
    assert done.outcomes[0].spent == EACH


def test_an_answer_that_is_not_smaller_is_refused() -> None:
    done, _ = run([request("a", replaced=4), request("b", replaced=5)])
    assert reasons(done) == [Cause.NOT_SMALLER, None]


# Answers of no use are paid for like others: after five in a row nothing more is asked.
@pytest.mark.parametrize("reply", [failing(Cause.EMPTY), failing(Cause.OVER_LIMIT), lambda _: Answer("a " * 200, None)])
def test_answers_of_no_use_end_it(reply: Reply) -> None:
    done, fake = run([request(number) for number in range(34)], reply)
    assert len(fake.asked) < 34 / 2
    assert all(outcome.text is None for outcome in done.outcomes)


def test_a_refusal_for_want_of_a_key_says_what_to_give() -> None:
    why = failure(Cause.UNAUTHORISED, ReasonNames(profile="local", host="localhost"))
    assert "sends no key" in why.what
    assert "`key_variable`" in why.hint
    assert "HELD" in failure(Cause.UNAUTHORISED, ReasonNames(profile="local", variable="HELD")).hint


@pytest.mark.parametrize("reason", [Cause.UNAUTHORISED, Cause.MODEL_NOT_FOUND, Cause.OUT_OF_CREDIT])
def test_after_a_hopeless_failure_the_rest_is_not_tried(reason: Cause) -> None:
    done, fake = run([request(number) for number in range(50)], failing(reason))
    assert set(reasons(done)) == {reason}
    assert len(fake.asked) <= 2 * profile().max_parallel_calls


# A limit that the model does not take, say, makes it refuse every request.
@pytest.mark.parametrize("reason", [Cause.CONNECTION, Cause.REQUEST_REFUSED])
def test_a_server_that_fails_again_and_again_is_left_alone(reason: Cause) -> None:
    done, fake = run([request(number) for number in range(100)], failing(reason))
    assert set(reasons(done)) == {reason}
    assert len(fake.asked) <= 2 * profile().max_parallel_calls


def test_after_five_failures_in_a_row_nothing_is_asked() -> None:
    one_by_one = profile(max_parallel_calls=1)
    done, fake = run([request(number) for number in range(9)], failing(Cause.CONNECTION), access_profile=one_by_one)
    assert set(reasons(done)) == {Cause.CONNECTION}
    assert len(fake.asked) == 5


def test_single_failures_stop_nothing() -> None:
    def now_and_then(request: ModelRequest) -> Answer:
        if request.prompt.endswith(("3", "7")):
            raise CallError(failure(Cause.SERVER_ERROR))
        return echo(request)

    done, _ = run([request(number) for number in range(40)], now_and_then)
    assert reasons(done).count(Cause.SERVER_ERROR) == 8
    assert reasons(done).count(None) == 32


def test_a_client_that_cannot_be_made_fails_every_request() -> None:
    def opened(access: Access) -> ModelClient:
        raise CallError(failure(Cause.NO_KEY))

    done = fulfil([request(1), request(2)], caller(opened=opened))
    assert reasons(done) == [Cause.NO_KEY] * 2
    assert done.spent == Spent()


def test_a_defect_in_a_client_is_a_failure_and_no_crash() -> None:
    def broken(request: ModelRequest) -> Answer:
        raise RuntimeError("a defect")

    done, _ = run([request(1)], broken)
    assert reasons(done) == [Cause.MALFORMED]
    assert done.spent.unknown == 1


def test_what_is_not_known_is_counted_and_not_taken_for_nothing() -> None:
    def silent(request: ModelRequest) -> Answer:
        return Answer("short", None)

    assert run([request(1)], silent)[0].spent == Spent(1, 0, Decimal(0), 1)
    unpriced = profile(price=None)
    assert run([request(1)], access_profile=unpriced)[0].spent == Spent(1, INPUT + OUTPUT, Decimal(0), 1)
    broken_off = failing(Cause.CUT_OFF, CallUsage(INPUT, 1, is_whole=False))
    assert run([request(1)], broken_off)[0].spent == Spent(1, INPUT + 1, Decimal("0.00101"), 1)


def test_the_sum_of_the_outcomes_is_what_was_spent() -> None:
    done, _ = run([request(number % 3, limit=3 + number % 2) for number in range(9)])
    assert set(reasons(done)) == {None, Cause.OVER_LIMIT}
    assert sum((outcome.spent for outcome in done.outcomes), Spent()) == done.spent


def test_progress_is_told() -> None:
    told: list[Progress] = []
    run([request(number) for number in range(5)], progress=told.append)
    assert [each.done for each in told] == [1, 2, 3, 4, 5]
    assert {each.total for each in told} == {5}
    assert told[-1].spent == Spent(5, 5 * (INPUT + OUTPUT), Decimal("0.006"))


def test_a_call_without_end_is_given_up() -> None:
    with model_server(played.dribble) as server:
        endless = profile(base_url=server.url, total_seconds=0.3)
        done = fulfil([request(number) for number in range(2)], caller(endless))
    assert reasons(done) == [Cause.TIMEOUT] * 2
    assert done.spent.unknown == 2


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    released = threading.Event()

    def some_hang(request: ModelRequest) -> Answer:
        if request.prompt.endswith(("0", "1")):
            return echo(request)
        released.wait(LONG)
        return echo(request)

    def interrupt(progress: Progress) -> None:
        if progress.done == 2:
            signal.raise_signal(signal.SIGINT)

    cache = Cache(tmp_path / "c")
    try:
        done, _ = run([request(number) for number in range(10)], some_hang, progress=interrupt, cache=cache)
    finally:
        released.set()
    assert done.is_interrupted
    assert reasons(done) == [None, None] + [Cause.INTERRUPTED] * 8
    assert done.spent.calls >= 2
    assert done.spent.unknown == done.spent.calls - 2, "of calls that were given up nobody knows the cost"
    assert reasons(run([request(0)], failing(Cause.CONNECTION), cache=cache)[0]) == [None]


CHILD = """
import sys
from datetime import UTC, datetime
from condense_cli.config.profiles import Access, Profile
from condense_cli.llm.calls import Caller, fulfil
from condense_cli.llm.client import ModelRequest
profile = Profile(api=sys.argv[1], model="m", base_url=sys.argv[2], context_window=9999)
caller = Caller(Access("test", profile), len, datetime.now(UTC))
done = fulfil([ModelRequest("s", str(number), 50) for number in range(20)], caller)
print(done.is_interrupted, [str(outcome.failure.reason) for outcome in done.outcomes].count("interrupted"), flush=True)
raise SystemExit(130)
"""


# The process ends at once although threads still wait for a server that says nothing.
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a process")
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_nothing_holds_up_the_exit_after_an_interrupt(api: str) -> None:
    with model_server(played.hang) as server:
        command = [sys.executable, "-c", CHILD, api, server.url if api == "anthropic" else f"{server.url}/v1"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert server.begun.wait(LONG)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
        assert not server.over.is_set()
    assert (out, err, process.returncode) == ("True 20\n", "", 130)


# Everything that a server can do, through the real SDKs, at once: every outcome has a text or a reason.
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_in_a_mixture_of_everything_each_outcome_has_a_text_or_its_reason(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_GIVE_UP_AFTER", 99)
    plays: dict[str, tuple[Play, Cause | None]] = {
        "good": (played.good(), None),
        "cut": (played.cut, Cause.CUT_OFF),
        "empty": (played.ending("end_turn", "stop", ""), Cause.EMPTY),
        "busy": (played.status(500, "api_error"), Cause.SERVER_ERROR),
        "long": (played.good("word " * 200), Cause.OVER_LIMIT),
        "refused": (played.ending("refusal", "content_filter"), Cause.REFUSED_BY_MODEL),
    }

    def play(exchange: played.Exchange) -> None:
        plays[exchange.prompt.split()[1]][0](exchange)

    with model_server(play) as server:
        base_url = server.url if api == "anthropic" else f"{server.url}/v1"
        asked = [request(f"{name} {number}") for number in range(3) for name in plays]
        done = fulfil(asked, caller(profile(api=api, base_url=base_url)))
    assert reasons(done) == [reason for _ in range(3) for _, reason in plays.values()]
    paid = [outcome.spent.cost for outcome in done.outcomes if outcome.failure is None]
    assert set(paid) == {EACH.cost}
    assert done.spent.calls == len(asked)


SONNET = Profile(api="anthropic", model="claude-sonnet-4-5")
MINI = BUILT_IN["gpt-4o-mini"]


def cost(profile: Profile, read: int, written: int, cache_write: int = 0, cache_read: int = 0) -> Decimal | None:
    spent = spent_on(CallUsage(read, written, cache_write, cache_read), profile, WHEN)
    return None if spent.unknown else spent.cost


# 20,000 tokens summarized in 1,000: the strong model against the cheap one.
def test_the_worked_example() -> None:
    strong, cheap = cost(SONNET, 20_000, 1_000), cost(MINI, 20_000, 1_000)
    assert (strong, cheap) == (Decimal("0.075"), Decimal("0.0036"))
    assert strong is not None
    assert cheap is not None
    assert strong - cheap == Decimal("0.0714")
    assert round((strong - cheap) / strong * 100, 1) == Decimal("95.2")


# The same request: of 1,000 tokens 900 are read from the cache. Anthropic reports 100 as input, OpenAI 1,000.
def test_cached_input_is_outside_for_anthropic_and_inside_for_openai() -> None:
    assert cost(SONNET, 100, 10, 0, 900) == (100 * 3 + 900 * Decimal("0.3") + 10 * 15) / 1_000_000
    assert (
        cost(MINI, 1_000, 10, 0, 900)
        == (100 * Decimal("0.15") + 900 * Decimal("0.075") + 10 * Decimal("0.6")) / 1_000_000
    )


def test_writing_to_the_cache_has_its_own_price() -> None:
    assert (
        cost(SONNET, 25, 15, 100, 900)
        == (25 * Decimal(3) + 100 * Decimal("3.75") + 900 * Decimal("0.3") + 15 * Decimal(15)) / 1_000_000
    )


def test_tokens_are_all_that_was_read_and_written() -> None:
    assert spent_on(CallUsage(25, 15, 100, 900), SONNET, WHEN).tokens == 1_040
    assert spent_on(CallUsage(1_000, 15, 50, 900), MINI, WHEN).tokens == 1_015


# Above 200,000 tokens this model costs twice as much to read.
def test_a_request_in_a_dearer_tier() -> None:
    assert cost(SONNET, 300_000, 0) == 300_000 * Decimal(6) / 1_000_000


def test_an_unknown_price_is_unknown_and_not_nothing() -> None:
    unknown = Profile(api="openai", model="nobody-knows-this")
    assert price_for(unknown, WHEN) is None
    assert spent_on(CallUsage(10, 5), unknown, WHEN) == Spent(1, 15, Decimal(0), 1)
    assert spent_on(None, MINI, WHEN) == Spent(1, 0, Decimal(0), 1)


# A vendor's price says nothing about another server with a model of the same name.
def test_the_table_is_not_asked_about_other_servers() -> None:
    other = Profile(api="openai", model="gpt-4o-mini", base_url="http://localhost:1/v1", context_window=9)
    assert price_for(other, WHEN) is None


def test_prices_of_a_profile_come_first() -> None:
    own = Profile(api="openai", model="gpt-4o-mini", price=PriceOverride(input=Decimal(1)))
    price = price_for(own, WHEN)
    assert price is not None
    assert price.input == Decimal(1) / 1_000_000
    assert price.output == Decimal("0.6") / 1_000_000, "the rest is as the table says"


def test_a_server_that_costs_nothing_says_so_itself() -> None:
    free = PriceOverride(input=Decimal(0), output=Decimal(0))
    local = Profile(api="openai", model="m", base_url="http://localhost:1/v1", context_window=9, price=free)
    assert spent_on(CallUsage(1_000, 100), local, WHEN) == Spent(1, 1_100, Decimal(0), 0)


@pytest.mark.parametrize("half", [PriceOverride(output=Decimal(1)), PriceOverride(input=Decimal(1))])
def test_half_a_price_is_no_price(half: PriceOverride) -> None:
    local = Profile(api="openai", model="m", base_url="http://localhost:1/v1", context_window=9, price=half)
    assert spent_on(CallUsage(10, 5), local, WHEN).unknown == 1


def test_what_broke_off_costs_at_least_what_is_known() -> None:
    spent = spent_on(CallUsage(20_000, 1, is_whole=False), SONNET, WHEN)
    assert spent == Spent(1, 20_001, Decimal("0.060015"), 1)


def test_sums() -> None:
    assert Spent(1, 10, Decimal("0.1"), 0) + Spent(2, 5, Decimal("0.02"), 1) == Spent(3, 15, Decimal("0.12"), 1)
