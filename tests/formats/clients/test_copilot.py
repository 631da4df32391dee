"""Sessions of Copilot CLI: the conversation as the client builds it, and what changes in the file with it."""

import json
from typing import Any

import further_agents
from agent_work import SUPPRESS, WORK, shape
from build import configuration, one_pass, texts
from further_agents import WRITABLE

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats import parse, serialize

Json = dict[str, Any]


def records() -> list[Json]:
    return [json.loads(line) for line in WRITABLE["copilot"](WORK).splitlines()]


def event(kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": f"new-{kind}", "timestamp": "2026-07-01T09:00:00.000Z", "parentId": None}


def loaded(events: list[Json]) -> Transcript:
    data = "".join(json.dumps(record) + "\n" for record in events).encode()
    transcript = parse(data)
    assert transcript.format == "copilot"
    assert serialize(transcript) == data
    return transcript


def position(events: list[Json], kind: str) -> int:
    return next(number for number, record in enumerate(events) if record["type"] == kind)


def test_the_model_gets_the_transformed_text() -> None:
    transcript = loaded(records())
    assert texts(transcript)[0] == "<now>9:00</now>\n\nFix the bug."
    assert transcript.model == "gpt-5.6"
    assert transcript.envelope == "You are an agent."


# A message that came between a call and its result is sent behind it; what is not of the user is told by its source.
def test_messages_wait_for_results() -> None:
    events = records()
    at = position(events, "tool.execution_complete")
    events.insert(at, event("user.message", content="Instructions of a folder.", source="instruction-discovery"))
    events.insert(at, event("system.notification", content="<system_notification>ended</system_notification>"))
    events.insert(at, event("system.notification", content="Discovered instruction: AGENTS.md"))
    messages = loaded(events).messages
    assert [message.role for message in messages[1:5]] == [Role.ASSISTANT, Role.TOOL, Role.USER, Role.USER]
    assert [message.is_injected for message in messages[3:5]] == [True, True]
    assert messages[4].blocks[0].text == "Instructions of a folder."


def test_subagents_and_calls_of_the_user_are_no_part() -> None:
    events = records()
    events.insert(3, {**event("assistant.message", content="inner", toolRequests=[]), "agentId": "a"})
    events.insert(3, event("assistant.message", content="older inner", toolRequests=[], parentToolCallId="c1"))
    events.append(event("tool.execution_complete", toolCallId="nobody", success=True, result={"content": "x"}))
    assert texts(loaded(events)) == texts(loaded(records()))


def test_thoughts_failures_and_free_texts() -> None:
    call = {"toolCallId": "x", "name": "apply_patch", "arguments": "*** Begin Patch\n", "type": "custom"}
    files = [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}, "odd"]
    events = [
        *records(),
        event(
            "assistant.message", content="", reasoningText="Hm.", encryptedContent="c2VjcmV0", toolRequests=[call, 5]
        ),
        event("tool.execution_complete", toolCallId="x", success=False, error={"message": "Path does not exist"}),
        event("assistant.message", content="", toolRequests=[{**call, "toolCallId": "y", "arguments": {"path": "a"}}]),
        event(
            "tool.execution_complete",
            toolCallId="y",
            success=True,
            result={"content": "seen", "binaryResultsForLlm": files},
        ),
    ]
    *_, asked, failed, again, seen = loaded(events).messages
    assert [block.kind.value for block in asked.blocks] == ["thinking", "tool_call", "opaque"]
    assert asked.blocks[1].is_free_text
    assert (failed.blocks[0].text, failed.blocks[0].is_error) == ("Path does not exist", True)
    assert again.blocks[0].is_object
    assert [block.kind for block in seen.blocks] == [BlockKind.TOOL_RESULT, BlockKind.OPAQUE]
    assert seen.blocks[1].estimate > 0


# Everything before a compaction gives way to its summary, but what was said while it ran.
def test_compactions() -> None:
    events = records()
    ran = [
        event("session.compaction_start"),
        event("user.message", content="Meanwhile."),
        event("session.compaction_complete", success=True, summaryContent="What was done."),
        event("user.message", content="And now?"),
    ]
    transcript = loaded([*events, *ran])
    assert texts(transcript) == ["What was done.", "Meanwhile.", "And now?"]
    assert transcript.messages[0].is_summary
    ran[2]["data"]["success"] = False
    assert texts(loaded([*events, *ran]))[-2:] == ["Meanwhile.", "And now?"]


# With a call go all its events; the events behind them are linked to those before, and a message keeps its content.
def test_what_goes_with_a_call() -> None:
    events = records()
    at = position(events, "tool.execution_complete")
    events.insert(at, event("permission.requested", permissionRequest={"toolCallId": "c1"}))
    everything = {"tool_results": SUPPRESS, "tool_parameters": SUPPRESS, "message_text": SUPPRESS}
    first = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 1}, mode="batch")
    first["batch_config"] = {"operation": "summarize", "summarization_config": {"keep_first": 1, "keep_last": 1}}
    transcript = loaded(events)
    result = api.condense(transcript, configuration(first, keep_first=0))
    after = [json.loads(line) for line in api.dump(result).splitlines()]
    assert [record["type"] for record in after] == [
        "session.start",
        "system.message",
        "user.message",
        "user.message",
        *("assistant.message", "tool.execution_start", "tool.execution_complete"),
        "assistant.message",
    ]
    ids = {record["id"] for record in after}
    assert {record["parentId"] for record in after} <= ids | {None}
    assert after[3]["data"]["content"].startswith("[condense: summary of ")
    cut = one_pass(
        individual_config={"defaults": everything}, selection={"type": "preserve_recent", "keep_recent_count": 1}
    )
    cut_result = api.condense(transcript, configuration(cut, keep_first=0))
    said = [json.loads(line) for line in api.dump(cut_result).splitlines()]
    assert all(isinstance(one["data"]["content"], str) for one in said if one["type"] == "assistant.message")


def chat() -> Json:
    return json.loads(further_agents.READ_ONLY["vscode-chat"](WORK))  # type: ignore[no-any-return]


# What the client adds to a message is not the user's; without a rendered message its text counts.
def test_the_rendered_message() -> None:
    value = chat()
    rendered = [{"type": 1, "text": "<context>Monday</context>"}, {"type": 1, "text": "<ask>Fix the bug.</ask>"}]
    value["requests"][0]["result"]["metadata"]["renderedUserMessage"] = rendered
    first = parse(json.dumps(value).encode()).messages[0]
    assert [(block.text, block.injected) for block in first.blocks] == [
        ("<context>Monday</context>", True),
        ("<ask>Fix the bug.</ask>", False),
    ]


def test_thoughts_and_calls_that_were_stopped() -> None:
    value = chat()
    rounds = value["requests"][0]["result"]["metadata"]["toolCallRounds"]
    rounds[0]["thinking"] = {"id": "x", "text": "Hm.", "encrypted": "c2VjcmV0"}
    rounds.append({"response": "", "toolCalls": [{"id": "stopped", "name": "run", "arguments": "{}"}, 5]})
    found = shape(parse(json.dumps(value).encode()))
    assert found[1] == ("assistant", ["thinking", "text", "tool_call"])
    assert found[-1] == ("assistant", ["tool_call", "opaque"])


def test_a_chat_without_rounds() -> None:
    value = chat()
    value["requests"][0] |= {"result": {}, "response": [{"value": "Shown."}, {"kind": "thinking", "value": "Hm."}]}
    assert texts(parse(json.dumps(value).encode())) == ["Fix the bug.", "Shown."]
