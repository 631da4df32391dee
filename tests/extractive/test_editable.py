"""What is known of lines that later edits may have to match."""

from __future__ import annotations

from itertools import pairwise

import pytest
from build import anthropic, assistant, call, read_turn, result, user
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.core.tokens import Counter
from condense_cli.extractive.editable import FEATURES
from condense_cli.extractive.neighbours import highest, means
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.versions import Shown

NUMBERS = st.lists(st.integers(-9, 9), max_size=40)
REACH = st.integers(0, 14)


@given(NUMBERS, REACH)
def test_neighbours_are_those_within_reach(numbers: list[int], reach: int) -> None:
    within = [numbers[max(0, place - reach) : place + reach + 1] for place in range(len(numbers))]
    assert highest(numbers, reach) == list(map(max, within))
    assert means(numbers, reach) == [sum(found) / len(found) for found in within]


# Some clients write the new text before the old one.
def test_a_line_that_an_edit_puts_back_is_known_whichever_argument_comes_first() -> None:
    texts = [f"def total(items):\n    return {value}" for value in ("zero", "len(items)", "sum(items)")]
    edits = [{"new_string": new, "old_string": old} for old, new in pairwise(texts)]
    turns = [assistant([call("t", "MultiEdit", file_path="a.py", edits=edits)]), user([result("t", "Done.")])]
    lines = Survey(anthropic(user("Sum."), *turns).messages, Counter()).lines
    of_file = {line: lines[line].shown for text in texts for line in text.split("\n") if line in lines}
    assert of_file == dict.fromkeys(texts[-1].split("\n"), Shown.EDITED)


def test_lines_beside_one_that_is_named_are_likelier_than_those_far_away() -> None:
    filler = [f"    step_{number}()" for number in range(60)]
    body = "\n".join([*filler, "    retry_limit = 17", *(line.replace("step", "move") for line in filler)])
    survey = Survey(
        anthropic(
            user("Raise retry_limit."), *read_turn("t0", "a.py", body), assistant("I look for retry_limit.")
        ).messages,
        Counter(),
    )
    found = dict(zip(survey.lines, survey.line_features(), strict=True))
    for feature in ("likeliest nearby", "likely around", "written nearby"):
        column = FEATURES.index(feature)
        assert found["    step_59()"][column] > found["    step_1()"][column], feature


# Each client has its own names for a part of a file.
@pytest.mark.parametrize("names", [("offset", "limit"), ("startLine", "endLine"), ("line_offset", "n_lines")])
def test_a_part_that_is_read_again_leaves_the_rest_of_the_file_known(names: tuple[str, str]) -> None:
    body = [f"    step_{number}()" for number in range(20)]
    part = call("t1", "Read", file_path="a.py", **dict.fromkeys(names, 5))
    turns = [*read_turn("t0", "a.py", "\n".join(body)), assistant([part]), user([result("t1", "\n".join(body[5:10]))])]
    assert {*body} <= {*Survey(anthropic(user("Sum."), *turns).messages, Counter()).lines}


def test_all_texts_of_one_result_are_known_of_its_file() -> None:
    body = [f"    step_{number}()" for number in range(20)]
    texts = [{"type": "text", "text": "\n".join(part)} for part in (body[:10], body[10:], ["Read 20 lines."])]
    survey = Survey(anthropic(user("Sum."), *read_turn("t0", "a.py", texts)).messages, Counter())
    assert {*body} <= {*survey.lines}
