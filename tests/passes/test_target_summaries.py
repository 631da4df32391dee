"""Down to a target with one summary of the oldest messages, where nothing else meets it."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from build import LONG, anthropic, assistant, condense, conversation, extract, read_turn, reasons, user
from helpers import condense_process

from condense_cli.core.markers import SummaryMark
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ConfigurationError
from condense_cli.formats.engine.client_text import NO_REQUEST
from condense_cli.passes.receipts import Kept
from condense_cli.tokens.counting import Counter

SUMMARIZING: Final = {"extract_config": {"may_summarize": True}}


def many_turns(number: int = 60) -> list[dict[str, Any]]:
    """Short turns, of which a marker in the place of each would leave next to nothing."""
    turns = [
        read_turn(f"t{n}", f"src/part_{n}.py", "\n".join(f"value_{n}_{line} = {n * line}" for line in range(12)))
        for n in range(number)
    ]
    return [user("Look at all parts."), *[message for turn in turns for message in turn], assistant("Done.")]


def talked(number: int = 60) -> list[dict[str, Any]]:
    """Short turns between words of the assistant, so that each needs a note of its own."""
    turns = many_turns(number)
    return [
        message
        for position, turn in enumerate(turns)
        for message in ([assistant(f"Part {position} comes next."), user("Go on.")] if position % 2 else []) + [turn]
    ]


def test_one_summary_is_written_where_nothing_else_meets_the_target() -> None:
    transcript = anthropic(*talked())
    size = Counter.of(transcript).transcript(transcript)
    for share, is_one in ((0.5, False), (0.12, True)):
        target = int(size * share)
        found = condense(transcript, extract(**SUMMARIZING), target_tokens=target)
        assert found.tokens_after <= target
        assert ({"summarize", "remove"} <= {receipt.operation for receipt in found.changes}) is is_one
        assert not condense(found.transcript, extract(**SUMMARIZING), target_tokens=target).changes
        summaries = [position for position, message in enumerate(found.transcript.messages) if message.is_summary]
        assert not is_one or summaries == [1, 2]  # Behind the first request, with what leads on from it.
    placed = condense(transcript, extract(), target_tokens=target)
    assert placed.is_target_missed


def test_texts_stay_in_their_places_where_most_of_them_stays() -> None:
    transcript = anthropic(*conversation(12))
    condensation = condense(transcript, extract(**SUMMARIZING), target_reduction_percent=10)
    assert {receipt.operation for receipt in condensation.changes} == {"extract", "empty"}


TINY: Final = 250
"""Tokens that notes alone do not get down to."""


def worked_before_a_request(opening: dict[str, object]) -> tuple[Transcript, int]:
    """A conversation in which the user typed the first request late, and where that stands."""
    before = [message for n in range(20) for message in read_turn(f"b{n}", f"lib/old_{n}.py", LONG + f"\nold_{n}")]
    return anthropic(opening, *before, assistant("Ready."), *many_turns()), 2 + len(before)


# The summary would stand before the request, as if nothing of it were done yet.
def test_what_was_before_the_first_request_is_not_summarized() -> None:
    transcript, request = worked_before_a_request(user("<system-reminder>Be brief.</system-reminder>"))
    condensation = condense(transcript, extract(**SUMMARIZING), target_tokens=TINY)
    messages = condensation.transcript.messages
    position = next(position for position, message in enumerate(messages) if message.index == request)
    assert "Look at all parts." in messages[position].blocks[0].text
    assert all(message.is_note for message in messages[:position] if message.is_summary)
    again = condense(condensation.transcript, extract(**SUMMARIZING), target_tokens=TINY)
    assert not again.changes


@pytest.mark.parametrize(
    ("opening", "summary"),
    [
        ("<command-name>/init</command-name>", 1),
        (f"{SummaryMark(34, 4, 'eba847c5', NO_REQUEST)}\nIt works.", 0),
    ],
    ids=["command", "summary"],
)
def test_what_was_done_for_a_command_or_on_from_a_summary_is_summarized(opening: str, summary: int) -> None:
    transcript, request = worked_before_a_request(user(opening))
    condensation = condense(transcript, extract(**SUMMARIZING), target_tokens=TINY, keep_first=0)
    messages = condensation.transcript.messages
    assert Kept.BEFORE_REQUEST not in reasons(condensation)
    assert [message.is_summary for message in messages].index(True) == summary
    # What the user typed later is told by the summary.
    assert request not in {message.index for message in messages}
    assert "Look at all parts." in messages[summary].blocks[0].text


def test_the_newest_turns_stay_while_they_leave_room() -> None:
    transcript = anthropic(*many_turns(), *read_turn("new", "src/new.py", LONG), assistant("Done."))
    count = Counter.of(transcript)
    recent = sum(map(count.message, transcript.messages[-3:]))
    leaving = {"extract_config": {"may_summarize": True, "out_of_reach": "leave"}}
    selection = {"type": "preserve_recent", "keep_recent_count": 3}
    room = condense(transcript, extract(selection=selection, **leaving), target_tokens=3 * recent + 200)
    assert room.changes
    assert room.tokens_after <= 3 * recent + 200
    assert not condense(transcript, extract(selection=selection, **leaving), target_tokens=3 * recent - 100).changes


def test_the_newest_turn_is_never_summarized() -> None:
    asked = [*many_turns(), user("Now tell me all of it.")]
    selection = {"type": "preserve_recent", "keep_recent_count": 0}
    for messages in (asked, [*many_turns(), *read_turn("new", "src/new.py", LONG)]):
        transcript = anthropic(*messages)
        condensation = condense(transcript, extract(selection=selection, **SUMMARIZING), target_tokens=60)
        newest = condensation.transcript.messages[-1]
        assert newest.index == transcript.messages[-1].index
        assert not newest.is_summary


def test_a_summary_takes_whole_messages() -> None:
    config = extract(extract_config={"may_summarize": True, "content": ["tool_results"]})
    with pytest.raises(ConfigurationError, match="whole messages"):
        condense(anthropic(*conversation()), config, target_tokens=100)


# What references save is mostly saved on what is summarized, and is no room for the summary.
def test_a_summary_by_the_command_meets_the_target(tmp_path: Path) -> None:
    listing = "\n".join(f"value_{line} = {line * 7919}" for line in range(60))
    turns = [message for n in range(12) for message in read_turn(f"t{n}", f"src/part_{n % 3}.py", listing)]
    talk = [message for n in range(3) for message in (assistant(f"Part {n} is done."), user("Go on."))]
    file = tmp_path / "session.json"
    file.write_text(json.dumps({"messages": [user("Go."), *turns, *talk]}))
    done = condense_process(
        "run", file, "-p", "max", "--target-tokens", "1400", "--json", "-o", tmp_path / "small.json"
    )
    report = done.json
    assert report["tokens"]["after"] <= 1_400
    summarized = next(receipt for receipt in report["passes"] if receipt["id"] == "one-summary")
    assert summarized["tokens_after"] <= 1_400
