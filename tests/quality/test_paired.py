"""Paired differences and their intervals: what is known of them by hand, and how often they are wrong."""

from __future__ import annotations

from random import Random

import pytest

from condense_cli.quality.differences import CONFIDENCE, FEWEST, Verdict, difference


def alone(*values: float) -> list[list[float]]:
    """Each difference a unit of its own."""
    return [[value] for value in values]


def test_differences_that_are_all_the_same_are_known_exactly() -> None:
    found = difference(alone(*[0.25] * 8))
    assert found is not None
    assert (found.mean, found.low, found.high, found.pairs, found.units) == (0.25, 0.25, 0.25, 8, 8)
    assert found.verdict is Verdict.MORE


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.3, 0.1, 0.2, 0.4, 0.2, 0.1], Verdict.MORE),
        ([-0.3, -0.1, -0.2, -0.4, -0.2, -0.1], Verdict.LESS),
        ([0.3, -0.3, 0.2, -0.2, 0.1, -0.1], Verdict.CHANCE),
        ([0.0] * 9, Verdict.CHANCE),
        # One difference alone says nothing of the next.
        ([0.9, *[0.0] * 9], Verdict.CHANCE),
        ([0.3, 0.1, 0.2, 0.4, 0.2], Verdict.TOO_FEW),
    ],
)
def test_a_difference_is_more_than_chance_where_its_interval_leaves_0_out(values: list[float], verdict: str) -> None:
    found = difference(alone(*values))
    assert found is not None
    assert found.verdict == verdict
    assert (found.low is None) == (len(values) < FEWEST)
    if found.low is not None and found.high is not None:
        assert min(values) <= found.low <= found.mean <= found.high <= max(values)


def test_nothing_to_compare_is_no_difference() -> None:
    assert difference([]) is None
    assert difference([[], []]) is None


def test_the_same_pairs_give_the_same_interval_in_any_order() -> None:
    random = Random(1)
    groups = [[random.gauss(0.1, 0.2) for _ in range(random.randint(1, 4))] for _ in range(12)]
    once = difference(groups)
    assert once == difference(groups)
    assert once == difference(groups[::-1])


# Twelve cuts of one conversation tell less than one cut of each of twelve.
def test_differences_of_one_group_count_as_one_unit() -> None:
    values = [0.3, -0.1, 0.3, -0.1, 0.3, -0.1, 0.3, -0.1, 0.3, -0.1, 0.3, -0.1]
    one_by_one = difference(alone(*values))
    in_groups = difference([values[start : start + 6] for start in (0, 6)])
    assert one_by_one is not None
    assert in_groups is not None
    assert in_groups.mean == pytest.approx(one_by_one.mean)
    assert (in_groups.pairs, in_groups.units, in_groups.verdict) == (12, 2, Verdict.TOO_FEW)


# Every difference counts the same, whatever group it is in.
def test_the_mean_is_that_of_all_differences() -> None:
    found = difference([[0.0] * 9, [1.0]])
    assert found is not None
    assert found.mean == 0.1


# Where two ways are the same, a verdict of a difference is wrong, which may be about one time in twenty. Without the
# correction for few pairs it is wrong one time in ten here.
@pytest.mark.slow
@pytest.mark.parametrize("units", [6, 12])
def test_chance_is_seldom_taken_for_a_difference(units: int) -> None:
    random = Random(7)
    trials = 100
    found = [difference(alone(*(random.gauss(0, 0.1) for _ in range(units)))) for _ in range(trials)]
    wrong = sum(each is not None and each.verdict is not Verdict.CHANCE for each in found)
    assert wrong <= 1.6 * (1 - CONFIDENCE) * trials


def test_a_real_difference_is_seen() -> None:
    random = Random(7)
    found = [difference(alone(*(random.gauss(0.1, 0.1) for _ in range(20)))) for _ in range(20)]
    assert sum(each is not None and each.verdict is Verdict.MORE for each in found) >= 18
