"""Reasons of lines in receipts, with `--explain`, in the diff and in JSON: true, the same everywhere, only if asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import build
import pytest
import real
from documented import RARE, check_documented
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import TEXTS
from summarizers import Short

from condense_cli import api
from condense_cli.core.markers import ELLIPSIS, gaps_in
from condense_cli.core.transcript import Block
from condense_cli.core.values import BlockKind
from condense_cli.extractive import reasons as finding
from condense_cli.extractive.reason import LineReason, Reason
from condense_cli.extractive.reasons import lines_of, unit_lines, which_remain
from condense_cli.extractive.units import LONG_LINE, render, split
from condense_cli.lossless.decode import decode
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.explained import explained
from condense_cli.passes.receipts import IN_NOTE, Receipt
from condense_cli.report.difference import What, of_run
from condense_cli.report.text import lines_text, receipt_text
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls.tools import arguments_of, string_values

COUNT = Counter()


@pytest.fixture(scope="module", params=[None, 13_000], ids=["worth", "target"])
def ran(request: pytest.FixtureRequest) -> Condensation:
    return api.condense(api.load(real.SESSION), target_tokens=request.param, counter=COUNT)


@pytest.fixture(scope="module")
def told(ran: Condensation) -> Condensation:
    return explained(ran, COUNT)


def _gaps(block: Block) -> int:
    """The lines that markers of a block count."""
    is_call = block.kind is BlockKind.TOOL_CALL
    texts = [value for _, value in string_values(arguments_of(block))] if is_call else [block.text]
    return sum(gap.lines for text in texts for gap in gaps_in(text))


@pytest.mark.slow
def test_every_line_that_went_is_counted_by_a_marker(told: Condensation) -> None:
    after = {message.index: message for message in decode(told.transcript.messages).messages}
    assert told.lines
    for (message, block), lines in told.lines.items():
        if message not in after or block >= len(after[message].blocks) or after[message].is_summary:
            continue  # It is in the summary, or in a note.
        gone = sum(not line.stays for line in lines)
        # A line that goes alone is counted by its characters.
        assert _gaps(after[message].blocks[block]) in ((gone, 0) if gone == 1 else (gone,)), (message, block)


def test_a_message_that_a_reason_points_to_names_what_it_says(told: Condensation) -> None:
    texts = {
        message.index: "\n".join(block.text for block in message.blocks)
        for message in decode(told.before.messages).messages
    }
    points = [line for lines in told.lines.values() for line in lines if line.why.message is not None]
    assert {line.why.reason for line in points} >= {Reason.NAMED_AGAIN, Reason.EDITED_LATER, Reason.NAMED_ELSEWHERE}
    for line in points:
        why = line.why
        assert why.message is not None
        assert why.name in texts[why.message]
        if why.reason in (Reason.EDITED_LATER, Reason.REPLACED):
            assert '"file_path"' in texts[why.message]


def test_receipts_say_the_same_as_lines_and_change_in_nothing_else(ran: Condensation, told: Condensation) -> None:
    assert not ran.lines
    for before, after in zip(ran.receipts, told.receipts, strict=True):
        lines = (
            told.lines.get((after.message, after.block), ())
            if after.operation in ("extract", "empty", "note", "summarize")
            else ()
        )
        assert sum(why.lines for why in after.went) == sum(not line.stays for line in lines)
        assert sum(why.lines for why in after.stayed) == sum(line.stays for line in lines)
        assert before.why == after.why
        assert before.tokens_after == after.tokens_after


@pytest.mark.slow
def test_nobody_looks_for_reasons_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(finding, "Reasons")
    for asked in (("run", "-q"), ("run", "-n", "--json"), ("diff", "-p", "balanced", "--stat")):
        assert condense(*asked, real.SESSION).status == 0
    assert condense("run", real.SESSION, "-n", "--explain").status == 1


@pytest.mark.slow
def test_a_run_that_is_explained_says_why_in_words() -> None:
    """In the diff, where a line of its own or the number of hidden lines has the reason, and in the table."""
    done = condense("run", real.SESSION, "-n", "--explain", "--diff").text
    _, _, rest = done.partition("\nblock ")
    table, _, diff = rest.partition("\nmessage ")
    assert re.search(r"\n  - … (\d+ more lines: )?.*also named in message \d+", diff)
    assert re.search(r"\n    … (\d+ more lines: )?.*named again in message \d+", diff)
    said = " ".join(table.split())
    assert re.search(r"cut: [^.]+ \(\d+ lines?\)[^.]*\. Kept: [^.]+ \(\d+ lines?\)", said)
    assert "edited later in this file, message 103" in said
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.slow
def test_the_diff_of_a_run_gives_reasons_without_more_being_asked() -> None:
    done = condense("run", real.SESSION, "-n", "--diff").text
    assert re.search(r"\n  - … .*also named in message \d+", done)
    assert "what and why" not in done
    assert "(old tool result: 3 lines or 1,500 characters of it stay" in " ".join(
        condense("run", real.SESSION, "-n", "--diff", "-p", "speed").text.split()
    )


def test_where_lines_are_hidden_their_reasons_count_those_shown_too() -> None:
    done = " ".join(condense("diff", real.SESSION, "-p", "balanced").text.split())
    counts = re.findall(r"… (\d+) more lines?; of all (\d+): [^…;]*\((\d+)\);", done)
    assert counts
    for hidden, whole, of_one_reason in counts:
        assert int(hidden) < int(whole) > int(of_one_reason)
    assert re.search(r"… \d+ more lines: named again in message \d+", done), "one reason needs no count"


def test_a_run_tells_programs_why() -> None:
    report = condense("run", real.SESSION, "-n", "--explain", "--json").json
    check_documented(report, "run", absent=RARE)
    changes = report["changes"]
    picked = [change for change in changes if change["cut"]]
    assert picked
    assert {change["operation"] for change in picked} == {"cut", "removed"}
    known = set(Reason)
    assert {why["reason"] for change in picked for why in change["cut"] + change["kept"]} <= known
    assert all(re.search(r"\(\d+ lines?\)", change["reason"]) for change in picked)


@pytest.mark.slow
def test_the_diff_of_two_files_gives_the_reasons_of_the_run(tmp_path: Path) -> None:
    """Which the run itself tells with `--preset`, but for those of blocks of which no lines were picked."""
    small = tmp_path / "small.jsonl"
    assert condense("run", real.SESSION, "-o", small, "-q").status == 0
    ran = condense("diff", real.SESSION, "--preset", "balanced", "--json").json
    found = condense("diff", real.SESSION, small, "--json").json
    check_documented(ran, "diff")
    assert {block["message"]: block["reason"] for block in ran["blocks"]}[5].startswith("a later call replaces")
    for block in ran["blocks"]:
        block["reason"] = ""
    picked = [block for block in found["blocks"] if block["stayed"]]
    assert len(picked) > 20
    in_run = {(block["message"], block["label"]): block for block in ran["blocks"] if block["stayed"]}
    assert [in_run[block["message"], block["label"]] for block in picked] == picked
    assert any(line["why"] for block in picked for line in block["lines"])


def test_a_limit_a_target_and_a_summary_are_named() -> None:
    messages = build.anthropic(*build.conversation())
    cut = build.one_pass(individual_config=build.cut_to(4))
    (reason,) = {change.reason for change in build.condense(messages, cut).changes}
    assert reason == "old tool result: 4 lines or 2,000 characters of it stay"
    aimed = build.condense(messages, {**cut, "stop_at_target": True}, target_tokens=1_500)
    assert {change.reason for change in aimed.changes} == {f"{reason}, to reach the target"}


def test_a_note_for_a_target_is_told_so(ran: Condensation) -> None:
    gone = [change for change in ran.changes if change.operation == "note" and change.block >= 0]
    assert bool(gone) is (ran.target is not None)
    told = f"old (call|tool result|text): {IN_NOTE}, to reach the target"
    assert all(re.fullmatch(told, change.reason) for change in gone)
    diff = of_run(ran, COUNT)
    summarized = {block.reason for block in diff.blocks if block.what is What.SUMMARIZED and block.old}
    assert summarized == {change.reason for change in gone}


@pytest.fixture(scope="module")
def summarized() -> Condensation:
    result = explained(api.condense(api.load(real.SESSION), preset="max", counter=COUNT), COUNT)
    assert any(change.reason == "written by offline" for change in result.changes)
    return result


@pytest.mark.slow
def test_lines_that_one_summary_has_are_told_from_those_that_went(summarized: Condensation) -> None:
    summary = next(block.text for _, block in summarized.transcript.blocks() if block.summarizes and block.changed)
    gone = {(one.message, one.block): one for one in summarized.changes if one.operation == "summarize"}
    told = {address: lines for address, lines in summarized.lines.items() if address in gone}
    assert len(told) > 20
    in_summary = set(summary.split("\n"))
    for lines in told.values():
        assert all(line.text in in_summary for line in lines if line.stays)
    texts = {message.index: "\n".join(block.text for block in message.blocks) for message in summarized.before.messages}
    reasons = {line.why.reason for lines in told.values() for line in lines}
    assert reasons >= {Reason.UNNAMED, Reason.NAMED_AGAIN, Reason.SAID_HERE_ONLY}
    for lines in told.values():
        for why in (line.why for line in lines if line.why.message is not None):
            assert why.name in texts[why.message or 0]
    for address, receipt in gone.items():
        lines = told.get(address, ())
        assert sum(why.lines for why in receipt.went) == sum(not line.stays for line in lines)
        assert sum(why.lines for why in receipt.stayed) == sum(line.stays for line in lines)
        if receipt.stayed:
            assert re.match(
                r"old [a-z ]+: the summary has.*\. (Cut: .*\. )?In the summary: .*\d", receipt_text(receipt)
            )


def test_the_diff_says_of_one_summary_why_lines_went(summarized: Condensation) -> None:
    diff = of_run(summarized, COUNT)
    blocks = [block for block in diff.blocks if block.what is What.SUMMARIZED and block.lines]
    assert blocks
    assert any(block.moved_lines for block in blocks)
    for block in blocks:
        assert block.reason.startswith("old ")
        assert block.said.endswith(" in the summary") is bool(block.moved_lines)
    assert any(block.why(hunk) for block in blocks for hunk in block.hunks())


@pytest.mark.slow
def test_the_usual_view_of_one_summary_looks_for_no_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(finding, "Reasons")
    assert condense("run", real.SESSION, "-n", "-p", "max").status == 0


def test_what_a_model_or_a_limit_cut_has_no_reasons_of_lines() -> None:
    summarize: dict[str, Any] = {"defaults": {"tool_results": {"operation": "summarize"}}}
    messages = build.anthropic(*build.conversation())
    for pass_, picks in ((summarize, True), (build.cut_to(4), False)):
        configuration = build.configuration(build.one_pass(individual_config=pass_))
        offline = explained(api.condense(messages, configuration), COUNT)
        assert bool(offline.lines) is picks
        assert not explained(api.condense(messages, configuration, summarizer=Short()), COUNT).lines


def test_words_count_lines_and_name_one_message() -> None:
    again = LineReason(Reason.NAMED_AGAIN, 41, "port_main", 2)
    assert lines_text([replace(again, lines=1)]) == "named again in message 41 (port_main)"
    assert lines_text([again]) == "named again in message 41 (e.g. port_main)"
    other = LineReason(Reason.NAMED_AGAIN, 43, "port_other", 3)
    assert lines_text([again, other]) == "named again in message 43 and others"
    unnamed = LineReason(Reason.UNNAMED, lines=4)
    assert lines_text([unnamed, again]) == "nothing later names it (4); named again in message 41 (e.g. port_main) (2)"
    receipt = Receipt(
        "p", 1, 0, None, None, None, "extract", 9, 1, reason="old", went=(unnamed,), stayed=(again, other)
    )
    assert receipt_text(receipt) == (
        "nothing later names it (4 lines). Kept: named again in message 43 and others (5 lines)"
    )
    assert {lines_text([LineReason(reason)]) for reason in Reason} >= {"the user's own words", "a decision"}


LINES = st.one_of(st.sampled_from(["}", "", "x = 1", f"{ELLIPSIS}", "a, " * LONG_LINE, "     1→one", "     2→"]), TEXTS)


TEXT = st.lists(LINES, min_size=1, max_size=12).map("\n".join)
SHOWN = st.lists(LINES, min_size=2, max_size=12).map(
    lambda lines: "\n".join(f"{n:>6}→{line}" for n, line in enumerate(lines, 8))
)


@given(TEXT | SHOWN, st.data())
def test_the_lines_that_stay_are_found_again(text: str, data: st.DataObject) -> None:
    units = split(text)
    of_line = unit_lines(units)
    stays = data.draw(st.lists(st.booleans(), min_size=len(lines_of(units)), max_size=len(lines_of(units))))
    kept = [stays[line] for line in of_line]
    found = which_remain(units, split(render(units, kept, counts_lines=True)))
    assert found is not None
    if units.gaps:
        assert [*map(bool, found)].count(True) == stays.count(True)
    else:
        assert found == stays


@pytest.mark.parametrize("line", ["word " * LONG_LINE, f"…{'word, ' * LONG_LINE}…"])
def test_a_line_of_which_its_ends_are_left_remains(line: str) -> None:
    units = split(f"before\n{line}\nafter")
    long = [unit for unit, number in enumerate(unit_lines(units)) if number == 1]
    kept = [unit in (long[0], long[-1]) for unit in range(len(units.texts))]
    assert which_remain(units, split(render(units, kept))) == [False, True, False]


@pytest.mark.parametrize("other", ["another text", "one\nthree\ntwo", "one\ntwo\nthree\nfour"])
def test_another_text_is_no_cut_version(other: str) -> None:
    assert which_remain(split("one\ntwo\nthree"), split(other)) is None


def test_equal_lines_are_told_apart_by_the_count_of_the_marker() -> None:
    units = split("}\none\n}\ntwo\n}")
    assert which_remain(units, split(render(units, [0, 0, 0, 0, 1]))) == [False, False, False, False, True]
    assert which_remain(units, split(render(units, [0, 0, 1, 0, 0]))) == [False, False, True, False, False]
