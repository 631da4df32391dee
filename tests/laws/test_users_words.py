"""The user's own words and the newest turns go last."""

from __future__ import annotations

from typing import Any

import pytest
import words_law
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    conversation,
    extract,
    one_pass,
    read_turn,
    reasons,
    result,
    text,
    user,
)
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core import json_text
from condense_cli.core.markers import gaps_in
from condense_cli.core.transcript import Transcript
from condense_cli.extractive.answers import own_units, pasted_units
from condense_cli.extractive.units import render, split
from condense_cli.formats import parse
from condense_cli.ledger.collect import collect
from condense_cli.passes.receipts import Kept
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

WITH_TARGET = ("balanced", "cost", "speed", "max")
RULES = (
    "Never push to main.",
    "Use tabs here.\nAnd no trailing blanks.",
    "No, the other way round: keep the names, change the bodies.",
    "1: write the test first\n2: see it fail\n3: mend it",
)

SHELL = "<user_shell_command>\n<command>\ngit status\n</command>\n<result>\n"
RAN = "I ran the following shell command:\n```sh\n"


def with_rules(turns: int = 40, every: int = 9) -> Transcript:
    """A long session in which the user said some rules, the last of them long ago."""
    messages: list[dict[str, Any]] = [user("Look at all parts.")]
    for number in range(turns):
        lines = "\n".join(f"value_{number}_{line} = compute({number * line})" for line in range(25))
        messages += read_turn(f"t{number}", f"src/part_{number}.py", lines)
        if number % every == every - 1:
            messages += [assistant("Go on?"), user(RULES[number // every % len(RULES)])]
    return anthropic(*messages, assistant("Done."))


def said(transcript: Transcript) -> list[str]:
    return [rule for rule in RULES if any(block.text == rule for _, block in transcript.blocks())]


def own(typed: str, *before: dict[str, Any]) -> str:
    """What of a typed text is the user's own."""
    transcript = anthropic(user("Go."), *before, user([text(typed)]))
    position = len(transcript.messages) - 1
    number = len(transcript.messages[position].blocks) - 1
    found = own_units(transcript.messages)[position, number]
    texts = split(typed).texts
    return typed if found is None else "\n".join(texts[unit] for unit in found)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("Mend this:\n```py\na = 1\nb = 2\n```\nNow.", "Mend this:\n```py\n```\nNow."),
        ("```\na\n``` and so on\nb\n````\nNow.", "```\na\n``` and so on\n````\nNow."),
        ("Mend this:\n```py\na = 1\nNever push.", "Mend this:\n```py\na = 1\nNever push."),
        ("```py\na = 1\nNever push.\n```js\nb = 1\n```", "```py\na = 1\nNever push.\n```js\n```"),
        ("See\n  7→def f():\n  8→    x\n  9→    y\nNow.", "See\nNow."),
        ("1: write a test\n2: see it fail\n3: mend it", "1: write a test\n2: see it fail\n3: mend it"),
        ("1. one\n2. two\n3. three\n4. four", "1. one\n2. two\n3. three\n4. four"),
        (
            f"{SHELL}clean\n</result>\nof git\n</result>\n</user_shell_command>",
            f"{SHELL}</result>\n</user_shell_command>",
        ),
        (f"{RAN}git status\n```\nand:\n```\nclean\n```", f"{RAN}git status\n```\nand:\n```\n```"),
        (f"{RAN}git status", f"{RAN}git status"),
        (f"{SHELL}clean\nNever push.", f"{SHELL}clean\nNever push."),
        ("> quoted\n> or not\n> who knows", "> quoted\n> or not\n> who knows"),
    ],
)
def test_pasted_is_what_is_fenced_or_numbered_and_all_else_is_the_users(typed: str, words: str) -> None:
    assert own(typed) == words


def test_pasted_is_what_repeats_an_earlier_result() -> None:
    shown = read_turn("t", content="first line\nsecond line\nthird line\nfourth line")
    typed = "It says\nsecond line\nthird line\nfourth line\nwhy?"
    assert own(typed, *shown) == "It says\nwhy?"
    assert own("second line\nthird line\nwhy?", *shown) == "second line\nthird line\nwhy?"
    # What the assistant wrote down and read again is the user's all the same.
    transcript = anthropic(user(typed), *shown)
    assert own_units(transcript.messages) == {(0, 0): None}


@given(st.lists(st.sampled_from(["```", "```py", "~~~~", "```` x", "a", "", "  1→a", "  2→b", "  3→c", "2: x"])))
def test_nothing_more_is_pasted_once_what_is_pasted_was_cut(lines: list[str]) -> None:
    units = split("\n".join(lines))
    pasted = pasted_units(units)
    assert not pasted_units(split(render(units, [unit not in pasted for unit in range(len(units.texts))])))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", WITH_TARGET)
@pytest.mark.parametrize("percent", [60, 30, 15, 8])
def test_rules_stay_at_every_target_that_leaves_room(preset: str, percent: int) -> None:
    transcript = with_rules()
    target = Counter.of(transcript).transcript(transcript) * percent // 100
    condensation = api.condense(transcript, preset=preset, target_tokens=target)
    assert condensation.tokens_after <= target
    assert set(RULES) <= set(words_law.quoted(condensation))


@pytest.mark.slow
@pytest.mark.parametrize("preset", WITH_TARGET)
def test_rules_stay_over_five_rounds(preset: str) -> None:
    messages: list[Any] = []
    rules: list[str] = []
    for number in range(5):
        rules.append(f"{RULES[number % len(RULES)]} (Rule {number})")
        new = [message for n in range(12) for message in read_turn(f"r{number}_{n}", f"{n}.py", f"{LONG}\n{number}{n}")]
        messages += [user(rules[-1]), *new, assistant("Done.")]
        transcript = anthropic(*messages)
        target = Counter.of(transcript).transcript(transcript) // 4
        condensation = api.condense(transcript, preset=preset, target_tokens=target)
        assert condensation.tokens_after <= target
        assert set(rules) <= set(words_law.quoted(condensation)), number
        messages = json_text.parse(api.dump(condensation))


@pytest.mark.slow
@pytest.mark.parametrize("preset", WITH_TARGET)
def test_rules_stay_while_targets_fall(preset: str) -> None:
    transcript = with_rules()
    tokens = Counter.of(transcript).transcript(transcript)
    for percent in (45, 30, 20, 12, 8):
        target = tokens * percent // 100
        condensation = api.condense(transcript, preset=preset, target_tokens=target)
        assert condensation.tokens_after <= target
        assert set(RULES) <= set(words_law.quoted(condensation)), percent
        transcript = api.loads(api.dump(condensation))


def test_what_is_pasted_goes_and_the_words_around_it_stay() -> None:
    log = "\n".join(f"12:00:{second:02} all is well, nothing to see here" for second in range(60))
    typed = f"Please look at this:\n```\n{log}\n```\nNever restart the server."
    messages = [user("Go."), assistant("Yes?"), user(typed), assistant("I do."), *conversation(4)[1:]]
    transcript = anthropic(*messages)
    condensation = condense(transcript, extract(), target_tokens=600)
    (kept,) = (block.text for _, block in condensation.transcript.blocks() if "look at this" in block.text)
    assert "all is well" not in kept
    assert "[… " in kept
    assert "Never restart the server." in kept.split("\n")
    assert condensation.tokens_after <= 600
    assert not any("own words" in warning for warning in condensation.warnings)


def test_words_go_once_all_else_is_gone_and_that_is_told() -> None:
    rules = "\n".join(f"Rule {number}: never do {number * 7919}." for number in range(40))
    transcript = anthropic(user("Go."), assistant("Yes?"), user(rules), assistant(LONG), *conversation(2)[1:])
    count = Counter.of(transcript)
    words = count(rules)
    selection = {"type": "preserve_recent", "keep_recent_count": 0}
    kept = condense(transcript, extract(selection=selection), target_tokens=words + 200)
    assert rules in {block.text for _, block in kept.transcript.blocks()}
    assert Kept.WORDS in reasons(kept)
    cut = condense(transcript, extract(selection=selection), target_tokens=words // 2 + 100)
    assert cut.tokens_after <= words // 2 + 100
    assert rules not in {block.text for _, block in cut.transcript.blocks()}
    assert any("too small for all of the user's own words" in warning for warning in cut.warnings)
    left = extract(selection=selection, extract_config={"out_of_reach": "leave"})
    assert not condense(transcript, left, target_tokens=words // 2 + 100).changes


def test_short_texts_of_the_user_go_after_long_ones() -> None:
    long = "\n".join(f"And number {number} is {number * 7919}." for number in range(200))
    rules = [f"Rule {number}: never do {number * 7919}." for number in range(6)]
    messages = [message for rule in (*rules, long) for message in (assistant("Yes?"), user(rule))]
    transcript = anthropic(user("Go."), *messages, *conversation(2)[1:])
    for target in (900, 400):
        condensation = api.condense(transcript, preset="balanced", target_tokens=target)
        assert condensation.tokens_after <= target
        assert set(rules) <= set(words_law.quoted(condensation))
        assert long not in words_law.quoted(condensation)


def test_a_configuration_that_names_them_wins_and_that_is_told() -> None:
    rule = "Whatever happens, never restart the server that the customers use, and ask before you change its settings."
    transcript = anthropic(user("Go."), assistant("Yes?"), user(rule), assistant("I do."), *conversation(2)[1:])
    for key in ("message_text", "user_messages"):
        suppress = one_pass(individual_config={"defaults": {key: {"operation": "suppress"}}})
        condensation = condense(transcript, suppress)
        assert rule not in words_law.quoted(condensation)
        assert any("Pass only cuts the user's own words" in warning for warning in condensation.warnings)
    kept = condense(transcript, one_pass())
    assert not any("own words" in warning for warning in kept.warnings)


# What the client wrote is no word of the user's, by the format's fields or by its tag around the whole block.
def test_what_the_client_wrote_is_ordinary() -> None:
    reminder = f"<system-reminder>\n{LONG}\n</system-reminder>"
    messages = [user("Go."), assistant("Yes?"), user([text(reminder), text("Go on.")]), assistant("I do.")]
    condensation = condense(anthropic(*messages, *conversation(2)[1:]), extract(), target_tokens=200)
    texts = [block.text for _, block in condensation.transcript.blocks()]
    assert reminder not in texts
    assert "Go on." in texts


def test_a_ledger_quotes_all_that_the_user_said_and_some_of_what_was_pasted() -> None:
    words = "\n".join(f"Rule {number}: never do {number * 7919}." for number in range(300))
    log = "\n".join(f"log line {number} of many" for number in range(300))
    (request,) = collect(anthropic(user(f"{words}\n```\n{log}\n```\nThanks.")).messages).requests
    assert words in request.text
    assert request.text.endswith("```\nThanks.")
    assert "log line 0 of" in request.text
    assert "log line 299 of" in request.text
    assert "log line 150 of" not in request.text
    assert len([gap for gap in gaps_in(request.text) if gap.lines]) == 1


def test_a_summary_quotes_many_words_whatever_the_usual_length_of_its_ledger() -> None:
    rules = [f"Rule {number}: never do {number * 7919}, whoever asks for it and whyever." for number in range(60)]
    turns = [message for number, rule in enumerate(rules) for message in (assistant(f"Step {number}."), user(rule))]
    transcript = anthropic(user("Go."), *turns, *conversation(12)[1:])
    for max_tokens in (None, 200):
        summarization = {"keep_first": 0, "keep_last": 0} | ({"max_tokens": max_tokens} if max_tokens else {})
        batch = {"operation": "summarize", "summarization_config": summarization}
        condensation = condense(transcript, one_pass(mode="batch", batch_config=batch))
        assert set(rules) <= set(words_law.quoted(condensation))
        again = condense(condensation.transcript, one_pass(mode="batch", batch_config=batch))
        assert not again.changes


@pytest.mark.slow
@pytest.mark.parametrize("preset", WITH_TARGET)
def test_the_newest_six_turns_stay_while_they_take_a_third_of_the_target(preset: str) -> None:
    transcript = with_rules()
    count = Counter.of(transcript)
    newest = list(transcript.messages[-5 if preset == "max" else -6 :])  # Its summary leaves five.
    third = 3 * sum(map(count.message, newest))
    condensation = api.condense(transcript, preset=preset, target_tokens=third)
    assert condensation.tokens_after <= third
    assert words_law.are_whole(condensation, newest)
    less = api.condense(transcript, preset=preset, target_tokens=third - 1)
    assert less.tokens_after <= third - 1
    assert words_law.are_whole(less, newest[-1:])


# However much of the target it takes, the newest turn stays while the rest can go.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("room", range(360, 450, 6))
def test_the_newest_turn_stays(room: int) -> None:
    transcript = anthropic(
        *conversation(12)[:-1], assistant([call("new", "Read", file_path="a.py")]), user([result("new")])
    )
    count = Counter.of(transcript)
    newest = [transcript.messages[-1]]
    condensation = api.condense(transcript, preset="balanced", target_tokens=count.message(newest[0]) + room)
    assert not condensation.is_target_missed
    assert words_law.are_whole(condensation, newest)


@pytest.mark.parametrize("percent", [62, 47, 36])
def test_turns_stay_turns_where_that_meets_the_target(percent: int) -> None:
    transcript = with_rules()
    target = Counter.of(transcript).transcript(transcript) * percent // 100
    condensation = api.condense(transcript, preset="balanced", target_tokens=target)
    inserted = [message for message in condensation.transcript.messages if message.is_inserted]
    assert all(message.is_note for message in inserted)


@pytest.mark.parametrize("preset", WITH_TARGET)
@settings(phases=[Phase.generate], max_examples=settings().max_examples // 2)
@given(data=st.one_of(FILES, REPEATING_FILES), model=MODELS, share=st.sampled_from([0.1, 0.3, 0.5, 0.8]))
def test_words_and_newest_turns_go_last(preset: str, data: bytes, model: str | None, share: float) -> None:
    transcript = replace(parse(data), model=model)
    count = Counter.of(transcript)
    target = max(1, int(count.transcript(transcript) * share))
    configuration = replace(load_preset(preset), target_tokens=target)
    condensation = api.condense(transcript, configuration, counter=count, factor=AS_COUNTED)
    words_law.newest_stay(condensation, configuration, count)
    extracting = tuple(config for config in configuration.passes if config.mode != "individual")
    configuration = replace(configuration, passes=extracting)
    condensation = api.condense(transcript, configuration, counter=count, factor=AS_COUNTED)
    words_law.users_words_go_last(condensation, configuration, count)
