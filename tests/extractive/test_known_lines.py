"""What is known of lines once it is read: kinds told by all lines of a text, what several states share."""

from __future__ import annotations

import random
from collections import Counter as Counts
from unittest.mock import Mock

import pytest
from build import anthropic, assistant, call, result, user
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from real import SAMPLES

from condense_cli import api
from condense_cli.extractive import answers, parts, reading, versions
from condense_cli.extractive.answers import own_units
from condense_cli.extractive.parts import likeness, restated_units, words_of
from condense_cli.extractive.reading import known_to
from condense_cli.extractive.shorten import priced_of, remember
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.units import split
from condense_cli.extractive.versions import DEFINITION, ERROR, Kind, kinds_of
from condense_cli.tokens.counting import Counter

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
    count = Counter()
    with count.sharing():
        found = [own_units(state, count) for state in states]
    assert found == [*map(own_units, states)]
    assert (found[0][4, 0], found[1][4, 0], found[2][2, 0]) == ((0,), None, None)


def test_what_was_typed_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "\n".join(f"step {number} took {number * 7} ms" for number in range(9))
    turn = [assistant([call("t", "Bash", command="make")]), user([result("t", log)]), assistant("Done.")]
    state = anthropic(user("Go."), *turn, user(f"Why is it slow?\n{log}")).messages
    splitting = Mock(wraps=split)
    monkeypatch.setattr(answers, "split", splitting)
    count = Counter()
    with count.sharing():
        assert own_units(state, count) == own_units(state, count) == own_units(state)
    assert [one.args[0] for one in splitting.call_args_list] == ["Go.", f"Why is it slow?\n{log}"] * 2


@given(st.lists(st.sampled_from((*WORDS, "  9→a", " 10→b", "11→c", "9: x", "10: y", "\r", "x" * 500)), max_size=9))
def test_lines_that_are_known_tell_the_units_of_a_text(lines: list[str]) -> None:
    text = "\n".join(["Said", *lines])
    messages = anthropic(
        user("Go."), assistant([call("t", "Bash", command="make")]), user([result("t", text)])
    ).messages
    survey = Survey(messages, Counter())
    for key, part in survey.parts.items():
        assert survey.units[key] == split(part.text)


def test_a_text_is_split_once(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("went", "came", "stood", "ran", "fell", "rose", "slept")
    logs = ["\n".join(f"it {one} and {other} {name}" for one in words for other in words) for name in "abcdef"]
    read = [
        message
        for name, text in zip("abcdef", logs, strict=True)
        for message in (assistant([call(name, "Bash", command=f"make {name}")]), user([result(name, text)]))
    ]
    transcript = anthropic(user("Go."), *read, assistant("Thanks."), *(user("On."), assistant("Yes.")) * 6)
    splitting = Mock(wraps=split)
    for module in (answers, reading):
        monkeypatch.setattr(module, "split", splitting)
    found = api.condense(transcript, preset="balanced")
    assert found.tokens_after < found.tokens_before
    split_here = Counts(one.args[0] for one in splitting.call_args_list)
    assert [split_here[text] for text in logs] == [1] * len(logs)


def test_what_is_said_again_is_looked_for_once_in_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    messages, count = anthropic(user("Go."), *(assistant("I look again."), user("On.")) * 4).messages, Counter()
    looking = Mock(wraps=restated_units)
    monkeypatch.setattr(reading, "restated_units", looking)
    with count.sharing():
        first, second = Survey(messages, count), Survey(messages, count)
        third = Survey(messages[:-2], count)
        assert first.restated == second.restated == {(place, 0, ()): [0] for place in (1, 3, 5)}
        assert third.restated == {(place, 0, ()): [0] for place in (1, 3)}
    assert looking.call_count == 2


def test_whoever_shares_lines_already_goes_on_sharing_them() -> None:
    messages, count = anthropic(user("Go."), assistant("Done.")).messages, Counter()
    with count.sharing():
        outer = Survey(messages, count).known
        with count.sharing():
            assert Survey(messages, count).known is outer
        assert known_to(count) is outer
    assert known_to(count) is not outer


def test_each_part_of_a_line_s_features_has_its_weights() -> None:
    assert len(versions.FEATURES) == versions.OF_TEXT + versions.OF_SHAPE + versions.OF_SURROUNDINGS
    assert versions.FEATURES[versions.OF_TEXT] == "length"
    assert versions.FEATURES[versions.OF_TEXT + versions.OF_SHAPE] == "likeliest fact"


SESSION = next(path for path in SAMPLES if path.name == "bugfix-session.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0.4, None, 0.4)])
def test_it_comes_out_the_same(order: tuple[float | None, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = api.load(SESSION)
    before = Counter.of(transcript).transcript(transcript)
    remembering = Counter.of(transcript)
    remember(remembering)
    read: list[Survey] = []
    survey = Survey._tell

    def reading(self: Survey) -> None:
        read.append(self)
        survey(self)

    monkeypatch.setattr(Survey, "_tell", reading)
    numbers = []
    for share in order:
        target = None if share is None else int(share * before)
        anew = api.condense(transcript, target_tokens=target, counter=Counter.of(transcript))
        read.clear()
        again = api.condense(transcript, target_tokens=target, counter=remembering)
        numbers.append(len(read))
        assert api.dump(again) == api.dump(anew)
        assert again.changes == anew.changes
    assert numbers[-1] < numbers[0]


def test_nothing_is_remembered_unless_it_is_wanted_or_where_it_is_another_conversation() -> None:
    transcript = api.load(SESSION)
    messages, count = transcript.messages[:40], Counter.of(transcript)
    assert priced_of(messages, count) is not priced_of(messages, count)
    remember(count)
    first = priced_of(messages, count)
    assert priced_of(list(messages), count) is first
    assert priced_of(messages[:30], count) is not first
    assert priced_of([*messages[1:], messages[0]], count) is not first
    assert priced_of(messages, count) is first


SAID = (
    "Let me run the tests of the parser again.",
    "The parser drops the last line of a file that has no line break at its end.",
    "Let me run the tests of the parser once again.",
    "Let me run the tests of the parser again.",
)


def test_two_lines_are_as_alike_as_rapidfuzz_says() -> None:
    numbers = random.Random(7)
    decided = {True: 0, False: 0}
    for _ in range(4_000):
        letters = "abcdefghijklmnopqrstuvwxyz éß☃"[: numbers.choice((2, 5, 30))]
        line = "".join(numbers.choices(letters, k=numbers.randint(1, 50)))
        other = list(line)
        for _ in range(numbers.randint(0, 12)):
            place = numbers.randint(0, len(other))
            other[place : place + numbers.randint(0, 1)] = numbers.choices(letters, k=numbers.randint(0, 1))
        changed = "".join(other) or "-"
        is_alike = fuzz.ratio(line, changed, score_cutoff=parts._ALIKE) > 0
        assert (likeness(line, changed) >= parts._ALIKE) is is_alike
        decided[is_alike] += 1
    assert min(decided.values()) > 500


@pytest.mark.parametrize("most", [0, 10**6])
def test_both_ways_find_what_is_said_again(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(parts, "_MANY", most)
    parts._comparing.cache_clear()
    assert restated_units([[words_of(text)] for text in SAID]) == [[0], [], [0], []]
    parts._comparing.cache_clear()
