"""When condensing pays: the formulas, against a table worked out by hand and against a simulation."""

from decimal import Decimal
from math import ceil

import pytest
from msgspec.structs import replace

from condense_cli.money.economics import (
    NEVER,
    Accounting,
    CallUsage,
    PrefixRewrite,
    Rates,
    cost_of_call,
    most_left,
    weigh,
)
from condense_cli.money.prices import Price

SUFFIX = 100_000
RATES = {
    "Anthropic, 5 minutes": ("1.25", "0.1"),
    "Anthropic, 1 hour": ("2", "0.1"),
    "OpenAI, read 0.1": ("1", "0.1"),
    "OpenAI, read 0.25": ("1", "0.25"),
    "OpenAI, read 0.5": ("1", "0.5"),
    "Fable 5.1": ("1.25", "0.025"),
}
TURNS = {
    "Anthropic, 5 minutes": ("34.5", "11.5", "3.8", "1.3"),
    "Anthropic, 1 hour": ("57", "19", "6.3", "2.1"),
    "OpenAI, read 0.1": ("27", "9", "3", "1"),
    "OpenAI, read 0.25": ("9", "3", "1", ".33"),
    "OpenAI, read 0.5": ("3", "1", ".33", ".11"),
    "Fable 5.1": ("147", "49", "16.3", "5.4"),
}
SHARES = ("0.75", "0.5", "0.25", "0.1")


def rates(name: str, price: str = "1") -> Rates:
    """The rates of a row of the table, with an input price in dollars per token."""
    write, read = RATES[name]
    return Rates(Decimal(write) * Decimal(price), Decimal(read) * Decimal(price))


def rewrite(share: str, prefix: int = 20_000) -> PrefixRewrite:
    return PrefixRewrite(prefix, SUFFIX, int(SUFFIX * Decimal(share)))


@pytest.mark.parametrize("prefix", [0, 20_000])
@pytest.mark.parametrize(
    ("name", "share", "turns"),
    [(name, share, turns) for name in TURNS for share, turns in zip(SHARES, TURNS[name], strict=True)],
)
def test_turns_until_a_rewrite_of_a_warm_cache_pays(name: str, share: str, turns: str, prefix: int) -> None:
    expected = Decimal(turns)
    found = weigh(rewrite(share, prefix), rates(name, "0.000005")).warm
    assert found is not None
    assert round(found, -expected.as_tuple().exponent) == expected  # type: ignore[operator]


@pytest.mark.parametrize("turns", [1, 10, 40])
@pytest.mark.parametrize("name", RATES)
def test_what_may_be_left_pays_just_in_time(name: str, turns: int) -> None:
    left = most_left(rates(name), turns)
    assert left is not None
    found = weigh(PrefixRewrite(20_000, 10**9, int(left * 10**9)), rates(name)).warm
    assert found == pytest.approx(turns, rel=1e-6)


def test_what_always_pays_and_what_nobody_knows() -> None:
    for write, read in ((1, 1), (1, 2), (0, 0)):
        assert most_left(Rates(Decimal(write), Decimal(read))) == 1
    assert most_left(Rates(None, Decimal(1))) is None


# A suffix of 100,000 tokens at $5 a million, with summaries for $0.10.
@pytest.mark.parametrize(("share", "more"), [("0.75", "8"), ("0.5", "4"), ("0.25", "2.7"), ("0.1", "2.2")])
def test_summaries_take_more_turns(share: str, more: str) -> None:
    of = rates("Anthropic, 5 minutes", "0.000005")
    without, with_them = weigh(rewrite(share), of).warm, weigh(rewrite(share), of, summaries=Decimal("0.1")).warm
    assert without is not None
    assert with_them is not None
    assert round(with_them - without, 1) == Decimal(more)


def spent(of: Rates, change: PrefixRewrite, turns: int, *, condensed: bool, summaries: Decimal) -> Decimal:
    """Dollars after some turns, turn by turn: cached tokens are read, the rest is written."""
    assert of.write is not None
    size = change.after if condensed else change.before
    cached = change.prefix if condensed else size
    total = summaries if condensed else Decimal(0)
    for _ in range(turns):
        total += of.read * cached + of.write * (size - cached)
        cached = size
    return total


@pytest.mark.parametrize("summaries", ["0", "0.1", "1.5"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", RATES)
def test_the_formulas_agree_with_a_simulation_to_the_turn(name: str, share: str, summaries: str) -> None:
    of, change, paid = rates(name, "0.000005"), rewrite(share), Decimal(summaries)
    result = weigh(change, of, summaries=paid)
    assert result.warm is not None
    turn = 1
    while spent(of, change, turn, condensed=True, summaries=paid) > spent(
        of, change, turn, condensed=False, summaries=paid
    ):
        turn += 1
    assert turn == max(1, ceil(result.warm))


def test_the_cost_of_a_turn_and_the_one_off_cost() -> None:
    result = weigh(PrefixRewrite(1_000, 9_000, 3_000), Rates(Decimal("1.25"), Decimal("0.1")), summaries=Decimal(7))
    assert [result.next_turn_before, result.next_turn_after] == [1_000, 400]
    assert result.one_off == Decimal("1.15") * 3_000 + 7
    assert result.warm == result.one_off / 600


@pytest.mark.parametrize("new_suffix", [9_000, 9_500])
def test_what_saves_nothing_never_pays(new_suffix: int) -> None:
    result = weigh(
        PrefixRewrite(1_000, 9_000, new_suffix), Rates(Decimal("1.25"), Decimal("0.1")), summaries=Decimal(1)
    )
    assert result.warm == NEVER


def test_without_a_cache_there_is_nothing_to_rewrite() -> None:
    price = Price("m", "p", Decimal(2), Decimal(8), None, None)
    result = weigh(PrefixRewrite(100, 900, 300), Rates.of(price))
    assert [result.next_turn_before, result.next_turn_after, result.one_off, result.warm] == [2_000, 800, 0, 0]


def test_an_unknown_price_of_writing_leaves_unknown_what_needs_it() -> None:
    price = Price("m", "p", Decimal(2), Decimal(8), Decimal(1), None)
    result = weigh(PrefixRewrite(100, 900, 300), Rates.of(price))
    assert [result.next_turn_before, result.next_turn_after] == [1_000, 400]
    assert (result.one_off, result.warm) == (None, None)


def test_a_smaller_request_may_have_a_lower_rate() -> None:
    large, small = Rates(Decimal(8), Decimal(2)), Rates(Decimal(4), Decimal(1))
    result = weigh(PrefixRewrite(0, 1_000, 100), large, small, Decimal(30))
    assert [result.next_turn_before, result.next_turn_after] == [2_000, 100]
    # It is the smaller request that is written, at its own rates.
    assert result.one_off == 3 * 100 + 30
    assert result.warm == Decimal(330) / 1_900
    for unknown in (Rates(None, Decimal(2)), large), (large, Rates(None, Decimal(2))):
        assert weigh(PrefixRewrite(0, 1_000, 100), *unknown).one_off is None


def test_what_is_written_for_less_than_it_is_read_pays_at_once() -> None:
    assert weigh(PrefixRewrite(0, 1_000, 100), Rates(Decimal(1), Decimal(2))).warm == 0


def test_the_rates_are_those_of_entries_that_live_for_five_minutes() -> None:
    assert Rates.of(Price("m", "p", Decimal(2), Decimal(8), Decimal(1), Decimal(3))) == Rates(Decimal(3), Decimal(1))


def price(input: str, output: str, read: str | None = None, write: str | None = None) -> Price:
    """From dollars per million tokens."""
    amounts = [None if value is None else Decimal(value) / 1_000_000 for value in (input, output, read, write)]
    paid, answered, cached, written = amounts
    assert paid is not None
    return Price("model", "provider", paid, answered, cached, written)


SONNET = price("3", "15", "0.3", "3.75")
MINI = price("0.15", "0.60", "0.075", "0.15")


# A conversation of 20,000 tokens summarized in 1,000, by two models.
@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize(("of", "cost"), [(SONNET, "0.075"), (MINI, "0.0036")])
def test_a_call_without_a_cache_costs_the_same_in_both_accounts(of: Price, cost: str, accounting: Accounting) -> None:
    assert cost_of_call(CallUsage(20_000, 1_000), of, accounting) == Decimal(cost)


# The same call with 15,000 tokens from the cache and 3,000 written to it, as each provider reports it.
@pytest.mark.parametrize(("input_tokens", "accounting"), [(2_000, Accounting.ANTHROPIC), (20_000, Accounting.OPENAI)])
def test_cached_tokens_are_counted_as_the_provider_counts_them(input_tokens: int, accounting: Accounting) -> None:
    usage = CallUsage(input_tokens, 1_000, cache_write_tokens=3_000, cache_read_tokens=15_000)
    parts = (Decimal("0.01125"), Decimal("0.0045"), Decimal("0.006"), Decimal("0.015"))
    assert cost_of_call(usage, SONNET, accounting) == sum(parts)


@pytest.mark.parametrize(("accounting", "tokens"), [(Accounting.ANTHROPIC, 1_234), (Accounting.OPENAI, 1_200)])
def test_the_tokens_of_a_call_are_those_that_its_provider_counts(accounting: Accounting, tokens: int) -> None:
    usage = CallUsage(1_000, 200, cache_write_tokens=30, cache_read_tokens=4)
    assert usage.total_tokens(accounting) == tokens


def test_more_cached_than_sent_is_not_paid_back() -> None:
    usage = CallUsage(100, 0, cache_read_tokens=1_000)
    assert cost_of_call(usage, SONNET, Accounting.OPENAI) == Decimal("0.0003")


@pytest.mark.parametrize(("dearer", "cost"), [("6", "0.0081"), (None, "0.00675")])
def test_what_is_cached_for_an_hour_costs_its_own_price(dearer: str | None, cost: str) -> None:
    of = replace(SONNET, cache_write_1h=Decimal(dearer) / 1_000_000 if dearer else None)
    usage = CallUsage(1_000, 0, cache_write_tokens=1_000, hour_write_tokens=600)
    assert cost_of_call(usage, of, Accounting.ANTHROPIC) == Decimal(cost)


@pytest.mark.parametrize("usage", [CallUsage(1, 1, cache_read_tokens=1), CallUsage(1, 1, cache_write_tokens=1)])
def test_a_call_with_an_unknown_price_has_no_known_cost(usage: CallUsage) -> None:
    assert cost_of_call(usage, price("3", "15"), Accounting.ANTHROPIC) is None
    assert cost_of_call(CallUsage(1, 1), price("3", "15"), Accounting.ANTHROPIC) is not None
