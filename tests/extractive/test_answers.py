"""What of a result the user said, and by which lines that is known."""

from typing import Any

import pytest
from answers import ANSWERS, NO_ANSWERS, QUESTIONS, REJECTED, RULE
from build import LONG, anthropic, assistant, call, cut_to, extract, one_pass, read_turn, reasons, result, user
from build import condense as run

from condense_cli import api
from condense_cli.core.markers import Gap
from condense_cli.core.transcript import Block, Place, Transcript
from condense_cli.core.values import BlockKind, LazyText
from condense_cli.extractive.answers import is_all_words, lines_with_words, words_in
from condense_cli.ledger.collect import collect
from condense_cli.passes.receipts import Kept
from condense_cli.passes.words import lost

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


def answered(text: str, turns: int = 30, tool: str = "Bash") -> Transcript:
    """A long session, in the middle of which the user answered a call."""
    asked = [assistant([call("asked", tool, command="npm install")]), user([result("asked", text)])]
    before, after = (
        [message for n in range(turns) for message in read_turn(f"{name}{n}", f"{name}_{n}.py", f"{LONG}\n{name}{n}")]
        for name in ("b", "a")
    )
    return anthropic(user("Go."), *before, *asked, *after, assistant("Done."))


def is_said(words: str, transcript: Transcript) -> bool:
    texts = [block.text for _, block in transcript.blocks() if block.kind is not BlockKind.TOOL_CALL]
    return any(words in text or all(line in text for line in words.split("\n")) for text in texts)


def call_with(transcript: Transcript) -> str:
    return next(block.text for _, block in transcript.blocks() if block.answers == "asked")


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("preset", ["balanced", "cost", "speed", "max"])
def test_answers_stay_where_all_else_goes(preset: str, name: str) -> None:
    text, words, tool = ANSWERS[name]
    transcript = answered(text, tool=tool)
    condensation = api.condense(transcript, preset=preset, target_tokens=2_500)
    assert is_said(words, condensation.transcript)
    assert not lost(transcript.messages, condensation.transcript.messages)
    again = api.condense(api.loads(api.dump(condensation)), preset=preset, target_tokens=2_500)
    assert is_said(words, again.transcript)


def test_a_pass_over_results_leaves_answers_alone() -> None:
    text, *_ = ANSWERS["context"]
    for individual in ({"defaults": {"tool_results": {"operation": "suppress"}}}, cut_to(2)):
        condensation = run(answered(text, 3), one_pass(individual_config=individual))
        assert call_with(condensation.transcript) == text
        assert Kept.WORDS in reasons(condensation)


# Of a result that says more than the answer, the rest goes like that of any other.
def test_what_the_tool_said_beside_an_answer_goes() -> None:
    text, words, _ = ANSWERS["context"]
    condensation = run(answered(text, 3), extract(), target_tokens=1_000)
    left = call_with(condensation.transcript)
    assert words in left
    assert len(left) < len(text) // 2
    missed = run(answered(text, 3), extract(), target_tokens=100)
    assert any("own words" in warning for warning in missed.warnings)
