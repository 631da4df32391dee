"""Chat completions: parts and calls of many kinds, and the evidence of the format without calls."""

import json
from typing import Any

import pytest
from batches import batch
from build import CHAT, IMAGE_LINK, LONG, assistant, condense, conversation, one_pass, openai, text, user, written
from helpers import as_lines
from rowsets import chat

from condense_cli import api
from condense_cli.core.values import BlockKind
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse, serialize
from condense_cli.rules.validity import validate
from condense_cli.toolcalls.tools import patched_paths

FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGVsbG8="}}
CHAT_PARTS = [
    FILE,
    {"type": "file", "file": {"file_id": "file-1"}},
    {"type": "input_audio", "input_audio": {"data": "aGVsbG8=", "format": "wav"}},
    {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}},
    {"type": "audio_url", "audio_url": {"url": "https://example.com/a.mp3"}},
    {"type": "document_url", "document_url": "https://example.com/a.pdf"},
    {"type": "refusal", "refusal": "No."},
]


# With calls or without, beside a system message or alone.
@pytest.mark.parametrize("part", CHAT_PARTS, ids=lambda part: part["type"])
@pytest.mark.parametrize("before", [CHAT[:1], []], ids=["system", "no system"])
@pytest.mark.parametrize("after", [CHAT[2:], [assistant("b")]], ids=["calls", "no calls"])
def test_what_a_chat_message_shows_is_no_other_format(part: Any, before: Any, after: Any) -> None:
    data = as_lines([*before, user([text("Look."), part]), *after])
    transcript = parse(data)
    assert transcript.format == "openai-chat"
    assert validate(transcript) == []
    assert serialize(transcript) == data


@pytest.mark.parametrize("kind", ["input_text", "output_text"])
def test_texts_of_chat_messages_have_several_names(kind: str) -> None:
    transcript = parse(as_lines([user([{"type": kind, "text": LONG}]), *CHAT[2:]]))
    assert transcript.format == "openai-chat"
    assert [(block.kind, block.text) for block in transcript.messages[0].blocks] == [(BlockKind.TEXT, LONG)]


# A file costs its pages, not the letters that spell it, and no base64 becomes a text.
def test_files_in_chat_messages_are_estimated() -> None:
    transcript = openai(user([text("Look."), FILE]), *CHAT[2:])
    block = transcript.messages[0].blocks[1]
    assert (block.kind, block.text, block.estimate > 0) == (BlockKind.OPAQUE, "", True)
    assert b"aGVsbG8=" not in api.convert(transcript, "anthropic").data


# A file that lies beside its kind is not of this API, nor are results of other agents.
@pytest.mark.parametrize(
    "part", [{"type": "file", "path": "a.py", "content": "x"}, {"type": "tool-result", "toolCallId": "a"}]
)
def test_parts_of_other_agents_are_no_chat(part: dict[str, Any]) -> None:
    with pytest.raises(UnknownFormatError):
        parse(as_lines([user([part]), *CHAT[2:]]))


PATCH = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** End Patch"
CUSTOM_CALL = {"id": "a", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}


# Such a call takes a text as it is; it has an id and a result like any other, alone or beside calls of functions.
@pytest.mark.parametrize("other", [None, CHAT[2]["tool_calls"][1]], ids=["alone", "with a function"])
def test_custom_calls_of_chat_messages_are_calls(other: dict[str, Any] | None) -> None:
    calls_made = [CUSTOM_CALL] if other is None else [other, CUSTOM_CALL]
    asked = {"role": "assistant", "content": None, "tool_calls": calls_made}
    transcript = parse(as_lines([*CHAT[:2], asked, *(CHAT[4:] if other is None else CHAT[3:])]))
    assert transcript.format == "openai-chat"
    assert validate(transcript) == []
    made = transcript.messages[2].blocks[-1]
    assert (made.kind, made.tool, made.call_id, made.text) == (BlockKind.TOOL_CALL, "apply_patch", "a", PATCH)
    assert patched_paths(made) == ["a.py"]
    assert transcript.messages[3].blocks[-1].tool == "apply_patch"


# What is cut in it stays one text.
def test_the_input_of_a_custom_call_is_cut_as_text() -> None:
    asked = CUSTOM_CALL | {"custom": {"name": "exec", "input": LONG}}
    transcript = openai(*CHAT[:2], {"role": "assistant", "content": None, "tool_calls": [asked]}, *CHAT[4:])
    cut = {"defaults": {"tool_parameters": {"operation": "truncate", "params": {"truncate": {"max_lines": 1}}}}}
    after = written(condense(transcript, one_pass(individual_config=cut)))[2]["tool_calls"]
    assert after[0]["custom"]["input"].startswith(LONG.split("\n")[0] + "\n[… 39 lines")
    after[0]["custom"]["input"] = LONG
    assert after == [asked]


CHAT_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "Read", "parameters": {}}},
    {"type": "custom", "custom": {"name": "apply_patch"}},
]


# The calls of a chat prove its format. Where a summary takes their place, what is left says it.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("shown", "answer", "tools"),
    [
        (FILE, {}, []),
        (IMAGE_LINK, {}, []),
        (text("And this?"), {"refusal": None}, []),
        (text("And this?"), {"tool_calls": None}, []),
        (text("And this?"), {"reasoning_content": "Hm."}, []),
        (text("And this?"), {}, CHAT_TOOLS[:1]),
        (text("And this?"), {}, CHAT_TOOLS[1:]),
    ],
    ids=["file", "image_url", "refusal", "tool_calls", "reasoning", "functions", "custom tools"],
)
def test_a_condensed_chat_is_of_the_same_format(shown: Any, answer: dict[str, Any], tools: list[Any]) -> None:
    talk = [user("Go on."), assistant("I do.")] * 3
    messages = [*chat(), *talk, user([shown]), assistant("Done.") | answer]
    data = api.dump(api.condense(parse(json.dumps({"messages": messages, "tools": tools}).encode()), preset="max"))
    assert b"[condense: summary" in data
    assert b"tool_call_id" not in data
    assert parse(data).format == "openai-chat"


# Tools described in the other API's way, or in none, say nothing, and calls say more than any tools.
def test_tools_beside_the_messages_prove_nothing() -> None:
    plain = [user("a"), assistant("b")]
    others: list[Any] = [
        [],
        [{"name": "Read", "input_schema": {}}],
        [{"type": "custom", "name": "Read"}],
        {},
        "Read",
        None,
    ]
    for tools in others:
        assert parse(json.dumps({"messages": plain, "tools": tools}).encode()).format == "anthropic"
    assert parse(json.dumps({"messages": plain, "kwargs": {"tools": CHAT_TOOLS}}).encode()).format == "openai-chat"
    assert parse(json.dumps({"messages": conversation(), "tools": CHAT_TOOLS}).encode()).format == "anthropic"


def test_a_result_without_content_may_go_into_a_summary() -> None:
    """If a recorded request holds its messages a second time, copies of removed content are searched."""
    work = [CHAT[1]]
    for number in range(6):
        calls = [{"id": f"call_{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}}]
        work += [
            {"role": "assistant", "content": LONG, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"call_{number}"},
        ]
    found = batch(api.loads(json.dumps({"messages": work, "raw_messages": work}), format="openai-chat"))
    assert found.changes
    assert api.loads(api.dump(found)).messages[0].blocks[0].text == CHAT[1]["content"]
