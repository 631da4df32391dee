"""Curves of what is left at which size: means over cuts, and what lies between the sizes that were measured."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from condense_cli.quality.differences import Mean, Setting, curve, recall_at, settings_of
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
