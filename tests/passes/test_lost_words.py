"""Whether words of the user are gone: from their own message, and from every ledger that could quote them."""

from typing import Any

import pytest
from build import anthropic, assistant, user
from msgspec.structs import replace

from condense_cli.config.loading import parse_configuration
from condense_cli.core.transcript import Message
from condense_cli.ledger.entries import Ledger, UserRequest
from condense_cli.ledger.text import render
from condense_cli.passes.receipts import changed
from condense_cli.passes.words import lost, told

RULE = "Never touch the tests.\nAsk before you push."
PASTED = "Look at this:\n```\nERROR one\nERROR two\n```\nMend it."
SAID: list[dict[str, Any]] = [user("Find the bug."), assistant("Yes."), user(RULE), assistant("I will."), user(PASTED)]


def read(*messages: dict[str, Any]) -> list[Message]:
    return [*anthropic(*(messages or SAID)).messages]


def saying(messages: list[Message], position: int, words: str) -> list[Message]:
    """The messages with one that says something else."""
    message = messages[position]
    block = message.blocks[0].with_text(words)
    return [*messages[:position], replace(message, blocks=(block, *message.blocks[1:])), *messages[position + 1 :]]


def summary(message: Message, *requests: str) -> Message:
    """The message as a summary, whose ledger quotes these."""
    words = (
        f"What happened.\n\n{render(Ledger(requests=tuple(map(UserRequest, requests))))}"
        if requests
        else "What happened."
    )
    return replace(message, blocks=(replace(message.blocks[0].with_text(words), summarizes=True),))


def test_nothing_is_lost_where_nothing_changed() -> None:
    assert lost(read(), read()) == []


@pytest.mark.parametrize("position", [0, 2, 4])
def test_words_that_are_cut_are_lost(position: int) -> None:
    assert lost(read(), saying(read(), position, "…")) == [(position, 0)]


def test_words_that_went_are_lost() -> None:
    messages = read()
    assert lost(messages, [messages[1], messages[3]]) == [(0, 0), (2, 0), (4, 0)]


def test_words_of_others_are_not_the_users() -> None:
    messages = read()
    assert lost(messages, [messages[0], messages[2], messages[4]]) == []
    injected = read(user("<system-reminder>Be brief.</system-reminder>"), assistant("a"), user("b"))
    assert lost(injected, injected[1:]) == []


def test_what_is_added_loses_nothing() -> None:
    assert lost(read(), saying(read(), 0, "Before. Find the bug. After.")) == []


# Each line stays, whatever came between them.
def test_lines_may_stand_apart() -> None:
    assert lost(read(), saying(read(), 2, "Ask before you push.\n[…]\nNever touch the tests.")) == []
    assert lost(read(), saying(read(), 2, "Never touch the tests.")) == [(2, 0)]
    shuffled = " ".join(sorted(RULE.split()))
    assert lost(read(), saying(read(), 2, shuffled)) == [(2, 0)]


def test_what_is_pasted_may_go() -> None:
    assert lost(read(), saying(read(), 4, "Look at this:\n```\n…\n```\nMend it.")) == []
    assert lost(read(), saying(read(), 4, "Look at this:\n```\nERROR one\nERROR two\n```")) == [(4, 0)]


def test_what_a_ledger_quotes_is_not_lost() -> None:
    messages = read()
    kept = [summary(messages[1], RULE, "Find the bug."), messages[3]]
    assert lost(messages, [*kept, messages[4]]) == []
    assert lost(messages, kept) == [(4, 0)]
    assert lost(messages, [summary(messages[1]), messages[4]]) == [(0, 0), (2, 0)]


# A text that only looks like the rest of a summary quotes nobody.
def test_only_a_summary_quotes() -> None:
    messages = read()
    talk = saying(messages, 1, f"What happened.\n\n{render(Ledger(requests=(UserRequest(RULE),)))}")
    assert lost(messages, [talk[1], messages[0], messages[4]]) == [(2, 0)]


def test_what_an_earlier_summary_quotes_must_stay_too() -> None:
    messages = read()
    before = [summary(messages[0], "Find the bug.", RULE), *messages[3:]]
    assert lost(before, [summary(messages[0], RULE, "Find the bug.", "more"), *messages[3:]]) == []
    assert lost(before, [summary(messages[0], RULE), *messages[3:]]) == [(0, 0)]
    assert lost(before, messages[3:]) == [(0, 0)]
    silent = [summary(messages[0]), *messages[3:]]
    assert lost(silent, messages[3:]) == []


def test_indices_are_those_of_the_transcript() -> None:
    messages = read()[2:]
    assert lost(messages, messages[1:]) == [(2, 0)]


INDIVIDUAL = '{"id": "%s", "selection": {"type": "custom"}, "mode": "individual", "individual_config": {}}'
BATCH = '{"id": "sum", "selection": {"type": "custom"}, "mode": "batch", "batch_config": {}}'


def said(cut: dict[int, str], passes: list[str], target: int | None = None) -> list[str]:
    """What is told where these messages lost their words, each to a pass."""
    messages = after = read()
    receipts = []
    for position, id in cut.items():
        receipts.append(changed(id, messages[position], 0, "truncate", 10, 1, "x"))
        after = saying(after, position, "…")
    configuration = parse_configuration(f'{{"passes": [{", ".join(passes)}]}}')
    return told(messages, after, receipts, configuration, target)


def test_nothing_is_said_where_nothing_is_lost() -> None:
    assert said({}, [INDIVIDUAL % "one"], 100) == []
    assert said({1: "one"}, [INDIVIDUAL % "one"], 100) == []


def test_passes_that_are_configured_to_cut_words_are_named() -> None:
    both = [INDIVIDUAL % "one", INDIVIDUAL % "two", BATCH]
    assert said({0: "one"}, both) == ["Pass one cuts the user's own words, as configured: 1 text."]
    assert said({0: "two", 1: "one", 2: "one", 4: "two"}, both, 100) == [
        "Pass two cuts the user's own words, as configured: 2 texts.",
        "Pass one cuts the user's own words, as configured: 1 text.",
    ]


def test_the_target_is_the_reason_for_all_others() -> None:
    assert said({0: "sum"}, [BATCH], 100) == ["The target is too small for all of the user's own words: 1 text cut."]
    assert said({0: "sum", 2: "one", 4: "sum"}, [INDIVIDUAL % "one", BATCH], 0) == [
        "Pass one cuts the user's own words, as configured: 1 text.",
        "The target is too small for all of the user's own words: 2 texts cut.",
    ]
    assert said({0: "sum"}, [BATCH]) == []
