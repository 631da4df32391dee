"""What the user said in the result of a call goes last, as what was typed does."""

import pytest
from answers import ANSWERS
from build import LONG, anthropic, assistant, call, cut_to, extract, one_pass, read_turn, reasons, result, user
from build import condense as run

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.passes.receipts import Kept
from condense_cli.passes.words import lost


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


def of_call(transcript: Transcript) -> str:
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
        assert of_call(condensation.transcript) == text
        assert Kept.WORDS in reasons(condensation)


# Of a result that says more than the answer, the rest goes like that of any other.
def test_what_the_tool_said_beside_an_answer_goes() -> None:
    text, words, _ = ANSWERS["context"]
    condensation = run(answered(text, 3), extract(), target_tokens=1_000)
    left = of_call(condensation.transcript)
    assert words in left
    assert len(left) < len(text) // 2
    missed = run(answered(text, 3), extract(), target_tokens=100)
    assert any("own words" in warning for warning in missed.warnings)
