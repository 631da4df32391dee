"""Clients say in results that a file is in the conversation as it is: that goes where a pass cut the file."""

from typing import Any

import laws
import pytest
from build import LONG, anthropic, assistant, call, configuration, cut_to, one_pass, read_turn, result, user

from condense_cli import api
from condense_cli.config.options import Overrides
from condense_cli.core.transcript import Transcript
from condense_cli.extractive.shorten import summarize
from condense_cli.extractive.survey import Survey
from condense_cli.passes.condensation import Condensation
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls.outcomes import without_claims

CURRENT = " (file state is current in your context — no need to Read it back)"
EDITED = "The file {} has been updated successfully."
CREATED = "File created successfully at: {}"
SAME = "Wasted call — file unchanged since your last Read."
LOOK = " Refer to that earlier tool_result instead."
TALK = [message for n in range(4) for message in (assistant(f"Step {n}."), user(f"Go on, {n}."))]
CUT = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 6}, individual_config=cut_to(3))
NOTICE = (
    "<notice>\n<i>You do not need to re-read the file, as you have seen all changes</i>\n<i>Proceed.</i>\n</notice>"
)
OTHERS = "\n".join(f"{n}: other lines, {n} of them" for n in range(40))


def edited(name: str, path: str = "a.py", said: str = EDITED, claim: str = CURRENT) -> list[dict[str, Any]]:
    edit = call(name, "Edit", file_path=path, old_string="old", new_string="new")
    return [assistant([edit]), user([result(name, said.format(path) + claim)])]


def created(name: str, text: str = LONG) -> list[dict[str, Any]]:
    write = call(name, "Write", file_path="a.py", content=text)
    return [assistant([write]), user([result(name, CREATED.format("a.py") + CURRENT)])]


def read_again(name: str) -> list[dict[str, Any]]:
    return read_turn(name, "a.py", SAME + LOOK)


def cut(*turns: dict[str, Any], passes: dict[str, Any] = CUT, **keys: Any) -> Condensation:
    transcript = anthropic(user("Change a.py."), *turns, *TALK)
    return laws.check_all(transcript, configuration(passes, **keys))


def claims(condensed: Condensation | Transcript) -> list[int]:
    """The messages that claim something."""
    transcript = condensed if isinstance(condensed, Transcript) else condensed.transcript
    return [message.index for message, block in transcript.blocks() if without_claims(block.text) != block.text]


def test_a_file_that_was_cut_is_current_no_longer() -> None:
    condensed = cut(*read_turn("r", "a.py"), *edited("e"), *read_again("s"))
    texts = [condensed.transcript.messages[message].blocks[0].text for message in (4, 6)]
    assert texts == [EDITED.format("a.py"), SAME]
    reasons = {change.message: change.reason for change in condensed.changes}
    assert reasons[4] == "old tool result: lines went of the file that it calls current"


# What another client says, and what a copy of the first does.
@pytest.mark.parametrize(
    ("said", "left"),
    [
        (NOTICE, NOTICE.replace("<i>You do not need to re-read the file, as you have seen all changes</i>\n", "")),
        (
            "File unchanged since last read. The content from the earlier Read tool_result in this conversation is "
            "still current — refer to that instead of re-reading.",
            "File unchanged since last read.",
        ),
        (
            f"The file a.py has been updated. All occurrences were successfully replaced.{CURRENT}",
            "The file a.py has been updated. All occurrences were successfully replaced.",
        ),
    ],
)
def test_whatever_the_words_are(said: str, left: str) -> None:
    condensed = cut(*read_turn("r", "a.py"), *edited("e", said=said, claim=""))
    assert condensed.transcript.messages[4].blocks[0].text == left


# A file that nothing was cut of, or another one; one that was read again since; and one that the call itself wrote.
def test_a_file_that_is_there_stays_current() -> None:
    assert claims(cut(*read_turn("r", "a.py", "x = 1"), *edited("e"), *read_turn("o", "b.py"))) == [4]
    assert claims(cut(*read_turn("r", "a.py"), *read_turn("s", "a.py", "x = 1"), *edited("e"))) == [6]
    assert claims(cut(*read_turn("r", "a.py"), *created("w"), *edited("e"))) == [4, 6]
    assert claims(cut(*read_turn("r", "a.py"), *edited("e", "b.py"))) == [4]
    failed = [assistant([call("f", "Read", file_path="a.py")]), user([result("f", LONG, is_error=True)])]
    assert claims(cut(*failed, *edited("e"))) == [4]


# A part of a file, and the words that there is nothing new to read, say nothing of the rest.
def test_a_part_that_is_read_does_not_make_the_file_current() -> None:
    part = [assistant([call("p", "Read", file_path="a.py", offset=3, limit=1)]), user([result("p", "x = 1")])]
    assert claims(cut(*read_turn("r", "a.py"), *part, *edited("e"))) == []
    assert claims(cut(*read_turn("r", "a.py"), *read_again("s"), *edited("e"))) == []


def test_what_a_call_wrote_has_to_be_there() -> None:
    shorter = {"operation": "truncate", "params": {"truncate": {"max_lines": 2}}}
    parameters = one_pass(individual_config={"defaults": {"tool_parameters": shorter}})
    assert claims(cut(*created("w"), *created("x", "x = 1"), passes=parameters)) == [4]
    removed = cut(
        *read_turn("r", "a.py"), *edited("e"), passes=one_pass(selection={"type": "custom", "range": {"end": 3}})
    )
    assert claims(removed) == [4], "the pass may not touch this"


# References are undone: nothing is cut.
def test_a_lossless_run_leaves_the_words() -> None:
    transcript = anthropic(user("Go."), *read_turn("r", "a.py"), *edited("e"), *read_turn("s", "a.py"), *TALK)
    condensed = laws.check_all(transcript, configuration(lossless_prelude={}))
    assert [change.message for change in condensed.changes] == [2]
    assert claims(condensed) == [4]


# What was cut by an earlier run is cut; and where the words are among what stays, the next run takes them.
def test_later_runs_go_on() -> None:
    once = api.loads(api.dump(cut(*read_turn("r", "a.py"), *TALK[:2])))
    later = [*api.dump_messages(once), *edited("e"), *read_turn("o", "b.py", OTHERS), *TALK]
    again = laws.check_all(anthropic(*later), configuration(CUT))
    assert claims(again) == []
    newest = anthropic(user("Go."), *read_turn("r", "a.py"), *TALK[:4], *edited("e"))
    assert claims(laws.check_all(newest, configuration(CUT))) == [8]


def test_pins_keep_the_words() -> None:
    assert claims(cut(*read_turn("r", "a.py"), *edited("e"), pins=[{"range": {"start": 4, "end": 5}}])) == [4]


def test_a_result_that_is_cut_too_has_one_receipt() -> None:
    said = f"{EDITED}{CURRENT}\nProblems:\n{OTHERS}"
    condensed = cut(*read_turn("r", "a.py"), *edited("e", said=said, claim=""))
    assert condensed.transcript.messages[4].blocks[0].text.startswith(f"{EDITED.format('a.py')}\nProblems:\n0: other")
    assert [change.message for change in condensed.changes] == [2, 4]


# The file is not there as it is where lines of it are picked.
def test_no_summary_says_them() -> None:
    survey = Survey(anthropic(user("Go."), *read_turn("r", "a.py"), *edited("e"), *TALK).messages, Counter())
    summary = summarize(survey, 1, 5, 10_000)
    assert f"result:\n{EDITED.format('a.py')}\n" in f"{summary}\n"
    for preset in ("balanced", "max"):
        transcript = anthropic(user("Go."), *read_turn("r", "a.py"), *edited("e"), *TALK)
        condensed = api.condense(transcript, preset=preset, overrides=Overrides(target_percent=30))
        assert condensed.changes
        assert claims(condensed) == []
