"""Diffs: what is aligned with what, what is said about it, and which lines are shown."""

from __future__ import annotations

from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    conversation,
    cut_to,
    one_batch,
    one_pass,
    read_turn,
    result,
    text,
    user,
    written,
)
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from condense_cli import api
from condense_cli.core.markers import Gap, SummaryMark
from condense_cli.core.values import BlockKind
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.explained import explained
from condense_cli.report import difference as diffs
from condense_cli.report.difference import What, between, line_hunks, moved_hunks
from condense_cli.report.page.conversation import SUMMARIZED, conversation_of
from condense_cli.report.text import readable
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

BATCH: dict[str, Any] = one_batch(2)

LINE_LISTS = st.lists(st.sampled_from(["a", "b", "c", "", "d"]), max_size=12)


def test_no_difference() -> None:
    transcript = anthropic(*conversation())
    assert api.diff(transcript, transcript).blocks == ()


def test_encrypted_thinking_that_is_gone_counts_as_in_the_report_of_a_run() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "c2lnbmVk" * 200}
    said = [thinking, {"type": "text", "text": "I look."}]
    before = anthropic(user("Go."), {"role": "assistant", "content": said}, user("And?"), assistant("Good."))
    after = anthropic(user("Go."), {"role": "assistant", "content": said[1:]}, user("And?"), assistant("Good."))
    [gone] = api.diff(before, after).blocks
    assert (gone.what, gone.kind) == (What.REMOVED, BlockKind.THINKING)
    assert gone.tokens_before > 0


# It takes the place of the first message that it stands for, and may have its role.
def test_a_summary_is_new_and_the_others_went_into_it() -> None:
    summary = f"{SummaryMark(3, 1, '5f2c91d8')}\nAll of it."
    before = anthropic(user("Go."), assistant("I look."), user("And?"), assistant("Found it."), user("Good."))
    after = anthropic(user("Go."), assistant(summary), user("Good."))
    found = api.diff(before, after)
    assert {block.what for block in found.blocks} == {What.SUMMARIZED}
    assert [block.after for block in found.blocks if block.is_new] == [summary]


def test_cut_and_removed_are_told_apart() -> None:
    for config, what in (
        (cut_to(3), What.CUT),
        ({"defaults": {"tool_results": {"operation": "suppress"}}}, What.REMOVED),
    ):
        condensation = condense(anthropic(*conversation()), one_pass(individual_config=config))
        found = api.diff(condensation.before, api.loads(api.dump(condensation)))
        assert {block.what for block in found.blocks} == {what}
        assert (found.count(what), found.messages_changed) == (6, 6)
        assert found.blocks[0].label == "Read src/file0.py"
        assert found.tokens_before - found.tokens_after == condensation.tokens_before - condensation.tokens_after


# As many messages are not the same ones: one that moved is found where it is.
def test_as_many_messages_that_are_others_are_told_apart() -> None:
    before = anthropic(user("Go."), assistant("I look."), user("And?"), *read_turn("t"), assistant("Done."))
    after = anthropic(user("Go."), *read_turn("t"), assistant("Done."), user("Good."), assistant("Bye."))
    found = api.diff(before, after)
    assert len(before.messages) == len(after.messages)
    assert [(block.before, block.after) for block in found.blocks] == [
        ("I look.", ""),
        ("And?", ""),
        ("", "Good."),
        ("", "Bye."),
    ]


def test_parameters_are_shown_key_by_key() -> None:
    arguments = {"file_path": "a.py", "content": LONG}
    transcript = anthropic(
        user("a"), assistant([call("x", "Write", **arguments)]), user([result("x", "ok")]), assistant("z")
    )
    for operation, what in (("suppress", What.REMOVED), ("truncate", What.CUT)):
        params = {"params": {"truncate": {"max_lines": 2}}} if operation == "truncate" else {}
        config = {"defaults": {"tool_parameters": {"operation": operation, **params}}}
        (block,) = api.diff(transcript, condense(transcript, one_pass(individual_config=config)).transcript).blocks
        assert block.what is what
        assert block.hunks()[0].lines[0] == "file_path: a.py"


def test_messages_that_went_or_came_are_found() -> None:
    whole = conversation()
    shorter = anthropic(*whole[:3], *whole[5:])
    removed = api.diff(anthropic(*whole), shorter)
    assert {(block.what, block.message) for block in removed.blocks} == {(What.REMOVED, 3), (What.REMOVED, 4)}
    added = api.diff(shorter, anthropic(*whole))
    assert {(block.what, block.message) for block in added.blocks} == {(What.ADDED, 3), (What.ADDED, 4)}
    assert added.messages_after - added.messages_before == 2


def test_changed_text_is_found_among_equal_messages() -> None:
    before = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]
    after = [*before[:3], assistant("changed"), user("e")]
    (block,) = api.diff(anthropic(*before), anthropic(*after)).blocks
    assert (block.message, block.what, block.before, block.after) == (3, What.CHANGED, "d", "changed")


def test_a_block_that_went_from_a_message() -> None:
    before = anthropic(user("a"), assistant([text("b"), text("c")]))
    (block,) = api.diff(before, anthropic(user("a"), assistant([text("b")]))).blocks
    assert (block.what, block.before, block.tokens_after) == (What.REMOVED, "c", 0)


# The hunks rebuild both texts, whatever the lines, with either algorithm.
@pytest.mark.parametrize("difflib_lines", [5_000, 0])
@given(old=LINE_LISTS, new=LINE_LISTS)
@example(old=["a", "b", "c", "d"], new=["b", "a", "d", "c"])
def test_hunks_rebuild_both_sides(difflib_lines: int, old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffs, "_DIFFLIB_LINES", difflib_lines)
        hunks = list(line_hunks(old, new))
    assert [line for hunk in hunks if hunk.sign in " -" for line in hunk.lines] == old
    assert [line for hunk in hunks if hunk.sign in " +" for line in hunk.lines] == new
    assert all(hunk.lines for hunk in hunks)
    for hunk in hunks:
        if hunk.sign in " -":
            assert old[hunk.line - 1 : hunk.line - 1 + len(hunk.lines)] == list(hunk.lines)


REFERENCE = "[see lines 3-75 of the next Read of src/app.py #520917]"
GAP = str(Gap("0123abcd", 12))


# Whatever else is new in a block, and it is no longer what it said.
@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (LONG, REFERENCE, What.REFERENCED),
        (LONG, f"0: the value of item 0 is 0\n{REFERENCE}", What.REFERENCED),
        (f"a\n{LONG}\nb\n{LONG}\nc", f"a\n{REFERENCE}\nb\n{REFERENCE}\nc", What.REFERENCED),
        (f"{GAP}\n{LONG}", f"{GAP}\n{REFERENCE}", What.REFERENCED),
        (f"{REFERENCE}\n{LONG}", REFERENCE, What.CHANGED),
        (LONG, f"{REFERENCE}\n{GAP}", What.CUT),
        (LONG, f"{REFERENCE}\nsomething else", What.CHANGED),
        (LONG, f"{REFERENCE} and more", What.CHANGED),
        (REFERENCE, LONG, What.CHANGED),
        (LONG, GAP, What.REMOVED),
    ],
)
def test_a_block_that_differs_by_references_alone_is_referenced(before: str, after: str, what: What) -> None:
    old, new = (anthropic(user("a"), assistant([call("1")]), user([result("1", it)])) for it in (before, after))
    (block,) = api.diff(old, new).blocks
    assert block.what is what
    arguments = ({"file_path": "a", "content": it, "other": "stays"} for it in (before, after))
    old, new = (anthropic(user("a"), assistant([call("1", "Write", **it)])) for it in arguments)
    (block,) = api.diff(old, new).blocks
    assert block.what is what


# One value cut, one left out: the call as a whole is cut.
@pytest.mark.parametrize(("other", "what"), [(REFERENCE, What.CUT), (GAP, What.REMOVED)])
def test_a_call_with_a_reference_and_a_marker_is_cut(other: str, what: What) -> None:
    old = anthropic(user("a"), assistant([call("1", "Edit", old_string=LONG, new_string=LONG)]))
    new = anthropic(user("a"), assistant([call("1", "Edit", old_string=other, new_string=GAP)]))
    (block,) = api.diff(old, new).blocks
    assert block.what is what


# A failed read beside a good one keeps its own label and is aligned by its call, not by its position.
def test_blocks_are_aligned_by_their_call() -> None:
    before = anthropic(user("a"), assistant([call("1"), call("2")]), user([result("1", LONG), result("2", "short")]))
    after = anthropic(user("a"), assistant([call("1"), call("2")]), user([result("2", "short"), result("1", "cut")]))
    (block,) = api.diff(before, after).blocks
    assert (block.before, block.after) == (LONG, "cut")


# Line breaks of what a call wrote are shown as such; a program that spells one says a backslash and a letter.
def test_arguments_are_shown_as_a_person_reads_them() -> None:
    edits = [{"old_string": "a\nb", "new_string": 'print("c\\n")'}]
    block = anthropic(user("a"), assistant([call("1", "MultiEdit", edits=edits)])).messages[1].blocks[0]
    assert readable(block) == 'edits:\n[{"old_string":"a\nb","new_string":"print(\\"c\\\\n\\")"}]'


def test_text_of_the_client_is_named_so() -> None:
    """What a client put into a user's message is not called the user's."""
    reminder = "<system-reminder>\n" + "Remember the list.\n" * 30 + "</system-reminder>"
    before = anthropic(user([text("Go."), text(reminder)]), assistant("I look."), user("And?"))
    after = anthropic(
        user([text("Go."), text("<system-reminder>\n[… 30 lines #406167]\n</system-reminder>")]),
        assistant("I look."),
        user("Well?"),
    )
    assert [block.kind_label for block in api.diff(before, after).blocks] == ["client text", "user text"]


def summarized(rounds: int = 1) -> tuple[Condensation, diffs.Diff]:
    """A conversation that is summarized again where it went on, and the diff of the last round."""
    turns = [message for number in range(6) for message in work(number)]
    result = condense(anthropic(user("Begin."), *turns), one_pass(**BATCH))
    for number in range(1, rounds):
        records = [*written(result), *(message for more in range(3) for message in work(10 * number + more))]
        result = condense(anthropic(*records), one_pass(**BATCH))
    return result, diffs.of_run(result, Counter())


def work(number: int) -> list[dict[str, Any]]:
    said = "".join(f"step {number}: error E{number}{line} in src/part{number}.py\n" for line in range(30))
    return read_turn(f"t{number}", f"src/part{number}.py", said)


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_a_summary_has_is_not_gone(rounds: int) -> None:
    """Its lines are shown as they are there; blocks that went into a second summary are not called removed."""
    result, diff = summarized(rounds)
    summary = "\n".join(
        block.text for message in result.transcript.messages for block in message.blocks if block.summarizes
    )
    moved = [block for block in diff.blocks if block.old and not block.new]
    assert moved
    assert {block.what for block in moved} == {What.SUMMARIZED}
    for block in moved:
        shown = {sign: [line for hunk in block.hunks() if hunk.sign == sign for line in hunk.lines] for sign in " -"}
        assert all(line in summary.split("\n") for line in shown[" "] if len(line) > 2)
        assert not any(line in summary.split("\n") for line in shown["-"] if len(line) > 2)
        assert sorted(shown[" "] + shown["-"]) == sorted(block.before.split("\n"))
        assert (f"{len([*filter(str.strip, shown[' '])])} line" in block.said) == bool(block.moved_lines)
    assert any(block.moved_lines for block in moved)


# Lines of three characters are looked for in the summary; shorter ones, with what surrounds them, do not count.
@pytest.mark.parametrize(("line", "stays"), [("abc", False), ("  abc ", False), ("ab", True), ("", True)])
def test_short_lines_go_with_the_line_before_them(line: str, stays: bool) -> None:
    told = [(hunk.sign, hunk.lines) for hunk in moved_hunks(["It is so.", line], {"It is so."})]
    assert told == ([(" ", ("It is so.", line))] if stays else [(" ", ("It is so.",)), ("-", (line,))])
    assert [hunk.sign for hunk in moved_hunks([line, "It is so."], {"It is so."})] == ["-", " "]


@pytest.mark.parametrize(("gaps", "are_picked"), [(1, False), (2, True)])
def test_lines_were_picked_where_several_gaps_are_left(gaps: int, are_picked: bool) -> None:
    lines = work(1)[1]["content"][0]["content"].splitlines()
    left = [*lines[:5], str(Gap("0123abcd", 5)), *lines[10:20], str(Gap("0123abcd", 5)), *lines[25:]]
    before = anthropic(*read_turn("t", "src/a.py", "\n".join(lines)))
    after = anthropic(*read_turn("t", "src/a.py", "\n".join(left if gaps == 2 else [*left[:16], *lines[20:]])))
    diff = diffs.compare(before, after, Counter(), AS_COUNTED)
    assert [block.what for block in diff.blocks] == [What.CUT]
    assert bool(between(diff, before, after, Counter()).blocks[0].lines) is are_picked


def test_a_block_that_was_dropped_beside_a_summary_is_removed() -> None:
    result, diff = summarized()
    place = next((block.message, 0) for block in diff.blocks if block.has_moved)
    rows = tuple(
        replace(row, steps=tuple(replace(step, operation="drop") for step in row.steps)) if row.place == place else row
        for row in result.decisions.rows
    )
    told = diffs.of_run(replace(result, decisions=replace(result.decisions, rows=rows)), Counter())
    whats = {(block.message, block.what) for block in told.blocks if not block.new}
    assert (place[0], What.REMOVED) in whats
    assert What.SUMMARIZED in {what for _, what in whats}


def test_a_page_shows_the_lines_that_a_summary_has() -> None:
    result, _ = summarized()
    told = explained(result, Counter())
    page = conversation_of(told, Counter())
    blocks = [block for message in page.messages for block in message.blocks if block.outcome == SUMMARIZED]
    stay = [block for block in blocks if any(isinstance(edit, int) and edit > 0 for edit in block.edits)]
    assert stay
    for block in blocks:
        lines = sum(abs(edit) for edit in block.edits if isinstance(edit, int))
        assert lines == len(block.text.split("\n"))
    assert all("in the summary" in block.whys.values() for block in stay)


# A tool prints numbers before lines, which few of those that stay keep.
def test_lines_that_lose_their_number_stay() -> None:
    old = ["     8→import os", "     9→", "    10→import re", "    11→x = 1", "    12→y = 2"]
    new = ["import os", "", "[… 2 lines #406167]", "    12→y = 2"]
    found = [(hunk.sign, hunk.line, hunk.lines) for hunk in line_hunks(old, new)]
    gone, marker = ("-", 3, tuple(old[2:4])), ("+", 5, (new[2],))
    assert found == [(" ", 1, tuple(old[:2])), gone, marker, (" ", 5, (old[4],))]
