"""Content of a Codex rollout that is only displayed."""

import json
from pathlib import Path
from typing import Any

import pytest
import real
from msgspec.structs import replace

from condense_cli.core.markers import short_hash
from condense_cli.core.transcript import Slimmed, Transcript
from condense_cli.core.values import Family
from condense_cli.formats import codex_writing, openai_chat
from condense_cli.formats.engine.base import Beside
from condense_cli.formats.engine.beside import slimmed
from condense_cli.formats.engine.container import open_document
from condense_cli.formats.engine.writing import write

LONG = "\n".join(f"line {n} of the output" for n in range(30))
MARKER = f"[… 30 lines #{short_hash(LONG)}]"
HEADED = f"Chunk ID: f4792a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{LONG}"


def slim(data: bytes) -> tuple[bytes, tuple[Slimmed, ...]]:
    """Return the written file and the values that were left out of it."""
    transcript = Transcript("codex", Family.OPENAI_CHAT, (), open_document(data, "rollout", lenient=True).source)
    form = replace(openai_chat.FORMAT, beside=Beside(shown=codex_writing.shown))
    transcript = replace(transcript, slimmed=tuple(slimmed(transcript, (), form)))
    return write(transcript, form), transcript.slimmed


def record(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}


def output(text: Any, **extra: Any) -> dict[str, Any]:
    return record("response_item", type="function_call_output", call_id="call_1", output=text, **extra)


def after(*records: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the payloads of the slimmed file."""
    data = "".join(json.dumps(one) + "\n" for one in records).encode()
    written, found = slim(data)
    assert len(data) - len(written) == sum(one.saved for one in found)
    assert slim(written) == (written, ())
    return [json.loads(line)["payload"] for line in written.splitlines()]


# Three generations of clients wrote the output in three forms.
@pytest.mark.parametrize(
    "said", [HEADED, LONG, json.dumps({"output": LONG, "metadata": {"exit_code": 0}}), [{"text": LONG}]]
)
def test_an_event_that_repeats_the_output_of_its_call(said: Any) -> None:
    event = record(
        "event_msg", type="exec_command_end", call_id="call_1", aggregated_output=LONG, stdout=LONG, exit_code=0
    )
    result = output(said)
    payloads = after(result, event)
    assert payloads[0] == result["payload"]
    assert payloads[1] == {**event["payload"], "aggregated_output": MARKER, "stdout": MARKER}


# An output may be JSON that nobody can read, however deep.
def test_a_deep_output_is_text() -> None:
    deep = '{"a":' * 100_000
    assert after(output(deep))[0]["output"] == deep


def test_an_item_that_repeats_the_output_of_its_call() -> None:
    item = {"type": "CommandExecution", "id": "call_1", "command": ["ls"], "aggregated_output": LONG}
    payloads = after(output(HEADED), record("event_msg", type="item_completed", item=item))
    assert payloads[1]["item"] == {**item, "aggregated_output": MARKER}


# The model got the output shortened: the event is the only place that has all of it, once.
def test_what_only_the_event_holds_stays_once() -> None:
    event = record("event_msg", type="exec_command_end", call_id="call_1", aggregated_output=LONG, stdout=LONG)
    payloads = after(output("line 0 of the output\n…"), event)
    assert payloads[1] == {**event["payload"], "stdout": MARKER}
    other = {**event, "payload": {**event["payload"], "call_id": "call_2", "stdout": ""}}
    assert after(output(HEADED), other)[1] == other["payload"]


def test_the_content_of_a_file_that_a_patch_adds() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a.txt\n" + "".join(f"+{line}\n" for line in LONG.split("\n")) + "*** End Patch"
    )
    added, updated = {"type": "add", "content": LONG}, {"type": "update", "unified_diff": LONG, "move_path": None}
    call = record("response_item", type="custom_tool_call", call_id="call_1", name="apply_patch", input=patch)
    event = record("event_msg", type="patch_apply_end", call_id="call_1", changes={"/a.txt": added, "/b.txt": updated})
    payloads = after(call, event)
    assert payloads[0] == call["payload"]
    assert payloads[1]["changes"] == {"/a.txt": {**added, "content": MARKER}, "/b.txt": updated}


def test_the_second_copy_of_an_image() -> None:
    data = "iVBORw0KGgo" * 40
    item = record("response_item", type="image_generation_call", id="ig_1", result=data)
    event = record("event_msg", type="image_generation_end", call_id="ig_1", result=data)
    payloads = after(item, event)
    assert payloads[0]["result"] == data
    assert payloads[1]["result"] == f"[… image #{short_hash(data)}]"


# What is sent stays, before a compaction too: a forked session goes back there.
def test_items_and_messages_stay() -> None:
    records = [
        output(HEADED),
        record("compacted", message="", replacement_history=[{"type": "message", "content": [{"text": LONG}]}]),
        record("event_msg", type="agent_message", message=LONG),
        {"type": "event_msg", "payload": None},
        {"type": "event_msg", "payload": {"type": "x", "item": 3, "call_id": 4, "result": {"Ok": None}}},
    ]
    assert after(*records) == [one["payload"] for one in records]


@pytest.mark.parametrize("path", sorted(real.FOLDER.glob("codex/*.jsonl")), ids=lambda path: path.name)
def test_real_rollouts_keep_what_is_sent(path: Path) -> None:
    data = path.read_bytes()
    written, _ = slim(data)
    for old, new in zip(data.splitlines(), written.splitlines(), strict=True):
        assert old == new or b'"event_msg"' in old
    assert slim(written) == (written, ())
