"""Chats of Gemini CLI: one object, and logs, of which no line goes."""

import json
from typing import Any

import gemini_logs
import pytest
from build import LONG, condense, configuration, cut_to, one_batch, one_pass

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse, serialize
from condense_cli.rules.validity import validate
from condense_cli.toolcalls import tools

Json = dict[str, Any]
HEADER: Json = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-02T03:04:05.000Z"}
IMAGE: Json = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8=" * 20}}


def message(number: int, kind: str, content: Any, **members: Any) -> Json:
    time = f"2026-01-02T03:04:0{number}.000Z"
    return {"id": f"m{number}", "timestamp": time, "type": kind, "content": content, **members}


def call(identifier: str, result: Any = None, **members: Any) -> Json:
    response = {"functionResponse": {"id": identifier, "name": "read_file", "response": {"output": LONG}}}
    about = {"name": "read_file", "args": {"absolute_path": "/src/app.py"}, "status": "success"}
    return {"id": identifier, **about, "result": result or [response], "resultDisplay": LONG, **members}


def session() -> list[Json]:
    thought = {"subject": "Reading", "description": "I look first."}  # Only shown: the client does not send it.
    asked = {"functionCall": {"id": "b", "name": "read_file", "args": {"absolute_path": "/src/app.py"}}}
    return [
        message(0, "user", "Go on."),
        message(1, "gemini", "I read.", thoughts=[thought], toolCalls=[call("a")], tokens={"input": 9}, model="m"),
        message(2, "info", "Switched."),
        message(3, "gemini", [{"text": "Hm.", "thought": True}, asked], toolCalls=[call("b")]),
        message(4, "gemini", "Done."),
        message(5, "user", [{"text": "Thanks."}, IMAGE]),
    ]


def chat(*messages: Json) -> Transcript:
    data = json.dumps({**HEADER, "messages": list(messages)}, indent=2).encode()
    transcript = parse(data)
    assert transcript.format == "gemini"
    assert serialize(transcript) == data
    return transcript


def written(transcript: Transcript, *passes: Json) -> list[Json]:
    messages = json.loads(api.dump(condense(transcript, *passes)))["messages"]
    assert isinstance(messages, list)
    return messages


# Calls are beside the content, or in it; their results are beside it.
def test_a_chat_is_read() -> None:
    transcript = chat(*session())
    assert "".join(message.role.value[0] for message in transcript.messages) == "uatatau"
    kinds = [[block.kind.value for block in message.blocks] for message in transcript.messages]
    assert kinds[1:5] == [
        ["text", "tool_call"],
        ["tool_result"],
        ["thinking", "tool_call"],
        ["tool_result"],
    ]
    assert tools.reads_a_file(transcript.messages[1].blocks[1])
    assert tools.path_argument(transcript.messages[1].blocks[1]) == "/src/app.py"
    assert transcript.model == "m"
    assert validate(transcript) == []


@pytest.mark.parametrize(
    ("result", "kinds", "is_error"),
    [
        ("text", ["tool_result"], False),
        ({"functionResponse": {"response": {"error": "No."}}}, ["tool_result"], True),
        ([{"functionResponse": {"response": {"output": "yes"}}}, IMAGE], ["tool_result", "image"], False),
        ([{"functionResponse": {"response": {"lines": [1]}}}], ["opaque"], False),
        ([{"text": "a"}, "b", 5], ["tool_result", "tool_result", "opaque"], False),
    ],
)
def test_results(result: Any, kinds: list[str], is_error: bool) -> None:
    transcript = chat(message(0, "user", "Go."), message(1, "gemini", "", toolCalls=[call("a", result)]))
    blocks = transcript.messages[2].blocks
    assert [block.kind.value for block in blocks] == kinds
    assert {block.answers for block in blocks} == {"a"}
    assert blocks[0].is_error is is_error


# What the user said to the client is not sent.
@pytest.mark.parametrize("text", ["/stats", "?", " <session_context>\nToday", ""])
def test_words_for_the_client_are_left_out(text: str) -> None:
    assert len(chat(message(0, "user", "Go."), message(1, "user", text)).messages) == 1


# What repeats a shortened result goes with it, and an image leaves a part that Gemini knows.
def test_writing() -> None:
    config = cut_to(3)
    config["defaults"] |= {"images": {"operation": "suppress"}}
    after = written(chat(*session(), message(6, "gemini", "Ok.")), one_pass(individual_config=config))
    result = after[1]["toolCalls"][0]
    assert len(result["result"][0]["functionResponse"]["response"]["output"]) < 300
    assert result["resultDisplay"].startswith("[… 40 lines")
    assert list(after[5]["content"][1]) == ["text"]


def test_a_summary_is_a_message_of_the_user() -> None:
    after = written(chat(*session()), one_batch())
    assert [each["id"] for each in after] == ["m0", "m1", "m2", "m5"]
    assert set(after[1]) == {"id", "timestamp", "type", "content"}
    assert after[1]["type"] == "user"


def log(*records: Json) -> Transcript:
    return parse("".join(json.dumps(record) + "\n" for record in (HEADER, *records)).encode())


def texts(transcript: Transcript) -> list[str]:
    return [block.text for _, block in transcript.blocks() if block.kind is not BlockKind.IMAGE]


# A message that comes again replaces the earlier one, in its place.
def test_the_newest_version_of_a_message_counts() -> None:
    first = [*session()[:1], {**session()[1], "content": "I", "toolCalls": []}]
    transcript = log(*first, {"$set": {"lastUpdated": "later"}}, *session()[1:])
    assert transcript.format == "gemini-log"
    assert texts(transcript) == texts(chat(*session()))
    assert transcript.messages[0].role is Role.USER


def test_a_log_is_rewound() -> None:
    assert texts(log(*session(), {"$rewindTo": "m3"})) == texts(chat(*session()[:3]))
    assert texts(log(*session(), {"$rewindTo": "gone"}, session()[0])) == ["Go on."]


def test_all_messages_may_be_set_at_once() -> None:
    assert texts(log(*session(), {"$set": {"messages": session()[:1]}}, session()[4])) == ["Go on.", "Done."]


def parallel_session() -> list[Json]:
    """Build a session with two calls at once."""
    other = {"functionResponse": {"id": "e", "name": "read_file", "response": {"output": LONG.upper()}}}
    return [
        message(0, "user", "Go on."),
        message(1, "gemini", "Both.", toolCalls=[call("d"), call("e", [other])]),
        message(2, "gemini", "Done."),
        message(3, "user", "Thanks."),
        message(4, "gemini", "Ok."),
    ]


def answers(transcript: Transcript) -> list[tuple[str, str]]:
    return [(block.answers, block.text) for _, block in transcript.blocks() if block.answers]


# After it went on with a session, the client tells each result twice: it counts once, and the call is answered.
@pytest.mark.parametrize("resumed_at", [None, 2, 3, 4])
@pytest.mark.parametrize("keeps_calls", [False, True])
@pytest.mark.parametrize("messages", [session(), parallel_session()], ids=len)
def test_results_that_are_told_again(messages: list[Json], resumed_at: int | None, keeps_calls: bool) -> None:
    transcript = log(*gemini_logs.log(messages, resumed_at, keeps_calls=keeps_calls)[1:])
    assert texts(transcript) == texts(chat(*messages))
    assert answers(transcript) == answers(chat(*messages))
    assert validate(transcript) == []


# A result that is cut is cut beside the other calls of its message, too: the client sends it from there as well.
def test_a_result_is_cut_beside_other_calls() -> None:
    lines = gemini_logs.log(parallel_session(), resumed_at=3, keeps_calls=True)
    data = api.dump(api.condense(log(*lines[1:]), configuration(one_pass(individual_config=cut_to(3)))))
    assert all(line not in data for line in (b"item 30 is", b"ITEM 30 IS"))


# What a log said of a result that is cut goes everywhere: the client sends more than one place.
def test_a_log_changes_in_place() -> None:
    config = configuration(one_pass(individual_config=cut_to(3)))
    lines = gemini_logs.log([*session(), message(6, "gemini", "Ok.")], resumed_at=3)
    data = api.dump(api.condense(log(*lines[1:]), config))
    after = data.decode().splitlines()
    assert len(after) == len(lines)
    assert all("item 30 is" not in line for line in after)


# Messages that go are in no line that counts, and all lines before it stay; most may be in one line.
@pytest.mark.parametrize("resumed_at", [3, 6])
def test_a_log_loses_messages(resumed_at: int) -> None:
    batch = one_batch()
    before = log(*gemini_logs.log([*session(), message(6, "gemini", "Ok.")], resumed_at)[1:])
    data = api.dump(api.condense(before, configuration(batch)))
    assert data.startswith(before.source.data)
    kept = json.loads(data.splitlines()[-1])["$set"]["messages"]
    assert [each["type"] for each in kept][:2] == ["user", "user"]
    assert len(texts(parse(data))) < len(texts(before))


# Only one of the places of a result is looked at: where spellings are mixed, another may spell it otherwise.
@pytest.mark.usefixtures("anywhere")
def test_a_log_that_mixes_spellings_keeps_its_results() -> None:
    lines = gemini_logs.log([*session(), message(6, "gemini", "Ok.")], resumed_at=3)
    even = "".join(json.dumps(record) + "\n" for record in (HEADER, *lines[1:]))
    for data, refers in ((even, True), (even.replace("item 30 is", "\\u0069tem 30 is", 1), False)):
        small = api.dump(api.condense(parse(data.encode()), preset="lossless"))
        assert (small != data.encode()) is refers
        assert api.dump(api.restore(parse(small))) == data.encode()


def test_a_log_without_messages() -> None:
    with pytest.raises(UnknownFormatError, match="holds no message"):
        log()
