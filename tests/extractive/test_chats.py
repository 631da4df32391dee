"""Chats without tools: the user's rules and decisions outlast all else, the assistant's decisions what it explains."""

from collections.abc import Sequence

import pytest
from build import anthropic, assistant, call, condense, extract, openai, result, texts, user
from msgspec.structs import replace
from words_law import newest_stay, users_words_go_last

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Transcript
from condense_cli.extractive.survey import Survey
from condense_cli.ledger.entries import UserRequest
from condense_cli.ledger.text import quoted
from condense_cli.passes.condensation import Condensation
from condense_cli.tokens.counting import Counter

COUNT = Counter()
RULES = (
    "Never quote the mayor.",
    "All prices must be in kroner.",
    "Ab sofort bitte nur noch mit Quellen.",
    "Il faut toujours saluer la directrice.",
    "请不要提到那家银行。",
)
DECIDED = ("Agreed, the fair moves to Sandvika.", "We decided on the harbour stage.")
PLACES = 45


def chat(replies: int = 3) -> Transcript:
    """A chat of which the user says about half; rules are in the middle of what is said there."""
    messages = [user("Let me tell you about the fair.")]
    for number in range(PLACES):
        said = [f"Stall {word} had a tent as wide as it was {word}." for word in (f"a{number}x", f"b{number}y")]
        if number % 9 == 4:
            said.insert(1, RULES[number // 9])
        reply = [f"Some would call {word}{number} a fair of its own kind." for word in ("qa", "qb", "qc")[:replies]]
        if number in (7, 21):
            reply.insert(1, DECIDED[number == 21])
        messages += [assistant(" ".join(reply)), user(" ".join(said))]
    return openai(*messages, assistant("It was a fine fair."), user("Go on."))


def condensed(transcript: Transcript, preset: str, percent: int) -> Condensation:
    target = COUNT.transcript(transcript) * percent // 100
    return api.condense(transcript, preset=preset, target_tokens=target)


def standing(found: Condensation, sentences: Sequence[str]) -> list[str]:
    said = "\n".join(texts(found.transcript))
    return [sentence for sentence in sentences if sentence in said]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["balanced", "cost", "max"])
@pytest.mark.parametrize("percent", [20, 30, 50])
def test_rules_of_the_user_stay(preset: str, percent: int) -> None:
    transcript = chat()
    found = condensed(transcript, preset, percent)
    assert not found.is_target_missed
    assert standing(found, RULES) == [*RULES]
    configuration = replace(load_preset(preset), target_tokens=found.target)
    users_words_go_last(found, configuration, COUNT)
    newest_stay(found, configuration, COUNT)
    again = api.condense(found.transcript, preset=preset, target_tokens=found.target)
    assert not again.changes


# Where the user's own words fit, what was agreed is all that has to stay of the rest.
def test_decisions_of_the_assistant_stay_where_the_users_words_fit() -> None:
    found = condensed(chat(), "balanced", 75)
    assert not found.is_target_missed
    assert standing(found, (*RULES, *DECIDED)) == [*RULES, *DECIDED]
    assert not any("own words" in warning for warning in found.warnings)


def test_decisions_stay_without_a_target() -> None:
    found = api.condense(chat(), preset="balanced")
    assert standing(found, (*RULES, *DECIDED)) == [*RULES, *DECIDED]


def test_of_a_long_reply_the_sentences_stay_that_say_something() -> None:
    reply = " ".join(
        f"It is a lovely and rather long walk in all kinds of weather, and in the month of {word}."
        for word in ("May", "June", "July")
    )
    reply += " Agreed, the meeting point is Kiosk_17. " + reply
    transcript = anthropic(user("Go."), assistant(reply), user("Go on."))
    found = condense(
        transcript, extract(selection={"type": "preserve_recent", "keep_recent_count": 0}), target_tokens=70
    )
    (left,) = [text for text in texts(found.transcript) if "Kiosk_17" in text]
    assert "…Agreed, the meeting point is Kiosk_17. …" in left.split("\n")
    assert found.tokens_after <= 70


def test_only_where_people_talk_the_units_are_sentences() -> None:
    said = [user("Go. On."), assistant("One ends. Two begins."), user("Three. Four.")]
    assert [len(units.texts) for units in Survey(anthropic(*said).messages, COUNT).units.values()] == [2, 2, 2]
    called = [*said[:1], assistant([call("t", path="a.py")]), user([result("t", "x. Y")]), *said[1:]]
    assert {len(units.texts) for units in Survey(anthropic(*called).messages, COUNT).units.values()} == {1}


def left_of(budget: int, *requests: str) -> list[str]:
    def measure(left: Sequence[str]) -> int:
        return sum(COUNT(text) + 2 for text in left if text)

    left = quoted([UserRequest(text) for text in requests], budget, COUNT, measure)
    assert measure(left) <= budget
    return left


def test_of_requests_rules_stay_longest_and_of_equal_ones_the_newest() -> None:
    talk, question, rule, other = "Thanks, great!", "Why is it so?", "Never call before noon.", "Never call after nine."
    assert left_of(100, talk, question, rule, other) == [talk, question, rule, other]
    assert left_of(17, talk, question, rule, other) == ["", "", rule, other]
    assert left_of(10, rule, other) == ["", other]
    assert left_of(0, rule) == [""]


def test_of_a_long_request_the_rule_in_it_stays_with_marks() -> None:
    story = " ".join(f"Then {word} happened, and nobody had seen it coming that way." for word in "abcdefghijkl")
    (left,) = left_of(40, f"{story} Never call before noon. {story}")
    assert "…Never call before noon. …" in left.split("\n")
    assert left.count(" characters") == 2


# A rule is short: of two texts that say as much, the long one goes.
def test_a_short_request_stays_longer_than_a_long_one() -> None:
    long = " ".join(f"Never open the {word} gate." for word in "abcdefghijklmnopqrstuv")
    assert left_of(12, "Never call before noon.", long)[0] == "Never call before noon."
