"""Costs of a condensed conversation: tokens, money, and readable figures."""

from decimal import Decimal

import pytest
from build import anthropic, assistant, call, conversation, cut_to, one_pass, result, text, user
from build import condense as run_passes

from condense_cli.money.economics import PrefixRewrite
from condense_cli.money.prices import Price
from condense_cli.passes.condensation import Condensation
from condense_cli.report.costs import Cost, PriceSource, cost_of, dollars, pays_after, rewrite_of
from condense_cli.tokens.counting import MESSAGE_TOKENS, Counter

COUNT = Counter()


def fixed(price: Price | None) -> PriceSource:
    return PriceSource(lambda tokens: price, "a table")


def costing(read: str | None = "0.1", write: str | None = "1.25", input: str = "1") -> Price:
    """Prices in dollars per token, large enough to be seen."""
    cached = None if read is None else Decimal(read)
    written = None if write is None else Decimal(write)
    return Price("model", "maker", Decimal(input), None, cached, written)


def tokens_of(condensed: Condensation, messages: int) -> int:
    return sum(COUNT.message(message) for message in condensed.before.messages[:messages])


def test_the_prefix_ends_before_the_first_changed_block() -> None:
    condensed = run_passes(anthropic(*conversation()))
    kept = (
        tokens_of(condensed, 2) + MESSAGE_TOKENS
    )  # The first result is the first to go: of its message the frame stays.
    assert rewrite_of(condensed, COUNT, 0) == PrefixRewrite(
        kept, condensed.tokens_before - kept, condensed.tokens_after - kept
    )


def test_of_a_message_only_the_blocks_before_the_changed_one_stay_cached() -> None:
    said = "I will write the file now, and then look at it."
    long, short = call("toolu_x", "Write", content="x y z " * 200), call("toolu_y", "Read", file_path="a")
    turn = [assistant([text(said), long, short]), user([result("toolu_x", "ok"), result("toolu_y", "ok")])]
    parameters = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "suppress"}}})
    condensation = run_passes(anthropic(user("Go."), *turn, *conversation()[1:]), parameters)
    assert condensation.transcript.messages[1].blocks[2] == condensation.before.messages[1].blocks[2]
    kept = tokens_of(condensation, 1) + MESSAGE_TOKENS + COUNT(said)
    assert rewrite_of(condensation, COUNT, 0).prefix == kept


def test_the_overhead_comes_before_everything() -> None:
    condensed = run_passes(anthropic(*conversation()))
    without, with_it = rewrite_of(condensed, COUNT, 0), rewrite_of(condensed, COUNT, 1_000)
    assert with_it == PrefixRewrite(without.prefix + 1_000, without.old_suffix, without.new_suffix)


def test_without_a_change_everything_stays_cached() -> None:
    condensed = run_passes(anthropic(user("Hi."), assistant("Hello.")))
    assert rewrite_of(condensed, COUNT, 0) == PrefixRewrite(condensed.tokens_before, 0, 0)


def test_costs_are_those_of_the_formulas() -> None:
    condensed = run_passes(anthropic(*conversation()), one_pass(individual_config=cut_to(3)))
    rewrite = rewrite_of(condensed, COUNT, 50)
    cost = cost_of(condensed, COUNT, 50, fixed(costing()))
    assert cost.next_turn_before == rewrite.before * Decimal("0.1")
    assert cost.next_turn_after == rewrite.after * Decimal("0.1")
    assert cost.one_off == rewrite.new_suffix * Decimal("1.15")
    turns = rewrite.new_suffix * 1.15 / ((rewrite.old_suffix - rewrite.new_suffix) * 0.1)
    assert cost.breakeven_turns == round(turns, 2)
    assert (cost.pays, cost.prices) == (True, "a table")
    assert "warm cache" in cost.assumed[0]


def test_an_unknown_price_leaves_every_cost_unknown() -> None:
    cost = cost_of(run_passes(anthropic(*conversation())), COUNT, 0, fixed(None))
    assert cost == Cost(prices="a table")
    assert (cost.one_off, cost.next_turn_before, cost.next_turn_after, cost.pays) == (None, None, None, None)


def test_an_unknown_price_of_writing_is_said_and_not_guessed() -> None:
    cost = cost_of(run_passes(anthropic(*conversation())), COUNT, 0, fixed(costing(write=None)))
    assert cost.next_turn_after is not None
    assert (cost.one_off, cost.breakeven_turns, cost.pays) == (None, None, None)
    assert any("No price for cache writes" in sentence for sentence in cost.assumed)


def test_without_a_known_cache_it_pays_at_once_and_says_why() -> None:
    cost = cost_of(run_passes(anthropic(*conversation())), COUNT, 0, fixed(costing(read=None, write=None)))
    assert (cost.one_off, cost.breakeven_turns, cost.pays) == (Decimal(0), 0, True)
    assert cost.assumed == ["No price for cached input is known, so each turn is charged at the full input price."]


def test_what_changes_nothing_never_pays() -> None:
    cost = cost_of(run_passes(anthropic(user("Hi."), assistant("Hello."))), COUNT, 0, fixed(costing()))
    assert (cost.one_off, cost.breakeven_turns, cost.pays) == (Decimal(0), None, False)
    assert cost.next_turn_before == cost.next_turn_after


def test_each_request_has_the_price_of_its_size() -> None:
    condensed = run_passes(anthropic(*conversation()))
    source = PriceSource(lambda tokens: costing(read="2" if tokens > condensed.tokens_after else "1", write="9"), "t")
    cost = cost_of(condensed, COUNT, 0, source)
    assert (cost.next_turn_before, cost.next_turn_after) == (
        Decimal(2 * condensed.tokens_before),
        Decimal(condensed.tokens_after),
    )


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(None, "unknown"), ("0", "$0"), ("0.00002", "<$0.0001"), ("0.0128151", "$0.0128"), ("1234.567", "$1,234.57")],
)
def test_money_is_shown_with_the_digits_that_matter(amount: str | None, shown: str) -> None:
    assert dollars(None if amount is None else Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (Cost(), "unknown"),
        (Cost(pays=False), "never"),
        (Cost(pays=True, breakeven_turns=0.33), "next turn"),
        (Cost(pays=True, breakeven_turns=1.01), "1.0 turns"),
        (Cost(pays=True, breakeven_turns=34.5), "34.5 turns"),
        (Cost(pays=True, breakeven_turns=12345.6), "12,346 turns"),
    ],
)
def test_turns_until_it_pays_are_said_in_words(cost: Cost, shown: str) -> None:
    assert pays_after(cost) == shown
