"""Requests are billed as the provider's cache has it: what is read, written, or neither, and what that costs."""

from decimal import Decimal

import pytest

from condense_cli.money.bill import (
    Billed,
    BilledPart,
    BilledRequest,
    CacheRules,
    InputDollars,
    PromptCache,
    RebuildCause,
    Rebuilding,
    extra,
    rebuilding,
    spent,
)
from condense_cli.money.prices import Price

PRICE = Price("m", "p", Decimal(5), Decimal(25), Decimal("0.5"), Decimal("6.25"), cache_write_1h=Decimal(10))
BESIDE = 2_000


def pieces(words: str, marks: int = 1) -> list[BilledPart]:
    """A piece of 1,000 tokens for each letter; the last `marks` are marked."""
    return [BilledPart(word.encode(), 1_000, at >= len(words) - marks) for at, word in enumerate(words)]


def test_the_first_request_is_written() -> None:
    assert PromptCache(CacheRules(), BESIDE).bill(pieces("ab"), 0.0) == Billed(0, 4_000)


def test_what_was_sent_is_read_as_long_as_it_lives() -> None:
    cache = PromptCache(CacheRules(), BESIDE)
    cache.bill(pieces("ab"), 0.0)
    assert cache.bill(pieces("abc"), 300.0) == Billed(4_000, 1_000)
    assert cache.bill(pieces("abcd"), 600.0) == Billed(5_000, 1_000)  # It lives on from its last use.
    assert cache.bill(pieces("abcde"), 900.1) == Billed(0, 7_000)


def test_an_hour() -> None:
    cache = PromptCache(CacheRules(life=3_600.0), BESIDE)
    assert cache.bill(pieces("ab"), 0.0) == Billed(0, 4_000, 0, 4_000)
    assert cache.bill(pieces("abc"), 3_600.0) == Billed(4_000, 1_000, 0, 1_000)


def test_a_change_is_written_from_there_on() -> None:
    cache = PromptCache(CacheRules(), BESIDE)
    cache.bill(pieces("abc", marks=3), 0.0)
    assert cache.bill(pieces("axcd"), 1.0) == Billed(3_000, 3_000)


def test_without_marks_every_prefix_is_an_entry_and_with_them_what_lies_behind_is_not_cached() -> None:
    requests = [pieces("abc"), pieces("axcd")]
    without, with_marks = PromptCache(CacheRules(needs_marks=False), BESIDE), PromptCache(CacheRules(), BESIDE)
    assert [without.bill(each, 0.0).read for each in requests] == [0, 3_000]
    assert [with_marks.bill(each, 0.0).read for each in requests] == [0, BESIDE]
    assert PromptCache(CacheRules(), BESIDE).bill(pieces("abc", marks=0), 0.0) == Billed(0, BESIDE, 3_000)


def test_a_look_up_goes_back_twenty_blocks() -> None:
    for more, read in ((20, 3_000), (21, BESIDE)):
        cache = PromptCache(CacheRules(), BESIDE)
        cache.bill(pieces("a"), 0.0)
        assert cache.bill(pieces("a" + "b" * more), 1.0).read == read


def test_short_prefixes_are_not_cached_and_models_share_nothing() -> None:
    short = PromptCache(CacheRules.of("claude-opus-4-6"), BESIDE)
    assert short.bill(pieces("ab"), 0.0) == Billed(0, 0, 4_000)
    cache = PromptCache(CacheRules(), BESIDE)
    cache.bill(pieces("ab"), 0.0, "one")
    assert cache.bill(pieces("ab"), 1.0, "other") == Billed(0, 4_000)
    assert cache.bill(pieces("ab"), 2.0, "one") == Billed(4_000)


@pytest.mark.parametrize(
    ("model", "least", "needs_marks"),
    [
        ("claude-opus-4-7", 2_048, True),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4_096, True),
        (None, 1_024, True),
        ("gpt-5.1", 1_024, False),
    ],
)
def test_rules_of_models(model: str | None, least: int, needs_marks: bool) -> None:
    rules = CacheRules.of(model)
    assert (rules.least, rules.needs_marks) == (least, needs_marks)


def test_dollars_by_kind() -> None:
    billed = Billed(10, 8, 1, hour=3) + Billed(plain=1)
    assert spent(billed, PRICE) == InputDollars(Decimal(5), Decimal("61.25"), Decimal(10))
    free = Price("m", "p", Decimal(2), None, None, None)
    assert spent(billed, free) == InputDollars(Decimal(20), Decimal(16), Decimal(4))
    unknown = Price("m", "p", Decimal(2), None, Decimal(1), None)
    assert spent(billed, unknown) is None


BEFORE = BilledRequest(Billed(40_000, 10_000), 1_000.0, "one")


@pytest.mark.parametrize(
    ("billed", "at", "model", "expected"),
    [
        (Billed(50_000, 9_000), 1_020.0, "one", None),
        (Billed(49_000, 9_000), 1_020.0, "one", None),
        (Billed(30_000, 25_000), 1_020.0, "one", Rebuilding(20_000, RebuildCause.CHANGED)),
        (Billed(0, 60_000), 1_301.0, "one", Rebuilding(50_000, RebuildCause.EXPIRED)),
        (Billed(0, 60_000), 1_301.0, "other", Rebuilding(50_000, RebuildCause.MODEL)),
        (Billed(0, 60_000), None, "one", Rebuilding(50_000, RebuildCause.CHANGED)),
        # What a compaction left is all that was written again.
        (Billed(0, 0, 7_000), 1_020.0, "one", Rebuilding(7_000, RebuildCause.CHANGED)),
    ],
)
def test_rebuildings(billed: Billed, at: float | None, model: str, expected: Rebuilding | None) -> None:
    assert rebuilding(BEFORE, BilledRequest(billed, at, model), CacheRules()) == expected


def test_without_marks_all_that_was_sent_is_cached() -> None:
    before = BilledRequest(Billed(10_000, 0, 20_000), 0.0, "gpt-5.1")
    after = BilledRequest(Billed(10_000, 0, 22_000), 20.0, "gpt-5.1")
    assert rebuilding(before, after, CacheRules.of("gpt-5.1")) == Rebuilding(20_000, RebuildCause.CHANGED)
    assert rebuilding(before, after, CacheRules()) is None


def test_what_a_rebuilding_costs() -> None:
    rebuilt = Rebuilding(20_000, RebuildCause.EXPIRED)
    assert extra(rebuilt, Billed(30_000, 25_000), PRICE) == 20_000 * (Decimal("6.25") - Decimal("0.5"))
    assert extra(rebuilt, Billed(30_000, 25_000, hour=25_000), PRICE) == 20_000 * (10 - Decimal("0.5"))
