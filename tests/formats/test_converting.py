"""Convert to messages of an API: pairing, roles, ids, thinking, images, and the report of losses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import real
from build import assistant, configuration, one_pass, text, user
from generated_configurations import configurations
from helpers import condense, session
from hypothesis import given
from pictures import PIXEL
from strategies import FILES, REPEATING_FILES

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UsageError
from condense_cli.formats import parse
from condense_cli.formats.convert import TARGETS

SUPPRESS = {"operation": "suppress"}


def converted(value: Any, to: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    conversion = api.convert(api.loads(json.dumps(value)), to)
    return json.loads(conversion.data), conversion.notes


def call(call_id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "x", **keys: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **keys}


def said(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": list(content) if not isinstance(content[0], str) else content[0]}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
LINK = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Look."}


def texts(transcript: Transcript) -> list[str]:
    """Return the texts in order, without placeholders."""
    kinds = (BlockKind.TEXT, BlockKind.TOOL_RESULT)
    standing = [message for message in transcript.messages if message.role is Role.SYSTEM]
    return [
        block.text
        for message in transcript.messages
        for block in message.blocks
        if block.kind in kinds and block.text.strip() and message not in standing
    ]


# What a server was asked goes over with its answer, and marks for the cache belong to the old request.
def test_calls_of_servers_go_over_in_pairs() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    marked = found | {"cache_control": {"type": "ephemeral"}}
    document, _ = converted([user("a"), assistant([search, marked, text("b")])], "anthropic")
    assert document["messages"][1]["content"][:2] == [search, found]
    document, notes = converted([user("a"), assistant([search, text("b")]), user("c")], "anthropic")
    assert document["messages"][1]["content"] == "b"
    assert "server_tool_use (1)" in notes[0]


# Whatever the transcript, what comes out satisfies every rule of the API: `convert` checks that itself.
@pytest.mark.parametrize("to", TARGETS)
@given(data=FILES)
def test_every_transcript_is_converted(to: str, data: bytes) -> None:
    transcript = parse(data)
    if not transcript.messages:
        return
    new = parse(api.convert(transcript, to).data)
    assert new.format in TARGETS
    assert calls_in(new) == calls_in(transcript)
    if transcript.family.value == to:
        told = "\n".join(texts(new))
        assert all(text in told for text in texts(transcript))


def calls_in(transcript: Transcript) -> int:
    return sum(block.kind is BlockKind.TOOL_CALL and not block.span for _, block in transcript.blocks())


@given(REPEATING_FILES, configurations())
def test_condensed_transcripts_are_converted(data: bytes, config: Configuration) -> None:
    condensation = api.condense(parse(data), config)
    for to in TARGETS:
        assert api.convert(condensation, to).data == api.convert(condensation, to).data


@pytest.mark.parametrize(("path", "to"), real.spread(real.readable_files(), TARGETS), ids=str)
def test_real_transcripts_are_converted(path: Any, to: str) -> None:
    transcript = real.transcript(path)
    if not transcript.messages:
        with pytest.raises(UsageError, match="no conversation"):
            api.convert(transcript, to)
        return
    for one in (transcript, api.condense(transcript, load_preset("speed"))):
        assert api.convert(one, to).data.endswith(b"]}\n")


def chat_call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "Read", "arguments": arguments}}


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [TEXT, LINK]},
    {"role": "assistant", "content": None, "tool_calls": [chat_call("a", '{"path": "x"}'), chat_call("b", "no JSON")]},
    {"role": "tool", "tool_call_id": "b", "content": "2"},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "assistant", "content": "Done."},
]


def test_chat_becomes_messages() -> None:
    document, notes = converted({"model": "gpt-5.1", "messages": CHAT}, "anthropic")
    assert document == {
        "model": "gpt-5.1",
        "system": "Be brief.",
        "messages": [
            said("user", TEXT, IMAGE),
            said("assistant", call("a", path="x"), call("b", arguments="no JSON")),
            said("user", result("a", "1"), result("b", "2")),
            said("assistant", "Done."),
        ],
    }
    assert notes == ()


# The Messages API has no calls that take a text as it is: it becomes the one argument of a call.
def test_custom_calls_keep_their_results() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "exec", "input": "ls\npwd"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [custom]}
    document, notes = converted([*CHAT[:2], asked, *CHAT[4:]], "anthropic")
    assert document["messages"][1:3] == [
        said("assistant", call("a", "exec", input="ls\npwd")),
        said("user", result("a", "1")),
    ]
    assert notes == ()


# Codex writes a few lines of its own above what a command printed: they are a part of the result, as the output is.
def test_results_keep_their_call_and_the_header_above_them() -> None:
    printed = "Chunk ID: 021046\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfirst\nsecond"
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"ls"}', "call_id": "a"},
        {"type": "function_call_output", "call_id": "a", "output": printed},
    ]
    lines = [json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": i}) for i in items]
    transcript = api.loads("\n".join(lines))
    assert transcript.format == "codex"
    for to in TARGETS:
        assert "No result" not in api.convert(transcript, to).data.decode()
    messages = json.loads(api.convert(transcript, "anthropic").data)["messages"]
    assert messages[1:] == [said("assistant", call("a", "exec_command", cmd="ls")), said("user", result("a", printed))]


# Without the client's own tag a reader would take its words for the user's, and keep them as such.
def test_words_of_the_client_keep_its_tag() -> None:
    attachment = {"type": "attachment", "attachment": {"type": "skill_listing", "content": "- review: reviews code"}}
    records = [
        {"type": "user", "uuid": "u", "parentUuid": None, "message": user("Go.")},
        {"uuid": "t", "parentUuid": "u"} | attachment,
    ]
    transcript = api.loads("\n".join(map(json.dumps, records)))
    found = json.loads(api.convert(transcript, "anthropic").data)
    reminder = "<system-reminder>\n- review: reviews code\n</system-reminder>"
    assert found["messages"] == [said("user", {"type": "text", "text": "Go."}, {"type": "text", "text": reminder})]
    read = api.loads(found["messages"], format="anthropic")
    assert [block.injected for _, block in read.blocks()] == [False, True]


def test_messages_of_one_role_are_joined() -> None:
    later = [{"role": "system", "content": "Now in German."}, {"role": "user", "content": "Weiter."}]
    document, notes = converted([*CHAT, *later], "anthropic")
    assert document["messages"][-1] == said(
        "user", {"type": "text", "text": "Now in German."}, {"type": "text", "text": "Weiter."}
    )
    assert notes == ("Adapted: system messages in the middle, which become user messages (1).",)


def test_open_and_stray_calls() -> None:
    open_call = {"role": "assistant", "content": "Again.", "tool_calls": [chat_call("a")]}
    stray = {"role": "tool", "tool_call_id": "z", "content": "stray"}
    document, notes = converted([*CHAT[:4], {"role": "user", "content": "Go on."}, stray, open_call], "anthropic")
    assert document["messages"][2:] == [
        said("user", result("a", "No result was recorded.", is_error=True), result("b", "2"))
        | {
            "content": [
                result("a", "No result was recorded.", is_error=True),
                result("b", "2"),
                {"type": "text", "text": "Go on."},
                {"type": "text", "text": "stray"},
            ]
        },
        said("assistant", {"type": "text", "text": "Again."}, call("a_2")),
    ]
    (note,) = notes
    assert "results without a call, which become text (1)" in note
    assert "calls without a result, which get one (1)" in note


def test_a_conversation_begins_with_the_user() -> None:
    document, notes = converted([CHAT[0], CHAT[-1]], "anthropic")
    assert document["messages"] == [said("user", "Go on."), said("assistant", "Done.")]
    assert "first user message" in notes[0]


def test_ids_and_names_are_made_to_fit() -> None:
    odd = {"id": "a.b/c", "type": "function", "function": {"name": "container.exec", "arguments": "{}"}}
    turns = [{"role": "assistant", "content": None, "tool_calls": [odd]}, CHAT[3] | {"tool_call_id": "a.b/c"}]
    document, notes = converted([*CHAT[:2], *turns], "anthropic")
    assert document["messages"][1:] == [
        said("assistant", call("a_b_c", "container_exec")),
        said("user", result("a_b_c", "2")),
    ]
    assert notes == ("Adapted: tool names (1).",)


def test_what_only_that_api_knows_stays() -> None:
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
    messages = [said("user", TEXT, document), said("assistant", THINKING, TEXT, call("a")), said("user", result("a"))]
    assert converted(messages, "anthropic")[0]["messages"] == messages


def test_messages_become_chat() -> None:
    messages = [
        said("user", TEXT, IMAGE),
        said("assistant", THINKING, TEXT, call("a", path="x")),
        said("user", result("a", [TEXT, IMAGE], is_error=True), {"type": "text", "text": "And?"}),
        said("assistant", "Done."),
    ]
    document, notes = converted(messages, "openai-chat")
    assert document["messages"] == [
        {"role": "user", "content": [TEXT, LINK]},
        {"role": "assistant", "content": "Look.", "tool_calls": [chat_call("a", '{"path":"x"}')]},
        {"role": "tool", "tool_call_id": "a", "content": "Look."},
        {"role": "user", "content": [LINK]},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "Done."},
    ]
    assert notes == (
        "Left out: thinking (1), error flags of results (1).",
        "Adapted: images in results, which become user content (1).",
    )


def test_calls_in_text_stay_text() -> None:
    xml = "I read.\n<read_file>\n<path>a.py</path>\n</read_file>"
    messages = [
        {"role": "user", "content": "Fix it.", "ts": 1},
        {"role": "assistant", "content": xml, "ts": 2},
        {"role": "user", "content": "[read_file for 'a.py'] Result:\n\nx = 1", "ts": 3},
    ]
    document, notes = converted(messages, "openai-chat")
    assert [message["content"] for message in document["messages"]] == [message["content"] for message in messages]
    assert notes == ()


def test_what_is_cut_is_cut() -> None:
    config = configuration(one_pass(individual_config={"defaults": {"tool_results": SUPPRESS}}))
    data = api.convert(api.condense(api.loads(session()), config), "openai-chat").data
    assert b"line 3 of the listing" not in data.replace(b"8: line", b"")
    assert "[… " in data.decode()


def test_chat_becomes_items() -> None:
    document, notes = converted({"model": "gpt-5.1", "messages": CHAT}, "openai-responses")
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    asked = {"type": "function_call", "name": "Read"}
    assert document == {
        "model": "gpt-5.1",
        "input": [
            {"type": "message", "role": "system", "content": "Be brief."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}, picture]},
            {**asked, "call_id": "a", "arguments": '{"path": "x"}'},
            {**asked, "call_id": "b", "arguments": "no JSON"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
            {"type": "function_call_output", "call_id": "b", "output": "2"},
            {"type": "message", "role": "assistant", "content": "Done."},
        ],
    }
    assert notes == ()


# A result may hold images there, which in chat completions it may not.
def test_images_stay_in_results() -> None:
    shown = [user("a"), assistant([THINKING, call("x")]), user([result("x", [TEXT, IMAGE], is_error=True)])]
    document, notes = converted(shown, "openai-responses")
    assert [part["type"] for part in document["input"][-1]["output"]] == ["input_text", "input_image"]
    assert notes == ("Left out: thinking (1), error flags of results (1).",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "gemini"], "no format 'gemini'"),
        (["--to", "anthropic", "--in-place"], "--in-place and --to"),
        (["--to", "anthropic", "--new-session"], "--new-session and --to"),
    ],
)
def test_mistakes(arguments: list[str], said: str, tmp_path: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps(session()).encode())
    done = condense("run", path, *arguments)
    assert (done.status, done.stdout) == (2, b"")
    assert said in done.message


def test_other_names_are_refused() -> None:
    with pytest.raises(UsageError, match="no conversion to 'roo'"):
        api.convert(api.loads(session()), "roo")
