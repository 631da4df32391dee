"""Answers that are kept: what is not called for again, and what is."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from fake_client import caller, failing, reasons, request, run
from model_server import INPUT, OUTPUT

from condense_cli.config.profiles import Access
from condense_cli.llm.budget import Budget, Spent
from condense_cli.llm.cache import Cache
from condense_cli.llm.calls import fulfil
from condense_cli.llm.client import Cause, ModelClient
from condense_cli.money.economics import CallUsage


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
