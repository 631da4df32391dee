"""Recognise and read formats: containers, turns, fields of blocks."""

import json
from typing import Any

import pytest
from build import (
    CHAT,
    IMAGE_LINK,
    LONG,
    anthropic,
    assistant,
    call,
    conversation,
    openai,
    read_turn,
    result,
    text,
    thinking,
    user,
)
from helpers import condense

from condense_cli import api
from condense_cli.core.values import BlockKind, Container, Role
from condense_cli.errors import NotJsonError, TranscriptError, UnknownFormatError, UsageError
from condense_cli.extractive.parts import parts_of
from condense_cli.formats import FORMATS, parse, serialize
from condense_cli.formats.engine import client_text
from condense_cli.llm.prompts import flattened
from condense_cli.report.inspection.facts import content_type


def lines(messages: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(message) + "\n" for message in messages).encode()


@pytest.mark.parametrize("messages", [conversation(), CHAT])
@pytest.mark.parametrize("container", list(Container))
def test_containers_are_recognised_and_kept(messages: list[dict[str, Any]], container: Container) -> None:
    data = {
        Container.LINES: lines(messages),
        Container.ARRAY: json.dumps(messages, indent=2).encode(),
        Container.OBJECT: json.dumps({"id": 1, "messages": messages, "after": [1]}, indent=1).encode(),
    }[container]
    transcript = parse(data)
    assert transcript.source.container is container
    assert transcript.format == ("openai-chat" if messages is CHAT else "anthropic")
    assert len(transcript.messages) == (5 if messages is CHAT else len(messages))
    assert serialize(transcript) == data


# Tool messages that answer one assistant message are one turn, in whatever order they are.
def test_tool_messages_are_one_turn() -> None:
    transcript = openai(*CHAT)
    assert [message.role for message in transcript.messages] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
    ]
    assert [(block.answers, block.tool) for block in transcript.messages[3].blocks] == [("b", "pwd"), ("a", "ls")]


# The API joins neighbouring messages of one role, so they are one turn.
def test_neighbours_of_one_role_are_one_turn() -> None:
    transcript = anthropic(user("a"), assistant([call("1"), call("2")]), user([result("1")]), user([result("2")]))
    assert [len(message.blocks) for message in transcript.messages] == [1, 2, 2]
    assert [block.answers for block in transcript.messages[2].blocks] == ["1", "2"]


# Each text of a list result is a block of its own, and an image in it stays beside them.
def test_parts_of_a_list_result() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    transcript = anthropic(user("a"), assistant([call("1")]), user([result("1", [text("x"), image, text("y")])]))
    blocks = transcript.messages[2].blocks
    assert [block.kind for block in blocks] == [BlockKind.TOOL_RESULT, BlockKind.IMAGE, BlockKind.TOOL_RESULT]
    assert [block.answers for block in blocks] == ["1"] * 3
    assert blocks[1].estimate > 0


@pytest.mark.parametrize("content", [None, "", []])
def test_results_without_content_still_answer_their_call(content: Any) -> None:
    transcript = anthropic(user("a"), assistant([call("1")]), user([result("1", content)]))
    assert [block.answers for block in transcript.messages[2].blocks] == ["1"]


def test_thinking_and_unknown_blocks_have_no_content_type() -> None:
    unknown = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    transcript = anthropic(user("a"), assistant([thinking(), unknown, text("b")]))
    assert [block.content_type for block in transcript.messages[1].blocks[:2]] == [None, None]
    redacted = anthropic(user("a"), assistant([{"type": "redacted_thinking", "data": "x" * 480}]))
    assert redacted.messages[1].blocks[0].estimate == 480 * 3 // 16 - client_text.SIGNATURE


# A recorded request names its model, and sends more with every call than its messages.
def test_an_envelope_gives_model_and_overhead() -> None:
    request = {"messages": CHAT, "tools": [{"name": "ls"}], "response": {"model": "gpt-5.1-mini"}}
    transcript = parse(json.dumps(request).encode())
    assert transcript.model == "gpt-5.1-mini"
    assert "ls" in transcript.envelope


# Evidence late in the file still decides: plain text turns fit both chat formats.
def test_late_evidence_decides() -> None:
    talk = [user("a"), assistant("b")] * 60
    assert parse(lines([*talk, *read_turn("1")])).format == "anthropic"
    assert parse(lines([*talk, *CHAT[2:]])).format == "openai-chat"


# A format that is named is not guessed: its reader takes the records, or refuses them.
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_named_format_is_not_guessed(form: Any) -> None:
    try:
        transcript = parse(lines([user("a"), assistant("b")]), format=form.name)
    except TranscriptError:
        assert form.name not in ("anthropic", "openai-chat", "roo", "cline", "sharegpt")
    else:
        assert transcript.format == form.name


def test_an_unknown_name_of_a_format_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no format named 'word'"):
        parse(b"[]", format="word")


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        42,
        "text",
        [1, 2],
        [[1]],
        {"messages": []},
        {"role": "user"},
        {"type": "user"},
        [{"role": "narrator", "content": "x"}],
        {"type": "of_the_future", "payload": {}, "timestamp": ""},
    ],
)
def test_unknown_shapes_are_refused_by_what_was_seen(value: Any) -> None:
    with pytest.raises(UnknownFormatError) as error:
        parse(json.dumps(value).encode(), name="file.json")
    assert "file.json" in error.value.message
    assert error.value.hint.endswith("condense run --format list lists all formats.")
    assert len(error.value.hint) < 250


# Which format is nearest, why the file is not of it, and what to do.
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"type": "of_the_future", "payload": {}, "timestamp": ""},
            "codex, but none of its records has the type 'of_the",
        ),
        ({"trajectory": 1, "history": 2}, "swe-agent, but it has no info. Name a .traj file."),
        (
            {"type": "user", "uuid": "1", "message": {}},
            "claude-code, but it has no parentUuid or sessionId. Name a ses",
        ),
        ({"info": {}, "x": 1}, "opencode, but it has no messages. Export one: opencode export ID > session.json"),
        (
            {"role": "narrator", "content": "x"},
            "openai-chat, but none of its records has the role 'narrator'. Messages",
        ),
    ],
)
def test_the_nearest_format_is_named_and_why_it_is_not_that_one(value: Any, said: str) -> None:
    with pytest.raises(UnknownFormatError) as error:
        parse(json.dumps(value).encode(), name="file.json")
    assert error.value.hint.startswith(f"The nearest format is {said}")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"data": [{"role": "user", "content": "a"}]}, ".data"),
        ({"id": 1, "run": {"the log": [{"role": "user", "content": "a"}]}}, '.run."the log"'),
    ],
)
def test_messages_inside_an_object_are_found(value: Any, path: str) -> None:
    with pytest.raises(UnknownFormatError) as error:
        parse(json.dumps(value).encode())
    assert error.value.hint.startswith(f"It holds messages at {path}. Extract them: jq '{path}' FILE > messages.json")


def test_a_mistyped_format_is_answered_by_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError) as named:
        parse(b"[]", format="claud-code")
    assert named.value.hint.startswith("Did you mean claude-code? ")


def test_all_formats_are_listed() -> None:
    listed = [line.split(" ")[0] for line in condense("run", "--format", "list").text.splitlines()]
    assert listed == ["rows", *(form.name for form in FORMATS)]
    assert condense("diff", "-f", "list").text == condense("check", "--format", "list").text != ""


# Where a word is expected there may be anything: it is unknown then, and no defect.
@pytest.mark.parametrize("odd", [{}, {"a": 1}, [], [[]], 7, None, True])
def test_anything_may_stand_where_a_word_is_expected(odd: Any) -> None:
    records = [
        {"role": odd, "content": "x"},
        {"role": "user", "content": [{"type": odd, "text": "x"}]},
        {"role": "user", "content": [{"type": odd}], "ts": 1, "condenseId": odd, "condenseParent": odd},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": odd, "type": odd, "function": {"name": odd}}]},
        {"role": "tool", "content": "x", "tool_call_id": odd, "name": odd},
        {"type": odd, "uuid": "1", "parentUuid": None},
        {"type": "user", "uuid": odd, "parentUuid": odd, "message": odd, "subtype": odd},
        {"type": "assistant", "uuid": "1", "parentUuid": odd, "message": {"id": odd, "content": odd, "model": odd}},
        {"type": "attachment", "uuid": "1", "parentUuid": None, "attachment": {"type": odd, "x": odd}},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": odd, "content": odd, "is_error": odd}]},
        {"role": "user", "content": [{"type": "image", "source": odd}, {"type": "image_url", "image_url": odd}]},
    ]
    for record in records:
        data = lines([record, record])
        try:
            transcript = parse(data)
        except UnknownFormatError:
            continue
        assert serialize(transcript) == data


def test_a_record_that_is_no_message_is_named() -> None:
    with pytest.raises(UnknownFormatError, match="record 2 is not a message"):
        parse(lines([user("a"), {"role": "narrator"}]), format="anthropic")


# A line that is not JSON stops the run with its position; leniently it stays as it is.
def test_lenient_keeps_broken_lines() -> None:
    data = lines(conversation()) + b'{"role": "user", "content": "cut o'
    with pytest.raises(NotJsonError, match=r"t\.jsonl:15:\d+"):
        parse(data, name="t.jsonl")
    transcript = parse(data, lenient=True)
    assert len(transcript.messages) == 14
    condensation = api.condense(transcript, preset="speed")
    out = api.dump(condensation)
    assert out.endswith(b'{"role": "user", "content": "cut o')
    assert len(out) < len(data)


# Messages as an agent loop holds them need no file.
def test_a_list_of_messages_is_enough() -> None:
    transcript = api.loads(conversation())
    assert api.dump(api.condense(transcript, preset="cost")).startswith(b"[{")
    assert LONG in {block.text for _, block in transcript.blocks()}


# Roles and parts that are not Anthropic's own come before its messages too: they prove nothing.
@pytest.mark.parametrize(
    "opening",
    [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": [text("Be brief.")]},
        {"role": "developer", "content": "Be brief."},
        user([IMAGE_LINK, text("What is this?")]),
    ],
    ids=["system", "system as a list", "developer", "image_url"],
)
def test_what_calls_look_like_decides_between_the_chat_formats(opening: dict[str, Any]) -> None:
    transcript = api.loads([opening, *conversation()])
    assert transcript.format == "anthropic"
    assert transcript.messages[0].role == opening["role"]
    assert parse(lines([opening, *CHAT[1:]])).format == "openai-chat"
    assert parse(lines([opening, user("a"), assistant("b")])).format == "openai-chat"


# A record of the chat form does not make calls and results of the other form unknown blocks, which passes would part.
def test_anthropic_calls_among_chat_messages_keep_their_results() -> None:
    transcript = openai(user("a"), *read_turn("x"), *CHAT[2:])
    assert [block.kind for message in transcript.messages[1:3] for block in message.blocks] == [
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_RESULT,
    ]
    assert transcript.messages[2].blocks[0].answers == "x"
    # Some clients say each call in both forms.
    twice = openai(user("a"), CHAT[2] | {"content": [call("a")]}, *CHAT[3:])
    assert [block.kind for block in twice.messages[1].blocks].count(BlockKind.TOOL_CALL) == 2


COMPACTION = {"type": "compaction", "content": "The cause is in load().\nTests pass.", "signature": "c2lnbmVk"}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Chapter 1"}}


# Nothing may rewrite them, but what they say is a text like others where it is read.
def test_compactions_and_documents_of_text_are_read_as_text() -> None:
    transcript = anthropic(user("a"), assistant([COMPACTION]), user([DOCUMENT, text("b")]), *read_turn("x"))
    blocks = [transcript.messages[1].blocks[0], transcript.messages[2].blocks[0]]
    assert [block.text for block in blocks] == [COMPACTION["content"], "Chapter 1"]
    assert [block.content_type for block in blocks] == [None, None]
    assert {"The cause is in load().\nTests pass.", "Chapter 1"} <= {
        part.text for part in parts_of(transcript.messages)
    }
    assert [content_type(message, message.blocks[0]) for message in transcript.messages[1:3]] == [
        "assistant text",
        "user text",
    ]
    assert flattened(transcript.messages[1:3]) == (
        "[assistant]\nThe cause is in load().\nTests pass.\n\n",
        "[user]\nChapter 1\n\nb\n\n",
    )
    assert "Chapter 1" in api.convert(transcript, "openai-chat").data.decode()
