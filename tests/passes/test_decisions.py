"""The table of a run: a row for every block, from which receipts, sums and references are computed."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any
from unittest.mock import Mock

import pytest
from build import LONG, anthropic, assistant, call, condense, configuration, cut_to, one_pass, read_turn, result, user
from laws import check_content
from real import SAMPLES

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Message, Transcript
from condense_cli.lossless.encode import Encoded, encode
from condense_cli.passes import prelude
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.decisions import Fate
from condense_cli.passes.receipts import PRELUDE, Kept
from condense_cli.passes.selection import protect
from condense_cli.passes.sheet import Sheet
from condense_cli.tokens.counting import Counter

pytestmark = pytest.mark.usefixtures("anywhere")

OLD = {"selection": {"type": "preserve_recent", "keep_recent_count": 3}}
CUT: dict[str, Any] = one_pass(id="cut", individual_config=cut_to(3), **OLD)
AGAIN = {**CUT, "id": "again"}
LARGE = {**CUT, "id": "large", "execution": {"type": "conditional", "condition": {"token_threshold": 200}}}
SUMMED = one_pass(
    id="summed", individual_config={"defaults": {"tool_results": {"operation": "summarize", "min_tokens": 20}}}, **OLD
)


def session() -> Transcript:
    """A file that is read three times, twice long ago, and a log."""
    log = "\n".join(f"{number}: started job {number * 7}" for number in range(30))
    return anthropic(
        user("Go on."),
        *read_turn("1", content=LONG),
        assistant([call("2", "Bash", command="make")]),
        user([result("2", log)]),
        *read_turn("3", content=LONG),
        *read_turn("4", content=LONG),
        assistant("Done."),
    )


def run(*passes: dict[str, Any]) -> Condensation:
    found = condense(session(), *passes, lossless_prelude={"enabled": True})
    check_content(found, configuration(*passes, lossless_prelude={"enabled": True}), Counter())
    return found


@pytest.mark.parametrize(
    ("passes", "times"), [((CUT,), 1), ((CUT, AGAIN), 1), ((CUT, LARGE), 1), ((LARGE,), 2), ((SUMMED,), 1)]
)
def test_references_are_written_once_and_measured_for_a_threshold(
    passes: tuple[Any, ...], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Mock(wraps=encode)
    monkeypatch.setattr(prelude, "encode", written)
    run(*passes)
    assert written.call_count == times


@pytest.mark.parametrize("percent", [None, 80, 50, 30])
def test_references_to_one_state_are_worked_out_once(percent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = api.load(next(path for path in SAMPLES if path.name == "bugfix-session.jsonl"))
    target = percent and Counter.of(transcript).transcript(transcript) * percent // 100
    states: list[tuple[Message, ...]] = []

    def written(messages: Sequence[Message], *given: Any, **more: Any) -> Encoded:
        states.append(tuple(messages))
        return encode(messages, *given, **more)

    monkeypatch.setattr(prelude, "encode", written)
    api.condense(transcript, preset="balanced", target_tokens=target)
    assert states
    assert all(one != other for one, other in combinations(states, 2))


def test_references_are_not_written_to_see_that_far_too_little_went(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Mock(wraps=encode)
    monkeypatch.setattr(prelude, "encode", written)
    transcript, count, preset = session(), Counter(), load_preset("balanced")
    writer = prelude.ReferenceWriter(transcript, preset, count)
    sheet = Sheet(transcript, count, writer, protect(preset, writer.messages, count), "auto")
    assert not sheet.is_within(100)
    sheet.remove([(1, 0)], "cut")
    assert not sheet.is_within(100)
    assert written.call_count == 0
    assert sheet.is_within(sheet.plain_tokens)
    sheet.is_within(sheet.plain_tokens - 1)
    assert written.call_count == 1


def test_every_block_of_the_input_has_a_row_that_says_where_it_is() -> None:
    found = run(CUT)
    rows = {row.place: row for row in found.decisions.rows}
    assert len(rows) == len(found.decisions.rows) == sum(1 for _ in found.before.blocks())
    for message, block in found.before.blocks():
        row = rows[message.index, message.blocks.index(block)]
        assert row.old is block
        assert row.at is not None
        assert row.new is found.transcript.messages[row.at[0]].blocks[row.at[1]]
        assert (row.fate is Fate.KEPT) is (row.old is row.new)
        assert row.after <= row.plain
    fates = {row.fate for row in rows.values()}
    assert fates == {Fate.KEPT, Fate.CHANGED, Fate.REFERENCE}
    assert sum(row.before - row.after for row in rows.values()) == found.tokens_before - found.tokens_after


def test_a_summary_and_what_it_stands_for_have_rows() -> None:
    summarizing = {"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}}
    found = run(one_pass(id="summary", mode="batch", batch_config=summarizing, **OLD))
    rows = found.decisions.rows
    put = [row for row in rows if row.fate is Fate.INSERTED]
    assert put
    for row in put:
        assert row.new is not None
        assert row.new.summarizes
        assert (row.before, row.after) == (0, Counter().block(row.new))
    gone = [row for row in rows if row.fate is Fate.REMOVED]
    assert gone
    assert all(row.at is None and row.new is None and not row.after for row in gone)
    frames = [row for row in rows if row.fate is Fate.FRAME]
    saved = sum(row.before - row.after for row in rows)
    assert frames
    assert saved == found.tokens_before - found.tokens_after


def test_receipts_say_what_references_save_in_the_end() -> None:
    found = run(CUT)
    before, cut = found.passes
    assert before.tokens_before == found.tokens_before
    assert before.tokens_after == cut.tokens_before
    assert cut.tokens_after == found.tokens_after
    for one in found.passes:
        changes = [receipt for receipt in found.changes if receipt.pass_id == one.id]
        assert one.tokens_before - one.tokens_after == sum(x.tokens_before - x.tokens_after for x in changes)
        assert one.changes == len({(x.message, x.block) for x in changes})
    assert before.id == PRELUDE
    # The reads of old are referred to the newest, which says all of them: the pass has nothing to cut there.
    by_pass = {(one.message, one.block): one.kept for one in found.receipts if one.pass_id == "cut"}
    assert {by_pass[one.message, one.block] for one in found.changes if one.pass_id == PRELUDE} == {Kept.REFERENCE}
