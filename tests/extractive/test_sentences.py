"""Sentences: where they end, what each is to those who go on, and that they stay or go one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.core.markers import ELLIPSIS, gaps_in
from condense_cli.extractive.instructions import Sense, is_settled, sense_of, weight_of
from condense_cli.extractive.units import render, sentences, split

PROSE = st.lists(
    st.sampled_from(["Never fly.", "Why? ", " He met Dr. No.", "\n", "```\n", "a. b", "好的。", "… ", "x" * 500, "  "]),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("One. Two! Three?", 3),
        ("Dr. Who met Mr. Bean on the 3. May at No. 4, e.g. There.", 1),
        ("It costs 4.50 euros. That is fine.", 2),
        ("He said “Stop.” And left.", 2),
        ("Well... what now", 1),
        ("好的。那就这样！明天见", 3),
        ("1. First point", 1),
        ("We met. A. Smith was there.", 2),
        ("", 1),
    ],
)
def test_where_sentences_end(line: str, number: int) -> None:
    assert len(sentences(line)) == number


@given(st.one_of(TEXTS, PROSE))
def test_sentences_are_the_line(line: str) -> None:
    assert "".join(sentences(line)) == line


@given(st.one_of(TEXTS, PROSE), st.data())
def test_of_sentences_some_stay_and_the_rest_is_counted(text: str, data: st.DataObject) -> None:
    units = split(text, by_sentence=True)
    assert render(units, [1] * len(units.texts)) == text
    kept = data.draw(st.lists(st.booleans(), min_size=len(units.texts), max_size=len(units.texts)))
    written = render(units, [*map(int, kept)])
    for sentence in (sentence for sentence, stays in zip(units.texts, kept, strict=True) if stays):
        assert sentence in written
    if not all(kept):
        assert len(gaps_in(written)) > len(gaps_in(text)) or len(written) < len(text)
    again = split(written, by_sentence=True)
    assert render(again, [1] * len(again.texts)) == written


def test_what_is_missing_is_marked_where_it_stood() -> None:
    text = "One is short. Two is here. Three ends.\nFour is a line.\nFive starts. Six ends."
    units = split(text, by_sentence=True)
    assert [sentence.strip() for sentence in units.texts][:3] == ["One is short.", "Two is here.", "Three ends."]
    assert render(units, [0, 1, 0, 0, 1, 0]) == "\n".join([
        f"[… 14 characters #{units.hash}]",
        f"{ELLIPSIS}Two is here. {ELLIPSIS}",
        "[…1 line, 11 characters]",
        f"Five starts. {ELLIPSIS}",
        "[…9 characters]",
    ])  # fmt: skip


def test_code_between_fences_stays_in_lines() -> None:
    units = split("Look. Here.\n```\nx = a. B\n```\nOne. Two.", by_sentence=True)
    assert [*units.texts] == ["Look. ", "Here.", "```", "x = a. B", "```", "One. ", "Two."]


# None of these is in the benchmark's texts, nor was a word listed for them.
@pytest.mark.parametrize(
    ("sentence", "sense"),
    [
        ("You must always sign with both names.", Sense.RULE),
        ("Never mention the strike.", Sense.RULE),
        ("No tables.", Sense.RULE),
        ("Use the short form of the title.", Sense.WISH),
        ("Ich möchte einen Platz am Gang.", Sense.WISH),
        ("Bitte antworte immer auf Deutsch.", Sense.RULE),
        ("Ne parle jamais du prix.", Sense.RULE),
        ("Prefiero el vino blanco.", Sense.RULE),
        ("请不要用英文。", Sense.RULE),
        ("The bill came to 47 crowns.", Sense.FACT),
        ("We stayed with Aunt Philippa.", Sense.FACT),
        ("The weather turned out well.", Sense.STATEMENT),
        ("Why is the sky blue?", Sense.QUESTION),
        ("I don't know what to do.", Sense.STATEMENT),
        ("Thanks, great!", Sense.TALK),
        ("Tell me more.", Sense.TALK),
        ("谢谢！", Sense.TALK),
        ("", Sense.TALK),
    ],
)
def test_what_a_sentence_of_the_user_is(sentence: str, sense: Sense) -> None:
    assert sense_of(sentence) is sense


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Agreed, we take the ferry.", True),
        ("From now on I write in rhyme.", True),
        ("Verstanden, nur noch kurze Antworten.", True),
        ("好的，我会用中文。", True),
        ("The ferry takes two hours.", False),
        ("There are several ways to cross the fjord.", False),
        (f"Agreed, {'and so on and ' * 40}on.", False),
    ],
)
def test_what_the_assistant_settles(sentence: str, expected: bool) -> None:
    assert is_settled(sentence) is expected


def test_a_text_weighs_as_much_as_the_best_of_its_sentences() -> None:
    assert weight_of("Thanks! Never call before noon. Why?") == weight_of("Never call before noon.") == 1.0
    assert weight_of("Why?") < weight_of("It rained.") < weight_of("Please call.") < 1.0
