"""Provider truncation: what is cut, what is suppressed, and what stays."""

from typing import Any

import pytest
from build import LONG, anthropic, assistant, call, configuration, openai, result, text, user

from condense_cli import api
from condense_cli.config.checks import value_warnings
from condense_cli.core.markers import gaps_in
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.passes.condensation import Condensation

QUESTION = user("First of all, what is in src?")
REMARK = "\n".join(f"What I think about item {n} is this." for n in range(30))


def talk(turns: int = 8) -> Transcript:
    """Turns of a request, a call with words beside it, its result, and a long answer."""
    return anthropic(QUESTION, *(message for number in range(turns) for message in turn(number)))


def turn(number: int) -> list[dict[str, Any]]:
    words = "\n".join(f"{number} beside the call, line {line} of my words" for line in range(30))
    arguments = {"path": f"src/file{number}.py", "content": f"{number} " + "new text " * 80}
    return [
        assistant([text(words), call(f"c{number}", "Write", **arguments)]),
        user([result(f"c{number}", f"{number}\n{LONG}")]),
        assistant(f"{number}\n{REMARK}"),
        user(f"{number} please go on:\n{REMARK}"),
    ]


def run(transcript: Transcript | None = None, **settings: object) -> Condensation:
    found = api.condense(transcript or talk(), configuration(provider="truncation", truncation=settings))
    api.dump(found)
    return found


def changed(found: Condensation, kind: BlockKind) -> list[str]:
    """Names of what changed: the kind's texts as they are now."""
    return [block.text for _, block in found.transcript.blocks() if block.changed and block.kind is kind]


# The defaults: results of more than five lines and long parameters are cut, words stay.
def test_old_results_and_parameters_are_cut() -> None:
    found = run()
    results = changed(found, BlockKind.TOOL_RESULT)
    assert len(results) == 7
    assert all(len([line for line in cut.split("\n") if not gaps_in(line)]) == 5 for cut in results)
    calls = [block for _, block in found.transcript.blocks() if block.kind is BlockKind.TOOL_CALL and block.changed]
    assert len(calls) == 7
    assert all("src/file" in block.text and len(block.text) < 250 for block in calls)
    assert not changed(found, BlockKind.TEXT)


def test_the_first_message_and_the_newest_stay() -> None:
    for count in (1, 5, 12):
        found = run(preserveRecentCount=count)
        before, after = found.before.messages, found.transcript.messages
        assert after[0] == before[0]
        assert after[-count:] == before[-count:]
        assert after != before


# Suppressed results say how much is gone; parameters are cut all the same, as a call without its path says nothing.
def test_results_can_be_suppressed() -> None:
    found = run(truncationMode="suppress")
    assert all(cut.startswith("[… ") and "\n" not in cut for cut in changed(found, BlockKind.TOOL_RESULT))
    assert all("src/file" in cut for cut in changed(found, BlockKind.TOOL_CALL))


@pytest.mark.parametrize("lines", [1, 20])
def test_results_keep_so_many_lines(lines: int) -> None:
    for cut in changed(run(maxToolResultLines=lines), BlockKind.TOOL_RESULT):
        assert len([line for line in cut.split("\n") if not gaps_in(line)]) == lines


def test_parameters_keep_so_many_characters() -> None:
    short, long = (run(maxToolParamChars=characters) for characters in (50, 300))
    for one, other in zip(changed(short, BlockKind.TOOL_CALL), changed(long, BlockKind.TOOL_CALL), strict=True):
        assert len(one) + 200 < len(other)


# Words are given up by whole messages: those of the user without results, those of the assistant without calls.
@pytest.mark.parametrize(
    ("key", "said"), [("preserveUserMessages", "please go on"), ("preserveAssistantText", REMARK[:20])]
)
def test_words_that_are_not_preserved_are_cut(key: str, said: str) -> None:
    found = run(None, **{key: False})
    texts = changed(found, BlockKind.TEXT)
    assert len(texts) == 6 + (key == "preserveAssistantText")
    assert all(said in cut and gaps_in(cut) for cut in texts)
    assert not any("beside the call" in cut for cut in texts)


def test_words_that_are_not_preserved_are_suppressed_with_the_rest() -> None:
    found = run(truncationMode="suppress", preserveUserMessages=False)
    assert all(cut.startswith("[… ") for cut in changed(found, BlockKind.TEXT))


def test_it_works_where_results_have_a_role_of_their_own() -> None:
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": "{}"}} for n in range(9)]
    messages = [
        message
        for one in calls
        for message in (
            {"role": "assistant", "content": None, "tool_calls": [one]},
            {"role": "tool", "tool_call_id": one["id"], "content": LONG},
        )
    ]
    found = run(openai(QUESTION, *messages), preserveRecentCount=4)
    assert len(changed(found, BlockKind.TOOL_RESULT)) == 7


# Unusual values run, and are told.
def test_unusual_values_are_warned_of() -> None:
    found = run(preserveRecentCount=0, maxToolParamChars=20)
    assert found.changes
    assert list(found.warnings) == [
        "truncation.preserve_recent_count is 0; 1 to 20 is usual. Change it unless you mean it.",
        "truncation.max_tool_param_chars is 20; 50 to 500 is usual. Change it unless you mean it.",
    ]
    assert value_warnings(configuration(provider="truncation", truncation={"preserveRecentCount": 20})) == []
