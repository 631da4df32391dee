"""What is known of lines once it is read: kinds told by all lines of a text, what several states share."""

from __future__ import annotations

from build import anthropic, assistant, call, result, user
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.core.tokens import Counter
from condense_cli.extractive import versions
from condense_cli.extractive.answers import Without, own_units
from condense_cli.extractive.survey import Survey, known_to, sharing_lines
from condense_cli.extractive.versions import DEFINITION, ERROR, Kind, kinds_of

WORDS = ("error", "Error:", "E  ", "e  x", "FAILED", "not found", "def f", "class Fail", "plain", "erſt", "aſsert", "")
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), max_size=6)


def kind_alone(line: str) -> Kind:
    if not line.strip():
        return Kind.BLANK
    if ERROR.search(line):
        return Kind.ERROR
    return Kind.DEFINITION if DEFINITION.match(line) else Kind.PLAIN


@given(LINES)
def test_lines_read_together_are_of_the_kind_that_each_is_alone(lines: list[str]) -> None:
    assert [*kinds_of(lines)] == [*map(kind_alone, lines)]


def test_what_was_typed_is_told_alike_however_often_states_are_read() -> None:
    log = "\n".join(f"step {number} took {number * 7} ms" for number in range(9))
    turn = [assistant([call("t", "Bash", command="make")]), user([result("t", log)]), assistant("Done.")]
    pasted = user(f"Why is it slow?\n{log}")
    states = [
        anthropic(user("Go."), *turn, pasted).messages,
        anthropic(user("Go."), *turn, user("Why?")).messages,
        anthropic(user("Go."), assistant("Yes?"), pasted, *turn).messages,
        anthropic(user("Go."), *turn, pasted).messages,
    ]
    without: Without = {}
    found = [own_units(state, without) for state in states]
    assert found == [*map(own_units, states)]
    assert (found[0][4, 0], found[1][4, 0], found[2][2, 0]) == ((0,), None, None)


def test_whoever_shares_lines_already_goes_on_sharing_them() -> None:
    messages, count = anthropic(user("Go."), assistant("Done.")).messages, Counter()
    with sharing_lines(count):
        outer = Survey(messages, count).known
        with sharing_lines(count):
            assert Survey(messages, count).known is outer
        assert known_to(count) is outer
    assert known_to(count) is not outer


def test_each_part_of_a_line_s_features_has_its_weights() -> None:
    assert len(versions.FEATURES) == versions.OF_TEXT + versions.OF_SHAPE + versions.OF_SURROUNDINGS
    assert versions.FEATURES[versions.OF_TEXT] == "length"
    assert versions.FEATURES[versions.OF_TEXT + versions.OF_SHAPE] == "likeliest fact"
