"""What of a result the user said, and by which lines that is known."""

from __future__ import annotations

import pytest
from answers import ANSWERS, NO_ANSWERS, RULE
from build import LONG, anthropic, assistant, call, result, user

from condense_cli.core.lazy_text import LazyText
from condense_cli.core.transcript import Block, BlockKind, Place
from condense_cli.extractive.answers import is_all_words, lines_with_words, words_in
from condense_cli.ledger.collect import collect

FEEDBACK = ANSWERS["feedback"][0]


def of_call(text: str) -> Block:
    return Block(BlockKind.TOOL_RESULT, Place(0, ()), (), content=text, call_id="asked")


@pytest.mark.parametrize("name", ANSWERS)
def test_what_was_answered_is_found(name: str) -> None:
    text, words = ANSWERS[name]
    assert words_in(of_call(text)) == words
    said = [user("Go."), assistant([call("asked", "Bash", command="npm i")]), user([result("asked", text)])]
    assert words in [request.text for request in collect(anthropic(*said).messages).requests]


@pytest.mark.parametrize("text", NO_ANSWERS)
def test_nothing_else_is_an_answer(text: str) -> None:
    assert not words_in(of_call(text))
    assert not lines_with_words(of_call(text))
    assert not is_all_words(of_call(text))


@pytest.mark.parametrize("name", ["said", "denied", "feedback"])
def test_only_a_result_has_answers(name: str) -> None:
    block = Block(BlockKind.TEXT, Place(0, ()), (), content=ANSWERS[name][0])
    assert not words_in(block)


def test_answers_that_follow_each_other_are_lines() -> None:
    other = FEEDBACK.replace(RULE, "And be quick.")
    assert words_in(of_call(f"{FEEDBACK}\n{other}")) == f"{RULE}\nAnd be quick."


@pytest.mark.parametrize("name", ["said", "reason", "denied", "answered"])
def test_a_whole_result_is_an_answer(name: str) -> None:
    text = ANSWERS[name][0]
    assert is_all_words(of_call(text))
    assert lines_with_words(of_call(text)) == {*text.split("\n")}


def test_of_a_result_beside_an_answer_other_lines_are_not_the_users() -> None:
    text = f"{LONG}\n{FEEDBACK}\n{LONG}"
    assert not is_all_words(of_call(text))
    assert lines_with_words(of_call(text)) == {*FEEDBACK.split("\n")}
    assert words_in(of_call(text)) == RULE


# A long text is held as the literal that spells it, of which only the beginning is read first.
@pytest.mark.parametrize("name", ["said", "reason", "denied", "answered"])
def test_long_answers_are_found(name: str) -> None:
    text = ANSWERS[name][0].replace("pnpm", "pnpm " * 200)
    said = anthropic(user("Go."), assistant([call("asked", "Bash")]), user([result("asked", text)]))
    block = said.messages[-1].blocks[0]
    assert isinstance(block.content, LazyText)
    assert "pnpm pnpm" in words_in(block)
    assert is_all_words(block)
    assert not is_all_words(anthropic(user("Go."), assistant("x"), user(f"x{text}")).messages[-1].blocks[0])
