"""Formats whose content is parts: Bedrock Converse, Gemini's contents, Goose, Droid, Amp, the AI SDK's UI messages."""

import json
from typing import Any

import pytest
from agent_work import SUPPRESS, cut
from build import LONG, configuration, one_batch
from helpers import as_lines
from msgspec.structs import replace
from pictures import picture

from condense_cli import api
from condense_cli.core.transcript import Block, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse, serialize
from condense_cli.formats.convert import convert

Json = dict[str, Any]


def read(value: Any, **options: Any) -> Transcript:
    return parse(json.dumps(value).encode(), **options)


def blocks(transcript: Transcript) -> list[Block]:
    return [block for _, block in transcript.blocks()]


def converse(*content: Json, result: Json | None = None) -> list[Json]:
    """A request, an answer with a call and these parts, and the result of the call."""
    told = {"toolUseId": "t1", **(result or {"content": [{"text": LONG}]})}
    return [
        {"role": "user", "content": [{"text": "Read a.py."}]},
        {"role": "assistant", "content": [*content, {"toolUse": {"toolUseId": "t1", "name": "read", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": told}]},
    ]


def test_converse_names_the_tool_of_a_result_and_its_failure() -> None:
    transcript = read(converse(result={"content": [{"text": "No such file."}], "status": "error"}))
    (result,) = transcript.messages[2].blocks
    assert (result.kind, result.tool, result.is_error) == (BlockKind.TOOL_RESULT, "read", True)


def test_converse_thinking_is_thinking_and_json_stays() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    transcript = read(converse(thought, {"cachePoint": {"type": "default"}}, result={"content": [{"json": {"n": 1}}]}))
    kinds = [block.kind for block in transcript.messages[1].blocks]
    assert kinds == [BlockKind.THINKING, BlockKind.OPAQUE, BlockKind.TOOL_CALL]
    assert not transcript.messages[1].blocks[0].unsigned
    assert [(block.kind, block.text) for block in transcript.messages[2].blocks] == [
        (BlockKind.OPAQUE, '{"json":{"n":1}}')
    ]
    assert transcript.warnings == ()


def test_a_marker_takes_the_place_of_an_image_in_the_shape_of_its_api() -> None:
    shown = {"content": [{"image": {"format": "png", "source": {"bytes": picture(640, 480)}}}, {"text": LONG}]}
    answer = {"role": "assistant", "content": [{"text": "Done."}]}
    written = cut(as_lines([*converse(result=shown), answer]), images=SUPPRESS)
    (part, _) = written[2]["content"][0]["toolResult"]["content"]
    assert part.keys() == {"text"}


def test_an_image_of_converse_is_converted() -> None:
    shown = {"image": {"format": "png", "source": {"bytes": picture(640, 480)}}}
    asked = {"role": "user", "content": [{"text": "See."}, shown]}
    converted = json.loads(convert(read([asked]), "anthropic").data)
    source = {"type": "base64", "media_type": "image/png", "data": picture(640, 480)}
    assert converted["messages"][0]["content"][1] == {"type": "image", "source": source}


def test_the_system_prompt_and_the_tools_of_a_request_are_overhead() -> None:
    request = {"modelId": "m", "messages": converse(), "system": [{"text": "Be brief."}], "toolConfig": {"tools": [1]}}
    assert read(request).envelope == 'Be brief.\n{"tools":[1]}'
    contents = [{"role": "user", "parts": [{"text": "Hello."}]}]
    asked = {"contents": contents, "systemInstruction": {"parts": [{"text": "Be brief."}]}, "model": "models/g"}
    transcript = read(asked)
    assert (transcript.format, transcript.model) == ("gemini-contents", "g")
    assert "Be brief." in transcript.envelope


@pytest.mark.parametrize("role", ["user", "function"])
def test_responses_of_gemini_are_results_whoever_brings_them(role: str) -> None:
    transcript = read(
        [
            {"role": "user", "parts": [{"text": "Read."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
            {"role": role, "parts": [{"functionResponse": {"name": "read", "response": {"output": LONG}}}]},
        ]
    )
    assert [message.role.value for message in transcript.messages] == ["user", "assistant", "tool"]
    assert blocks(transcript)[1].call_id == blocks(transcript)[2].answers


def working(number: int) -> list[Json]:
    """Contents in which results and the user's next words are one."""
    parts: list[Json] = [{"text": "Read the files."}]
    made: list[Json] = []
    for each in range(number):
        call = {"functionCall": {"name": "read", "args": {"path": f"{each}.py"}}}
        made += [{"role": "user", "parts": parts}, {"role": "model", "parts": [call]}]
        told = {"functionResponse": {"name": "read", "response": {"output": f"{each} {LONG}"}}}
        parts = [told, {"text": f"Now file {each + 1}."}]
    return [*made, {"role": "user", "parts": parts}, {"role": "model", "parts": [{"text": "Done."}]}]


# The summary begins with the user's words, and the results in front of them stay.
@pytest.mark.parametrize("kept", [3, 6])
def test_a_summary_divides_a_content(kept: int) -> None:
    before = read(working(5))
    result = api.condense(before, configuration(one_batch(4, keep_first=kept)))
    assert result.error is None
    after = parse(api.dump(result))
    assert [message.role for message in after.messages[:kept]] == [message.role for message in before.messages[:kept]]
    assert after.messages[kept].is_summary
    contents = json.loads(api.dump(result))
    assert [list(part) for part in contents[2 * (kept // 3)]["parts"]] == [["functionResponse"]]


def goose(*results: Json) -> list[Json]:
    records: list[Json] = [{"working_dir": "/src", "message_count": 3}]
    records.append({"role": "user", "created": 1, "content": [{"type": "text", "text": "Read."}]})
    for number, result in enumerate(results):
        call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}
        asked = {"type": "toolRequest", "id": f"t{number}", "toolCall": call}
        told = {"type": "toolResponse", "id": f"t{number}", "toolResult": result}
        records.append({"role": "assistant", "created": 2, "content": [asked]})
        records.append({"role": "user", "created": 3, "content": [told]})
    return records


TOLD: list[tuple[Json, str, bool]] = [
    ({"status": "success", "value": [{"type": "text", "text": LONG}]}, LONG, False),
    ({"status": "success", "value": {"content": [{"type": "text", "text": LONG}], "isError": True}}, LONG, True),
    ({"status": "success", "value": {"content": []}}, "", False),
    ({"status": "error", "error": "Not allowed."}, "Not allowed.", True),
]


@pytest.mark.parametrize(("result", "said", "failed"), TOLD)
def test_goose_tells_a_result_in_several_ways(result: Json, said: str, failed: bool) -> None:
    data = as_lines(goose(result))
    transcript = parse(data)
    block = blocks(transcript)[-1]
    assert (transcript.format, block.kind, block.text) == ("goose", BlockKind.TOOL_RESULT, said)
    assert (block.is_error, block.tool) == (failed, "developer__shell")
    assert serialize(transcript) == data


def test_what_the_agent_of_goose_does_not_see_is_not_read() -> None:
    hidden = {"role": "user", "created": 9, "content": [{"type": "text", "text": "Gone."}]}
    records = [*goose(TOLD[0][0]), hidden | {"metadata": {"agentVisible": False}}]
    assert "Gone." not in {block.text for block in blocks(parse(as_lines(records)))}
    exported = {"id": "s", "working_dir": "/src", "model_config": {"model_name": "m"}, "conversation": records[1:]}
    transcript = read(exported)
    assert (transcript.format, transcript.model, len(transcript.messages)) == ("goose", "m", 3)


def test_links_of_droid_lead_past_what_went() -> None:
    def line(id: str, parent: str | None, role: str, *content: Json) -> Json:
        return {"type": "message", "id": id, "parentId": parent, "message": {"role": role, "content": [*content]}}

    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a.py"}}
    told = {"type": "tool_result", "tool_use_id": "t", "content": LONG}
    records = [
        {"type": "session_start", "id": "s", "cwd": "/src"},
        line("a", None, "user", {"type": "text", "text": "Go."}),
        line("b", "a", "assistant", call),
        line("c", "b", "user", told),
        line("d", "c", "assistant", {"type": "text", "text": "Done."}),
    ]
    transcript = parse(as_lines(records))
    first, *gone, last = transcript.messages
    removed = tuple(block for message in gone for block in message.blocks)
    written = serialize(replace(transcript, messages=(first, last), removed=removed))
    assert [json.loads(each).get("parentId") for each in written.splitlines()] == [None, None, "a"]


RUNS: list[tuple[Json, BlockKind, str]] = [
    ({"status": "done", "result": LONG}, BlockKind.TOOL_RESULT, LONG),
    ({"status": "done", "result": {"content": LONG}}, BlockKind.TOOL_RESULT, LONG),
    ({"status": "done", "result": {"n": 1}}, BlockKind.OPAQUE, '{"n":1}'),
    (
        {"status": "error", "error": {"message": "No."}},
        BlockKind.OPAQUE,
        '{"status":"error","error":{"message":"No."}}',
    ),
]


@pytest.mark.parametrize(("run", "kind", "said"), RUNS)
def test_a_run_of_amp_is_the_result_of_its_call(run: Json, kind: BlockKind, said: str) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a.py"}}
    told = {"type": "tool_result", "toolUseID": "t", "run": run}
    asked = {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Go."}]}
    answer = {"role": "assistant", "messageId": 1, "content": [call], "usage": {"model": "m"}}
    transcript = read({"messages": [asked, answer, {"role": "user", "messageId": 2, "content": [told]}]})
    block = blocks(transcript)[-1]
    assert (transcript.format, transcript.model, block.tool, block.answers) == ("amp", "m", "Read", "t")
    assert (block.kind, block.text, block.is_error) == (kind, said, run["status"] == "error")


def ui(**part: Any) -> Transcript:
    called = {"type": "tool-read", "toolCallId": "t1", "input": {"path": "a.py"}, **part}
    said = [{"type": "step-start"}, called, {"type": "step-start"}, {"type": "text", "text": "Done."}]
    asked = {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Read."}, {"type": "data-x", "data": 1}]}
    return read([asked, {"id": "2", "role": "assistant", "parts": said}])


STATES: list[tuple[Json, list[Any]]] = [
    ({"state": "output-available", "output": LONG}, [(BlockKind.TOOL_RESULT, LONG, False)]),
    ({"state": "output-error", "errorText": "No."}, [(BlockKind.TOOL_RESULT, "No.", True)]),
    ({"state": "output-denied"}, [(BlockKind.OPAQUE, "Tool execution denied.", False)]),
    ({"state": "output-available", "output": {"n": 1}}, [(BlockKind.OPAQUE, '{"n":1}', False)]),
    (
        {"state": "output-available", "output": {"content": [{"type": "text", "text": LONG}]}},
        [(BlockKind.TOOL_RESULT, LONG, False)],
    ),
    ({"state": "input-available"}, []),
]


@pytest.mark.parametrize(("part", "results"), STATES)
def test_a_part_of_the_interface_is_a_call_and_its_result(part: Json, results: list[Any]) -> None:
    transcript = ui(**part)
    assert transcript.format == "ai-sdk-ui"
    user, call, *told, answer = transcript.messages
    assert [block.text for block in user.blocks] == ["Read."]
    assert [(block.kind, block.tool) for block in call.blocks] == [(BlockKind.TOOL_CALL, "read")]
    assert [(each.kind, each.text, each.is_error) for message in told for each in message.blocks] == results
    assert [block.text for block in answer.blocks] == ["Done."]


def test_other_messages_are_none_of_the_interface() -> None:
    with pytest.raises(UnknownFormatError, match="it has no parts"):
        read([{"id": "1", "role": "user", "content": "Hello."}], format="ai-sdk-ui")
