"""Passes in batch mode: what one summary takes the place of, and how each format writes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import claude_cases
import laws
import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    configuration,
    conversation,
    openai,
    read_turn,
    result,
    session,
    text,
    thinking,
    user,
)
from msgspec import Struct
from msgspec.structs import replace
from rollouts import message as codex_message
from rollouts import record as codex_record
from summarizers import Failing, Short, Wordy

from condense_cli import api
from condense_cli.ledger.written import parse as parse_ledger
from condense_cli.markers import GO_ON, SummaryMark, find_stretch, parse_summary
from condense_cli.models import binds_thinking
from condense_cli.passes.pipeline import Condensation
from condense_cli.passes.receipts import Status
from condense_cli.passes.summaries import BatchTask, Outcome, Summarizer, Task, Written
from condense_cli.report.shortcomings import warnings_of
from condense_cli.tokens import Counter
from condense_cli.transcript import BlockKind, Message, Role, Transcript
from condense_cli.validity import validate

Records = list[dict[str, Any]]
RECENT = {"type": "preserve_recent", "keep_recent_count": 1}


class Noting(Struct):
    """Keeps the tasks it was given."""

    tasks: list[BatchTask]
    says: str = "What happened."

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.tasks += [task for task in tasks if isinstance(task, BatchTask)]
        return [Written(self.says, by="noting") for _ in tasks]


def batch(
    transcript: Transcript,
    summarizer: Summarizer | None = None,
    selection: dict[str, Any] | None = None,
    pins: Sequence[dict[str, Any]] = (),
    **summarization: Any,
) -> Condensation:
    """One batch pass; nothing is kept at the ends of the window unless told otherwise."""
    keys = {"keep_first": 0, "keep_last": 0, **summarization}
    config = {
        "id": "batch",
        "mode": "batch",
        "selection": selection or RECENT,
        "batch_config": {"operation": "summarize", "summarization_config": keys},
    }
    condensation = api.condense(transcript, configuration(config, pins=list(pins)), summarizer=summarizer or Short())
    api.dump(condensation)
    assert condensation.new_violations == []
    return condensation


def again(condensation: Condensation, *more: dict[str, Any]) -> Transcript:
    """The written conversation, gone on."""
    return anthropic(*json.loads(api.dump(condensation)), *more)


def marks(condensation: Condensation) -> list[SummaryMark]:
    return [mark for _, block in condensation.transcript.blocks() if (mark := parse_summary(block.text))]


def stayed(condensation: Condensation) -> list[int]:
    """Indices of the messages that are still there."""
    return [message.index for message in condensation.transcript.messages if not message.is_summary]


def kept_because(condensation: Condensation, words: str) -> set[int]:
    return {receipt.message for receipt in condensation.receipts if receipt.kept and words in receipt.why}


# What is summarized.


def test_the_ends_of_the_window_stay() -> None:
    transcript = anthropic(*conversation(6))
    assert stayed(batch(transcript)) == [0, 13]
    # The result of the first call, and the call of the last result, stay with the other half.
    assert stayed(batch(transcript, keep_first=2)) == [0, 1, 2, 13]
    assert stayed(batch(transcript, keep_last=3)) == [0, 9, 10, 11, 12, 13]
    assert stayed(batch(transcript, keep_first=2, keep_last=4)) == [0, 1, 2, 9, 10, 11, 12, 13]


def test_what_is_pinned_stays_with_its_other_half() -> None:
    transcript = anthropic(*conversation(6))
    found = batch(transcript, pins=[{"regex": "src/file3.py"}])
    assert stayed(found) == [0, 7, 8, 13]
    assert kept_because(found, "call or result stays") == {8}
    (mark,) = marks(found)
    assert mark.messages + len(stayed(found)) == len(transcript.messages)


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
    assert "did not go on since the last summary" in receipt.reason


def test_nothing_new_in_the_window_is_no_task() -> None:
    first = batch(anthropic(*conversation(6)))
    noting = Noting([])
    second = batch(again(first, user("Next.")), noting, selection={"type": "preserve_recent", "keep_recent_count": 2})
    assert noting.tasks == []
    assert not second.changes


def test_images_and_documents_that_a_summary_stands_for_are_counted_and_told() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}}
    turns = [message for n in range(6) for message in read_turn(f"t{n}")]
    seen = [user([image, image, document, text("See?")]), assistant("I see."), user("Go.")]
    condensation = batch(
        anthropic(user("Begin."), *turns, *seen), selection={"type": "preserve_recent", "keep_recent_count": 1}
    )
    ledger = parse_ledger(condensation.transcript.messages[1].blocks[0].text)
    assert ledger is not None
    assert (ledger.left_out.images, ledger.left_out.documents) == (2, 1)
    assert any("2 images and 1 document went" in warning for warning in warnings_of(condensation))


# The summary of a second pass stands where that of the first stood, and takes it in: the first is gone.
def test_the_second_pass_takes_in_the_summary_of_the_first() -> None:
    passes = [
        {
            "id": id,
            "mode": "batch",
            "selection": {"type": "preserve_recent", "keep_recent_count": recent},
            "batch_config": {"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}},
        }
        for id, recent in (("first", 5), ("second", 1))
    ]
    configured = configuration(*passes, lossless_prelude={"enabled": True})
    done = laws.check_all(anthropic(*conversation()), configured, summarizer=Short())
    gone = [receipt for receipt in done.changes if receipt.pass_id == "second" and receipt.message == 1]
    assert [receipt.tokens_after for receipt in gone if receipt.block == 0] == [0]


# Roles alternate where the API wants that; a line leads on from one to the next.
@pytest.mark.parametrize("keep", [0, 1, 2, 3])
@pytest.mark.parametrize("recent", [1, 2, 3, 4])
def test_roles_alternate(keep: int, recent: int) -> None:
    selection = {"type": "preserve_recent", "keep_recent_count": recent}
    found = batch(anthropic(*conversation(6)), selection=selection, keep_first=keep)
    messages = found.transcript.messages
    assert messages[0].role is Role.USER
    assert all(one.role is not other.role for one, other in pairwise(messages))
    lines = [block.text for message in messages for block in message.blocks if block.text == GO_ON]
    assert len(lines) <= 1
    (mark,) = marks(found)
    position = next(n for n, message in enumerate(messages) if message.is_summary)
    assert mark.following == len(messages) - 1 - position


def test_the_mark_names_the_first_and_the_last_message() -> None:
    transcript = anthropic(*conversation(6))
    (mark,) = marks(batch(transcript))
    assert find_stretch([message.hash for message in transcript.messages], mark.hash) == (1, 12)


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


# Formats.


def test_openai_chat() -> None:
    messages: Records = [{"role": "system", "content": "Help."}, user("Please find the bug.")]
    for number in range(5):
        function = {"name": "read", "arguments": json.dumps({"path": f"src/file{number}.py"})}
        calls = [{"id": f"call_{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": LONG})
    found = batch(openai(*messages, assistant("Found it.")))
    written = json.loads(api.dump(found))
    assert written[:2] == messages[:2]
    assert written[2]["role"] == "assistant"
    assert parse_summary(written[2]["content"])
    assert written[-1]["content"] == "Found it."
    assert not validate(api.loads(written))


def appended(records: Records, condensation: Condensation) -> Records:
    """The records behind those of the file, which keep their bytes."""
    before = "".join(json.dumps(record) + "\n" for record in records).encode()
    data = api.dump(condensation)
    assert data.startswith(before)
    return [json.loads(line) for line in data[len(before) :].splitlines()]


def test_claude_code_gets_a_boundary_a_summary_and_copies() -> None:
    records = claude_cases.LOOKING_AROUND
    found = batch(session(*records), selection={"type": "preserve_recent", "keep_recent_count": 3})
    boundary, *new = appended(records, found)
    assert (boundary["subtype"], boundary["parentUuid"]) == ("compact_boundary", None)
    assert boundary["logicalParentUuid"] == records[-1]["uuid"]
    first, summary, *copies = new
    assert first["message"]["content"] == "Please find the bug."
    assert summary["isCompactSummary"]
    assert parse_summary(summary["message"]["content"])
    chain = [boundary, *new]
    assert all(later["parentUuid"] == earlier["uuid"] for earlier, later in pairwise(chain))
    old = {record["uuid"] for record in records}
    assert not old & {record["uuid"] for record in chain}
    assert len({record["uuid"] for record in chain}) == len(chain)
    replies = {record["message"]["id"] for record in records if record["type"] == "assistant"}
    assert not replies & {record["message"]["id"] for record in copies if record["type"] == "assistant"}
    assert [record["message"]["content"] for record in copies] == [
        record["message"]["content"] for record in records[-3:]
    ]
    reread = api.loads(api.dump(found), format="claude-code")
    assert [[block.text for block in message.blocks] for message in reread.messages] == [
        [block.text for block in message.blocks] for message in found.transcript.messages
    ]
    assert validate(reread) == []


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("leaf", [12, 4])
def test_a_named_end_does_not_lead_away_from_the_summary(leaf: int, explicit: bool) -> None:
    note = claude_cases.prompt_note(leaf, **({"explicit": True} if explicit else {}))
    records = [*claude_cases.LOOKING_AROUND, note]
    transcript = session(*records)
    found = batch(transcript)
    assert marks(found)
    reread = api.loads(api.dump(found), format="claude-code")
    assert [message.is_summary for message in reread.messages] == [
        message.is_summary for message in found.transcript.messages
    ]
    assert any(message.is_summary for message in reread.messages)


def test_a_second_summary_of_a_claude_session_goes_behind_the_first() -> None:
    first = api.dump(batch(session(*claude_cases.LOOKING_AROUND)))
    lines = [json.loads(line) for line in first.splitlines()]
    last = lines[-1]["uuid"]
    for number in range(20, 26, 2):
        read = call(f"toolu_{number}", "Read", file_path=f"src/late{number}.py")
        asked = claude_cases.reply(number, None, f"msg_{number}", read) | {"parentUuid": last}
        answered = claude_cases.said(number + 1, number, [result(f"toolu_{number}", LONG)])
        lines += [asked, answered]
        last = answered["uuid"]
    transcript = session(*lines)
    second = batch(transcript)
    (boundary, *_) = appended(lines, second)
    assert boundary["subtype"] == "compact_boundary"
    assert len(marks(second)) == 1
    (summary,) = [block.text for _, block in second.transcript.blocks() if parse_summary(block.text)]
    assert "src/file2.py" in summary
    assert "src/late20.py" in summary


def test_roo_hides_what_is_summarized() -> None:
    messages = [message | {"ts": 1_700_000_000_000 + n} for n, message in enumerate(conversation(6))]
    found = batch(api.loads(json.dumps(messages, indent=1), format="roo"))
    written = json.loads(api.dump(found))
    (summary,) = [message for message in written if message.get("isSummary")]
    hidden = [message for message in written if message.get("condenseParent")]
    assert {message["condenseParent"] for message in hidden} == {summary["condenseId"]}
    bare = [{key: value for key, value in message.items() if key != "condenseParent"} for message in written]
    assert [message for message in bare if message in messages] == messages, "all that was there is still there"
    (mark,) = marks(found)
    assert len(hidden) == mark.messages
    shown = api.loads(json.dumps(written), format="roo")
    assert [message.is_summary for message in shown.messages] == [
        message.is_summary for message in found.transcript.messages
    ]


@pytest.mark.parametrize("is_paginated", [False, True])
def test_codex_gets_one_compacted_record(is_paginated: bool) -> None:
    meta: dict[str, Any] = {"id": "s", "cwd": "/repo", "model_provider": "openai"}
    records: Records = [codex_record("session_meta", **meta, **({"history_mode": "paginated"} if is_paginated else {}))]
    records.append(codex_record("response_item", **codex_message("user", "Please find the bug.")))
    for number in range(5):
        arguments = json.dumps({"cmd": f"cat src/file{number}.py"})
        asked = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": f"c{number}"}
        answered = {"type": "function_call_output", "call_id": f"c{number}", "output": LONG}
        records += [codex_record("response_item", **asked), codex_record("response_item", **answered)]
    records.append(codex_record("response_item", **codex_message("assistant", "Found it.")))
    if is_paginated:
        records = [{**record, "ordinal": number} for number, record in enumerate(records)]
    data = "".join(json.dumps(record) + "\n" for record in records)
    found = batch(api.loads(data, format="codex"))
    (compacted,) = appended(records, found)
    assert compacted["type"] == "compacted"
    assert compacted.get("ordinal") == (len(records) if is_paginated else None)
    history = compacted["payload"]["replacement_history"]
    assert parse_summary(compacted["payload"]["message"])
    assert [item["role"] for item in history] == ["user", "user", "assistant"]
    assert history[0] == records[1]["payload"]
    reread = api.loads(api.dump(found), format="codex")
    assert [message.is_summary for message in reread.messages] == [False, True, False]


# Thinking that is bound to what stood before it goes with a summary; other models keep theirs.
@pytest.mark.parametrize(("model", "stays"), [("claude-opus-4-5", True), ("claude-opus-5-5", False)])
def test_thinking_behind_a_summary(model: str, stays: bool) -> None:
    assert binds_thinking(model) is not stays
    last = assistant([thinking(), text("Found it.")])
    transcript = replace(anthropic(*conversation(5)[:-1], last), model=model)
    found = batch(transcript)
    kinds = [block.kind for _, block in found.transcript.blocks()]
    assert marks(found)
    assert (BlockKind.THINKING in kinds) is stays


# A summary is written once, even where the target is missed: what the pass has to keep stays.
def test_a_target_that_is_missed_does_not_widen_the_selection() -> None:
    reads = [message for n in range(5) for message in read_turn(str(n))]
    transcript = anthropic(user("Go."), *reads, user(LONG + LONG), assistant("Done."), user("Thanks."))
    middle = {
        "id": "middle",
        "mode": "batch",
        "selection": {"type": "preserve_recent", "keep_recent_count": 4},
        "batch_config": {"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}},
        "stop_at_target": True,
    }
    result = condense(transcript, middle, target_tokens=10, lossless_prelude={"enabled": True})
    assert len(marks(result)) == 1
    assert result.transcript.messages[-4:] == result.before.messages[-4:]
