"""Curves of what is left at which size, paired differences with their intervals, and ways side by side."""

from collections.abc import Sequence
from random import Random

import pytest
from looked_up import work
from msgspec.structs import replace

import condense_cli
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Message
from condense_cli.passes.summaries import Outcome, Task, Written
from condense_cli.quality.differences import (
    CONFIDENCE,
    FEWEST,
    Mean,
    Setting,
    Verdict,
    curve,
    difference,
    recall_at,
    settings_of,
)
from condense_cli.quality.evaluation import Cut, Point
from condense_cli.quality.recall import Recall, Score


def _cut(*points: tuple[str, float, tuple[int, int], tuple[int, int]]) -> Cut:
    """A cut at which ways left a size, with (standing, asked) of facts and lines."""
    return Cut(
        0.5,
        10,
        1_000,
        0,
        0,
        0,
        tuple(
            Point(
                way,
                f"to {size}",
                size,
                int(1_000 * size),
                size,
                Recall(Score(facts[1], facts[0], 1), Score(lines[1], lines[0]), Score(0, 0)),
                0.5,
            )
            for way, size, facts, lines in points
        ),
    )


def test_every_cut_counts_the_same() -> None:
    cuts = [_cut(("a", 0.5, (1, 2), (3, 4))), _cut(("a", 0.5, (100, 100), (0, 0)))]
    (setting,) = settings_of(cuts)
    assert setting == Setting(
        "a", "to 0.5", 0.5, 2, 0.5, 1_000, 1.0, 0, (1 / 2 + 1 / 100) / 2, Mean(0.5, 0.75, 2), Mean(0.5, 0.75, 1), None
    )


# Where no line is asked, the size is no part of the curve of edits.
def test_a_curve_has_the_sizes_of_the_cuts_where_something_was_asked() -> None:
    cuts = [_cut(("a", 0.25, (1, 2), (0, 0))), _cut(("a", 0.5, (1, 2), (1, 2)))]
    points = [replace(cut.points[0], setting="mine", budget=None) for cut in cuts]
    (setting,) = settings_of(replace(cut, points=(point,)) for cut, point in zip(cuts, points, strict=True))
    assert setting.facts == Mean(0.375, 0.5, 2)
    assert setting.edits == Mean(0.5, 0.5, 1)


def test_recall_at_a_size_lies_between_its_neighbours() -> None:
    settings = settings_of([_cut(("a", 0.5, (8, 10), (0, 0)), ("a", 0.25, (4, 10), (0, 0)))])

    def at(size: float) -> float | None:
        return recall_at(settings, "a", "facts", size)

    assert at(0.5) == 0.8
    assert at(0.25) == 0.4
    assert at(0.375) == pytest.approx(0.6)
    assert at(0.75) == pytest.approx(0.9)
    assert at(1.0) == 1.0
    assert at(0.24) is None
    assert at(0.247) == 0.4
    assert recall_at(settings, "a", "edits", 0.5) is None
    assert recall_at(settings, "b", "facts", 0.5) is None


def test_a_curve_begins_at_the_smallest_size_and_ends_at_the_whole() -> None:
    settings = settings_of(
        [_cut(("a", 0.5, (8, 10), (0, 0)), ("a", 0.25, (4, 10), (0, 0)), ("b", 0.1, (1, 1), (0, 0)))]
    )
    assert curve(settings, "a", "facts") == [Mean(0.25, 0.4, 1), Mean(0.5, 0.8, 1), Mean(1.0, 1.0, 1)]
    assert curve(settings, "a", "edits") == []


def test_what_a_way_could_not_do_is_counted_and_not_averaged() -> None:
    good = _cut(("a", 0.5, (1, 2), (0, 0)))
    bad = Cut(0.5, 1, 1, 0, 0, 0, (Point("a", "to 0.5", 0.5, 0, 0.0, None, 2.0, "no"),))
    (setting,) = settings_of([good, bad])
    assert (setting.cuts, setting.failed, setting.size, setting.seconds) == (2, 1, 0.5, 2.5)
    assert setting.facts == Mean(0.5, 0.5, 1)
    (nothing,) = settings_of([bad])
    assert (nothing.facts, nothing.named) == (None, None)


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


class Asked:
    """Counts what it is asked, and answers in a word."""

    def __init__(self) -> None:
        self.tasks = 0

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.tasks += len(tasks)
        return [Written("Nothing.", by="asked") for _ in tasks]


def test_every_way_is_compared_with_the_first_at_the_same_cuts() -> None:
    ways = {name: load_preset(name) for name in ("lossless", "speed", "cost")}
    found = condense_cli.compare([work()], ways, cuts=(0.4, 0.5, 0.6, 0.65, 0.7, 0.8), smallest=0)
    assert {(one.way, one.against) for one in found} == {("speed", "lossless"), ("cost", "lossless")}
    sizes = [one for one in found if one.measure == "size"]
    assert all(one.mean < 0 and one.verdict is Verdict.LESS for one in sizes)


def test_a_way_gets_the_summaries_of_its_own_summarizer() -> None:
    asked = Asked()
    ways = {"offline": load_preset("max"), "a model": load_preset("max")}
    found = condense_cli.compare([work()], ways, summarizers={"a model": asked}, cuts=(0.6,), smallest=0)
    assert asked.tasks == 1
    assert {one.way for one in found} == {"a model"}
