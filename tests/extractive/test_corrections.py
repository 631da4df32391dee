"""What a person said and later corrected: which sentences no longer hold, and that they go first."""

import pytest
from build import anthropic, assistant, user
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.extractive.corrections import outdated, sentences_of
from condense_cli.passes.condensation import Condensation


def gone(*texts: str) -> list[str]:
    statements = [sentences_of(text) for text in texts]
    return [
        each[number].strip()
        for each, found in zip(statements, outdated(statements), strict=True)
        for number in sorted(found)
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The budget is $400 in all.", "The budget is $900 in all."),
        ("The deadline for the review is 2027-03-01.", "The deadline for the review is 2027-05-01."),
        ("Our reports go out by Monday at noon.", "Our reports go out by Friday at noon."),
        ("The tests are in tests/unit today.", "We moved the tests to tests/fast from now on."),
        ("The launch is on March 3.", "Update: the launch was moved to April 7."),
        ("Project spend must stay under $700.", "Quick update: keep project spend below nine hundred dollars."),
        ("The project codename is HERON-17.", "We are calling the project OSPREY-44 now."),
        ("Anna Berg owns the release this week.", "Otto Lind now owns the release this week."),
        ("All times have to be in UTC.", "From now on, give all times in Pacific time."),
        ("The user wants terse answers.", "I would rather get playful answers."),
    ],
)
def test_an_earlier_value_no_longer_holds(first: str, second: str) -> None:
    assert gone(first, "Now let us look at the harbour.", second) == [first]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Please fix issue 12 of the parser.", "Please fix issue 13 of the parser."),
        ("The production database is Postgres 15.", "The staging database is MySQL 8."),
        ("The project budget is $400.", "The travel budget is $200."),
        ("The launch is on March 3.", "The launch is on March 3."),
        ("The launch is on March 3.", "The docs are frozen on May 4, and that is new."),
        ("The tests are in tests/unit.", "Now run the tests in tests/fast."),
        ("The budget for house 3 is $400.", "The budget for house 4 is $500."),
        ("That was day 3 of our trip.", "That was day 4 of our trip."),
    ],
)
def test_two_things_both_hold(first: str, second: str) -> None:
    assert gone(first, second) == []


def test_only_the_sentence_goes() -> None:
    first = "The budget is $400 in all. Never spend it on cake."
    assert gone(first, "The budget is $900 in all.") == ["The budget is $400 in all."]


def test_a_document_corrects_nothing() -> None:
    steps = "\n".join(f"Step {number} is due by 2027-03-{number:02}." for number in range(1, 12))
    assert gone(steps) == []


CHATTER = "The harbour looks small in this light, and nobody knows for sure why that is."


def chat(*said: str) -> list[dict[str, object]]:
    """A chat with these words of the user between others."""
    turns: list[dict[str, object]] = []
    for number in range(40):
        words = (
            said[number // 8] if number % 8 == 4 and number // 8 < len(said) else f"{CHATTER} That was day {number}."
        )
        turns += [user(words), assistant(f"Indeed. {CHATTER} So it seems on day {number}.")]
    return turns


def cut(turns: list[dict[str, object]], target: int) -> Condensation:
    return api.condense(anthropic(*turns), replace(load_preset("balanced"), target_tokens=target))


def left(condensed: Condensation) -> str:
    return "\n".join(block.text for _, block in condensed.transcript.blocks())


OLD, NEW, RULE = "The budget is $400 in all.", "The budget is $900 in all.", "Never call the harbour a port."


@pytest.mark.parametrize("target", [300, 600, 900])
def test_the_corrected_one_goes_before_anything_newer(target: int) -> None:
    condensed = cut(chat(OLD, RULE, NEW), target)
    assert not condensed.is_target_missed
    assert NEW in left(condensed)
    assert RULE in left(condensed)
    assert OLD not in left(condensed)
    assert any("later ones correct" in warning and OLD in warning for warning in condensed.warnings)


def test_without_a_target_all_words_stay() -> None:
    condensed = api.condense(anthropic(*chat(OLD, RULE, NEW)), load_preset("balanced"))
    assert OLD in left(condensed)


def test_an_acknowledgement_takes_no_room_of_a_rule() -> None:
    rules = [
        f"Never call the {name} a {other}." for name, other in (("pier", "dock"), ("gull", "duck"), ("fog", "mist"))
    ]
    turns = chat(*rules)
    for number in range(1, len(turns) - 2, 2):
        turns[number] = assistant("Got it.")
    condensed = cut(turns, 170)
    assert all(rule in left(condensed) for rule in rules)
    assert "Got it." not in left(condensed)
