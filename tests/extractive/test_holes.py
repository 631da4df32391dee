"""Fewer holes: small gaps, headings with their sections, wrapped sentences, lines that are not broken."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.extractive.choice import UNSIGNED, Candidates, Choice, Coverage, Stretch
from condense_cli.extractive.units import WRAPPED, first_lines, layout_of, pieces, sections_of, split, wrapped_of

MARKER = 9
PARAGRAPH = """\
This paragraph is wrapped by hand, as people do it in a README of
old, so that one sentence goes on over two lines or more. Another
one begins in the middle, which no line tells, and goes on until
it ends here.
"""
CODE = 'function a(b,c){return b.d(c)?e(f,{g:"h"}):i[j]=k;}' * 20


def kept(
    tokens: Sequence[int], values: Sequence[float], *, least: float = 0.0, margin: float | None = None, **keys: Any
) -> list[int]:
    stretches = [Stretch(0, len(tokens))]
    found = Candidates(
        array(UNSIGNED, tokens),
        array("d", values),
        [()] * len(tokens),
        stretches,
        MARKER,
        **keys,
    )
    choice = Choice(found, Coverage.of(()), least, margin)
    choice.fill(1_000)
    return [*choice.kept]


@pytest.mark.parametrize(
    ("between", "margin", "closes"),
    [(20, None, False), (20, 1e-3, False), (20, 5e-5, True), (69, 1e-9, True), (70, 1e-9, False)],
)
def test_a_small_gap_is_closed_where_tokens_are_worth_little(
    between: int, margin: float | None, *, closes: bool
) -> None:
    assert kept([20, between, 20, 500], [1.0, 0.0, 1.0, 0.0], margin=margin) == [1, closes, 1, 0]


def test_a_gap_of_many_lines_stays() -> None:
    assert kept([20, *[2] * 5, 20], [1.0, *[0.0] * 5, 1.0], margin=1e-9) == [1, 0, 0, 0, 0, 0, 1]


SECTIONS: dict[str, Any] = {"sections": {0: 5, 3: 5}, "groups": {0: [0, 2], 3: [3, 4]}}
"""A title over all of it, a blank line below it, and a heading over the last line."""


@pytest.mark.parametrize(
    ("values", "stay"),
    [
        ([9.0, 0.0, 0.0, 0.0, 0.0], [1, 0, 1, 0, 0]),
        ([9.0, 0.0, 0.0, 9.0, 0.0], [1, 0, 0, 1, 1]),
        ([0.0, 0.0, 0.0, 9.0, 0.0], [0, 0, 0, 1, 1]),
        ([9.0, 0.0, 0.0, 0.0, 99.0], [1, 0, 0, 0, 1]),
        ([0.1, 0.0, 0.0, 0.1, 0.0], [0, 0, 0, 0, 0]),
    ],
)
def test_a_heading_stays_with_something_of_its_section(values: list[float], stay: list[int]) -> None:
    assert kept([20, 100, 20, 20, 20], values, least=0.1, **SECTIONS) == stay


def test_a_heading_costs_as_much_as_what_has_to_stay_with_it() -> None:
    values = [4.0, 0.0, 0.0, 0.0, 0.0]
    assert kept([20, 100, 20, 20, 20], values, least=0.1, **SECTIONS) == [0, 0, 0, 0, 0]
    assert kept([20, 100, 20, 20, 20], values, least=0.1) == [1, 0, 0, 0, 0]


def test_first_lines_below_headings() -> None:
    lines = ["# Title", "", "text", "## Part", "### Deep", "one", "two", "## Long", "piece", "piece", "## Empty"]
    sections = sections_of(bytes(map(layout_of, lines)))
    found = first_lines(sections, lines, {5: range(5, 7)}, {8, 9})
    assert found == {0: [0, 2], 3: [3, 5, 6], 4: [4, 5, 6]}


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        ("# Title", 1),
        ("### Part", 3),
        ("#hashtag", 0),
        ("####### seven", 0),
        ("# ", 0),
        ("text", 0),
        ("This line of prose is long enough to be one that was wrapped.", WRAPPED),
        ("if (this line of code is long enough and has words) { return it; }", 0),
        ("- a point of a list that is long enough to be one that was wrapped", 0),
        ("aVeryLongWordThatIsNoProseAtAllAndHasNoBlanksInItWhatever", 0),
    ],
)
def test_layout_of_lines(line: str, layout: int) -> None:
    assert layout_of(line) == layout


@pytest.mark.parametrize(
    ("levels", "sections"),
    [
        ([1, 0, 2, 0, 3, 0, 2, 0, 1, 0], {0: 8, 2: 6, 4: 6, 6: 8, 8: 10}),
        ([1, 0, 1, 0], {}),  # Comments of a script.
        ([2, 0], {0: 2}),
        ([WRAPPED, 0], {}),
        ([], {}),
    ],
)
def test_a_section_ends_at_the_next_heading_that_is_no_deeper(levels: list[int], sections: dict[int, int]) -> None:
    assert sections_of(bytes(levels)) == sections


@given(st.lists(st.integers(0, WRAPPED), max_size=20))
def test_sections_are_inside_each_other_or_apart(levels: list[int]) -> None:
    sections = sections_of(bytes(levels))
    for first, second in pairwise(sorted(sections)):
        assert sections[second] <= sections[first] or sections[first] <= second
    assert all(title < stop <= len(levels) for title, stop in sections.items())


def wrapped(text: str) -> dict[int, tuple[int, int]]:
    """The first line of its sentence, and the one behind its last, by each line of one."""
    lines = text.split("\n")
    found = wrapped_of(bytes(map(layout_of, lines)), lines)
    return {unit: (sentence[0], sentence[-1] + 1) for unit, sentence in found.items()}


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (PARAGRAPH, [(0, 4)]),
        (PARAGRAPH.replace("here.\n", "here.\n\n") + PARAGRAPH, [(0, 4), (5, 9)]),
        (PARAGRAPH.replace("README of\n", "README.\n"), [(1, 4)]),
        ("The server has started and now listens to port 8000\n" * 3, []),
        ("A line of a log that is a little longer than the other ones\nShort\n" * 2, []),
        ("the first line has a lot of room left\nso the next one was not wrapped, whatever it is about\n", []),
    ],
)
def test_lines_of_a_wrapped_sentence(text: str, sentences: list[tuple[int, int]]) -> None:
    assert sorted(set(wrapped(text).values())) == sentences


@given(st.lists(st.sampled_from([*PARAGRAPH.split("\n"), "", "It ends here, where the line is of the usual width."])))
def test_wrapped_sentences_are_apart_and_of_a_few_lines(lines: list[str]) -> None:
    found = wrapped("\n".join(lines))
    for unit, (start, stop) in found.items():
        assert start <= unit < stop <= min(len(lines), start + 6)
        assert all(found[other] == (start, stop) for other in range(start, stop))


def test_a_wrapped_sentence_is_chosen_whole_or_not() -> None:
    sentence = dict.fromkeys(range(1, 4), range(1, 4))
    assert kept([600, 20, 20, 20, 600], [0.0, 0.0, 1.0, 0.0, 0.0], groups=sentence) == [0, 1, 1, 1, 0]
    assert kept([600, 300, 400, 400, 600], [0.0, 0.0, 1.0, 0.0, 0.0], groups=sentence) == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("line", [CODE, CODE * 40, '{"id":1,"name":"abc","at":[1,2]},' * 30])
def test_minified_lines_and_records_are_not_broken(line: str) -> None:
    assert [*pieces(line)] == [line]
    assert len(split(f"before\n{line}\nbehind").texts) == 3


@pytest.mark.parametrize("line", ['{"id":1,"name":"abc","at":[1,2]},' * 100, "x" * 600, "word and word, " * 50])
def test_other_long_lines_are_taken_in_pieces(line: str) -> None:
    found = [*pieces(line)]
    assert len(found) > 1
    assert "".join(found) == line


def test_a_long_line_of_prose_is_taken_by_sentences() -> None:
    sentence = "This is a sentence of some words that says what it says. "
    assert [*pieces(sentence * 10)] == [sentence] * 10
