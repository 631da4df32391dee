"""Find the conversation in the records of a Claude Code session, rule by rule."""

from typing import Any

import pytest
from build import call, condense, one_pass, session, text, thinking
from claude_cases import CASES, OPEN_AT_THE_END
from claude_tree import GO, answer, boundary, record, reply, said, summary, uuid
from real import SESSION

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.errors import UnknownFormatError
from condense_cli.report.lists.validation import check


def turns(transcript: Transcript) -> list[list[str]]:
    """Return the texts of each turn. A summary stays a message of its own; the client joins it with its neighbours."""
    found: list[list[str]] = []
    for position, message in enumerate(transcript.messages):
        said_here = [block.call_id or block.text for block in message.blocks]
        before = transcript.messages[position - 1 : position]
        if any(message.role is other.role and (message.is_summary or other.is_summary) for other in before):
            found[-1] += said_here
        else:
            found.append(said_here)
    return found


# What is sent of a session is what the client itself sends of it, as tests/client shows.
@pytest.mark.parametrize("name", CASES)
def test_the_conversation_is_what_the_client_sends(name: str) -> None:
    assert turns(session(*CASES[name].records)) == CASES[name].turns


# Calls that are open when the session ends are sent: the client answers them itself.
def test_calls_that_are_open_at_the_end_count() -> None:
    transcript = session(*OPEN_AT_THE_END.records)
    assert turns(transcript) == OPEN_AT_THE_END.turns
    assert transcript.warnings == ()


# Thinking that goes is taken out of what a boundary keeps, and the rest is still kept.
@pytest.mark.parametrize("name", CASES)
def test_without_its_thinking_the_conversation_is_the_same(name: str) -> None:
    transcript = session(*CASES[name].records)
    thoughts = {block.text for _, block in transcript.blocks() if block.kind is BlockKind.THINKING}
    condensation = condense(
        transcript, one_pass(selection={"type": "preserve_recent", "keep_recent_count": 99}), thinking="drop"
    )
    left = [[text for text in turn if text not in thoughts] for turn in CASES[name].turns]
    assert turns(api.loads(api.dump(condensation))) == left


# Of a record that is there twice the second one counts, also where that is a boundary and keeps nothing any more.
def test_a_boundary_that_is_written_again_counts_as_it_was_written_last() -> None:
    records = (
        GO,
        reply(2, 1, "m", text("one")),
        boundary(3, preservedMessages={"anchorUuid": uuid(4), "uuids": [uuid(2)]}),
    )
    again = (boundary(3), summary(4, 3), said(5, 4, "Go on."))
    assert turns(session(*records, *again)) == turns(session(*records[:2], *again))


# Ids of another type than text name no record, neither of a boundary nor of a line.
@pytest.mark.parametrize(
    "kept",
    [
        {"preservedMessages": {"anchorUuid": [6], "uuids": [[3], uuid(4)], "allUuids": [{}]}},
        {"preservedSegment": {"anchorUuid": {}, "headUuid": uuid(8), "tailUuid": [6]}},
    ],
)
def test_ids_of_another_type_lead_nowhere(kept: dict[str, Any]) -> None:
    late = [reply(8, 7, "m3", thinking("hm")), reply(9, 8, "m3", text("three"))]
    stray = said(99, None, "stray") | {"uuid": [1], "parentUuid": {}}
    records = [GO, reply(2, 1, "m1", text("one")), boundary(5, **kept), summary(6, 5), said(7, 6, "next"), *late, stray]
    condensation = condense(session(*records), one_pass(selection={"type": "custom"}), thinking="drop")
    assert turns(api.loads(api.dump(condensation))) == [["the summary", "next"], ["three"]]


# A time that is none bridges nothing.
def test_a_missing_parent_with_an_impossible_time() -> None:
    records = [GO, said(3, 77, "late") | {"timestamp": "2026-00-02T09:00:00.000Z"}]
    assert turns(session(*records)) == [["late"]]


# What is left out for want of a counterpart is told.
# The client bridges a gap of seconds, not one of minutes: what is before it, it leaves out without a word.
def test_a_missing_parent_is_said() -> None:
    records = [GO, reply(2, 1, "m2", text("Looking.")), said(3, 2, "And now?"), reply(4, 3, "m4", text("Now this."))]
    late = {**said(300, 4, "Go on."), "parentUuid": uuid(99)}
    transcript = session(*records, late, reply(301, 300, "m301", text("Done.")))
    assert turns(transcript) == [["Go on."], ["Done."]]
    assert transcript.warnings == (
        "The parentUuid of record 5 names no record in the file. The client begins there and never sends 4 records "
        "before it; they stay in the file.",
    )


@pytest.mark.parametrize(
    ("key", "said_of_it"),
    [
        ("type", "None without a known type"),
        ("message", "user without message"),
        ("uuid", "user without uuid"),
        ("parentUuid", "user without parentUuid"),
    ],
)
def test_records_that_lack_what_they_need_are_counted(key: str, said_of_it: str) -> None:
    odd = {name: value for name, value in said(3, 2, "And now?").items() if name != key}
    transcript = session(GO, reply(2, 1, "m2", text("Looking.")), odd)
    assert transcript.unknown == ((f"record {said_of_it}", 1),)
    assert transcript.warnings[-1] == f"1 record cannot be understood and will not be changed: record {said_of_it}."
    (fault,) = check(transcript, source="file").faults
    assert (fault.rule, fault.line, fault.api) == ("messages_understood", 3, False)
    with pytest.raises(UnknownFormatError, match=f"most of its records cannot be understood: record {said_of_it}"):
        session(GO, *[odd] * 4)


def test_calls_and_results_that_are_left_out_are_told() -> None:
    (warning,) = session(*CASES["calls that were never answered are left out"].records).warnings
    assert warning == "The client does not send calls without a result (2); they stay in the file."
    (warning,) = session(*CASES["results without a call are left out"].records).warnings
    assert warning == "The client does not send results without a call (1); they stay in the file."


# Attachments count where the client puts them into words, below the last message too.
@pytest.mark.parametrize(
    ("attachment", "counts"),
    [
        ({"type": "queued_command", "prompt": "and the tests"}, True),
        ({"type": "hook_success", "hookEvent": "SessionStart", "content": "be brief"}, True),
        ({"type": "hook_success", "hookEvent": "PostToolUse", "content": "formatted"}, False),
        ({"type": "max_turns_reached", "maxTurns": 3}, False),
    ],
)
def test_attachments_count_where_the_client_sends_them(attachment: dict[str, Any], counts: bool) -> None:
    records = [GO, reply(2, 1, "m1", text("one")), record(3, 2, "attachment", attachment=attachment)]
    kinds = [block.kind for _, block in session(*records).blocks()]
    assert kinds == [BlockKind.TEXT, BlockKind.TEXT, *([BlockKind.OPAQUE] if counts else [])]


# Hundreds of replies without a word of the user between them are put together in one pass.
def test_a_long_loop_of_tools_is_read() -> None:
    records = [GO]
    for number in range(2, 2002, 2):
        records += [
            reply(number, number - 1, f"m{number}", call(f"c{number}")),
            answer(number + 1, number, f"c{number}"),
        ]
    assert len(session(*records).messages) == len(records)


# Links decide, not the order of lines: a result before its call has that call's tool, not an earlier one's.
@pytest.mark.parametrize("earlier", [[], [reply(9, None, "m9", call("a", "Write"), isSidechain=True)]])
def test_a_result_that_stands_before_its_call_has_its_tool(earlier: list[dict[str, Any]]) -> None:
    lines = [GO, *earlier, answer(3, 2, "a"), reply(2, 1, "m1", call("a", "Read")), reply(4, 3, "m2", text("done"))]
    transcript = session(*lines)
    assert turns(transcript) == [["go"], ["a"], ["a"], ["done"]]
    assert [block.tool for _, block in transcript.blocks()] == [None, "Read", "Read", None]


# The client goes on at the record that was written shortly before, so that one is named where another goes.
def test_a_conversation_with_a_gap_keeps_its_beginning_when_a_record_goes() -> None:
    lines = SESSION.read_text().splitlines(keepends=True)
    behind = next(n for n, line in enumerate(lines) if '"parentUuid":"36e39c89' in line)
    transcript = api.loads("".join(lines[:3] + lines[behind:]))
    assert [block.kind for block in transcript.messages[1].blocks] == [BlockKind.THINKING, BlockKind.TOOL_CALL]
    found = condense(transcript, thinking="drop")
    again = api.loads(api.dump(found))
    assert again.messages[0].blocks[0].text == transcript.messages[0].blocks[0].text
    assert [message.blocks[0].text for message in again.messages] == [
        message.blocks[0].text for message in found.transcript.messages
    ]
