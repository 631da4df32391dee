"""Sessions of the Cline SDK: results are lists of entries, or an object inside a string."""

import json
from typing import Any

from build import LONG, condense, cut_to, one_batch, one_pass

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.formats import parse, serialize
from condense_cli.rules.validity import validate
from condense_cli.toolcalls import tools


def result(number: int, content: Any, **extra: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "name": "read_files", "content": content, **extra}


def entry(text: Any = LONG, **extra: Any) -> dict[str, Any]:
    return {"query": "src/app.py:1-40", "result": text, "success": True, **extra}


def session(*contents: Any) -> bytes:
    file = {"type": "file", "path": "src/app.py", "content": LONG}
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Read."}, file]}]
    for number, content in enumerate(contents):
        arguments = {"files": [{"path": "src/app.py", "start_line": 1, "end_line": 40}]}
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_files", "input": arguments}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result(number, content)]})
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})
    messages.append({"role": "user", "content": [{"type": "text", "text": "Thanks."}]})
    stamped = [{"id": f"msg_{n}", **message, "ts": 1_700_000_000_000 + n} for n, message in enumerate(messages)]
    value = {"version": 1, "sessionId": "s", "system_prompt": "Be brief.", "messages": stamped}
    return json.dumps(value, indent=2).encode()


def loaded(*contents: Any) -> Transcript:
    data = session(*contents)
    transcript = parse(data)
    assert transcript.format == "cline"
    assert serialize(transcript) == data
    assert validate(transcript) == []
    return transcript


# Each entry of a list, and the one inside a string, is a text that passes can shorten; what is around it stays.
def test_entries_are_texts() -> None:
    transcript = loaded([entry(), entry("second")], json.dumps(entry()), LONG)
    results = [block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_RESULT]
    assert [block.text for block in results] == [LONG, "second", LONG, LONG]
    assert {block.tool for block in results} == {"read_files"}
    written = json.loads(api.dump(condense(transcript, one_pass(individual_config=cut_to(3)))))["messages"]
    listed, in_string = written[2]["content"][0]["content"], json.loads(written[4]["content"][0]["content"])
    assert len(listed[0]["result"]) < len(LONG) > len(in_string["result"])
    assert listed[0] | {"result": ""} == in_string | {"result": ""} == entry("")
    assert listed[1] == entry("second")


def test_failures_are_errors() -> None:
    failed = {"query": "a.py", "result": "", "error": "No such file", "success": False}
    blocks = loaded([failed]).messages[2].blocks
    assert [(block.text, block.is_error) for block in blocks] == [("", True), ("No such file", True)]


# What is no entry is opaque, as in every other format.
def test_other_contents_stay() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    kinds = [block.kind for block in loaded([entry(), image, {"query": "x"}, {"result": 5}]).messages[2].blocks]
    assert kinds == [BlockKind.TOOL_RESULT, BlockKind.IMAGE, BlockKind.OPAQUE, BlockKind.OPAQUE]
    assert [block.text for block in loaded('{"query": 1}').messages[2].blocks] == ['{"query": 1}']
    assert [block.text for block in loaded("{not json").messages[2].blocks] == ["{not json"]


def test_an_attached_file_is_text() -> None:
    block = loaded([entry()]).messages[0].blocks[1]
    assert (block.kind, block.text, block.injected) == (BlockKind.TEXT, LONG, True)


def test_the_tools_are_known() -> None:
    call = loaded([entry()]).messages[1].blocks[0]
    assert tools.reads_a_file(call)
    assert tools.paths(call) == ["src/app.py"]


# A summary takes the id and the time of the first message that it replaces; nothing is hidden as in Roo Code.
def test_a_summary_takes_the_place_of_messages() -> None:
    result = condense(loaded([entry()], [entry()], [entry()]), one_batch(2, keep_first=1))
    messages = json.loads(api.dump(result))["messages"]
    assert [message["id"] for message in messages[:2]] == ["msg_0", "msg_1"]
    assert messages[1]["content"][0]["text"].startswith("[condense:")
    assert all("condenseParent" not in message for message in messages)
