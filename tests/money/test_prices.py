"""Prices come from the table, in the shape of names that transcripts hold; what it lacks is unknown."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from condense_cli.money import prices
from condense_cli.money.prices import Price, context_window, price_of, table
from condense_cli.tokens.models import bare_name

WHEN = datetime(2026, 10, 1, tzinfo=UTC)
MILLION = Decimal(1_000_000)


def known(model: str, input_tokens: int = 0) -> Price:
    price = price_of(model, WHEN, input_tokens)
    assert price is not None
    return price


def made_up(provider: str = "anthropic", model: str = "test-1", **per_million: Any) -> Price:
    """The price made of a table's row with only these columns."""
    from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice, Provider

    columns = {key: Decimal(value) if isinstance(value, str) else value for key, value in per_million.items()}
    info = ModelInfo(id=model, match=ClauseEquals(model), prices=ModelPrice(**columns))
    found = prices._price(Provider(id=provider, name=provider, api_pattern=""), info, WHEN, 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-20250514",
        "anthropic/claude-sonnet-4-20250514",
        "litellm_proxy/anthropic.claude-sonnet-4-20250514-v1:0",
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        "anthropic.claude-sonnet-4-20250514-v1:0",
        "bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0:200k",
        "vertex_ai/claude-sonnet-4@20250514",
        "Claude-Sonnet-4-20250514",
    ],
)
def test_routing_and_version_suffixes_do_not_matter(name: str) -> None:
    assert known(name) == known("claude-sonnet-4-20250514")


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("claude-opus-5[1m]", "claude-opus-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]", "claude-sonnet-4-5-20250929"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet-20241022"),
        ("openai/gpt-4.1", "gpt-4.1"),  # The dot of a version is not the dot of a routing prefix.
        ("claude-v1", "claude-v1"),  # A version that is the name.
        ("deepseek-v3", "deepseek-v3"),
    ],
)
def test_only_routing_and_suffixes_are_taken_from_a_name(name: str, bare: str) -> None:
    assert bare_name(name) == bare


@pytest.mark.parametrize("model", ["claude-sonnet-4-5[1m]", "us.anthropic.claude-sonnet-4-5-20250929-v1:0[1M]"])
def test_a_window_of_a_million_tokens_that_the_name_asks_for(model: str) -> None:
    usual = known("claude-sonnet-4-5")
    assert usual.window == context_window("claude-sonnet-4-5") == 200_000
    assert known(model) == replace(usual, window=1_000_000)
    assert context_window(model) == 1_000_000
    assert context_window("a-model-of-mine[1m]") == 1_000_000


def test_a_known_model_has_all_its_prices_per_token() -> None:
    price = known("claude-opus-4-5-20251101")
    amounts = (price.input, price.output, price.cache_read, price.cache_write_5m)
    assert [amount and amount * MILLION for amount in amounts] == [5, 25, Decimal("0.5"), Decimal("6.25")]
    assert (price.window, price.assumed) == (200_000, ())
    assert all(isinstance(amount, Decimal) for amount in amounts)


@pytest.mark.parametrize("name", [None, "", "sonnet", "gpt-77", "claude-99", "no/such.model", "deepseek-chat:free"])
def test_an_unknown_model_has_no_price(name: str | None) -> None:
    assert price_of(name, WHEN) is None


def test_a_model_without_a_cache_has_no_cache_price() -> None:
    price = known("gpt-4")
    assert (price.cache_read, price.cache_write_5m, price.assumed) == (None, None, ())


def test_above_its_limit_a_request_costs_the_price_of_the_upper_tier() -> None:
    assert known("gpt-5.5", 272_000).input == known("gpt-5.5").input
    assert known("gpt-5.5", 272_001).input == 2 * known("gpt-5.5").input


def test_a_price_that_changes_on_a_date_is_that_of_the_day() -> None:
    before = price_of("gpt-5.6-sol", datetime(2026, 8, 20, tzinfo=UTC))
    after = price_of("gpt-5.6-sol", datetime(2026, 8, 21, tzinfo=UTC))
    assert before
    assert after
    assert [before.input * MILLION, after.input * MILLION] == [5, 4]


def test_openai_wrote_its_cache_for_the_price_of_input_and_that_is_said() -> None:
    price = known("gpt-5.1")
    assert price.cache_write_5m == price.input
    assert price.assumed == ("Cache writes are assumed to cost no more than input.",)


def test_openai_charges_for_writes_from_5_6_on() -> None:
    assert known("gpt-5.6-sol").assumed == ()
    assert made_up("openai", "gpt-5.6-new", input_mtok="4", cache_read_mtok="1").cache_write_5m is None
    assert made_up("openai", "gpt-6-new", input_mtok="4", cache_read_mtok="1").cache_write_5m is None
    assert made_up("openai", "gpt-5.5-new", input_mtok="4", cache_read_mtok="1").cache_write_5m == 4 / MILLION


def test_a_missing_price_of_an_anthropic_write_follows_from_input_and_that_is_said() -> None:
    price = made_up(input_mtok="4", cache_read_mtok="0.4")
    assert price.cache_write_5m == 5 / MILLION
    assert price.assumed == ("Cache writes are assumed to cost 1.25 times the input price.",)


def test_a_missing_price_of_another_maker_stays_unknown() -> None:
    price = made_up("google", input_mtok="4", cache_read_mtok="0.4")
    assert (price.output, price.cache_write_5m, price.assumed) == (None, None, ())


def test_the_table_says_its_version_and_its_newest_change() -> None:
    from importlib.metadata import version

    of = table(date(2026, 10, 1))
    assert of.version == version("genai-prices")
    assert of.newest_change is not None
    assert date(2026, 8, 1) < of.newest_change <= date(2026, 10, 1)
    assert str(of) == f"genai-prices {of.version} up to {of.newest_change}"
    assert str(table(date(2000, 1, 1))) == f"genai-prices {of.version}"


def test_what_lives_for_an_hour_has_its_own_price() -> None:
    price = price_of("claude-opus-4-5", WHEN, lives_hour=True)
    assert price is not None
    assert (price.cache_write, known("claude-opus-4-5").cache_write) == (10 / MILLION, Decimal("6.25") / MILLION)
    assert made_up(input_mtok="5", cache_read_mtok="0.5").cache_write_1h == 10 / MILLION
    # Vendors without such a price charge the price of a write.
    other = price_of("gpt-5", WHEN, lives_hour=True)
    assert other is not None
    assert other.cache_write == other.cache_write_5m == other.input


@pytest.mark.parametrize(
    ("provider", "model", "write"),
    [
        ("google", "gemini-3-pro", "2"),
        ("deepseek", "deepseek-chat", "2"),
        ("x-ai", "grok-4", "2"),
        ("google", "claude-x", None),
        ("together", "gemini-x", None),
    ],
)
def test_a_cache_that_fills_by_itself_takes_the_price_of_input(provider: str, model: str, write: str | None) -> None:
    price = made_up(provider, model, input_mtok="2", cache_read_mtok="0.2")
    assert price.cache_write == (None if write is None else Decimal(write) / MILLION)
    assert bool(price.assumed) == (write is not None)


def test_the_price_of_gemini_is_whole() -> None:
    price = known("gemini-2.5-pro")
    assert (price.cache_write, price.cache_read) == (price.input, price.input / 10)
