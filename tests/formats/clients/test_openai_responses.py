"""Items of the Responses API: evidence, each kind of item, what goes with reasoning, refusals."""

import json
from typing import Any

import pytest
from batches import RECENT, batch
from build import CHAT, LONG, condense, one_pass, written
from helpers import as_lines
from rollout_items import HEADER, PATCH, custom, function, output, reasoning
from rollouts import BARE_ROLLOUT, message

from condense_cli import api
from condense_cli.core.transcript import Block, Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UnknownFormatError, UsageError
from condense_cli.formats import format_named, parse, serialize
from condense_cli.rules.validity import validate
from condense_cli.toolcalls.tools import patched_paths

Item = dict[str, Any]
REQUEST: Item = {"role": "user", "content": "Find the bug."}
ANSWER: Item = {**message("assistant", "Done."), "id": "msg_1", "status": "completed", "phase": "final_answer"}
SEARCH = {"type": "file_search_call", "id": "fs_1", "queries": ["x"], "status": "completed"}


def read(*items: Item) -> Transcript:
    transcript = api.loads(list(items), format="openai-responses")
    assert validate(transcript) == []
    return transcript


def turn(name: str, text: Any = LONG, number: int = 1) -> list[Item]:
    return [reasoning(number), function(name, "read_file", path=f"{name}.py"), output(name, text)]


def blocks(transcript: Transcript, kind: BlockKind) -> list[Block]:
    return [block for _, block in transcript.blocks() if block.kind is kind]


LOOP = [REQUEST, *turn("a", number=1), *turn("b", number=2), ANSWER]


@pytest.mark.parametrize(
    "items",
    [LOOP, [REQUEST, ANSWER], LOOP[1:], [{"type": "new", "id": "x"}, *LOOP], [REQUEST, message("user", "a")]],
    ids=["loop", "no calls", "no request", "unknown first", "messages"],
)
def test_items_are_recognised(items: list[Item]) -> None:
    body = {"model": "gpt-5.1", "instructions": "Be brief.", "input": items, "tools": [{"type": "function"}]}
    for data in (json.dumps(items).encode(), as_lines(items), json.dumps(body, indent=2).encode()):
        transcript = parse(data)
        assert transcript.format == "openai-responses"
        assert len(transcript.messages) == len(read(*items).messages)
        assert serialize(transcript) == data


# What plain messages are for, the key says.
def test_the_body_of_a_request_with_texts_alone() -> None:
    transcript = api.loads(json.dumps({"model": "gpt-5.1", "instructions": "Be brief.", "input": [REQUEST]}))
    assert (transcript.format, transcript.model, transcript.envelope) == ("openai-responses", "gpt-5.1", "Be brief.")


@pytest.mark.parametrize("value", ["Hello", [], ["a text to embed"], [{"text": "x"}], [CHAT[2]]])
def test_what_else_stands_under_input_is_no_conversation(value: Any) -> None:
    with pytest.raises(UnknownFormatError):
        parse(json.dumps({"model": "m", "input": value}).encode())


@pytest.mark.parametrize(
    ("messages", "format"),
    [
        ([REQUEST], "anthropic"),
        ([{**REQUEST, "type": "message"}], "anthropic"),
        ([{"role": "developer", "content": "Be brief."}, REQUEST], "openai-chat"),
        ([message("user", LONG) | {"type": None}, *CHAT[2:]], "openai-chat"),
        ([{"role": "user", "content": [{"type": "input_text", "text": LONG}]}, *CHAT[2:]], "openai-chat"),
        ([REQUEST, {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]}], "anthropic"),
    ],
)
def test_messages_of_other_apis_stay_theirs(messages: list[Item], format: str) -> None:
    assert api.loads(messages).format == format


@pytest.mark.parametrize("record", [{"type": "event", "id": "1"}, {"type": "compaction", "id": "1", "summary": "x"}])
def test_logs_of_others_are_no_items(record: Item) -> None:
    with pytest.raises(UnknownFormatError):
        parse(as_lines([record] * 3))


def test_rows_hold_items() -> None:
    from condense_cli.rows.reading import kind_of

    kind = kind_of([json.dumps({"model": "m", "input": LOOP}).encode()] * 3)
    assert kind is not None
    assert (kind.column, kind.format) == (("input",), "openai-responses")


# The advice for old rollouts of Codex leads here.
def test_the_items_of_an_old_rollout_are_read() -> None:
    values = [json.loads(line) for line in BARE_ROLLOUT.splitlines()]
    transcript = parse(as_lines([value for value in values if value.get("type")]))
    assert transcript.format == "openai-responses"
    assert [message.role for message in transcript.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]


def test_the_items_of_an_answer_are_one_turn() -> None:
    transcript = read(REQUEST, *turn("a")[:2], function("b", "list"), output("b", "2"), output("a", "1"), ANSWER)
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert [(block.tool, block.call_id) for block in blocks(transcript, BlockKind.TOOL_RESULT)] == [
        ("list", "b"),
        ("read_file", "a"),
    ]


@pytest.mark.parametrize(
    ("call", "answer", "tool"),
    [
        (custom("a", PATCH), output("a", LONG, "custom_tool_call_output"), "apply_patch"),
        (
            {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls", "pwd"]}},
            {"output": [{"stdout": LONG, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
            "shell",
        ),
        (
            {"type": "local_shell_call", "id": "a", "action": {"type": "exec", "command": ["ls"]}},
            {"id": "a", "output": LONG},
            "local_shell",
        ),
        (
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "a", "action": {"type": "exec", "command": ["ls"]}},
            {"id": "lsh_1", "output": LONG},
            "local_shell",
        ),
        (
            {
                "type": "apply_patch_call",
                "call_id": "a",
                "operation": {"type": "update_file", "path": "x", "diff": "+"},
            },
            {"status": "completed", "output": LONG},
            "apply_patch",
        ),
        (function("a", "run"), output("a", [{"type": "input_text", "text": LONG}]), "run"),
        (function("a", "run"), output("a", HEADER + LONG), "run"),
    ],
)
def test_calls_of_every_kind_have_their_outputs(call: Item, answer: Item, tool: str) -> None:
    answer = {"type": f"{call['type']}_output", **({} if "id" in answer else {"call_id": "a"}), **answer}
    transcript = read(REQUEST, call, answer, ANSWER)
    [asked] = blocks(transcript, BlockKind.TOOL_CALL)
    found = blocks(transcript, BlockKind.TOOL_RESULT)
    assert (asked.tool, asked.call_id) == (tool, "a")
    assert {(block.tool, block.call_id, block.is_error) for block in found} == {(tool, "a", False)}
    assert [block.text for block in found if block.text] == [LONG]
    condensed = condense(transcript)
    assert LONG not in api.dump(condensed).decode()
    assert condensed.changes


def test_a_patch_names_its_files() -> None:
    [call] = blocks(
        read(REQUEST, custom("a", PATCH), output("a", "ok", "custom_tool_call_output")), BlockKind.TOOL_CALL
    )
    assert patched_paths(call) == ["src/app.py", "b.txt"]


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "apply_patch_call_output", "call_id": "a", "status": "failed"},
        {"type": "shell_call_output", "call_id": "a", "output": [{"stdout": "x", "outcome": {"type": "timeout"}}]},
    ],
)
def test_items_say_that_a_call_failed(answer: Item) -> None:
    key = "operation" if "patch" in answer["type"] else "action"
    transcript = read(REQUEST, {"type": answer["type"].removesuffix("_output"), "call_id": "a", key: {}}, answer)
    assert [block.is_error for block in blocks(transcript, BlockKind.TOOL_RESULT)] == [True]


# What is not known, and what a server did, is counted and stays, whatever passes do around it.
@pytest.mark.parametrize(
    "item",
    [
        SEARCH,
        {"type": "of_the_future", "id": "x", "text": LONG},
        {"type": "compaction", "encrypted_content": "gAAA" * 100},
        {"type": "item_reference", "id": "msg_0"},
    ],
    ids=lambda item: item["type"],
)
def test_opaque_items_stay(item: Item) -> None:
    transcript = read(*LOOP[:-1], item, ANSWER)
    assert item in written(condense(transcript))
    if item["type"] in ("compaction", "item_reference"):
        assert item in written(batch(transcript))


def test_base64_is_estimated() -> None:
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGVsbG8="}
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGVsbG8="}
    screen = [
        {"type": "computer_call", "id": "cu_1", "call_id": "c", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "c", "output": shot},
    ]
    transcript = read({"role": "user", "content": [file]}, *screen, ANSWER)
    assert [block.estimate > 0 for block in blocks(transcript, BlockKind.OPAQUE)] == [True, False, True]
    assert not any("aGVsbG8" in block.text for _, block in transcript.blocks())


# An approval asks for its request, as a result for its call.
@pytest.mark.parametrize("recent", [1, 2, 3])
def test_what_belongs_together_goes_together(recent: int) -> None:
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"}
    given = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    items = written(
        batch(read(REQUEST, *turn("a"), asked, given, ANSWER), selection={**RECENT, "keep_recent_count": recent})
    )
    assert (asked in items) == (given in items) == (recent > 1)


def test_items_behind_reasoning_that_goes_lose_the_ids_that_ask_for_it() -> None:
    last = [{"role": "user", "content": "Thanks."}, *turn("c", number=3)]
    items = written(condense(read(*LOOP, *last), one_pass(), thinking="drop"))
    assert [(item.get("type"), item.get("id")) for item in items if "output" not in item] == [
        (None, None),
        ("function_call", None),
        ("function_call", None),
        ("message", "msg_1"),
        (None, None),
        ("reasoning", "rs_3"),  # The loop that is open needs it.
        ("function_call", "fc_c"),
    ]


# The API takes a search with its id alone, and with the id it asks for the reasoning.
def test_reasoning_stays_before_items_that_need_their_ids() -> None:
    items = [REQUEST, reasoning(1), SEARCH, reasoning(2), ANSWER, {"role": "user", "content": "Thanks."}]
    left = written(condense(read(*items), one_pass(), thinking="drop"))
    assert [item.get("id") for item in left] == [None, "rs_1", "fs_1", None, None]
    assert left[:3] == items[:3]


def test_a_summary_is_a_message_of_the_user() -> None:
    items = written(batch(read(*LOOP, {"role": "user", "content": "Thanks."})))
    assert [item["role"] for item in items] == ["user", "user", "user"]
    assert items[1].keys() == {"role", "content"}
    assert validate(api.loads(items, format="openai-responses")) == []


@pytest.mark.parametrize(
    ("items", "rule"),
    [
        ([REQUEST, output("a"), REQUEST], "outputs_have_calls"),
        ([REQUEST, function("a"), REQUEST], "calls_have_outputs"),
        ([REQUEST, reasoning(), REQUEST], "reasoning_is_followed"),
        ([REQUEST, function("a"), output("a"), output("a")], "one_result_per_call"),
    ],
)
def test_what_the_api_refuses(items: list[Item], rule: str) -> None:
    assert {violation.rule for violation in validate(api.loads(items, format="openai-responses"))} == {rule}


def test_ids_stand_once() -> None:
    shell: list[Item] = [{"type": "local_shell_call", "id": "lsh_1", "call_id": "l", "action": {"type": "exec"}}]
    shell.append({"type": "local_shell_call_output", "id": "lsh_1", "output": "x"})
    faults = [
        fault
        for rule in format_named("openai-responses").rules
        for fault in rule(api.loads([REQUEST, *shell, *turn("a"), ANSWER, ANSWER]))
    ]
    assert [(fault.rule, fault.record) for fault in faults] == [("item_ids_unique", 7)]
    assert faults[0].said.startswith("Duplicate item found with id msg_1.")


# The last answer may still wait for what its calls give.
def test_open_calls_may_come_last() -> None:
    transcript = read(*LOOP, function("c"))
    assert written(condense(transcript, one_pass()))[-1] == function("c")


@pytest.mark.usefixtures("anywhere")
def test_the_api_takes_items_and_gives_items() -> None:
    class Answer:
        def model_dump(self, *, mode: str, exclude_unset: bool) -> Item:
            assert (mode, exclude_unset) == ("json", True)
            return ANSWER

    result = api.condense(api.loads([*LOOP[:-1], Answer()]), preset="speed")
    items = api.dump_messages(result)
    assert items[-1] == ANSWER
    assert len(json.dumps(items)) < len(json.dumps(LOOP))
    with pytest.raises(UsageError, match="not a list"):
        api.dump_messages(api.loads(json.dumps({"input": LOOP})))
