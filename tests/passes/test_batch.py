"""Passes in batch mode: what one summary takes the place of, and what is taken in later."""

from typing import Any

import laws
import pytest
from batches import Noting, again, batch, kept_because, stayed
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    configuration,
    conversation,
    marks,
    one_batch,
    read_turn,
    result,
    text,
    user,
)
from summarizers import Failing, Short, Wordy

from condense_cli.core.markers import parse_summary
from condense_cli.core.values import BlockKind
from condense_cli.ledger.text import parse as parse_ledger
from condense_cli.passes.receipts import Status
from condense_cli.passes.summaries import Summarizer
from condense_cli.report.run.shortcomings import warnings_of
from condense_cli.tokens.counting import Counter

# What is summarized.


def test_the_ends_of_the_window_stay() -> None:
    transcript = anthropic(*conversation(6))
    assert stayed(batch(transcript)) == [0, 13]
    # The result of the first call, and the call of the last result, stay with the other half.
    assert stayed(batch(transcript, keep_first=2)) == [0, 1, 2, 13]
    assert stayed(batch(transcript, keep_last=3)) == [0, 9, 10, 11, 12, 13]
    assert stayed(batch(transcript, keep_first=2, keep_last=4)) == [0, 1, 2, 9, 10, 11, 12, 13]


def test_what_is_pinned_stays_with_its_other_half() -> None:
    messages = conversation(6)
    messages[8]["content"][0]["content"] = f"NEEDLE\n{LONG}"
    transcript = anthropic(*messages)
    found = batch(transcript, pins=[{"regex": "NEEDLE"}])
    assert stayed(found) == [0, 7, 8, 13]
    assert kept_because(found, "call or result is kept") == {7}
    assert [mark.messages for mark in marks(found)] == [6, 4], "one summary on each side of what stays"
    assert [message.index for message in found.transcript.messages if message.is_inserted] == [1, 2, 9, 10]


@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        ({"type": "custom", "range": {"start": 3, "end": 9}}, [0, 1, 2, 9, 10, 11, 12, 13]),
        ({"type": "custom", "range": {"start": 4, "end": 10}}, [0, 1, 2, 3, 4, 9, 10, 11, 12, 13]),
        ({"type": "custom", "roles": ["assistant"]}, [*range(13)]),
        ({"type": "custom", "tools": {"include": ["Read"]}}, [0, 13]),
        ({"type": "preserve_percent", "keep_percentage": 50}, [0, 7, 8, 9, 10, 11, 12, 13]),
    ],
)
def test_selections_leave_exchanges_whole(selection: dict[str, Any], kept: list[int]) -> None:
    transcript = anthropic(*conversation(6))
    found = batch(transcript, selection=selection)
    assert [index for index in stayed(found) if index != 13] == [index for index in kept if index != 13]
    calls = {block.call_id for _, block in found.transcript.blocks() if block.kind is BlockKind.TOOL_CALL}
    results = {block.call_id for _, block in found.transcript.blocks() if block.kind is BlockKind.TOOL_RESULT}
    assert calls == results


# A call that is still to be answered stays, even where nothing else does.
def test_an_open_call_at_the_end_stays() -> None:
    transcript = anthropic(*conversation(5), user("More."), assistant([call("open", "Read", file_path="x")]))
    found = batch(transcript, selection={"type": "custom"})
    assert found.transcript.messages[-1].blocks[0].call_id == "open"


def test_images_and_documents_that_a_summary_stands_for_are_counted_and_told() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}}
    turns = [message for n in range(6) for message in read_turn(f"t{n}")]
    tool = {"type": "tool_reference", "tool_name": "mcp__x__y"}  # No document, though it is counted by an estimate.
    seen = [user([image, image, document, text("See?")]), assistant("I see."), user("Go.")]
    turns += [assistant([call("search", "ToolSearch")]), user([result("search", [tool])])]
    condensation = batch(
        anthropic(user("Begin."), *turns, *seen), selection={"type": "preserve_recent", "keep_recent_count": 1}
    )
    ledger = parse_ledger(condensation.transcript.messages[1].blocks[0].text)
    assert ledger is not None
    assert (ledger.left_out.images, ledger.left_out.documents) == (2, 1)
    assert any("also replaced 2 images and 1 document" in warning for warning in warnings_of(condensation))


# Without a summary everything stays, with the reason.
@pytest.mark.parametrize(("summarizer", "why"), [(Failing(), "overloaded"), (Wordy(), "smaller")])
def test_no_summary_no_change(summarizer: Summarizer, why: str) -> None:
    found = batch(anthropic(*conversation(6)), summarizer)
    assert found.transcript.messages == found.before.messages
    assert kept_because(found, why) == set(range(1, 13))


# What a configuration allows holds for words and ledger together.
@pytest.mark.parametrize("most", [120, 200, 400])
def test_the_limit_counts_the_ledger(most: int) -> None:
    noting = Noting([])
    found = batch(anthropic(*conversation(12)), noting, max_tokens=most)
    (task,) = noting.tasks
    assert task.max_tokens is not None
    (summary,) = [block for _, block in found.transcript.blocks() if parse_summary(block.text)]
    ledger = summary.text[summary.text.index("What happened.") + len("What happened.") :]
    assert task.max_tokens + Counter()(ledger) <= most


# A summary is written once, even where the target is missed: what the pass has to keep stays.
def test_a_target_that_is_missed_does_not_widen_the_selection() -> None:
    reads = [message for n in range(5) for message in read_turn(str(n))]
    transcript = anthropic(user("Go."), *reads, user(LONG + LONG), assistant("Done."), user("Thanks."))
    result = condense(
        transcript,
        one_batch(4, id="middle") | {"stop_at_target": True},
        target_tokens=10,
        lossless_prelude={"enabled": True},
    )
    assert len(marks(result)) == 1
    assert result.transcript.messages[-4:] == result.before.messages[-4:]


# An earlier summary.


def test_an_old_summary_is_continued_and_replaced() -> None:
    first = batch(anthropic(*conversation(6)), Noting([], "The first half."))
    assert len(marks(first)) == 1
    noting = Noting([], "Both halves.")
    more = [*read_turn("more_1", "src/new1.py"), *read_turn("more_2", "src/new2.py"), assistant("So.")]
    second = batch(again(first, user("Go on."), *more), noting)
    (task,) = noting.tasks
    assert task.previous == "The first half."
    assert not any(message.is_summary for message in task.messages)
    (new,) = marks(second)
    assert new.messages == marks(first)[0].messages + len(task.messages)
    (summary,) = [block.text for _, block in second.transcript.blocks() if parse_summary(block.text)]
    assert "The first half." not in summary
    ledger = parse_ledger(summary)
    assert ledger
    assert summary.count("<ledger>") == 1
    assert "src/file0.py" in summary, "from the ledger of the old summary"
    assert "src/new2.py" in summary


def test_what_is_summarized_already_is_left_alone() -> None:
    first = batch(anthropic(*conversation(6)))
    noting = Noting([])
    second = batch(again(first), noting)
    assert noting.tasks == []
    assert not second.changes
    (receipt,) = [receipt for receipt in second.passes if receipt.id == "batch"]
    assert receipt.status is Status.SKIPPED
    assert "no more turns follow the last summary" in receipt.reason


def test_nothing_new_in_the_window_is_no_task() -> None:
    first = batch(anthropic(*conversation(6)))
    noting = Noting([])
    second = batch(again(first, user("Next.")), noting, selection={"type": "preserve_recent", "keep_recent_count": 2})
    assert noting.tasks == []
    assert not second.changes


# The summary of a second pass stands where that of the first stood, and takes it in: the first is gone.
def test_the_second_pass_takes_in_the_summary_of_the_first() -> None:
    passes = [one_batch(recent, id=id) for id, recent in (("first", 5), ("second", 1))]
    configured = configuration(*passes, lossless_prelude={"enabled": True})
    done = laws.check_all(anthropic(*conversation()), configured, summarizer=Short())
    gone = [receipt for receipt in done.changes if receipt.pass_id == "second" and receipt.message == 1]
    assert [receipt.tokens_after for receipt in gone if receipt.block == 0] == [0]


# `preserve_percent` counts the turns a summary stands for, so that a window does not shrink with each summary.
def test_windows_in_percent_count_the_turns_behind_a_summary() -> None:
    first = batch(anthropic(*conversation(20)), selection={"type": "preserve_percent", "keep_percentage": 20})
    kept = len(first.transcript.messages)
    turns = sum(message.turns for message in first.transcript.messages)
    assert turns >= 42
    noting = Noting([])
    more = [message for number in range(4) for message in read_turn(f"more_{number}")]
    second = batch(
        again(first, user("Go on."), *more, assistant("So.")),
        noting,
        selection={"type": "preserve_percent", "keep_percentage": 20},
    )
    assert len(second.transcript.messages) >= kept
