"""Never replaced by references: refusals, lines that explain an error, and anything in the newest six turns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    configuration,
    one_pass,
    openai,
    read_turn,
    result,
    texts,
    thinking,
    user,
)
from hypothesis import given
from hypothesis import strategies as st

from condense_cli import api
from condense_cli.core.markers import REFERENCE_PREFIX
from condense_cli.core.transcript import Transcript
from condense_cli.toolcalls.outcomes import Endings

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
DENIED = "The user denied this operation and provided the following feedback:\n<feedback>\n{}\n</feedback>".format(
    "\n".join(f"Leave file {number} alone, others work on it at the moment." for number in range(9))
)
TALK = [message for n in range(3) for message in (assistant(f"Step {n}."), user(f"Go on, {n}."))]
"""Six turns, so that nothing before them is among the newest."""


def flagged(*results: tuple[str, str, bool]) -> Transcript:
    """Calls of a client that flags errors: of each the command, the result, and whether it failed."""
    turns: list[dict[str, Any]] = []
    for number, (command, said, is_error) in enumerate(results):
        turns += [
            assistant([call(f"c{number}", "Bash", command=command)]),
            user([result(f"c{number}", said, **({"is_error": True} if is_error else {}))]),
        ]
    return anthropic(user("Clean up."), *turns, *TALK)


def unflagged(*results: tuple[str, str, bool]) -> Transcript:
    """The same in chat completions, where nothing but its words tells an error."""
    turns: list[dict[str, Any]] = []
    for number, (command, said, _) in enumerate(results):
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        turns += [
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": said},
        ]
    return openai(user("Clean up."), *turns, *TALK)


Client = Callable[..., Transcript]
CLIENTS = pytest.mark.parametrize("client", [flagged, unflagged])


def lossless(transcript: Transcript, **keys: Any) -> Transcript:
    """Condensed by references alone, which are undone again to compare."""
    condensed = api.loads(api.dump(api.condense(transcript, preset="lossless", **keys)), format=transcript.format)
    restored = api.restore(condensed)
    assert (restored.unresolved, texts(restored.transcript)) == (0, texts(transcript))
    return condensed


def says(transcript: Transcript, message: int) -> str:
    return transcript.messages[message].blocks[0].text


# A model that reads a pointer to another refusal does not see that it was told not to do this.
@CLIENTS
@pytest.mark.parametrize("refusal", [REJECTED, DENIED])
def test_a_refusal_stays_word_for_word(client: Client, refusal: str) -> None:
    if client is unflagged and refusal is REJECTED:
        refusal = f"rejected by user: {refusal}"
    condensed = lossless(client(("rm -rf build", refusal, True), ("git push", refusal, True), ("ls", LONG, False)))
    assert says(condensed, 2) == refusal


# The client's failure message and the program's first and last lines stay; the log between may go.
@CLIENTS
def test_what_tells_an_error_stays(client: Client) -> None:
    log = [f"src/module_{number}.c:{number * 7}: warning: unused variable 'value_{number}'" for number in range(30)]
    failure = "\n".join(["Exit code 2", *log, "make: *** [all] Error 2"])
    condensed = lossless(client(("make", failure, True), ("make all", failure, True)))
    lines = says(condensed, 2).split("\n")
    assert lines[:5] == failure.split("\n")[:5]
    assert lines[-1] == "make: *** [all] Error 2"
    assert lines[5].startswith(REFERENCE_PREFIX)
    assert len(lines) == 7


# Failure is known before a pass cuts the lines that tell it, so no reference replaces the cut.
def test_an_error_that_was_cut_is_no_reference() -> None:
    failure = f"Exit code 2\n{LONG}"
    transcript = unflagged(("make", failure, True), ("make", failure, True))
    older = one_pass(selection={"type": "custom", "range": {"start": 2, "end": 3}})
    condensed = api.condense(transcript, configuration(older, lossless_prelude={})).transcript
    assert says(condensed, 2).startswith("[… 41 lines")


# A client says again what an edit did not find: that may be looked up in the call, what it says of it may not.
def test_an_error_refers_to_its_call_behind_its_first_lines() -> None:
    said = f"String to replace not found in file.\nString:\n{LONG}"
    turns = [
        assistant([call("e", "Edit", file_path="a.py", old_string=LONG, new_string="x")]),
        user([result("e", said, is_error=True)]),
    ]
    condensed = lossless(anthropic(user("Write it."), *turns, *TALK))
    lines = says(condensed, 2).split("\n")
    assert lines[:5] == said.split("\n")[:5]
    assert lines[5].startswith("[see lines 3-38 of old_string of this call #")
    assert lines[6:] == said.split("\n")[-1:]


# Nothing refers to an edit that was not made: of two edits with one text the older one, which was made, has it.
def test_no_reference_leads_into_a_call_that_failed() -> None:
    def work(*failed: bool) -> Transcript:
        turns: list[dict[str, Any]] = []
        for number, is_error in enumerate(failed):
            turns += [
                assistant([call(f"e{number}", "Edit", file_path="a.py", old_string="pass", new_string=LONG)]),
                user([result(f"e{number}", "String to replace not found in file." if is_error else "Done.")]),
            ]
            turns[-1]["content"][0] |= {"is_error": True} if is_error else {}
        return anthropic(user("Write it."), *turns, *TALK)

    def referring(transcript: Transcript) -> list[int]:
        config = configuration(lossless_prelude={"tool_parameters": True})
        condensed = api.condense(transcript, config).transcript
        return [message.index for message, block in condensed.blocks() if REFERENCE_PREFIX in block.text]

    assert referring(work(False, False)) == [1]
    assert referring(work(True, False)) == [1]
    assert referring(work(False, True)) == []
    assert referring(work(False, True, False)) == [1, 3]


REPEATED = [LONG, "\n".join(LONG.split("\n")[5:30]), REJECTED, f"Exit code 1\n{LONG}", f"Error: no such file\n{LONG}"]
RESULTS = st.lists(
    st.tuples(st.sampled_from(["make", "cat a.py", "ls"]), st.sampled_from(REPEATED), st.booleans()),
    min_size=2,
    max_size=9,
)


@given(RESULTS, st.sampled_from([flagged, unflagged]), st.integers(0, 6))
def test_what_stays_of_any_work(results: list[tuple[str, str, bool]], client: Client, talk: int) -> None:
    whole = client(*results)
    messages = json.loads(api.dump(whole))[: len(results) * 2 + 1 + talk]
    transcript = api.loads(messages, format=whole.format)
    condensed = lossless(transcript)
    ending = Endings(transcript.messages)
    for old, new in zip(transcript.messages, condensed.messages, strict=True):
        before, after = old.blocks[0].text, new.blocks[0].text
        if old.index >= len(transcript.messages) - 6 or ending(old.blocks[0]) == "denied":
            assert after == before
        elif ending(old.blocks[0]) == "failed":
            lines, kept = before.split("\n"), after.split("\n")
            assert (kept[:5], kept[-1]) == (lines[:5], lines[-1])


# A turn of thinking alone may go by itself and is none of the six; who wants more to stay says so.
def test_the_newest_turns_stay_as_they_are() -> None:
    reads = [message for number in range(6) for message in read_turn(f"r{number}")]

    def referring(*more: dict[str, Any], **keys: Any) -> list[int]:
        config = configuration(lossless_prelude=keys)
        condensed = api.condense(anthropic(user("Read it."), *reads, *more), config)
        return sorted(change.message for change in condensed.changes)

    assert referring() == [2, 4, 6]
    assert referring(assistant([thinking()]), user("Go on.")) == [2, 4, 6]
    assert referring(assistant("Well."), user("Go on.")) == [2, 4, 6, 8]
    assert referring(keep_recent=8) == [2, 4]
    assert referring(keep_recent=2) == [2, 4, 6]
    assert referring(keep="earliest") == [4, 6]
