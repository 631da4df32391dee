"""Short replies of the user keep the question that they answer."""

from __future__ import annotations

import pytest
from build import anthropic, assistant, user

from condense_cli.core.tokens import Counter
from condense_cli.ledger.collect import collect
from condense_cli.ledger.entries import Ledger, UserRequest
from condense_cli.ledger.text import SummarizedStretch, SummaryLimits, parse, render

ASKED = "I found two ways. Shall I delete the old form, or keep it beside the new one?"


def requests(*messages: dict[str, object]) -> tuple[UserRequest, ...]:
    return collect(anthropic(*messages).messages).requests


@pytest.mark.parametrize("reply", ["A", "yes do that", "delete"])
def test_a_short_reply_has_its_question(reply: str) -> None:
    _, found = requests(user("Mend the login form, please."), assistant(ASKED), user(reply))
    assert found == UserRequest(reply, answers=ASKED)


def test_a_reply_is_told_for_each_question() -> None:
    other = "May I push?"
    found = requests(user("Mend it."), assistant(ASKED), user("yes"), assistant(other), user("yes"))
    assert [(each.text, each.answers) for each in found[1:]] == [("yes", ASKED), ("yes", other)]


@pytest.mark.parametrize(
    ("said", "reply"),
    [("Done. The form is mended.", "thanks"), (ASKED, "Never delete anything without a word first. " * 2)],
)
def test_what_says_all_by_itself_has_none(said: str, reply: str) -> None:
    _, found = requests(user("Mend the login form, please."), assistant(said), user(reply))
    assert not found.answers


def test_a_ledger_with_questions_is_read_back() -> None:
    ledger = Ledger(
        requests=(UserRequest("yes", 2, ASKED), UserRequest("two\nlines", answers="a?\nb?"), UserRequest("c"))
    )
    assert parse(render(ledger)) == ledger
    assert f"- [2x] yes\n? {ASKED}\n" in render(ledger)


def test_questions_go_before_words_do() -> None:
    count = Counter()
    talk = [each for n in range(20) for each in (assistant(f"{ASKED} That is number {n}?"), user(f"yes {n}"))]
    stretch = SummarizedStretch.of(anthropic(user("Mend it."), *talk).messages, count)
    assert "?" in stretch.listed(SummaryLimits(), count)
    small = stretch.listed(SummaryLimits(room=400), count)
    assert "?" not in small
    assert all(f"- yes {n}" in small for n in range(20))
