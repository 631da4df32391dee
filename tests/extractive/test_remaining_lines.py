"""Which lines of a text a cut left: all that `render` kept, whatever else is in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.core.markers import ELLIPSIS
from condense_cli.extractive.reasons import lines_of, unit_lines, which_remain
from condense_cli.extractive.units import LONG_LINE, render, split

LINES = st.one_of(st.sampled_from(["}", "", "x = 1", f"{ELLIPSIS}", "a, " * LONG_LINE, "     1→one", "     2→"]), TEXTS)


TEXT = st.lists(LINES, min_size=1, max_size=12).map("\n".join)
SHOWN = st.lists(LINES, min_size=2, max_size=12).map(
    lambda lines: "\n".join(f"{n:>6}→{line}" for n, line in enumerate(lines, 8))
)


@given(TEXT | SHOWN, st.data())
def test_the_lines_that_stay_are_found_again(text: str, data: st.DataObject) -> None:
    units = split(text)
    of_line = unit_lines(units)
    stays = data.draw(st.lists(st.booleans(), min_size=len(lines_of(units)), max_size=len(lines_of(units))))
    kept = [stays[line] for line in of_line]
    found = which_remain(units, split(render(units, kept, counts_lines=True)))
    assert found is not None
    if units.gaps:
        assert [*map(bool, found)].count(True) == stays.count(True)
    else:
        assert found == stays


@pytest.mark.parametrize("line", ["word " * LONG_LINE, f"…{'word, ' * LONG_LINE}…"])
def test_a_line_of_which_its_ends_are_left_remains(line: str) -> None:
    units = split(f"before\n{line}\nafter")
    long = [unit for unit, number in enumerate(unit_lines(units)) if number == 1]
    kept = [unit in (long[0], long[-1]) for unit in range(len(units.texts))]
    assert which_remain(units, split(render(units, kept))) == [False, True, False]


@pytest.mark.parametrize("other", ["another text", "one\nthree\ntwo", "one\ntwo\nthree\nfour"])
def test_another_text_is_no_cut_version(other: str) -> None:
    assert which_remain(split("one\ntwo\nthree"), split(other)) is None


def test_equal_lines_are_told_apart_by_the_count_of_the_marker() -> None:
    units = split("}\none\n}\ntwo\n}")
    assert which_remain(units, split(render(units, [0, 0, 0, 0, 1]))) == [False, False, False, False, True]
    assert which_remain(units, split(render(units, [0, 0, 1, 0, 0]))) == [False, False, True, False, False]
