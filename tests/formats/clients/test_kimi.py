"""Wire logs of Kimi Code: the context as the client builds it, event by event."""

import json
from typing import Any

import pytest
import real
from build import LONG, configuration, cut_to, one_batch, one_pass, texts
from kimi_logs import HEADER, Json, answer, call, event, exchange, part, said, step

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse, serialize
from condense_cli.rules.validity import validate
from condense_cli.toolcalls import tools


def log(*records: Json) -> Transcript:
    data = "".join(json.dumps(record) + "\n" for record in (HEADER, *records)).encode()
    transcript = parse(data)
    assert transcript.format == "kimi"
    assert serialize(transcript) == data
    return transcript


def test_steps_are_messages() -> None:
    transcript = log(*exchange())
    assert [message.role for message in transcript.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    kinds = [block.kind.value for block in transcript.messages[1].blocks]
    assert kinds == ["thinking", "text", "tool_call", "tool_call"]
    assert tools.reads_a_file(transcript.messages[1].blocks[2])
    results = transcript.messages[2].blocks
    assert [(block.answers, block.tool, block.is_error) for block in results] == [
        ("b", "Bash", True),
        ("a", "Read", False),
    ]
    assert transcript.model == "kimi-k2"
    assert transcript.first_usage is not None
    assert transcript.first_usage.input_tokens == 12
    assert validate(transcript) == []


# What came between calls and their results is sent behind these; words of the client are not the user's.
def test_messages_wait_for_results() -> None:
    between = said("Be quick.", "injection")
    records = [
        said("Go on."),
        event("step.begin", uuid="s"),
        call("s", "a"),
        between,
        answer("a", [{"type": "text", "text": "x"}]),
    ]
    transcript = log(*records)
    assert [message.role for message in transcript.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]
    assert transcript.messages[3].is_injected
    open_call = log(said("Go on."), event("step.begin", uuid="s"), call("s", "a"), between)
    assert texts(open_call)[-1] == "Be quick."


def test_clearing_and_undoing() -> None:
    assert texts(log(*exchange(), {"type": "context.clear", "time": 9}, said("Anew."))) == ["Anew."]
    more = [said("More."), *step("s3", part("s3", "Sure."))]
    assert texts(log(*exchange(), *more, {"type": "context.undo", "count": 1, "time": 9})) == texts(log(*exchange()))


def compaction(**members: Any) -> Json:
    return {"type": "context.apply_compaction", "summary": "Work.", "compactedCount": 4, "time": 9, **members}


# Older logs keep what follows the compacted messages, newer ones only requests; the summary is before or behind.
def test_compactions() -> None:
    requests = [said(f"Request {number}.") for number in range(4)]
    older = log(*exchange(), said("Next."), compaction())
    assert texts(older) == ["Work.", "Done.", "Next."]
    assert older.messages[0].is_summary
    kept = log(
        *requests, *exchange()[1:], compaction(keptUserMessageCount=3, contextSummary="The work."), said("Next.")
    )
    assert texts(kept) == ["Request 1.", "Request 2.", "Request 3.", "The work.", "Next."]
    ends = log(*requests, compaction(keptUserMessageCount=2, keptHeadUserMessageCount=1))
    assert texts(ends) == ["Request 0.", "Request 3.", "Work."]
    too_many = log(*requests, compaction(keptUserMessageCount=6))
    assert texts(too_many) == ["Request 0.", "Request 1.", "Request 2.", "Request 3.", "Work."]


@pytest.mark.parametrize(
    ("record", "left"),
    [
        (event("content.part", stepUuid="nowhere", part={"type": "text", "text": "x"}), ["Go.", "On."]),
        (event("tool.result", toolCallId=5, result={}), ["Go.", "On."]),
        ({"type": "context.append_message", "message": {"role": "nobody"}, "time": 1}, ["Go.", "On."]),
        ({"type": "context.undo", "count": 99, "time": 1}, ["Go.", "On."]),
        ({"type": "context.apply_compaction", "keptUserMessageCount": -3, "summary": None, "time": 1}, ["On."]),
    ],
)
def test_odd_records_are_passed_over(record: Json, left: list[str]) -> None:
    assert texts(log(said("Go."), event("step.begin", uuid="s"), record, said("On."))) == left


def test_a_call_without_an_id_is_not_understood() -> None:
    with pytest.raises(UnknownFormatError, match=r"most of the calls in it cannot be understood: 'tool\.call'"):
        log(said("Go."), event("step.begin", uuid="s"), event("tool.call", stepUuid="s", toolCallId=None))


def test_a_log_without_messages_is_refused() -> None:
    with pytest.raises(UnknownFormatError, match="holds no message"):
        log()


def test_images_are_seen() -> None:
    image = {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,aGVsbG8="}}
    transcript = log({**said("x"), "message": {"role": "user", "content": [image]}})
    assert transcript.messages[0].blocks[0].kind is BlockKind.IMAGE


# What a log says of a result beside the context goes with it; what the client puts behind a result is sent as well.
def test_texts_change_in_place() -> None:
    told = {"type": "agent.message.appended", "message": {"role": "tool", "content": LONG}, "time": 4}
    records = [*exchange(), told, said("Thanks.")]
    records[7]["event"]["result"]["note"] = "<system>All was read.</system>"
    before = log(*records)
    assert texts(before)[6] == "<system>All was read.</system>"
    data = api.dump(api.condense(before, configuration(one_pass(individual_config=cut_to(3)))))
    assert len(data.splitlines()) == len(records) + 1
    assert b"line 30" not in data.replace(b"item", b"line")
    assert validate(parse(data)) == []


# Messages that go are in nothing that counts, and all lines before it stay.
def test_a_log_loses_messages() -> None:
    more = step("s3", call("s3", "c"), answer("c", "x\n" * 300))
    before = log(*exchange(), said("More."), *more, *step("s4", part("s4", "Sure.")))
    data = api.dump(api.condense(before, configuration(one_batch())))
    assert data.startswith(before.source.data)
    added = [json.loads(line) for line in data[len(before.source.data) :].splitlines()]
    assert added[0]["type"] == "context.clear"
    assert all("usage" not in line.get("event", {}) for line in added)
    after = parse(data)
    assert validate(after) == []
    assert any(message.is_summary for message in after.messages)
    assert len(after.messages) < len(before.messages)


# Without its compaction the real log is valid, too.
def test_the_real_log() -> None:
    files = real.files_of("kimi")
    if not files:
        pytest.skip("the real transcripts are not present")
    for path in files:
        lines = path.read_bytes().splitlines(keepends=True)
        whole = parse(b"".join(line for line in lines if b"context.apply_compaction" not in line))
        assert validate(whole) == []
        assert any(message.answers_calls for message in whole.messages)
