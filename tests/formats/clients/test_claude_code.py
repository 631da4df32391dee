"""Claude Code sessions: the live chain, parallel calls, compaction, relinking, display-only keys."""

import json
from typing import Any

import laws
import pytest
from build import LONG, call, claude_line, condense, configuration, one_pass, result, session, text, thinking, written

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.extractive.answers import is_typed as is_typed_text
from condense_cli.extractive.answers import words_in
from condense_cli.report.lists.validation import check


def texts(transcript: Transcript) -> list[list[str]]:
    """Return the texts of each turn."""
    return [[block.call_id or block.text for block in message.blocks] for message in transcript.messages]


def parallel_calls(shape: str) -> list[dict[str, Any]]:
    """Build two calls of one message and their results, linked as versions of the client link them."""
    parents = {
        "straight": {"call B": "A", "result A": "B", "result B": "RA"},
        "branching": {"call B": "A", "result A": "A", "result B": "B"},
        "interleaved": {"call B": "RA", "result A": "A", "result B": "B"},
    }[shape]
    call_a = claude_line("assistant", "A", "U", [call("a")], reply="msg_1")
    call_b = claude_line("assistant", "B", parents["call B"], [call("b")], reply="msg_1")
    result_a = claude_line("user", "RA", parents["result A"], [result("a", "from a")])
    result_b = claude_line("user", "RB", parents["result B"], [result("b", "from b")])
    middle = [call_a, result_a, call_b, result_b] if shape == "interleaved" else [call_a, call_b, result_a, result_b]
    last = claude_line("assistant", "Z", "RB", [text("done")], reply="msg_2")
    return [claude_line("user", "U", None, "go"), *middle, last]


# Lines of one message.id are one turn, its results the next, however the client linked them.
@pytest.mark.parametrize("shape", ["straight", "branching", "interleaved"])
def test_parallel_calls_are_one_turn(shape: str) -> None:
    transcript = session(*parallel_calls(shape))
    assert texts(transcript) == [["go"], ["a", "b"], ["a", "b"], ["done"]]


# The conversation is the branch that ends in the newest leaf; an abandoned branch keeps its bytes.
def test_an_abandoned_branch_is_not_the_conversation() -> None:
    records = [
        claude_line("user", "1", None, "first"),
        claude_line("assistant", "2", "1", [call("x")], reply="m1"),
        claude_line("user", "3", "2", [result("x")]),
        claude_line("assistant", "4", "1", [text("instead")], reply="m2"),
        claude_line("user", "5", "4", "more"),
    ]
    transcript = session(*records)
    assert texts(transcript) == [["first"], ["instead"], ["more"]]
    suppressed = condense(transcript, one_pass(selection={"type": "preserve_recent", "keep_recent_count": 0}))
    assert written(suppressed)[1:3] == records[1:3]


# After a compact boundary only what follows is sent; what lies before stays in the file untouched.
def test_a_compact_boundary_starts_anew() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "logicalParentUuid": "2",
        "content": "Conversation compacted",
    }
    records = [
        claude_line("user", "1", None, "old request"),
        claude_line("assistant", "2", "1", [text("old answer")], reply="m1"),
        boundary,
        claude_line("user", "3", "b", "This session is being continued", isCompactSummary=True),
        claude_line("assistant", "4", "3", [call("x")], reply="m2"),
        claude_line("user", "5", "4", [result("x")]),
        claude_line("user", "6", "5", "go on"),
    ]
    transcript = session(*records)
    assert texts(transcript) == [["This session is being continued"], ["x"], ["x", "go on"]]
    assert transcript.messages[0].is_injected
    out = written(condense(transcript, one_pass(selection={"type": "preserve_recent", "keep_recent_count": 0})))
    assert out[:3] == records[:3]


# A compaction that was cut off before it wrote anything leaves the conversation as it was.
def test_a_boundary_that_nothing_follows_cuts_nothing_off() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    assert texts(session(claude_line("user", "1", None, "old"), boundary)) == [["old"]]


# Sub-agent lines are left out of a session, and are the conversation where there is nothing else.
def test_sidechains() -> None:
    main = [claude_line("user", "1", None, "main"), claude_line("assistant", "2", "1", [text("yes")], reply="m")]
    side = [claude_line("user", "s", None, "side"), claude_line("assistant", "t", "s", [text("no")], reply="n")]
    side = [record | {"isSidechain": True} for record in side]
    assert texts(session(*main, *side)) == [["main"], ["yes"]]
    assert texts(session(*side)) == [["side"], ["no"]]


# Answers, a plan that the user edited, and a reason for a refusal: fields of the record tell, no words.
@pytest.mark.parametrize(
    ("beside", "is_answer"),
    [
        ({"toolUseResult": {"questions": [], "answers": {"Which?": "pnpm"}}}, True),
        ({"toolUseResult": {"plan": "1. Use pnpm.", "planWasEdited": True}}, True),
        ({"toolUseResult": "Error: x", "toolDenialKind": "user-rejected"}, True),
        ({"toolUseResult": "Error: x", "toolDenialKind": "automode-blocked"}, False),
        ({"toolUseResult": {"plan": "1. Use npm.", "planWasEdited": False}}, False),
        ({"toolUseResult": {"stdout": "Use pnpm.", "answers": 3}}, False),
        ({}, False),
    ],
)
def test_what_a_person_said_in_a_result(beside: dict[str, Any], is_answer: bool) -> None:
    said = "In words that no client has today: use pnpm."
    asked = [claude_line("user", "1", None, "go"), claude_line("assistant", "2", "1", [call("x")], reply="m")]
    answer = claude_line("user", "3", "2", [result("x", said), text("more")], **beside)
    blocks = session(*asked, answer).messages[2].blocks
    assert [block.is_answer for block in blocks] == [is_answer, False]
    assert words_in(blocks[0]) == (said if is_answer else "")


# A command of the client that never reached the model is in a record of its own, with what was typed behind it.
@pytest.mark.parametrize(
    ("content", "is_typed"),
    [
        ("<command-name>/btw</command-name>\n<command-args>Never push.</command-args>", True),
        ("<command-name>/cost</command-name>\n<command-args></command-args>", False),
        ("<local-command-stdout>Never push.</local-command-stdout>", False),
        ("Never push.", False),
    ],
)
def test_what_is_typed_behind_a_command_of_the_client(content: str, is_typed: bool) -> None:
    records = [claude_line("user", "1", None, "go"), claude_line("assistant", "2", "1", [text("yes")], reply="m")]
    command = {"type": "system", "subtype": "local_command", "uuid": "3", "parentUuid": "2", "content": content}
    message = session(*records, command).messages[2]
    assert is_typed_text(message, message.blocks[0]) is is_typed


# A parent that is missing ends the chain there, and a circle does not hang the reader.
def test_broken_chains_end() -> None:
    assert texts(session(claude_line("user", "2", "gone", "late"))) == [["late"]]
    circle = [claude_line("user", "1", "2", "a"), claude_line("assistant", "2", "1", [text("b")], reply="m")]
    assert sum(map(len, texts(session(*circle, claude_line("user", "3", "2", "c"))))) == 3


# The client's own error notices are never sent; hooks that only show something neither.
def test_what_is_only_shown_is_not_counted() -> None:
    error = claude_line("assistant", "2", "1", [text("Please run /login")], reply="m", isApiErrorMessage=True)
    error["message"]["model"] = "<synthetic>"
    hook = {"type": "attachment", "uuid": "h", "parentUuid": "2", "attachment": {"type": "hook_success", "x": "y"}}
    assert texts(session(claude_line("user", "1", None, "hi"), error, hook)) == [["hi"]]


# A session of nothing but snapshots is read, said to be empty, and written back.
def test_a_session_without_messages() -> None:
    data = b'{"type":"file-history-snapshot","messageId":"m","snapshot":{},"isSnapshotUpdate":false}\n'
    transcript = api.loads(data)
    assert (transcript.format, transcript.messages) == ("claude-code", ())
    assert transcript.warnings
    assert api.dump(api.condense(transcript)) == data


def thoughtful(model: str) -> list[dict[str, Any]]:
    """Build reads, each after a line of thinking; a summary and a child name lines of thinking."""
    records = [claude_line("user", "u", None, "go")]
    parent = "u"
    for n in range(4):
        records += [
            claude_line("assistant", f"t{n}", parent, [thinking()], reply=f"m{n}"),
            claude_line("assistant", f"c{n}", f"t{n}", [call(f"x{n}")], reply=f"m{n}"),
            claude_line("user", f"r{n}", f"c{n}", [result(f"x{n}")], sourceToolAssistantUUID=f"c{n}"),
        ]
        parent = f"r{n}"
    for record in records:
        if "id" in record["message"]:
            record["message"]["model"] = model
    return [*records, {"type": "last-prompt", "lastPrompt": "go", "sessionId": "s", "leafUuid": "t3"}]


# Where the model binds thinking to its prefix, all thinking after the first change goes, and links are mended.
def test_invalidated_thinking_goes_and_links_are_mended() -> None:
    condensation = condense(session(*thoughtful("claude-opus-5-5")))
    out = written(condensation)
    uuids = {record.get("uuid") for record in out}
    assert {"t1", "t2", "t3"}.isdisjoint(uuids)
    assert "t0" in uuids
    parents = {record["uuid"]: record["parentUuid"] for record in out if "uuid" in record}
    assert (parents["c1"], parents["c2"], parents["c3"]) == ("r0", "r1", "r2")
    assert out[-1]["leafUuid"] == "r2"
    assert all(parent is None or parent in uuids for parent in parents.values())


# A link that leads nowhere beside the live conversation is no reason to stop, and no run adds one.
@pytest.mark.parametrize("parent", ["gone", "t1", "t3"])
def test_a_run_adds_no_link_that_leads_nowhere(parent: str) -> None:
    aside = [
        claude_line("user", "s1", "gone", "elsewhere", isSidechain=True),
        claude_line("assistant", "s2", "s1", [text("there")], isSidechain=True, sourceToolAssistantUUID="lost"),
        claude_line("user", "s3", parent, "a branch", isSidechain=True),
        {"type": "summary", "summary": "before", "leafUuid": "elsewhere"},
    ]
    before = session(*aside, *thoughtful("claude-opus-5-5"))
    condensation = laws.check_all(before, configuration(one_pass()))
    assert condensation.transcript.removed
    after = session(*written(condensation))
    known = {fault.said for fault in check(before, source="").faults}
    assert "parentUuid names no record in the file: gone" in known
    assert {fault.said for fault in check(after, source="").faults} == known


# Links of another type than text name nothing, wherever they are.
@pytest.mark.parametrize("odd", [{"a": 1}, ["t1"], 7])
def test_links_that_are_no_texts_stay(odd: Any) -> None:
    kept = {"anchorUuid": odd, "uuids": [odd, "t1"], "headUuid": odd, "tailUuid": odd}
    boundary = claude_line("system", "b", None, "", subtype="compact_boundary", isSidechain=True)
    boundary |= {"compactMetadata": {"preservedMessages": kept}}
    elsewhere = {**claude_line("user", "s", None, "aside"), "uuid": odd, "parentUuid": odd, "leafUuid": odd}
    out = written(condense(session(boundary, elsewhere, *thoughtful("claude-opus-5-5"))))
    assert out[0]["compactMetadata"]["preservedMessages"] == kept | {"uuids": [odd]}
    assert out[1] == elsewhere
    assert "t1" not in {record.get("uuid") for record in out[2:]}


def test_thinking_whose_line_was_written_again_is_no_hindrance() -> None:
    """It is the last line of the file and the first of the conversation."""
    records = thoughtful("claude-opus-5-5")
    found = laws.check_all(session(*records, records[1]), configuration(one_pass()))
    assert found.changes
    assert not [block for _, block in found.transcript.blocks() if block.kind is BlockKind.THINKING]


# Older models keep theirs, and `thinking: drop` spares the open tool loop that they need it for.
def test_older_models_keep_the_thinking_of_the_open_loop() -> None:
    records = thoughtful("claude-opus-4-5")
    assert not condense(session(*records)).transcript.removed
    closed = [*records[:-1], claude_line("assistant", "z", "r3", [text("done")], reply="z")]
    for lines, dropped in ((records, 0), (closed, 4)):
        condensation = condense(session(*lines), thinking="drop")
        assert len(condensation.transcript.removed) == dropped


# Text that a record repeats for display is shortened with it; the value keeps its shape.
def test_display_copies_are_shortened_with_the_result() -> None:
    numbered = "\n".join(f"{n:6}→line {n} of the file" for n in range(1, 60))
    plain = "\n".join(f"line {n} of the file" for n in range(1, 60))
    shown = {"file": {"content": plain, "numLines": 59}, "other": "x" * 300}
    records = [
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("x")], reply="m"),
        claude_line("user", "3", "2", [result("x", numbered)], toolUseResult=shown),
        claude_line("assistant", "4", "3", [text("ok")], reply="n"),
    ]
    record = written(condense(session(*records)))[2]
    marker = record["message"]["content"][0]["content"]
    assert marker.startswith("[… 59 lines")
    assert record["toolUseResult"] == {"file": {"content": marker, "numLines": 59}, "other": "x" * 300}


# A plain-string display copy stays a string, an unrelated one stays as it is.
@pytest.mark.parametrize("shown", [LONG, "unrelated " * 40, None, ["a", LONG]])
def test_display_copies_keep_their_type(shown: Any) -> None:
    records = [
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("x")], reply="m"),
        claude_line("user", "3", "2", [result("x")], toolUseResult=shown),
        claude_line("assistant", "4", "3", [text("ok")], reply="n"),
    ]
    after = written(condense(session(*records)))[2]["toolUseResult"]
    assert type(after) is type(shown)
    assert (LONG in json.dumps(after)) is False


def test_image_blocks_are_estimated_by_their_size() -> None:
    from pictures import PIXEL

    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    transcript = session(claude_line("user", "1", None, [text("see"), {"type": "image", "source": source}]))
    image = transcript.messages[0].blocks[1]
    assert (image.kind, image.estimate) == (BlockKind.IMAGE, 1)
