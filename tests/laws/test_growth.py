"""Work that would take the square of its input, counted in operations: twice the input, about twice the work."""

import runpy
import sys
from typing import Any
from unittest.mock import Mock

import pytest
from real import PROJECT

from condense_cli import api
from condense_cli.core import json_text
from condense_cli.core.transcript import Block, Message
from condense_cli.core.values import LazyText
from condense_cli.extractive import reading, shorten
from condense_cli.extractive import reasons as finding
from condense_cli.extractive.answers import own_units
from condense_cli.extractive.parts import Key, restated_units
from condense_cli.extractive.reason import Reason
from condense_cli.extractive.survey import Survey
from condense_cli.lossless import references
from condense_cli.lossless.encode import encode
from condense_cli.lossless.pieces import Finders
from condense_cli.passes.modes.chosen import _with_halves
from condense_cli.tokens.counting import Counter

TIMES = 2.6
"""What twice the input may take: twice as much, and what a logarithm or a threshold adds."""
SHAPES: dict[str, Any] = runpy.run_path(str(PROJECT / "benchmarks" / "hostile_shapes.py"))["SHAPES"]
SLOW = {
    "many blocks": 30_000, "many arguments": 8_000, "one todo list": 8_000, "references to tags": 8_000,
    "references in arguments": 8_000,
}  # fmt: skip
"""Shapes that took the square of their size once, and how many bytes show it."""


class Work:
    """What is done: calls of functions, and characters of texts that are read or searched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.characters = 0
        for holder, name in (
            (LazyText, "__str__"), (LazyText, "__contains__"), (references, "elements"), (references, "by_tag"),
            (json_text, "replace_values"),
        ):  # fmt: skip
            monkeypatch.setattr(holder, name, self._counted(getattr(holder, name)))

    def _counted(self, function: Any) -> Any:
        def counted(text: Any, *more: Any) -> Any:
            self.characters += len(text.literal) if isinstance(text, LazyText) else len(text)
            return function(text, *more)

        return counted

    def profile(self, frame: Any, event: str, argument: Any) -> None:
        self.calls += event == "call"

    def of(self, records: list[dict[str, Any]], **options: Any) -> tuple[int, int]:
        """The calls and characters that condensing takes."""
        self.calls = self.characters = 0
        transcript = api.loads(records)
        before = sys.getprofile()
        sys.setprofile(self.profile)
        try:
            api.dump(api.condense(transcript, **options))
        finally:
            sys.setprofile(before)
        return self.calls, self.characters


@pytest.mark.slow
@pytest.mark.parametrize("shape", SLOW)
def test_twice_the_input_is_about_twice_the_work(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, size = Work(monkeypatch), SLOW[shape]
    once, twice = (work.of(SHAPES[shape](size * factor), preset="max") for factor in (1, 2))
    assert twice[0] <= TIMES * once[0], "calls"
    assert twice[1] <= TIMES * once[1] + size, "characters"


# Whether a block may change depends on its whole text, which may have thousands of states.
def test_a_block_is_asked_about_once() -> None:
    messages = api.loads(SHAPES["reminders"](4_000)).messages
    asked: list[int] = []

    def may_change(message: Message, block: Block) -> bool:
        asked.append(id(block))
        return True

    encode(messages, Finders(), Counter(), may_change)
    assert len(asked) == len(set(asked))


class Searched(tuple[int, ...]):
    """Numbers that are compared one after the other wherever one is looked for among them."""

    compared = 0

    def __contains__(self, number: object) -> bool:
        Searched.compared += len(self)
        return super().__contains__(number)


# Each line of a text is looked for among the lines that are said again, and among the user's own.
def test_reasons_of_equal_lines_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def found_own(*given: Any) -> Any:
        return {key: found and Searched(found) for key, found in own_units(*given).items()}

    monkeypatch.setattr(reading, "restated_units", lambda said: [Searched(found) for found in restated_units(said)])
    monkeypatch.setattr(reading, "own_units", found_own)
    own = "Please keep each of these lines.\n" * 200
    records = [
        {"role": "user", "content": f"{own}```\nx\n```\n"},
        {"role": "assistant", "content": "Let me look again.\n" * 200},
    ]
    left: dict[Key, str | None] = {(0, 0, ()): own, (1, 0, ()): None}
    found = finding.Reasons(api.loads(records).messages, left, [], [(0, 0), (1, 0)], Counter())
    reasons = {line.why.reason for place in ((0, 0), (1, 0)) for line in found.of(place)}
    assert {Reason.OWN_WORDS, Reason.REPEATED} <= reasons
    assert Searched.compared == 0


# What the assistant says again later is looked for in the whole conversation.
def test_texts_that_are_shortened_one_by_one_are_priced_together(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey(api.loads(SHAPES["equal turns"](8_000)).messages, Counter())
    looking = Mock(wraps=restated_units)
    monkeypatch.setattr(reading, "restated_units", looking)
    texts = shorten.shorten_each(survey, dict.fromkeys(survey.parts, 9))
    assert len(texts) > 20
    assert looking.call_count == 1


class Counted(set[int]):
    """A set that counts how often all of it is looked at."""

    looks = 0

    def __ge__(self, other: object) -> bool:
        self.looks += 1
        return super().__ge__(other)  # type: ignore[operator]

    def __sub__(self, other: Any) -> set[int]:
        self.looks += 1
        return super().__sub__(other)

    def __rand__(self, other: Any) -> set[int]:
        self.looks += 1
        return {*self}.intersection(other)


@pytest.mark.parametrize("missing", [set(), {5}])
def test_halves_of_calls_that_share_an_id_are_found_at_once(missing: set[int]) -> None:
    messages = api.loads(SHAPES["equal ids"](20_000)).messages[1:-13]
    chosen = Counted({*range(len(messages))} - missing)
    assert len(_with_halves(messages, chosen)) == (len(chosen) if missing else 0)
    assert chosen.looks <= 2
