"""Fulfilling many requests: order, concurrency, budget, cache, interrupts, and what all of it cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import model_server as played
import pytest
from model_server import INPUT, OUTPUT, Play, model_server

from condense_cli.config.profiles import Access, PriceOverride, Profile
from condense_cli.economics import CallUsage
from condense_cli.llm import calls
from condense_cli.llm.budget import Budget
from condense_cli.llm.cache import Cache
from condense_cli.llm.calls import Caller, CallOutcome, Fulfilment, Progress, fulfil
from condense_cli.llm.client import Answer, CallError, Client, Request
from condense_cli.llm.reasons import Names, Reason, failure
from condense_cli.llm.spending import Spent

WHEN = datetime(2026, 6, 1, tzinfo=UTC)
PRICE = PriceOverride(input=Decimal(1), output=Decimal(10))
EACH = Spent(1, INPUT + OUTPUT, Decimal("0.0012"))


def words(text: str) -> int:
    return len(text.split())


def request(name: object, limit: int = 100, replaced: int | None = None) -> Request:
    return Request("Shorten it.", f"text {name}", limit, replaced)


def profile(**changes: Any) -> Profile:
    given: dict[str, Any] = {
        "api": "anthropic",
        "model": "some-model",
        "base_url": "http://127.0.0.1:1",
        "context_window": 50_000,
        "price": PRICE,
        "max_retries": 0,
        "timeout_seconds": 5,
    }
    return Profile(**{**given, **changes})


def caller(access_profile: Profile | None = None, **changes: Any) -> Caller:
    return Caller(Access("test", access_profile or profile(), "k1"), words, WHEN, exact=True, **changes)


Reply = Callable[[Request], Answer]


class Fake:
    """A client that answers as a test says."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[str] = []
        self.is_closed = False

    def call(self, request: Request) -> Answer:
        self.asked.append(request.prompt)
        return self.reply(request)

    def close(self) -> None:
        self.is_closed = True


def echo(request: Request) -> Answer:
    return Answer(f"summary of {request.prompt}", CallUsage(INPUT, OUTPUT))


def failing(reason: Reason, usage: CallUsage | None = None) -> Reply:
    def reply(request: Request) -> Answer:
        raise CallError(failure(reason), usage)

    return reply


def run(requests: Sequence[Request], reply: Reply = echo, **changes: Any) -> tuple[Fulfilment, Fake]:
    fake = Fake(reply)
    done = fulfil(requests, caller(**changes, opened=lambda access: fake))
    return done, fake


def reasons(done: Fulfilment) -> list[Reason | None]:
    return [outcome.failure.reason if outcome.failure else None for outcome in done.outcomes]


def test_outcomes_come_in_the_order_asked() -> None:
    def slower_first(request: Request) -> Answer:
        time.sleep(0.02 if request.prompt.endswith("0") else 0)
        return echo(request)

    done, fake = run([request(number) for number in range(12)], slower_first)
    assert [outcome.text for outcome in done.outcomes] == [f"summary of text {number}" for number in range(12)]
    assert done.spent == Spent(12, 12 * (INPUT + OUTPUT), Decimal("0.0144"))
    assert fake.is_closed


def test_nothing_asked_opens_nothing() -> None:
    def opened(access: Access) -> Client:
        raise AssertionError

    assert fulfil([], caller(opened=opened)) == Fulfilment(())


# 200 requests to a server that takes a moment: so many at once as the profile allows, and about as fast.
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_calls_run_side_by_side(api: Any) -> None:
    pytest.importorskip(api)
    with model_server(played.good(seconds=0.05)) as server:
        base_url = server.url if api == "anthropic" else f"{server.url}/v1"
        usual = profile(api=api, base_url=base_url)
        fulfil([request("the SDK is imported now")], caller(usual))
        before, begun = server.busy_seconds, time.perf_counter()
        done = fulfil([request(number) for number in range(200)], caller(usual))
        seconds = time.perf_counter() - begun
    assert all(outcome.text for outcome in done.outcomes)
    assert server.calls == 201
    assert server.most_at_once == usual.max_parallel_calls == 5
    assert (server.busy_seconds - before) / seconds > 2.5, "on average fewer than half of them ran"


def test_equal_requests_are_called_once() -> None:
    done, fake = run([request("a"), request("b"), request("a")])
    assert sorted(fake.asked) == ["text a", "text b"]
    assert done.outcomes[0].text == done.outcomes[2].text
    assert [outcome.spent for outcome in done.outcomes] == [EACH, EACH, Spent()]
    assert done.spent.calls == 2


def test_an_answer_over_the_limit_is_refused_and_paid_for() -> None:
    done, _ = run([request("a", limit=3), request("b", limit=4)])
    assert reasons(done) == [Reason.OVER_LIMIT, None]
    assert done.outcomes[0].text is None
    assert done.outcomes[0].spent == EACH


def test_an_answer_that_is_not_smaller_is_refused() -> None:
    done, _ = run([request("a", replaced=4), request("b", replaced=5)])
    assert reasons(done) == [Reason.NOT_SMALLER, None]


# Answers of no use are paid for like others: after five in a row nothing more is asked.
@pytest.mark.parametrize(
    "reply", [failing(Reason.EMPTY), failing(Reason.OVER_LIMIT), lambda _: Answer("a " * 200, None)]
)
def test_answers_of_no_use_end_it(reply: Reply) -> None:
    done, fake = run([request(number) for number in range(34)], reply)
    assert len(fake.asked) < 34 / 2
    assert all(outcome.text is None for outcome in done.outcomes)


def test_a_refusal_for_want_of_a_key_says_what_to_give() -> None:
    why = failure(Reason.UNAUTHORISED, Names(profile="local", host="localhost"))
    assert "sends no key" in why.what
    assert "`key_variable`" in why.hint
    assert "HELD" in failure(Reason.UNAUTHORISED, Names(profile="local", variable="HELD")).hint


@pytest.mark.parametrize("reason", [Reason.UNAUTHORISED, Reason.MODEL_NOT_FOUND, Reason.OUT_OF_CREDIT])
def test_after_a_hopeless_failure_the_rest_is_not_tried(reason: Reason) -> None:
    done, fake = run([request(number) for number in range(50)], failing(reason))
    assert set(reasons(done)) == {reason}
    assert len(fake.asked) <= 2 * profile().max_parallel_calls


def test_a_server_that_is_down_is_left_alone() -> None:
    done, fake = run([request(number) for number in range(100)], failing(Reason.CONNECTION))
    assert set(reasons(done)) == {Reason.CONNECTION}
    assert len(fake.asked) <= 2 * profile().max_parallel_calls


def test_single_failures_stop_nothing() -> None:
    def now_and_then(request: Request) -> Answer:
        if request.prompt.endswith(("3", "7")):
            raise CallError(failure(Reason.SERVER_ERROR))
        return echo(request)

    done, _ = run([request(number) for number in range(40)], now_and_then)
    assert reasons(done).count(Reason.SERVER_ERROR) == 8
    assert reasons(done).count(None) == 32


def test_a_client_that_cannot_be_made() -> None:
    def opened(access: Access) -> Client:
        raise CallError(failure(Reason.SDK_MISSING))

    done = fulfil([request(1), request(2)], caller(opened=opened))
    assert reasons(done) == [Reason.SDK_MISSING] * 2
    assert done.spent == Spent()


def test_a_defect_in_a_client_is_a_failure_and_no_crash() -> None:
    def broken(request: Request) -> Answer:
        raise RuntimeError("a defect")

    done, _ = run([request(1)], broken)
    assert reasons(done) == [Reason.MALFORMED]
    assert done.spent.unknown == 1


def test_what_is_not_known_is_counted_and_not_taken_for_nothing() -> None:
    def silent(request: Request) -> Answer:
        return Answer("short", None)

    assert run([request(1)], silent)[0].spent == Spent(1, 0, Decimal(0), 1)
    unpriced = profile(price=None)
    assert run([request(1)], access_profile=unpriced)[0].spent == Spent(1, INPUT + OUTPUT, Decimal(0), 1)
    broken_off = failing(Reason.CUT_OFF, CallUsage(INPUT, 1, is_whole=False))
    assert run([request(1)], broken_off)[0].spent == Spent(1, INPUT + 1, Decimal("0.00101"), 1)


# --- the budget ---

WORST = 64 + 4 + 150
"""Tokens that a request of these tests can use at most."""


def test_no_call_starts_that_could_cross_the_limit_of_tokens() -> None:
    def used_little(request: Request) -> Answer:
        return Answer("short", CallUsage(10, 5))

    budget = Budget(max_tokens=3 * WORST)
    done, fake = run([request(number) for number in range(100)], used_little, budget=budget)
    fitting = (3 * WORST - WORST) // 15 + 1
    assert len(fake.asked) == fitting
    assert reasons(done) == [None] * fitting + [Reason.BUDGET_SPENT] * (100 - fitting)
    assert done.spent.tokens <= 3 * WORST


def test_no_call_starts_that_could_cross_the_limit_of_money() -> None:
    limit = Decimal("0.01")
    done, _ = run([request(number) for number in range(100)], budget=Budget(max_cost=limit))
    worst = (68 * Decimal(1) + 150 * Decimal(10)) / 1_000_000
    fitting = int((limit - worst) / EACH.cost) + 1
    assert reasons(done) == [None] * fitting + [Reason.BUDGET_SPENT] * (100 - fitting)
    assert done.spent.cost == fitting * EACH.cost <= limit


def test_a_budget_lasts_for_a_whole_run() -> None:
    budget = Budget(max_cost=Decimal("0.003"))
    first, _ = run([request("a")], budget=budget)
    second, _ = run([request("b"), request("c")], budget=budget)
    assert reasons(first) + reasons(second) == [None, None, Reason.BUDGET_SPENT]


def test_a_call_of_unknown_use_takes_its_worst_case() -> None:
    budget = Budget(max_tokens=2 * WORST - 1)
    done, _ = run([request("a"), request("b")], lambda request: Answer("short", None), budget=budget)
    assert reasons(done) == [None, Reason.BUDGET_SPENT]


def test_without_a_price_a_limit_in_money_permits_nothing() -> None:
    done, fake = run([request("a")], access_profile=profile(price=None), budget=Budget(max_cost=Decimal(100)))
    assert reasons(done) == [Reason.UNPRICED]
    assert fake.asked == []


def test_a_budget_of_nothing_permits_nothing() -> None:
    done, fake = run([request("a")], budget=Budget(max_cost=Decimal(0)))
    assert reasons(done) == [Reason.BUDGET_SPENT]
    assert fake.asked == []


# --- the cache ---


def test_a_second_run_calls_nothing(tmp_path: Path) -> None:
    requests = [request(number) for number in range(8)]
    first, _ = run(requests, cache=Cache(tmp_path / "c"))
    second, fake = run(requests, failing(Reason.CONNECTION), cache=Cache(tmp_path / "c"))
    assert fake.asked == []
    assert [outcome.text for outcome in second.outcomes] == [outcome.text for outcome in first.outcomes]
    assert all(outcome.is_cached for outcome in second.outcomes)
    assert second.spent == Spent()


@pytest.mark.parametrize("reason", [Reason.OVER_LIMIT, Reason.EMPTY, Reason.REFUSED_BY_MODEL])
def test_a_refused_answer_is_not_asked_for_again(tmp_path: Path, reason: Reason) -> None:
    first, _ = run([request("a")], failing(reason, CallUsage(INPUT, OUTPUT)), cache=Cache(tmp_path / "c"))
    second, fake = run([request("a")], cache=Cache(tmp_path / "c"))
    assert reasons(first) == reasons(second) == [reason]
    assert fake.asked == []


def test_an_answer_that_was_too_long_is_not_asked_for_again(tmp_path: Path) -> None:
    for _ in range(2):
        done, fake = run([request("a", limit=2), request("b", replaced=1)], cache=Cache(tmp_path / "c"))
        assert reasons(done) == [Reason.OVER_LIMIT, Reason.NOT_SMALLER]
    assert fake.asked == []


@pytest.mark.parametrize("reason", [Reason.CONNECTION, Reason.CUT_OFF, Reason.MALFORMED, Reason.UNAUTHORISED])
def test_what_failed_on_its_way_is_asked_again(tmp_path: Path, reason: Reason) -> None:
    run([request("a")], failing(reason), cache=Cache(tmp_path / "c"))
    done, _ = run([request("a")], cache=Cache(tmp_path / "c"))
    assert reasons(done) == [None]


def test_with_a_full_cache_no_client_is_made_and_no_budget_needed(tmp_path: Path) -> None:
    run([request("a")], cache=Cache(tmp_path / "c"))

    def opened(access: Access) -> Client:
        raise AssertionError

    again = caller(opened=opened, cache=Cache(tmp_path / "c"), budget=Budget(max_cost=Decimal(0)))
    assert reasons(fulfil([request("a")], again)) == [None]


# --- progress and ends ---


def test_progress_is_told() -> None:
    told: list[Progress] = []
    run([request(number) for number in range(5)], progress=told.append)
    assert [each.done for each in told] == [1, 2, 3, 4, 5]
    assert {each.total for each in told} == {5}
    assert told[-1].spent == Spent(5, 5 * (INPUT + OUTPUT), Decimal("0.006"))


def test_a_call_without_end_is_given_up() -> None:
    pytest.importorskip("anthropic")
    with model_server(played.dribble) as server:
        endless = profile(base_url=server.url, total_seconds=0.3)
        done = fulfil([request(number) for number in range(2)], caller(endless))
    assert reasons(done) == [Reason.TIMEOUT] * 2
    assert done.spent.unknown == 2


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    released = threading.Event()

    def some_hang(request: Request) -> Answer:
        if request.prompt.endswith(("0", "1")):
            return echo(request)
        released.wait(30)
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
    assert reasons(done) == [None, None] + [Reason.INTERRUPTED] * 8
    assert done.spent.calls >= 2
    assert done.spent.unknown == done.spent.calls - 2, "of calls that were given up nobody knows the cost"
    assert reasons(run([request(0)], failing(Reason.CONNECTION), cache=cache)[0]) == [None]


CHILD = """
import sys
from datetime import UTC, datetime
from condense_cli.config.profiles import Access, Profile
from condense_cli.llm.calls import Caller, fulfil
from condense_cli.llm.client import Request
profile = Profile(api=sys.argv[1], model="m", base_url=sys.argv[2], context_window=9999)
caller = Caller(Access("test", profile), len, datetime.now(UTC))
done = fulfil([Request("s", str(number), 50) for number in range(20)], caller)
print(done.is_interrupted, [str(outcome.failure.reason) for outcome in done.outcomes].count("interrupted"), flush=True)
raise SystemExit(130)
"""


# The process ends at once although threads still wait for a server that says nothing.
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a process")
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_nothing_holds_up_the_exit_after_an_interrupt(api: str) -> None:
    pytest.importorskip(api)
    with model_server(played.hang) as server:
        command = [sys.executable, "-c", CHILD, api, server.url if api == "anthropic" else f"{server.url}/v1"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert server.begun.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert not server.over.is_set()
    assert (out, err, process.returncode) == ("True 20\n", "", 130)


# Everything that a server can do, through the real SDKs, at once: every outcome has a text or a reason.
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_a_mixture_of_everything(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(api)
    monkeypatch.setattr(calls, "_GIVE_UP_AFTER", 99)
    plays: dict[str, tuple[Play, Reason | None]] = {
        "good": (played.good(), None),
        "cut": (played.cut, Reason.CUT_OFF),
        "empty": (played.ending("end_turn", "stop", ""), Reason.EMPTY),
        "busy": (played.status(500, "api_error"), Reason.SERVER_ERROR),
        "long": (played.good("word " * 200), Reason.OVER_LIMIT),
        "refused": (played.ending("refusal", "content_filter"), Reason.REFUSED_BY_MODEL),
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


def test_the_sum_of_the_outcomes_is_what_was_spent() -> None:
    done, _ = run([request(number % 3, limit=3 + number % 2) for number in range(9)])
    assert sum((outcome.spent for outcome in done.outcomes), Spent()) == done.spent
    assert all(isinstance(outcome, CallOutcome) for outcome in done.outcomes)
