"""Shortening without a model: what stays, how it is marked, how large it is, and that nothing is done twice."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest
import real
from build import anthropic, assistant, call, read_turn, result, user
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.core.markers import ELLIPSIS, Gap, gaps_in, parse_gap, short_hash
from condense_cli.extractive import likelihood, versions
from condense_cli.extractive.likelihood import MODEL, likelihoods
from condense_cli.extractive.parts import Key
from condense_cli.extractive.shorten import shorten_each, shorten_to_budget, summarize
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.units import LONG_LINE, pieces, render, split
from condense_cli.extractive.weights import FACTS, LINES
from condense_cli.tokens.counting import Counter

COUNT = Counter()
MARKER = COUNT(str(Gap("406167", 123_456, 123_456)))

LONG_TEXTS = st.one_of(
    TEXTS,
    st.sampled_from(
        ["{'key': 'value'}, ", "no_break_at_all", "word ", "é\u0301", "👩\u200d👩\u200d👧", "\ud800", " "]
    ).flatmap(lambda piece: st.integers(1, 400).map(lambda times: f"before\n{piece * times}\nafter")),
    st.lists(st.sampled_from(["x = 1\r", "", "error: no such file", "def total(items):", "a" * 700]), max_size=40).map(
        "\n".join
    ),
)


def _survey(*texts: str) -> Survey:
    """A conversation with so many results of commands."""
    turns: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        turns += [assistant([call(f"t{number}", "Bash", command="make all")]), user([result(f"t{number}", text)])]
    return Survey(anthropic(user("Look at it."), *turns, assistant("Done.")).messages, COUNT)


def _results(survey: Survey) -> list[Key]:
    return [key for key, part in survey.parts.items() if part.is_result]


def _originals(shortened: str) -> list[str]:
    """The lines of a shortened text that are no markers, without the ellipses at cuts."""
    return [line for line in shortened.split("\n") if parse_gap(line) is None]


def _is_subsequence(lines: list[str], text: str) -> bool:
    position = 0
    for line in lines:
        for wanted in (line, line.removeprefix(ELLIPSIS), line.removesuffix(ELLIPSIS), line.strip(ELLIPSIS)):
            found = text.find(wanted, position)
            if found >= 0:
                position = found + len(wanted)
                break
        else:
            return False
    return True


@given(LONG_TEXTS.filter(bool), st.integers(0, 300))
def test_a_limit_is_kept_and_what_stays_stands_in_order(text: str, limit: int) -> None:
    survey = _survey(text)
    (key,) = _results(survey)
    shortened = shorten_each(survey, {key: limit})[key]
    assert COUNT(shortened) <= COUNT(text)
    assert COUNT(shortened) <= max(limit, MARKER) or shortened == text
    if COUNT(text) <= limit:
        assert shortened == text
    assert _is_subsequence(_originals(shortened), text)
    again = _survey(shortened)
    assert shorten_each(again, {key: max(limit, MARKER)})[key] == shortened


@given(st.lists(LONG_TEXTS.filter(bool), min_size=1, max_size=5), st.integers(0, 400), st.randoms())
def test_a_common_budget_is_kept_in_any_order(texts: list[str], budget: int, random: Any) -> None:
    survey = _survey(*texts)
    keys = _results(survey)
    together = shorten_to_budget(survey, keys, budget)
    floor = sum(min(COUNT(survey.parts[key].text), 3 * MARKER) for key in keys)
    assert sum(map(COUNT, together.values())) <= max(budget, floor)
    again = _survey(*(together[key] for key in keys))
    assert shorten_to_budget(again, keys, budget) == together
    shuffled = random.sample(keys, len(keys))
    assert shorten_to_budget(survey, shuffled, budget) == together
    limits = {key: budget // len(keys) for key in keys}
    assert shorten_each(survey, limits) == shorten_each(survey, {key: limits[key] for key in shuffled})


# Whatever is kept: the markers count the lines and characters that are missing, and nothing else.
@given(LONG_TEXTS, st.data())
def test_markers_count_what_is_missing(text: str, data: st.DataObject) -> None:
    units = split(text)
    assert render(units, [1] * len(units.texts)) == text
    kept = data.draw(st.lists(st.booleans(), min_size=len(units.texts), max_size=len(units.texts)))
    for start, stop in set(zip(units.starts, units.stops, strict=True)):
        kept[start] = kept[stop - 1] = any(kept[start:stop])
    shortened = render(units, kept)
    before, after = gaps_in(text), gaps_in(shortened)
    whole = {start for start in units.starts if not kept[start]}
    partial = sum(
        len(unit)
        for unit, start, stays in zip(units.texts, units.starts, kept, strict=True)
        if kept[start] and not stays
    )
    quoted = [gap for gap in before if gap.is_image]
    if not quoted:
        assert sum(gap.lines for gap in after) == len(whole) + sum(gap.lines for gap in before)
        assert sum(gap.characters for gap in after) == partial + sum(gap.characters for gap in before)


def test_a_marker_names_the_text_that_was_cut_first() -> None:
    text = "\n".join(f"{n}: value_{n} of the list" for n in range(200))
    survey = _survey(text)
    (key,) = _results(survey)
    once = shorten_each(survey, {key: 400})[key]
    twice = shorten_each(_survey(once), {key: 200})[key]
    assert {gap.hash for gap in gaps_in(once)} == {gap.hash for gap in gaps_in(twice)} == {short_hash(text)}
    for shortened in (once, twice):
        assert len(_originals(shortened)) + sum(gap.lines for gap in gaps_in(shortened)) == 200


@pytest.mark.parametrize("limit", [100, 500, 2_000])
def test_the_limit_is_used(limit: int) -> None:
    text = "\n".join(f"{n}: value_{n} of the list and more" for n in range(2_000))
    survey = _survey(text)
    (key,) = _results(survey)
    line = COUNT(text.split("\n")[1_000] + "\n")
    assert limit - max(line + 3, limit // 50) <= COUNT(shorten_each(survey, {key: limit})[key]) <= limit


@pytest.mark.slow
def test_a_megabyte_without_a_line_break_is_cut_inside() -> None:
    text = "".join(f'{{"id": {n}, "name": "item_{n}"}}, ' for n in range(30_000))
    survey = _survey(text)
    (key,) = _results(survey)
    shortened = shorten_each(survey, {key: 1_000})[key]
    assert 900 < COUNT(shortened) <= 1_000
    assert sum(gap.characters for gap in gaps_in(shortened)) > 900_000
    assert shortened.startswith(text[:50])


def test_pieces_never_part_a_character_from_its_marks() -> None:
    line = ("e\u0301" * 300) + ("👩\u200d👧" * 200) + "x" * LONG_LINE
    parts = list(pieces(line))
    assert "".join(parts) == line
    assert not any(part[0] in "\u0301\u200d" or part.endswith("\u200d") for part in parts)


# What one text says newer, older ones need not say.
def test_the_newest_mention_stays() -> None:
    filler = ["plain words about nothing"] * 60
    old = "\n".join([*filler, "the setting retry_limit is 17", *filler])
    new = "\n".join([*filler, "the setting retry_limit is 17", *filler[:30]])
    survey = _survey(old, new)
    older, newer = _results(survey)
    shortened = shorten_to_budget(survey, [older, newer], 34)
    assert "retry_limit" in shortened[newer]
    assert "retry_limit" not in shortened[older]


def test_what_stays_verbatim_elsewhere_is_not_said_again() -> None:
    filler = ["plain words about nothing"] * 80
    survey = _survey(
        "\n".join([*filler, "the setting retry_limit is 17", *filler, "the option max_wait is 99", *filler]),
        "retry_limit 17",
    )
    older, _ = _results(survey)
    shortened = shorten_each(survey, {older: 26})[older]
    assert "max_wait" in shortened
    assert "retry_limit" not in shortened


def test_errors_and_definitions_stay() -> None:
    lines = ["    a note about the weather"] * 300
    lines[50] = "def handle_request(self):"
    lines[120] = "ValueError: session_token is missing"
    survey = _survey("\n".join(lines))
    (key,) = _results(survey)
    shortened = shorten_each(survey, {key: 120})[key]
    assert "handle_request" in shortened
    assert "session_token" in shortened


def test_replaced_lines_give_way_to_the_newest_state() -> None:
    old = "\n".join(f"    total_{n} = compute_{n}(items)" for n in range(60))
    new = old.replace("compute_", "measure_")
    survey = Survey(
        anthropic(
            user("Rename it."),
            *read_turn("t0", "a.py", old),
            assistant([call("t1", "Write", file_path="a.py", content=new)]),
            user([result("t1", "updated")]),
            *read_turn("t2", "a.py", new),
        ).messages,
        COUNT,
    )
    first, _, last = _results(survey)
    written = [key for key, part in survey.parts.items() if part.text == new]
    shortened = shorten_to_budget(survey, [first, *written], COUNT(new) + 40)
    assert shortened[last] == new
    assert len(shortened[first].split("\n")) < 6


# People and git write the first digits of a hash.
def test_who_abbreviates_a_hash_names_it() -> None:
    named, other = "48f554e407de50ea53be22030173682f", "bfb70aa91de94955ceda432ff3fcbaff"
    log = [assistant([call("t", "Bash", command="cat log")]), user([result("t", f"before {named}\nafter {other}")])]

    def weights(said: str) -> list[float]:
        survey = Survey(anthropic(user("Look."), *log, assistant(said), user("Go on.")).messages, COUNT)
        return [survey.weights[survey.facts.index(fact)] for fact in (named, other)]

    unsaid, said = weights("It changed."), weights(f"It was {named[:8]} before, not {named[:6]} or {other[1:9]}.")
    assert said[0] > unsaid[0]
    assert said[1] == pytest.approx(unsaid[1], rel=0.1)


# Some clients count their calls anew in each turn.
def test_a_call_that_failed_takes_no_lines_from_another_of_its_id() -> None:
    turns = [*read_turn("t0", "a.py", "limit = 1"), *read_turn("t0", "b.py", "no such file", is_error=True)]
    assert set(Survey(anthropic(user("Go."), *turns).messages, COUNT).lines) == {"limit = 1"}


def _picked(summary: str) -> list[str]:
    lines = summary.split("\n")[1:]
    return [line for line in lines if line not in ("", "## Bash", "make all") and parse_gap(line) is None]


@given(st.lists(LONG_TEXTS.filter(bool), min_size=1, max_size=5), st.integers(0, 400))
def test_a_summary_keeps_its_budget(texts: list[str], budget: int) -> None:
    survey = _survey(*texts)
    summary = summarize(survey, 1, len(survey.messages), budget)
    assert COUNT(summary) <= budget
    assert summarize(survey, 1, len(survey.messages), budget) == summary


def test_a_summary_tells_whose_lines_they_are() -> None:
    survey = Survey(
        anthropic(
            user("Why does it fail?"),
            *read_turn("t0", "src/app.py", "\n".join(f"line {n} of it" for n in range(12))),
            assistant([call("t1", "Bash", command="pytest -q")]),
            user([result("t1", "<error>\nAssertionError: total_sum is 3", is_error=True)]),
            assistant("The cause is total_sum in src/app.py, because start_value is 1."),
        ).messages,
        COUNT,
    )
    summary = summarize(survey, 0, 6, 200)
    assert "## Read\nsrc/app.py\n" in summary
    assert "## Bash (failed)\npytest -q\n<error>\nAssertionError: total_sum is 3\n" in summary
    assert "## assistant\nThe cause is total_sum in src/app.py" in summary
    assert "Why does it fail?" not in summary
    assert summary.startswith("Lines picked from 6 messages, as they stood.")
    assert summarize(survey, 0, 6, 5) == ""


# Such an argument has no line that a heading could have.
def test_an_argument_that_is_our_marker_is_no_title() -> None:
    calling = assistant([call("t", "Bash", command="[… 40 lines #983205]")])
    survey = Survey(anthropic(user("Go."), calling).messages, COUNT)
    assert summarize(survey, 1, 2, 100).startswith("No lines of 1 message were picked.")


def test_a_summary_takes_lines_from_its_messages_alone() -> None:
    survey = _survey("first_result is here", "second_result is here")
    summary = summarize(survey, 3, 5, 300)
    assert _picked(summary) == ["second_result is here"]


@pytest.mark.real
@pytest.mark.parametrize("path", real.some(real.all_files()), ids=lambda path: path.name)
def test_real_conversations_keep_their_budgets(path: Any) -> None:
    messages = real.transcript(path).messages
    survey = Survey(messages, COUNT)
    keys = [key for key, part in survey.parts.items() if part.is_result]
    total = sum(COUNT(survey.parts[key].text) for key in keys)
    shortened = shorten_to_budget(survey, keys, total // 2)
    floor = sum(min(COUNT(survey.parts[key].text), 2 * MARKER) for key in keys)
    assert sum(map(COUNT, shortened.values())) <= max(total // 2, floor)
    for key in keys:
        text = survey.parts[key].text
        assert COUNT(shortened[key]) <= COUNT(text)
        assert _is_subsequence(_originals(shortened[key]), text)
    assert COUNT(summarize(survey, 0, len(messages), 1_000)) <= 1_000


# What `sum` makes of them depends on the Python.
def test_sums_of_floats_are_those_of_exact_numbers() -> None:
    assert likelihoods([(1e16, 1.0, -1e16)], (1.0, 1.0, 1.0)) == [1 / (1 + exp(-1))]


# A weight for each feature, in its order: `benchmarks/train_extraction.py` writes them.
def test_the_weights_are_those_of_the_features() -> None:
    assert tuple(FACTS) == likelihood.FEATURES
    assert tuple(LINES) == versions.FEATURES
    survey = Survey(anthropic(user("Look."), *read_turn("t0", "a.py", "retry_limit = 17\nretry()")).messages, COUNT)
    assert {len(row) for row in survey.fact_features()} == {len(FACTS)}
    assert {len(row) for row in survey.line_features()} == {len(LINES)}
    # Added up part by part they may differ in the last digit.
    assert survey.weights[: len(survey.facts)] == pytest.approx(
        likelihoods(survey.fact_features(), MODEL.facts), rel=1e-12
    )
    lines = [MODEL.line * value for value in likelihoods(survey.line_features(), MODEL.lines)]
    assert survey.weights[len(survey.facts) :] == pytest.approx(lines, rel=1e-12)
    assert all(0 <= weight <= 1 for weight in survey.weights[: len(survey.facts)])
    assert all(0 <= weight <= MODEL.line for weight in survey.weights[len(survey.facts) :])
