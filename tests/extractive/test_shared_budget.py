"""Texts that share a budget: the edges of what fits, and what is worked out for one budget and asked for again."""

from collections.abc import Sequence
from typing import Any

import pytest
from build import anthropic, assistant, call, result, user

from condense_cli.core.markers import gaps_in
from condense_cli.core.values import Text
from condense_cli.extractive import shorten
from condense_cli.extractive.parts import Key
from condense_cli.extractive.shorten import (
    Priced,
    SharedBudget,
    further_tokens,
    marker_tokens,
    shorten_to_budget,
    summaries,
    summarize,
)
from condense_cli.extractive.summary import Sections, addresses
from condense_cli.extractive.survey import Survey
from condense_cli.tokens.counting import Counter

COUNT = Counter()
LONG = tuple("\n".join(f"{word}_{n} = load_{word}({n * 7919})" for n in range(30)) for word in ("limit", "offset"))


def survey_of(*texts: str) -> Survey:
    """A conversation with so many results of commands."""
    turns: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        turns += [assistant([call(f"t{number}", "Bash", command="make all")]), user([result(f"t{number}", text)])]
    return Survey(anthropic(user("Look at it."), *turns, assistant("Done.")).messages, COUNT)


def results(survey: Survey) -> list[Key]:
    return [key for key, part in survey.parts.items() if part.is_result]


def texts_of(shared: SharedBudget, budget: int) -> list[str]:
    return [*map(str, shared.within(budget).texts.values())]


@pytest.fixture(scope="module")
def survey() -> Survey:
    return survey_of(*LONG)


@pytest.fixture(scope="module")
def shared(survey: Survey) -> SharedBudget:
    return SharedBudget(Priced(survey), results(survey))


def test_all_stays_where_all_fits(survey: Survey, shared: SharedBudget) -> None:
    assert shared.tokens == sum(map(COUNT, LONG))
    whole = shared.within(shared.tokens)
    assert (whole.texts, whole.summaries, whole.tokens) == ({}, (), shared.tokens)
    less = shared.within(shared.tokens - 1)
    assert [*less.texts] == results(survey)
    assert sum(map(COUNT, map(str, less.texts.values()))) == less.tokens < shared.tokens


@pytest.mark.parametrize("budget", [20, 60, 150, 400])
def test_a_budget_is_kept_and_used(shared: SharedBudget, budget: int) -> None:
    found = shared.within(budget)
    assert found.tokens == sum(map(COUNT, map(str, found.texts.values())))
    assert budget - 15 <= found.tokens <= budget


def test_where_not_even_markers_fit_each_text_is_one(survey: Survey, shared: SharedBudget) -> None:
    markers = 2 * marker_tokens(survey)
    for text in texts_of(shared, markers - 1):
        assert len(gaps_in(text)) == len(text.split("\n")) == 1


def test_texts_hardly_longer_than_a_marker_stay(survey: Survey) -> None:
    """Twice as long is not worth it; a token more is."""
    most = 2 * marker_tokens(survey)
    words = ["wonderful"]
    while COUNT(" ".join(words)) < most:
        words.append("apple")
    for text, stays in ((" ".join(words), True), (" ".join([*words, "apple"]), False)):
        assert COUNT(text) == most + (not stays)
        of = survey_of(LONG[0], text)
        shared = SharedBudget(Priced(of), results(of))
        found = shared.within(60)
        assert (results(of)[1] not in found.texts) is stays
        assert found.tokens == sum(map(COUNT, map(str, found.texts.values()))) + most * stays
        assert found.tokens <= 60


def test_a_gap_may_have_to_save_more_than_its_marker(survey: Survey, shared: SharedBudget) -> None:
    saving = SharedBudget(Priced(survey), results(survey), least_saved=10)
    number = [sum(len(gaps_in(text)) for text in texts_of(each, 200)) for each in (shared, saving)]
    assert number[0] >= number[1]
    assert marker_tokens(survey) > further_tokens(survey)


# A text is counted anew only where other lines of it stay than in the round before.
def test_a_text_of_which_the_same_stays_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = survey_of(*LONG, "\n".join(["nothing of note here"] * 60))
    written: list[Key] = []
    real = shorten.text_with

    def writing(survey: Survey, key: Key, kept: Sequence[int], **options: bool) -> Text:
        written.append(key)
        return real(survey, key, kept, **options)

    monkeypatch.setattr("condense_cli.extractive.shorten.text_with", writing)
    shared = SharedBudget(Priced(survey), results(survey))
    for budget in (200, 100, 200):
        shared.within(budget)
    assert [written.count(key) for key in results(survey)][-1] == 1
    assert len(written) > 6


def test_a_text_that_is_named_twice_is_there_once(survey: Survey, shared: SharedBudget) -> None:
    assert SharedBudget(Priced(survey), results(survey) * 2).tokens == shared.tokens


# What the choice of a form asks: the tokens that would stay of each text, and what the last of them bring.
def test_the_less_room_the_more_a_token_has_to_bring(survey: Survey, shared: SharedBudget) -> None:
    less, more = (shared.kept_within(budget) for budget in (60, 900))
    for (kept, density), budget in ((less, 60), (more, 900)):
        assert {*kept} == {*results(survey)}
        assert sum(kept.values()) <= budget
        assert density > 0
    assert sum(less[0].values()) < sum(more[0].values())
    assert less[1] > more[1]


def test_what_is_fixed_stays_whatever_the_budget(survey: Survey) -> None:
    first, second = results(survey)
    fixed = SharedBudget(Priced(survey), [first, second], fixed={second: [3, 17]})
    for budget in (10, 60):
        lines = str(fixed.within(budget).texts[second]).split("\n")
        assert {"offset_3 = load_offset(23757)", "offset_17 = load_offset(134623)"} <= {*lines}


def test_lines_are_chosen_by_what_they_are_worth(survey: Survey, shared: SharedBudget) -> None:
    lines = [
        sum(map(len, (str(text).split("\n") for text in shared.value_at_least(least).values())))
        for least in (0.0, 0.000_5, 1.0)
    ]
    assert lines[0] > lines[-1] == 2
    assert lines == sorted(lines, reverse=True)


# What is cut as well says nothing; what stays says it for the others.
@pytest.mark.parametrize("is_unsaid", [False, True])
def test_what_stays_elsewhere_need_not_be_said(is_unsaid: bool) -> None:
    filler = ["plain words about nothing"] * 60
    text = "\n".join([*filler, "the setting retry_limit is 17", *filler, "the option max_wait is 99", *filler])
    of = survey_of(text, "retry_limit 17")
    older, newer = results(of)
    shared = SharedBudget(Priced(of), [older], unsaid=frozenset({newer} if is_unsaid else ()))
    [found] = texts_of(shared, 28)
    assert [name in found for name in ("retry_limit", "max_wait")] == [is_unsaid, not is_unsaid]


def test_a_summary_is_given_where_it_fits(survey: Survey) -> None:
    """Its shortest form is that there are no lines."""
    shortest = "No lines of 2 messages were picked. 1 text is left out whole."
    assert summarize(survey, 1, 3, COUNT(shortest)) == shortest
    assert summarize(survey, 1, 3, COUNT(shortest) - 1) == ""
    for budget in (60, 200):
        [found] = summaries(survey, [range(1, 3)], budget)
        assert COUNT(found) <= budget
        assert found == summarize(survey, 1, 3, budget)
    whole = summarize(survey, 1, 3, 5_000)
    assert LONG[0] in whole


def test_summaries_and_texts_share_a_budget(survey: Survey) -> None:
    sections = Sections(survey, [addresses(survey.messages, range(1, 3))])
    shared = SharedBudget(Priced(survey), results(survey)[1:], sections)
    assert shared.tokens == sections.tokens + COUNT(LONG[1])
    for budget in (100, 300):
        found = shared.within(budget)
        [summary] = found.summaries
        assert [*found.texts] == results(survey)[1:]
        assert found.tokens == COUNT(summary) + sum(map(COUNT, map(str, found.texts.values()))) <= budget
    # Even where all would fit there is a summary.
    whole = shared.within(10_000)
    assert LONG[0] in whole.summaries[0]
    assert [*map(str, whole.texts.values())] == [LONG[1]]


def test_texts_that_fit_come_back_as_they_were(survey: Survey) -> None:
    keys = results(survey)
    total = sum(map(COUNT, LONG))
    assert shorten_to_budget(survey, keys, total) == dict(zip(keys, LONG, strict=True))
    assert shorten_to_budget(survey, keys[:1], COUNT(LONG[0])) == {keys[0]: LONG[0]}
    assert sum(map(COUNT, shorten_to_budget(survey, keys, total - 1).values())) < total
