"""What the assistant says again: compared here while little is compared, by rapidfuzz where there is more."""

from __future__ import annotations

import json
import random

import pytest
from rapidfuzz import fuzz

from condense_cli import api
from condense_cli.extractive import parts
from condense_cli.extractive.parts import likeness, restated_units
from condense_cli.extractive.survey import Survey
from condense_cli.tokens.counting import Counter

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
    messages = [
        message
        for text in SAID
        for message in ({"role": "user", "content": "Go on."}, {"role": "assistant", "content": text})
    ]
    survey = Survey(api.loads(json.dumps(messages)).messages, Counter())
    assert restated_units(survey.parts, survey.units) == {(1, 0, ()): [0], (5, 0, ()): [0]}
    parts._comparing.cache_clear()
