"""Choosing units: what is spent is what the kept units and their markers cost, and nothing worth its tokens is left."""

from __future__ import annotations

import gc
import weakref
from array import array
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pytest
from build import anthropic, assistant, call, result, user
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.extractive.choice import (
    AGAIN,
    REST,
    SHARE,
    UNSIGNED,
    Candidates,
    Choice,
    Coverage,
    Opening,
    Stretch,
    fit,
)
from condense_cli.extractive.parts import Key
from condense_cli.extractive.shorten import Priced
from condense_cli.extractive.survey import Survey
from condense_cli.tokens.counting import Counter

MARKER = 9
OPENING = 4
HEADINGS = (12, 40)


@st.composite
def candidates(draw: st.DrawFn, *, may_vanish: bool = True) -> Candidates:
    """A few short texts, some with lines in pieces, or missing already, some with sections, some under headings."""
    stretches: list[Stretch] = []
    titles: set[int] = set()
    pieces: dict[int, tuple[int, int]] = {}
    sections: dict[int, int] = {}
    groups: dict[int, Sequence[int]] = {}
    start = 0
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 9))
        gaps = draw(st.frozensets(st.integers(0, size), max_size=2))
        if size > 5 and draw(st.booleans()):
            pieces |= dict.fromkeys(range(start + 1, start + 5), (start + 1, start + 5))
        elif size > 3 and not gaps and draw(st.booleans()):
            groups |= dict.fromkeys(range(start + 1, start + 4), range(start + 1, start + 4))
        elif size > 2 and draw(st.booleans()):
            second, stop = start + draw(st.integers(1, size - 1)), start + size
            sections |= {start: draw(st.sampled_from([second, stop])), second: stop}
            groups |= {title: [title, end - 1] for title, end in sections.items() if start <= title < end - 1}
        opening = None
        if may_vanish and draw(st.booleans()):
            heading = draw(st.none() | st.integers(0, len(HEADINGS) - 1))
            is_title = heading is not None and heading not in titles and size == 1 and not gaps
            opening = Opening(0 if is_title else OPENING, heading, is_title)
            titles |= {heading} if is_title and heading is not None else set()
        stretches.append(Stretch(start, start + size, gaps, opening))
        start += size
    tokens = array(UNSIGNED, draw(st.lists(st.integers(1, 30), min_size=start, max_size=start)))
    worth = st.sampled_from([0.0, 0.01, 0.3, 1.0, -0.1])
    values = array("d", draw(st.lists(worth, min_size=start, max_size=start)))
    keys = draw(
        st.lists(st.lists(st.integers(0, 5), max_size=3, unique=True).map(tuple), min_size=start, max_size=start)
    )
    return Candidates(
        tokens, values, keys, stretches, MARKER, pieces, headings=HEADINGS, sections=sections, groups=groups
    )


weights = st.lists(st.sampled_from([0.1, 0.5, 2.0]), min_size=6, max_size=6)
"""What a first mention of each key is worth."""


def cost_of(found: Candidates, kept: bytearray) -> int:
    """Tokens of what is kept, of one marker for every run that is missing, and of headings, as a reader would count."""
    total, headings = 0, set()
    for stretch in found.stretches:
        inside = kept[stretch.start : stretch.stop]
        opening = stretch.opening
        if opening and not any(inside):
            continue
        if opening and opening.heading is not None:
            headings.add(opening.heading)
            if opening.is_title:
                continue
        row: list[int] = []
        for unit, stays in enumerate(inside):
            row += [0, stays] if unit in stretch.gaps else [stays]
        row += [0] if len(inside) in stretch.gaps else []
        total += MARKER * sum(not stays for stays, _ in groupby(row)) + (opening.tokens if opening else 0)
        total += sum(found.tokens[stretch.start + unit] for unit, stays in enumerate(inside) if stays)
    return total + sum(HEADINGS[heading] for heading in headings)


def added(found: Candidates, choice: Choice, unit: int) -> tuple[float, int]:
    """What a unit adds now and what it costs, worked out from what is kept alone."""
    line, group = found.pieces.get(unit), found.groups.get(unit, (unit,))
    if unit in found.sections and any(choice.kept[unit + 1 : found.sections[unit]]):
        group = (unit,)
    kept = choice.kept.copy()
    for one in (line[0], unit, line[1] - 1) if line else group:
        kept[one] = 1
    shares = (1.0, AGAIN, AGAIN**2, 0.0)

    def own(one: int) -> float:
        return found.values[one] + sum(
            choice.covered.weights[key] * shares[min(choice.covered.said[key], 3)] for key in found.keys[one]
        )

    # Nothing is chosen for what comes with it alone: that is there to be chosen for itself.
    value = sum(own(one) for one in ((unit,) if line else group) if not choice.kept[one]) if own(unit) > 0 else 0.0
    return value, cost_of(found, kept) - cost_of(found, choice.kept)


@given(candidates(), weights, st.integers(0, 200))
def test_what_is_spent_is_what_is_kept(found: Candidates, weights: list[float], budget: int) -> None:
    choice = Choice(found, Coverage.of(weights))
    before = choice.spent
    choice.fill(budget)
    assert choice.spent == cost_of(found, choice.kept)
    assert choice.spent <= max(before, budget)
    while choice.undo(1):
        assert choice.spent == cost_of(found, choice.kept)
    assert not any(choice.kept)
    assert choice.covered.gains == array("d", weights)


@given(candidates(may_vanish=False), weights, st.sampled_from([0.005, 0.02, 0.1]))
def test_nothing_that_is_worth_its_tokens_is_left(found: Candidates, weights: list[float], least: float) -> None:
    choice = Choice(found, Coverage.of(weights), least)
    choice.fill(None)
    left = [added(found, choice, unit) for unit, stays in enumerate(choice.kept) if not stays]
    assert not [(value, cost) for value, cost in left if value / max(1, cost) >= least * 1.000_001]


@given(candidates(), weights, st.integers(0, 200))
def test_nothing_that_fits_is_left(found: Candidates, weights: list[float], budget: int) -> None:
    choice = Choice(found, Coverage.of(weights))
    choice.fill(budget)
    if budget - choice.spent > max(REST, budget // SHARE):
        left = [added(found, choice, unit) for unit, stays in enumerate(choice.kept) if not stays]
        assert not [(value, cost) for value, cost in left if value > 1e-9 and choice.spent + cost <= budget]


@pytest.mark.parametrize(
    ("between", "budget", "least", "closes"),
    [
        ((8, 8), 200, 0.0, True),
        ((10, 9), 200, 0.0, False),
        ((8, 8), 56, 0.0, True),
        ((8, 8), 55, 0.0, False),
        ((9,), 200, 0.0, True),
        ((18,), 200, 0.0, True),
        ((19,), 200, 0.0, False),
        ((4, 4, 4, 4), 200, 0.0, True),
        ((2, 2, 2, 2, 2), 200, 0.0, False),
        ((5, 4), None, 0.01, True),
        ((8, 8), None, 0.01, True),
        ((10, 9), None, 0.01, False),
    ],
)
@pytest.mark.parametrize("are_lines", [False, True])
@pytest.mark.parametrize("goes_down", [False, True])
def test_small_gaps_are_closed(
    between: tuple[int, ...], budget: int | None, least: float, *, closes: bool, are_lines: bool, goes_down: bool
) -> None:
    """Between two things that are needed, where there is room; larger ones between lines. Markers take nine tokens."""
    tokens = array(UNSIGNED, (20, *between, 20))
    keys = [(0, 2), *(() for _ in between), (1, 3)]
    nothing = array("d", bytes(8 * len(tokens)))
    found = Candidates(tokens, nothing, keys, [Stretch(0, len(tokens))], MARKER, lines=2 if are_lines else 4)
    choice = Choice(found, Coverage.of((1.0, 0.5 if goes_down else 2.0, 1.0, 1.0)), least)
    choice.fill(budget)
    assert all(choice.kept) == (closes and (are_lines or sum(between) <= MARKER))
    assert (choice.kept[0], choice.kept[-1]) == (1, 1)


# An edit replaces a function rather than a line: what is nearly whole becomes whole, with the bracket that ends it.
@pytest.mark.parametrize("goes_down", [False, True])
@pytest.mark.parametrize(
    ("row", "gap", "behind", "becomes_whole"),
    [(5, 4 * MARKER, 3, True), (7, 4 * MARKER, 3, True), (4, 4 * MARKER, 3, False), (5, 4 * MARKER + 1, 4, False)],
)
def test_rows_of_lines_become_whole(row: int, gap: int, behind: int, *, becomes_whole: bool, goes_down: bool) -> None:
    """A gap of four markers is closed, and what says nothing taken, beside the line that makes a row of five."""
    tokens = array(UNSIGNED, (5, gap, *[5] * row, behind, 500))
    keys = [(0,), (), *((1 + number,) for number in range(row)), (), ()]
    found = Candidates(tokens, array("d", bytes(8 * len(tokens))), keys, [Stretch(0, len(tokens))], MARKER, lines=0)
    worths = [float(number) for number in range(1, row + 1)]
    choice = Choice(found, Coverage.of([10.0, *(reversed(worths) if goes_down else worths)]))
    choice.fill(200)
    is_closed, has_end = becomes_whole and not goes_down, becomes_whole and goes_down
    assert list(choice.kept) == [1, is_closed, *[1] * row, has_end, 0]
    assert choice.spent == cost_of(found, choice.kept)


@pytest.mark.parametrize(("budget", "has_end"), [(51, True), (50, False)])
def test_the_end_of_a_row_has_to_fit(budget: int, has_end: bool) -> None:
    """A row of five lines of 5 tokens, a line without words of 3, and the markers for what is before and behind."""
    tokens = array(UNSIGNED, (5, 4 * MARKER, *[5] * 5, 3, 500))
    keys = [(0,), (), *((1 + number,) for number in range(5)), (), ()]
    found = Candidates(tokens, array("d", bytes(8 * len(tokens))), keys, [Stretch(0, len(tokens))], MARKER, lines=0)
    assert filled(found, budget, weights=[10.0, 5.0, 4.0, 3.0, 2.0, 1.0]) == [1, 0, 1, 1, 1, 1, 1, has_end, 0]


def test_what_is_no_line_has_no_end() -> None:
    found = Candidates(array(UNSIGNED, (20, 3, 500)), array("d", (1.0, 0.0, 0.0)), [()] * 3, [Stretch(0, 3)], MARKER)
    assert filled(found, 200) == [1, 0, 0]


# Texts with lines missing at their ends already: closing a gap there saves no marker.
@pytest.mark.parametrize(
    ("sizes", "gaps", "wanted", "kept"),
    [
        ((20, 5), [()], 0, (1, 1)),
        ((5, 20), [()], 1, (1, 1)),
        ((5, 20, 50), [()], 1, (1, 1, 0)),
        ((50, 20, 5), [()], 1, (0, 1, 1)),
        ((20, 5), [(2,)], 0, (1, 0)),
        ((5, 20), [(0,)], 1, (0, 1)),
        ((20, 5, 5, 20), [(1,)], 0, (1, 0, 0, 0)),
        ((20, 5, 5, 50), [(3,)], 0, (1, 0, 0, 0)),
        ((50, 5, 5, 20), [(1,)], 3, (0, 0, 0, 1)),
        ((20, 4, 4, 50), [()], 0, (1, 0, 0, 0)),
        # Of the next text, or of the one before, nothing counts.
        ((20, 5, 50), [(2,), (0,), 2], 0, (1, 0, 0)),
        ((20, 5, 50), [(), (0,), 2], 0, (1, 1, 0)),
        ((50, 5, 20), [(1,), (), 1], 2, (0, 1, 1)),
        ((50, 5, 20), [(1,), (0,), 1], 2, (0, 0, 1)),
    ],
)
def test_gaps_at_the_ends_of_texts(
    sizes: tuple[int, ...], gaps: Sequence[Any], wanted: int, kept: tuple[int, ...]
) -> None:
    """`gaps` are those of each text, and then where each but the first begins."""
    texts = [each for each in gaps if isinstance(each, tuple)]
    bounds = [0, *(each for each in gaps if isinstance(each, int)), len(sizes)]
    stretches = [Stretch(start, stop, each) for start, stop, each in zip(bounds[:-1], bounds[1:], texts, strict=True)]
    keys = [(0,) if unit == wanted else () for unit in range(len(sizes))]
    found = Candidates(array(UNSIGNED, sizes), array("d", bytes(8 * len(sizes))), keys, stretches, MARKER)
    choice = Choice(found, Coverage.of([1.0]))
    choice.fill(200)
    assert tuple(choice.kept) == kept
    assert choice.spent == cost_of(found, choice.kept)


def filled(found: Candidates, *budgets: int | None, weights: Sequence[float] = (), least: float = 0.0) -> list[int]:
    """What is kept in the end."""
    choice = Choice(found, Coverage.of(weights), least)
    for budget in budgets:
        choice.fill(budget)
    assert choice.spent == cost_of(found, choice.kept)
    return [*choice.kept]


def of_values(tokens: Sequence[int], values: Sequence[float], stretches: Sequence[Stretch], **more: Any) -> Candidates:
    return Candidates(array(UNSIGNED, tokens), array("d", values), [()] * len(tokens), stretches, MARKER, **more)


# A line in pieces begins and ends as it does in the file, whatever is picked of it.
@pytest.mark.parametrize("wanted", [1, 2, 3, 4])
def test_a_piece_comes_with_the_ends_of_its_line(wanted: int) -> None:
    values = [float(unit == wanted) for unit in range(6)]
    found = of_values([20] * 6, values, [Stretch(0, 6)], pieces=dict.fromkeys(range(1, 5), (1, 5)))
    choice = Choice(found, Coverage.of(()))
    choice.fill(40 + 60 + 2 * MARKER)
    kept = {1, wanted, 4}
    assert {unit for unit, stays in enumerate(choice.kept) if stays} == kept
    assert choice.spent == cost_of(found, choice.kept)


def test_what_is_taken_back_is_no_more_than_has_to_go() -> None:
    found = of_values([20] * 5, [5.0, 0.0, 3.0, 0.0, 1.0], [Stretch(0, 5)])
    for tokens, left in ((1, [1, 0, 1, 0, 0]), (20, [1, 0, 1, 0, 0]), (21, [1, 0, 0, 0, 0]), (1_000, [0] * 5)):
        choice = Choice(found, Coverage.of(()))
        choice.fill(150)
        assert list(choice.kept) == [1, 0, 1, 0, 1]
        spent = choice.spent
        assert choice.undo(tokens)
        assert list(choice.kept) == left
        assert choice.spent == cost_of(found, choice.kept) <= max(MARKER, spent - tokens)
    assert not choice.undo(1)


@pytest.mark.parametrize(("budget", "kept"), [(29, [1, 0]), (28, [0, 0])])
def test_a_unit_that_fits_to_the_token_is_chosen(budget: int, kept: list[int]) -> None:
    """Twenty tokens and a marker for the rest."""
    found = of_values([20, 100], [1.0, 0.0], [Stretch(0, 2)])
    choice = Choice(found, Coverage.of(()))
    choice.fill(budget)
    assert list(choice.kept) == kept
    assert choice.spent == cost_of(found, choice.kept)


# Three tokens, and a thousandth of the budget, are not worth looking for what fits into them.
@pytest.mark.parametrize(
    ("free", "large", "is_kept"), [(REST, 20, False), (REST + 1, 20, True), (5, 5_000, False), (6, 5_000, True)]
)
def test_a_rest_is_not_looked_at(free: int, large: int, *, is_kept: bool) -> None:
    texts = [Stretch(0, 1), Stretch(1, 2, opening=Opening())]
    found = of_values([large, 3], [1_000.0, 0.01], texts)
    found.marker = 0
    choice = Choice(found, Coverage.of(()))
    choice.fill(large + free)
    assert list(choice.kept) == [1, is_kept]


def test_what_is_too_large_is_looked_at_again_with_more() -> None:
    found = of_values([20, 100, 40, 100], [1.0, 0.0, 1.0, 0.0], [Stretch(0, 4)])
    choice = Choice(found, Coverage.of(()))
    for budget, kept in ((45, [1, 0, 0, 0]), (70, [1, 0, 0, 0]), (78, [1, 0, 1, 0])):
        choice.fill(budget)
        assert list(choice.kept) == kept
        assert choice.spent == cost_of(found, choice.kept) <= budget


# The texts as they are written may have more tokens than their lines, or fewer.
@pytest.mark.parametrize(
    ("more", "kept"), [(1, [1, 0, 0, 0, 0]), (0, [1, 0, 1, 0, 0]), (-19, [1, 0, 1, 0, 0]), (-20, [1, 0, 1, 0, 1])]
)
def test_a_budget_is_met_by_exact_count(more: int, kept: list[int]) -> None:
    found = of_values([20, 100, 20, 100, 20], [5.0, 0.0, 3.0, 0.0, 1.0], [Stretch(0, 5)])
    choice = Choice(found, Coverage.of(()))
    fit(choice, 2 * 20 + 2 * MARKER, lambda: choice.spent + more)
    assert list(choice.kept) == kept


@pytest.mark.parametrize(("least", "is_kept"), [(1 / 20, True), (1 / 19, False)])
def test_what_is_worth_the_least_is_kept(least: float, is_kept: bool) -> None:
    found = of_values([20, 100, 100], [0.0, 1.0, 0.0], [Stretch(0, 3)])
    found.tokens[1] = 11  # And a marker more, between two of them.
    choice = Choice(found, Coverage.of(()), least)
    choice.fill(None)
    assert bool(choice.kept[1]) is is_kept


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_text_is_opened_for_more_than_the_least(is_closed: bool) -> None:
    share = 1.0 / (OPENING + 20)
    found = of_values([20], [1.0], [Stretch(0, 1, opening=Opening(OPENING))])
    choice = Choice(found, Coverage.of(()), share if is_closed else share * 0.999)
    choice.fill(None)
    assert bool(choice.kept[0]) is not is_closed


def apart(tokens: Sequence[int], values: Sequence[float], keys: Sequence[tuple[int, ...]]) -> Candidates:
    """Lines, and around each of them such as are too long for any budget."""
    long, rows = (5_000, 0.0, ()), zip(tokens, values, keys, strict=True)
    size, value, key = zip(long, *(each for row in rows for each in (row, long)), strict=True)
    return Candidates(array(UNSIGNED, size), array("d", value), key, [Stretch(0, len(size))], MARKER)


def test_what_was_said_three_times_makes_room() -> None:
    """The first line adds nothing any more once the others are chosen; the last one a little."""
    found = apart([20] * 5, [0.0] * 5, [(0,)] * 4 + [(1,)])
    assert filled(found, 400, weights=(1.0, 0.0001))[1::2] == [0, 1, 1, 1, 1]


# The fourth line waits in the queue of all lines, or comes up a second time as well.
@pytest.mark.parametrize(("value", "key"), [(0.1, ()), (0.0, (1,))])
def test_what_adds_less_now_waits_for_what_adds_more(value: float, key: tuple[int, ...]) -> None:
    """The first line says what the second does, which is the shortest, and once more what the third does."""
    found = apart([20, 1, 20, 20], [0.0, 0.0, 3.0, value], [(0,), (0, 1), (0,), key])
    assert filled(found, 1 + 20 + 20 + 4 * MARKER, weights=(10.0, 5.0))[1::2] == [0, 1, 1, 1]


def test_of_short_lines_what_adds_less_now_waits_as_well() -> None:
    """The first line takes two tokens, and adds a hundredth for each once the third is chosen; the fifth adds more."""
    keys = [(0,), (), (0,), (), (), ()]
    tokens, values = array(UNSIGNED, (2, 500, 1, 500, 20, 500)), array("d", (0.0, 0.0, 50.0, 0.0, 0.435, 0.0))
    found = Candidates(tokens, values, keys, [Stretch(0, 6)], MARKER)
    assert filled(found, 1 + 20 + 3 * MARKER, weights=(1.0,)) == [0, 0, 1, 0, 1, 0]


def test_what_is_worth_less_than_the_least_now_is_left() -> None:
    found = apart([20, 1], [0.0, 0.0], [(0,), (0,)])
    assert filled(found, None, weights=(10.0,), least=0.01)[1::2] == [0, 1]
    assert filled(found, None, weights=(10.0,), least=0.005)[1::2] == [1, 1]


def test_of_two_that_are_worth_the_same_the_later_is_chosen() -> None:
    """The second line takes 10 tokens beside the third, and the fifth 20."""
    found = of_values([500, 10, 1, 500, 11, 500], [0.0, 1.0, 50.0, 0.0, 2.0, 0.0], [Stretch(0, 6)])
    assert filled(found, 1 + 11 + 3 * MARKER + REST) == [0, 0, 1, 0, 1, 0]


# Alone neither neighbour is worth the least; beside the line in the middle no marker is needed for it.
@pytest.mark.parametrize(("values", "kept"), [((0.1, 1.0, 0.0), [1, 1, 0]), ((0.0, 1.0, 0.15), [0, 1, 1])])
def test_what_costs_less_beside_a_line_is_looked_at_again(values: Sequence[float], kept: list[int]) -> None:
    found = of_values([11, 20, 11, 500], [*values, 0.0], [Stretch(0, 4)])
    assert filled(found, None, least=0.01) == [*kept, 0]
    assert filled(found, None, least=0.06) == [0, 0, 0, 0]


def test_a_piece_is_looked_at_again_where_the_ends_of_its_line_are_there() -> None:
    """With the ends it would not be worth the least, and it is beside nothing that is chosen."""
    values = [5.0 if unit == 2 else 0.5 if unit == 5 else 0.0 for unit in range(9)]
    found = of_values([10] * 9, values, [Stretch(0, 9)], pieces=dict.fromkeys(range(9), (0, 9)))
    assert filled(found, None, least=0.02) == [1, 0, 1, 0, 0, 1, 0, 0, 1]


def test_lines_with_something_missing_between_them_need_a_marker() -> None:
    found = of_values([20, 20, 500], [1.0, 1.0, 0.0], [Stretch(0, 3, (1,))])
    assert filled(found, 40 + 2 * MARKER) == [1, 1, 0]
    assert filled(found, 40 + 2 * MARKER - 1) == [1, 0, 0]


def under_headings(rows: int, *others: float) -> Candidates:
    """A text of `rows` lines of 5 tokens and its title, under a heading of 40; behind it a text of other worths."""
    tokens = array(UNSIGNED, [8, *[5] * rows, *[5] * len(others)])
    values = array("d", [0.0, *[0.3] * rows, *others])
    stretches = [
        Stretch(0, 1, opening=Opening(heading=1, is_title=True)),
        Stretch(1, 1 + rows, opening=Opening(OPENING, heading=1)),
        Stretch(1 + rows, 1 + rows + len(others), opening=None if others else Opening()),
    ]
    return Candidates(tokens, values, [()] * len(tokens), stretches, MARKER, headings=HEADINGS)


# One line alone would have to pay for the heading of a text.
@pytest.mark.parametrize(("rows", "is_opened"), [(10, True), (2, False)])
def test_a_text_is_opened_for_what_its_lines_add_together(rows: int, *, is_opened: bool) -> None:
    """Ten lines and their heading add .032 for each token, two .011; what stands beside them adds .02."""
    found = under_headings(rows, *[0.1] * 20)
    choice = Choice(found, Coverage.of(()))
    choice.fill(110)
    assert sum(choice.kept[1 : 1 + rows]) == rows * is_opened
    assert choice.spent == cost_of(found, choice.kept) <= 110


# The best line of a text may be longer than what is left.
def test_a_smaller_line_is_chosen_where_the_best_does_not_fit() -> None:
    opening = Opening(OPENING)
    found = Candidates(array(UNSIGNED, [60, 10]), array("d", [9.0, 0.1]), [(), ()], [Stretch(0, 2, opening=opening)], 9)
    choice = Choice(found, Coverage.of(()))
    choice.fill(50)
    assert list(choice.kept) == [0, 1]


def test_a_text_is_opened_for_its_title_as_well() -> None:
    """Neither the title alone nor the lines alone are worth the least for each token of them and the heading."""
    found = under_headings(3)
    found.values[0] = 1.0
    assert filled(found, None, least=0.03) == [1, 1, 1, 1]
    found.values[0] = 0.5
    assert filled(found, None, least=0.03) == [0, 0, 0, 0]


def test_a_text_is_opened_for_its_best_lines_however_many_longer_ones_it_has() -> None:
    tokens = array(UNSIGNED, [100] * 33 + [5])
    values = array("d", [1.0] * 33 + [0.5])
    opening = Opening(OPENING)
    found = Candidates(tokens, values, [()] * 34, [Stretch(0, 34, opening=opening)], MARKER)
    assert filled(found, None, least=0.02) == [0] * 33 + [1]


def test_all_lines_of_a_text_come_up_once_it_is_open() -> None:
    tokens = array(UNSIGNED, [5, *[5, 500] * 5])
    values = array("d", [0.0, *(each for value in (0.2, 0.3, 0.1, 0.05, 0.4) for each in (value, 0.0))])
    stretches = [Stretch(0, 1), Stretch(1, 11, opening=Opening(OPENING))]
    found = Candidates(tokens, values, [()] * 11, stretches, MARKER)
    assert filled(found, 300) == [0, *[1, 0] * 5]


def test_a_heading_is_paid_once_and_has_its_title() -> None:
    found = under_headings(3)
    found.values[0] = 0.01
    choice = Choice(found, Coverage.of(()))
    choice.fill(80)
    assert list(choice.kept) == [1, 1, 1, 1]
    assert choice.spent == HEADINGS[1] + OPENING + 3 * 5
    alone = under_headings(0)
    alone.values[0] = 0.01
    choice = Choice(alone, Coverage.of(()))
    choice.fill(80)
    assert (list(choice.kept), choice.spent) == ([1], HEADINGS[1])


def session(log: str, *, is_long: bool) -> Survey:
    rows = range(40 if is_long else 12)
    text = "\n".join(f"{row}: {log}_{row} = load('src/{log}_{row % 5}.py')" for row in rows)
    turns = [assistant([call("t", "Read", file_path="a.py")]), user([result("t", text)]), assistant("It is `a_7`.")]
    return Survey(anthropic(user("Look at it."), *turns).messages, Counter(), known=None)


def told(survey: Survey) -> list[list[tuple[dict[str, float], float]]]:
    """What every unit of every part says: its facts with their weights, and what the line itself is worth."""
    facts = len(survey.facts)
    return [
        [
            (
                {survey.facts[key]: survey.weights[key] for key in keys if key < facts},
                sum(survey.weights[key] for key in keys if key >= facts),
            )
            for keys in survey.keys[part]
        ]
        for part in survey.parts
    ]


# What goes in one round leaves lines that the next one has read already, and lines that are no longer there.
def test_lines_that_were_read_before_say_the_same() -> None:
    before, now = session("a", is_long=True), session("a", is_long=False)
    again = Survey(now.messages, Counter(), known=before.known)
    assert (again.lines, again.gaps, told(again)) == (now.lines, now.gaps, told(now))
    assert {fact for fact, weight in zip(again.facts, again.weights, strict=False) if weight} == {*now.facts}
    assert [costs(again, key) for key in again.parts] == [costs(now, key) for key in now.parts]


def test_one_conversation_is_read_once_while_it_is_condensed_several_ways() -> None:
    messages, count = session("a", is_long=True).messages, Counter()
    with count.sharing():
        first, second = Survey(messages, count), Survey(messages, count)
        assert first.known is second.known is not Survey(messages, Counter()).known
    assert first.known is not Survey(messages, count).known


def costs(survey: Survey, key: Key) -> tuple[object, ...]:
    found = Priced(survey).of(key)
    return found.tokens, found.values, survey.texts[key].pieces


# A conversation of 50 MB takes hundreds of MB as a survey, and nothing may wait for the garbage collector.
def test_a_survey_goes_with_its_last_name() -> None:
    gc.collect()
    gc.disable()
    try:
        survey = session("a", is_long=True)
        gone = weakref.ref(survey)
        del survey
        assert gone() is None
    finally:
        gc.enable()
