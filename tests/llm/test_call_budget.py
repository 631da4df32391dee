"""The budget of a run: no call starts that could cross it; answers that are kept are not called for again."""

from decimal import Decimal
from pathlib import Path

import pytest
from fake_client import EACH, caller, failing, profile, reasons, request, run, words
from model_server import INPUT, OUTPUT

from condense_cli.config.profiles import Access
from condense_cli.llm.access import AccessChoice
from condense_cli.llm.budget import Budget, Spent, Worst
from condense_cli.llm.cache import Cache
from condense_cli.llm.calls import fulfil
from condense_cli.llm.client import Answer, Cause, ModelClient, ModelRequest
from condense_cli.llm.prompts import PromptTask, Subject, request_for
from condense_cli.llm.summaries import planned
from condense_cli.llm.summarizer import Summaries
from condense_cli.money.economics import CallUsage
from condense_cli.tokens.counting import Counter

WORST = 64 + 4 + 150
"""Tokens that a request of these tests can use at most."""


def test_no_call_starts_that_could_cross_the_limit_of_tokens() -> None:
    def used_little(request: ModelRequest) -> Answer:
        return Answer("short", CallUsage(10, 5))

    budget = Budget(max_tokens=3 * WORST)
    done, fake = run([request(number) for number in range(100)], used_little, budget=budget)
    fitting = (3 * WORST - WORST) // 15 + 1
    assert len(fake.asked) == fitting
    assert reasons(done) == [None] * fitting + [Cause.BUDGET_SPENT] * (100 - fitting)
    assert done.spent.tokens <= 3 * WORST


def test_no_call_starts_that_could_cross_the_limit_of_money() -> None:
    limit = Decimal("0.01")
    done, _ = run([request(number) for number in range(100)], budget=Budget(max_cost=limit))
    worst = (68 * Decimal(1) + 150 * Decimal(10)) / 1_000_000
    fitting = int((limit - worst) / EACH.cost) + 1
    assert reasons(done) == [None] * fitting + [Cause.BUDGET_SPENT] * (100 - fitting)
    assert done.spent.cost == fitting * EACH.cost <= limit


def test_a_budget_lasts_for_a_whole_run() -> None:
    budget = Budget(max_cost=Decimal("0.003"))
    first, _ = run([request("a")], budget=budget)
    second, _ = run([request("b"), request("c")], budget=budget)
    assert reasons(first) + reasons(second) == [None, None, Cause.BUDGET_SPENT]


def test_a_call_of_unknown_use_takes_its_worst_case() -> None:
    budget = Budget(max_tokens=2 * WORST - 1)
    done, _ = run([request("a"), request("b")], lambda request: Answer("short", None), budget=budget)
    assert reasons(done) == [None, Cause.BUDGET_SPENT]


def test_without_a_price_a_limit_in_money_permits_nothing() -> None:
    done, fake = run([request("a")], access_profile=profile(price=None), budget=Budget(max_cost=Decimal(100)))
    assert reasons(done) == [Cause.UNPRICED]
    assert fake.asked == []


def test_a_budget_of_nothing_permits_nothing() -> None:
    done, fake = run([request("a")], budget=Budget(max_cost=Decimal(0)))
    assert reasons(done) == [Cause.BUDGET_SPENT]
    assert fake.asked == []


def worst(tokens: int, cost: str | None) -> Worst:
    return Worst(tokens, None if cost is None else Decimal(cost))


# The rest of a budget may be used to the last token and cent, and no further.
def test_a_limit_may_be_reached_and_not_crossed() -> None:
    budget = Budget(Decimal("0.5"), 100)
    assert budget.covers(worst(100, "0.5"))
    assert not budget.covers(worst(101, "0.1"))
    assert not budget.covers(worst(1, "0.51"))
    assert not budget.covers(worst(1, None))
    assert Budget(max_tokens=1).covers(worst(1, None))


def test_what_is_not_covered_is_told_by_the_limit_that_it_crosses() -> None:
    budget = Budget(Decimal("0.5"), 100)
    assert budget.uncovered(worst(101, "0.6")) == "(The next call may take 101 tokens, and 100 of 100 are left.)"
    cost = "(The next call may cost $0.6000, and $0.5000 of $0.5000 is left.)"
    assert budget.uncovered(worst(100, "0.6")) == cost
    elsewhere = "(The next call may cost $0.5000, and less is left for the day or the conversation.)"
    assert budget.uncovered(worst(100, "0.5")) == elsewhere


# A plan needs the maximum length of all of its calls.
def test_a_limit_as_high_as_what_is_needed_is_enough() -> None:
    for limit, is_enough in (("1.0", True), ("0.9999", False), (None, False)):
        budget = Budget(None if limit is None else Decimal(limit))
        assert budget.plan(worst(100, "0.5"), 10, Decimal("0.2"))
        assert budget.plan(worst(100, "0.5"), 10, Decimal("0.2"))
        assert (budget.needed, budget.has_enough) == (Decimal("1.0"), is_enough)


# Only the summaries of parts are read once more, to join them.
def test_one_call_is_planned_as_it_would_be_made() -> None:
    text = PromptTask(Subject.TOOL_RESULT, ("some text",), 100)
    asked = request_for(text, "some text", 100)
    tokens = words(asked.system) + words(asked.prompt)
    assert planned([text], caller()).spent == Spent(1, tokens + 100, Decimal(tokens + 1_000) / 1_000_000)


@pytest.mark.parametrize(("limit", "worst_cost"), [(None, "0.7"), ("0.6999", "0.7"), ("0.7", "0")])
def test_a_limit_is_named_where_what_is_planned_would_not_be_enough(limit: str | None, worst_cost: str) -> None:
    budget = Budget(None if limit is None else Decimal(limit))
    budget.plan(worst(100, "0.7"), 10, Decimal("0.5"))
    summaries = Summaries(Counter(), lambda name: AccessChoice(None), lambda access: caller(), is_planned=True)
    summaries._callers["main"] = caller(budget=budget)
    assert summaries.worst == Decimal(worst_cost)


def test_what_is_reserved_is_gone_and_comes_back_with_what_was_not_used() -> None:
    budget = Budget(Decimal("0.5"), 100)
    first = worst(60, "0.3")
    reserved = budget.reserve(first)
    assert reserved is not None
    assert not budget.covers(worst(41, "0.1"))
    assert not budget.covers(worst(1, "0.21"))
    budget.settle(reserved, 10, Decimal("0.1"))
    assert budget.covers(worst(90, "0.4"))
    assert not budget.covers(worst(91, "0.4"))
    assert not budget.covers(worst(90, "0.41"))


# A call without a price takes no money and gives none back; one of unknown use keeps its worst case.
def test_what_is_not_known() -> None:
    budget = Budget(Decimal("0.5"), 100)
    reserved = budget.reserve(worst(60, None))
    assert reserved is not None
    assert budget.covers(worst(40, "0.5"))
    budget.settle(reserved, None, Decimal("0.2"))
    assert budget.covers(worst(40, "0.3"))
    assert not budget.covers(worst(41, "0.3"))
    assert not budget.covers(worst(40, "0.31"))


def test_a_second_run_calls_nothing(tmp_path: Path) -> None:
    requests = [request(number) for number in range(8)]
    first, _ = run(requests, cache=Cache(tmp_path / "c"))
    second, fake = run(requests, failing(Cause.CONNECTION), cache=Cache(tmp_path / "c"))
    assert fake.asked == []
    assert [outcome.text for outcome in second.outcomes] == [outcome.text for outcome in first.outcomes]
    assert all(outcome.is_cached for outcome in second.outcomes)
    assert second.spent == Spent()


@pytest.mark.parametrize("reason", [Cause.OVER_LIMIT, Cause.EMPTY, Cause.REFUSED_BY_MODEL])
def test_a_refused_answer_is_not_asked_for_again(tmp_path: Path, reason: Cause) -> None:
    first, _ = run([request("a")], failing(reason, CallUsage(INPUT, OUTPUT)), cache=Cache(tmp_path / "c"))
    second, fake = run([request("a")], cache=Cache(tmp_path / "c"))
    assert reasons(first) == reasons(second) == [reason]
    assert fake.asked == []


def test_an_answer_that_was_too_long_is_not_asked_for_again(tmp_path: Path) -> None:
    for _ in range(2):
        done, fake = run([request("a", limit=2), request("b", replaced=1)], cache=Cache(tmp_path / "c"))
        assert reasons(done) == [Cause.OVER_LIMIT, Cause.NOT_SMALLER]
    assert fake.asked == []


@pytest.mark.parametrize("reason", [Cause.CONNECTION, Cause.CUT_OFF, Cause.MALFORMED, Cause.UNAUTHORISED])
def test_what_failed_on_its_way_is_asked_again(tmp_path: Path, reason: Cause) -> None:
    run([request("a")], failing(reason), cache=Cache(tmp_path / "c"))
    done, _ = run([request("a")], cache=Cache(tmp_path / "c"))
    assert reasons(done) == [None]


def test_with_a_full_cache_no_client_is_made_and_no_budget_needed(tmp_path: Path) -> None:
    run([request("a")], cache=Cache(tmp_path / "c"))

    def opened(access: Access) -> ModelClient:
        raise AssertionError

    again = caller(opened=opened, cache=Cache(tmp_path / "c"), budget=Budget(max_cost=Decimal(0)))
    assert reasons(fulfil([request("a")], again)) == [None]
