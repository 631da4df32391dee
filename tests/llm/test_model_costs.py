"""Cost of model calls by the accounting of each API, with the figures of a worked example."""

from decimal import Decimal

import pytest
from fake_client import WHEN

from condense_cli.config.profiles import BUILT_IN, PriceOverride, Profile
from condense_cli.llm.budget import Spent, price_for, spent_on
from condense_cli.money.economics import CallUsage

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
