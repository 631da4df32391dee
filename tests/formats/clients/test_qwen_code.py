"""Sessions of Qwen Code: records that are sent, and how they differ from Claude Code's."""

import json
from typing import Any

from agent_work import WORK
from build import texts
from further_agents import WRITABLE

from condense_cli.core.transcript import Transcript
from condense_cli.core.values import Role
from condense_cli.formats import format_named, parse

Json = dict[str, Any]


def records() -> list[Json]:
    return [json.loads(line) for line in WRITABLE["qwen-code"](WORK).splitlines()]


def loaded(lines: list[Json]) -> Transcript:
    transcript = parse("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert transcript.format == "qwen-code"
    return transcript


def test_branches_that_were_left_are_not_sent() -> None:
    assert "Another way." not in texts(loaded(records()))
    assert texts(loaded(records()))[0] == "Fix the bug."


# The history of a compression replaces what came before it, and stays in the file.
def test_compressions() -> None:
    lines = records()
    history = [{"role": "user", "parts": [{"text": "What was done."}]}, {"role": "model", "parts": [{"text": "Good."}]}]
    compression = {
        **lines[-1],
        "uuid": "zip",
        "parentUuid": "end",
        "subtype": "chat_compression",
        "systemPayload": {"compressedHistory": history},
    }
    after = {
        **lines[0],
        "uuid": "next",
        "parentUuid": "zip",
        "message": {"role": "user", "parts": [{"text": "And now?"}]},
    }
    transcript = loaded([*lines, compression, after])
    assert texts(transcript) == ["What was done.", "Good.", "And now?"]
    assert [block.anchors for _, block in transcript.blocks()] == [True, True, False]


def test_usage_model_and_words_of_the_client() -> None:
    lines = records()
    answer = next(line for line in lines if line["type"] == "assistant" and line["uuid"].startswith("u"))
    answer |= {"model": "qwen3-coder", "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 20}}
    told = {**lines[0], "uuid": "told", "parentUuid": "end", "provenance": "system"}
    transcript = loaded([*lines, told])
    assert transcript.model == "qwen3-coder"
    assert transcript.first_usage is not None
    assert (transcript.first_usage.message, transcript.first_usage.input_tokens) == (1, 900)
    assert transcript.messages[transcript.first_usage.message].role is Role.ASSISTANT
    assert transcript.messages[-1].is_injected


# Old versions give calls no ids: order and name link them.
def test_calls_without_ids() -> None:
    lines = records()
    for line in lines:
        for part in line.get("message", {}).get("parts", ()):
            for key in ("functionCall", "functionResponse"):
                if key in part:
                    part[key] = {**part[key], "name": "read", "id": ""}
    blocks = [block for _, block in loaded(lines).blocks()]
    calls = [block.call_id for block in blocks if block.kind.value == "tool_call"]
    assert calls == [block.answers for block in blocks if block.answers]
    assert len(set(calls)) == 3


# The client begins behind a link that leads nowhere: what is before it is not sent, and nobody would know.
def test_a_missing_parent_is_said() -> None:
    lines = records()
    lines[4] = {**lines[4], "parentUuid": "lost"}
    transcript = loaded(lines)
    assert transcript.begins_in_middle
    assert min(block.place.record for _, block in transcript.blocks()) == 4
    (warning,) = transcript.warnings
    assert "The parentUuid of record 5 names no record in the file" in warning
    assert "4 records before it" in warning
    assert [fault.rule for rule in format_named("qwen-code").rules for fault in rule(transcript)] == ["parents_exist"]
    assert not loaded(records()).begins_in_middle


# Records that do not say who they are, and what the client keeps beside the conversation, are passed over.
def test_records_that_the_client_does_not_read() -> None:
    lines = records()
    beside = {**lines[-1], "uuid": "beside", "parentUuid": "nowhere", "subtype": "session_artifact_event"}
    nameless = {key: value for key, value in lines[0].items() if key != "parentUuid"}
    transcript = loaded([*lines, {**nameless, "uuid": "other"}, beside])
    assert texts(transcript) == texts(loaded(records()))
    assert transcript.unknown == (("record that is none of a session", 1),)


# A message may be in pieces, of which the first says what comes before.
def test_pieces_of_a_message() -> None:
    lines = records()
    answer = next(n for n, line in enumerate(lines) if line["type"] == "assistant" and line["uuid"].startswith("u"))
    more = {**lines[answer], "parentUuid": "nowhere", "message": {"role": "model", "parts": [{"text": "And more."}]}}
    transcript = loaded([*lines[: answer + 1], more, *lines[answer + 1 :]])
    assert len(transcript.messages) == len(loaded(records()).messages)
    assert "And more." in [block.text for block in transcript.messages[1].blocks]
