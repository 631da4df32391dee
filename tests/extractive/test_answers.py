"""What of a result the user said, and by which lines that is known."""

from typing import Any

import pytest
from answers import ANSWERS, NO_ANSWERS, QUESTIONS, REJECTED, RULE
from build import LONG, anthropic, assistant, call, result, user

from condense_cli.core.markers import Gap
from condense_cli.core.transcript import Block, Place
from condense_cli.core.values import BlockKind, LazyText
from condense_cli.extractive.answers import is_all_words, lines_with_words, words_in
from condense_cli.ledger.collect import collect

FEEDBACK, *_ = ANSWERS["feedback"]


def of_call(text: str, tool: str = "Bash", **members: Any) -> Block:
    return Block(BlockKind.TOOL_RESULT, Place(0, ()), (), content=text, call_id="asked", tool=tool, **members)


@pytest.mark.parametrize("name", ANSWERS)
def test_what_was_answered_is_found(name: str) -> None:
    text, words, tool = ANSWERS[name]
    assert words_in(of_call(text, tool)) == words
    said = [user("Go."), assistant([call("asked", tool, command="npm i")]), user([result("asked", text)])]
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


@pytest.mark.parametrize("name", ["said", "reason", "denied", "answered", "rejected", *QUESTIONS])
def test_a_whole_result_is_an_answer(name: str) -> None:
    text, _, tool = ANSWERS[name]
    assert is_all_words(of_call(text, tool))
    assert lines_with_words(of_call(text, tool)) == {*text.split("\n")}


# An unknown tool, a question that failed, one that nobody answered, and one whose answer was cut before.
def test_a_question_may_have_no_answer() -> None:
    assert not words_in(of_call("the query found 3 rows", "task_user"))
    assert not words_in(of_call("Error: No such tool available: AskUserQuestion", "AskUserQuestion", is_error=True))
    assert not words_in(of_call(" ", "AskUserQuestion"))
    assert not words_in(of_call(str(Gap("0123abcd", 12)), "AskUserQuestion"))
    refused = ANSWERS["said"][0]
    assert words_in(of_call(refused, "AskUserQuestion", is_error=True)) == RULE


# By a field of the format, whatever the tool and the words.
def test_what_the_format_calls_an_answer_is_one() -> None:
    said = "Not like this, the person says: use pnpm."
    assert not words_in(of_call(said))
    assert words_in(of_call(said, is_answer=True, is_error=True)) == said
    for nothing in NO_ANSWERS[1:3]:
        assert not words_in(of_call(nothing, is_answer=True, is_error=True))
    stop = "STOP what you are doing."
    assert words_in(of_call(f"{REJECTED}To tell you how to proceed, the user said:\n{stop}", is_answer=True)) == stop


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
