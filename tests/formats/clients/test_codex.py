"""Read rollouts of Codex CLI: what the client would send, what a file tells of it, and faults."""

import json
from typing import Any

import pytest
from build import LONG, texts
from rollout_items import (
    DONE,
    HEAD,
    HEADER,
    PATCH,
    REQUEST,
    Item,
    custom,
    function,
    head,
    items,
    only,
    output,
    reasoning,
    rollout,
)
from rollouts import ENVIRONMENT, message, record

from condense_cli import api
from condense_cli.core.transcript import Block, cut_before
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import NotJsonError
from condense_cli.formats import format_named, serialize
from condense_cli.report.lists.validation import check
from condense_cli.report.run.facts import estimated_tokens
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls import tools as patches
from condense_cli.toolcalls.tools import (
    command_lines,
    main_argument,
    patched_paths,
    path_argument,
    prints_a_file,
    writes_a_file,
)


# Neighbours from the assistant are a turn, and so are the outputs that follow; others are turns of their own.
def test_items_are_grouped_into_turns() -> None:
    context = message("user", "# AGENTS.md instructions for /repo", ENVIRONMENT)
    answer = [reasoning(), message("assistant", "I look."), function("a", cmd="ls"), custom("b", PATCH)]
    outputs = [output("a"), output("b", "ok", "custom_tool_call_output")]
    transcript = rollout(*items(message("developer", "Rules."), context, REQUEST, *answer, *outputs, DONE))
    roles = [found.role for found in transcript.messages]
    assert roles == [Role.DEVELOPER, Role.USER, Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert [found.is_injected for found in transcript.messages[1:3]] == [True, False]
    assert [block.kind for block in transcript.messages[3].blocks] == [
        BlockKind.THINKING, BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_CALL,
    ]  # fmt: skip
    assert {block.tool for block in transcript.messages[4].blocks} == {"exec_command", "apply_patch"}
    assert transcript.envelope == "Help."


# Encrypted reasoning is estimated; its summary is counted.
def test_reasoning_is_thinking() -> None:
    block = only(rollout(*items(REQUEST, reasoning(), DONE)), BlockKind.THINKING)
    assert block.text == "**Thinking about it**"
    assert block.estimate > 0
    assert block.content_type is None


# The last compaction replaces everything before it, older messages are kept beside a summary without a list.
def test_the_last_compaction_is_where_the_conversation_begins() -> None:
    summary = message("user", "Another language model started to solve this problem. Here is the rest.")
    first = record("compacted", message="", replacement_history=[message("user", "lost")])
    last = record(
        "compacted",
        message="",
        replacement_history=[REQUEST, {"type": "compaction", "encrypted_content": "g"}, summary],
    )
    transcript = rollout(*items(message("user", "old")), first, *items(DONE), last, *items(message("user", "Go on.")))
    assert [found.role for found in transcript.messages] == [Role.USER] * 4
    assert texts(transcript)[0] == "Please fix it."
    assert texts(transcript)[3] == "Go on."
    assert transcript.messages[2].is_injected

    old = record("compacted", message="What was done.")
    transcript = rollout(*items(message("user", ENVIRONMENT), REQUEST, DONE), old, *items(DONE))
    assert texts(transcript) == ["Please fix it.", "What was done.", "Done."]


# A rollback takes back the newest turns of the user, with what the client put before them.
def test_turns_taken_back_are_no_longer_sent() -> None:
    told = message("user", ENVIRONMENT)
    turns = items(told, REQUEST, DONE, told, message("user", "More."), DONE, message("user", "<turn_aborted>\nx"))

    def left(number: int) -> list[str]:
        return texts(rollout(*turns, record("event_msg", type="thread_rolled_back", num_turns=number)))

    assert left(1) == [ENVIRONMENT, "Please fix it.", "Done."]
    assert left(2) == left(9) == [ENVIRONMENT]


# A later head drops what is before it only in files of pages: older files of forked sessions repeat heads.
@pytest.mark.parametrize(("mode", "sent"), [("paginated", ["Done."]), ("legacy", ["Please fix it.", "Done."])])
def test_a_second_head_drops_what_stands_before_it_in_files_of_pages(mode: str, sent: list[str]) -> None:
    head = record("session_meta", id="s", history_mode=mode)
    assert texts(rollout(*items(REQUEST), head, *items(DONE), head=head)) == sent


# What the client leaves out of a request is not counted, and every byte of it stays.
def test_what_is_not_sent_is_left_alone() -> None:
    lost = output("lost")
    others = [record("world_state", full=True, state={}), record("of_the_future", x=1), *items(lost)]
    records = [*items(REQUEST, {"type": "ghost_snapshot", "ghost_commit": {"id": "x"}}), *others, *items(DONE)]
    transcript = rollout(*records)
    assert texts(transcript) == ["Please fix it.", "Done."]
    assert serialize(transcript) == transcript.source.data
    assert [note.rule for note in check(transcript, source="x").notes] == ["results_have_calls"]


# Items of newer models that carry tools are part of the standing instructions.
def test_an_item_of_the_developer_is_the_developers() -> None:
    tools = record("response_item", type="additional_tools", role="developer", tools=[{"name": "t"}])
    asked = record("response_item", **message("user", "Go."))
    transcript = rollout(tools, asked)
    assert [found.role for found in transcript.messages] == [Role.DEVELOPER, Role.USER]


# A header with nothing under it is no result.
def test_a_command_that_printed_nothing_has_no_result() -> None:
    transcript = rollout(*items(REQUEST, function("a"), output("a", HEADER), DONE))
    [block] = transcript.messages[2].blocks
    assert (block.kind, block.text, block.answers) == (BlockKind.OPAQUE, HEADER, "a")


# Words may be between two results of one turn: a cut there would separate the second from its call.
def test_no_cut_separates_late_results_from_their_calls() -> None:
    calls = [function("a"), function("b")]
    records = items(REQUEST, *calls, output("a"), message("assistant", "Wait."), output("b"), DONE)
    messages = rollout(*records).messages
    assert [cut_before(messages, position) for position in range(7)] == [0, 1, 1, 1, 1, 5, 6]


# A line that is not JSON stops a run, as in every format; with lenient it stays, and the client skips it as well.
def test_a_broken_line_stops_a_run_unless_lenient_keeps_it() -> None:
    data = b"".join(json.dumps(value).encode() + b"\n" for value in (HEAD, *items(REQUEST, DONE)))
    data = data.replace(b"\n", b'\n{"broken\n', 1)
    with pytest.raises(NotJsonError, match=":2:"):
        api.loads(data)
    transcript = api.loads(data, lenient=True)
    assert texts(transcript) == ["Please fix it.", "Done."]
    assert serialize(transcript) == data
    assert check(transcript, source="x").faults == []


# A string that only looks like that is a text like any other.
@pytest.mark.parametrize("value", ['{"output": 1, "metadata": {}}', '{"output": "x"}', "{", "[1]", "{}"])
def test_other_json_is_text(value: str) -> None:
    transcript = rollout(*items(REQUEST, function("a"), output("a", value), DONE))
    assert only(transcript, BlockKind.TOOL_RESULT).text == value


# The exit code that a header tells of decides whether the call failed.
@pytest.mark.parametrize(("code", "failed"), [("0", False), ("1", True), ("-1", True), ("137", True)])
def test_the_exit_code_decides_whether_a_call_failed(code: str, failed: bool) -> None:
    text = f"Exit code: {code}\nWall time: 0 seconds\nOutput:\nExit code: 1\n"
    transcript = rollout(*items(REQUEST, function("a"), output("a", text), DONE))
    assert only(transcript, BlockKind.TOOL_RESULT).is_error is failed


# Replacing nothing gives the same patch, whatever is in it.
@pytest.mark.parametrize(
    "text",
    [
        PATCH,
        "",
        "x",
        "*** Begin Patch",
        "*** Begin Patch\n*** Delete File: a",
        "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x",
    ],
)
def test_a_patch_is_read_and_put_together_again(text: str) -> None:
    values = {path: text[start:end] for path, start, end in patches._values(text)}
    assert patches.replace(text, values) == text


# Commands tell what they read and change, whether as a list, inside a shell or as a line.
def test_commands_tell_what_they_read_and_change() -> None:
    def call(item: Item) -> Block:
        return only(rollout(*items(REQUEST, item)), BlockKind.TOOL_CALL)

    listed = call(function("a", "shell", command=["bash", "-lc", "sed -n '1,9p' a.py"]))
    assert main_argument(listed) == "sed -n '1,9p' a.py"
    assert prints_a_file(listed)
    assert command_lines(listed) == ["sed -n '1,9p' a.py"]
    for options in (["-Command"], ["-NoProfile", "-Command"]):
        shown = call(function("a", "shell", command=["powershell.exe", *options, "Get-Content a.py"]))
        assert main_argument(shown) == "Get-Content a.py"
        assert command_lines(shown) == ["Get-Content a.py"]
    assert command_lines(call(function("a", "shell", command=["grep", "a", "-c", "b"]))) == ["grep a -c b"]
    assert prints_a_file(call(function("a", "shell", command=["cat", "a.py"])))
    assert prints_a_file(call(function("a", cmd="cat a.py")))
    assert prints_a_file(
        call({"type": "local_shell_call", "id": "ls_1", "action": {"type": "exec", "command": ["cat", "a"]}})
    )
    assert not prints_a_file(call(function("a", cmd="pytest")))
    here = call(function("a", "shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]))
    assert patched_paths(here) == ["src/app.py", "b.txt"]
    assert writes_a_file(here)
    one = call(custom("a", "*** Begin Patch\n*** Update File: a.py\n-x\n*** End Patch"))
    assert path_argument(one) == "a.py"
    assert writes_a_file(one)
    assert call(function("a", "tool") | {"namespace": "mcp__server"}).tool == "mcp__server__tool"


# The first usage is that of the first request whose answer is in the conversation.
def test_usage_is_that_of_the_first_request() -> None:
    def counted(tokens: int) -> dict[str, Any]:
        usage = {"input_tokens": tokens, "cached_input_tokens": 7}
        return record("event_msg", type="token_count", info={"total_token_usage": usage, "last_token_usage": usage})

    empty = record("event_msg", type="token_count", info=None)
    records = [
        *items(REQUEST, function("a")),
        empty,
        counted(0),
        counted(1_000),
        *items(output("a"), DONE),
        counted(2_000),
    ]
    usage = rollout(*records).first_usage
    assert usage is not None
    assert (usage.message, usage.input_tokens) == (1, 1_000)
    # After a compaction the same numbers come again; they are not those of the next request.
    compacted = record("compacted", message="", replacement_history=[REQUEST])
    usage = rollout(*records, compacted, counted(2_000), *items(DONE), counted(2_000), counted(300)).first_usage
    assert usage is not None
    assert (usage.message, usage.input_tokens) == (1, 300)


# The model is the one that the client used last.
def test_the_model_is_the_last() -> None:
    models = [record("turn_context", model=name) for name in ("gpt-5", "gpt-5.1-codex", "")]
    assert rollout(*models, *items(REQUEST)).model == "gpt-5.1-codex"


# Faults of a file, each with whether the client only mends it.
@pytest.mark.parametrize(
    ("rule", "is_note", "records"),
    [
        ("head_comes_first", False, [record("world_state"), HEAD, *items(REQUEST)]),
        ("history_mode_known", False, [head(history_mode="new"), *items(REQUEST)]),
        ("provider_named", True, [head(model_provider=None), *items(REQUEST)]),
        ("last_record_has_ordinal", False, [head(history_mode="paginated"), *items(REQUEST)]),
        ("results_have_calls", True, [HEAD, *items(REQUEST, output("a"))]),
        ("calls_have_results", True, [HEAD, *items(REQUEST, function("a"))]),
        ("reasoning_is_followed", False, [HEAD, *items(REQUEST, reasoning())]),
        ("one_result_per_call", False, [HEAD, *items(REQUEST, function("a"), output("a"), output("a"))]),
    ],
)
def test_each_fault_of_a_file_is_named_alone(rule: str, is_note: bool, records: list[dict[str, Any]]) -> None:
    found = check(api.loads("".join(json.dumps(value) + "\n" for value in records), format="codex"), source="x")
    assert [fault.rule for fault in (found.notes if is_note else found.faults)] == [rule]
    assert [fault.rule for fault in (found.faults if is_note else found.notes)] == []


# The client goes on where a turn was interrupted behind reasoning, or another agent has spoken.
@pytest.mark.parametrize("between", ["turn_aborted", "agent_message"])
def test_reasoning_before_words_of_the_client(between: str) -> None:
    text = [{"type": "input_text", "text": "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"}]
    aborted = {"type": "message", "role": "user", "content": text}
    told = {"type": "agent_message", "author": "a", "recipient": "b", "content": [{"type": "text", "text": "Done."}]}
    records = [HEAD, *items(REQUEST, reasoning(), {"turn_aborted": aborted, "agent_message": told}[between], REQUEST)]
    transcript = api.loads("".join(json.dumps(value) + "\n" for value in records), format="codex")
    assert check(transcript, source="x").faults == []


# Of an interruption, older versions keep an event alone.
@pytest.mark.parametrize("after", [[REQUEST], []])
def test_reasoning_before_an_event_that_the_turn_was_aborted(after: list[Item]) -> None:
    aborted = record("event_msg", type="turn_aborted", reason="interrupted")
    assert check(rollout(*items(REQUEST, reasoning()), aborted, *items(*after)), source="x").faults == []
    spelled = message("assistant", json.dumps(aborted))
    faults = check(rollout(*items(REQUEST, spelled, reasoning(), *after)), source="x").faults
    assert [fault.rule for fault in faults] == ["reasoning_is_followed"]


# What the API leaves out costs nothing, and stays in the file.
@pytest.mark.parametrize(("model", "is_forgotten"), [("gpt-5-codex", True), ("gpt-5.5", True), ("gpt-5.6-sol", False)])
def test_thinking_of_earlier_turns(model: str, is_forgotten: bool) -> None:
    named = record("turn_context", model=model, cwd="/repo")
    first = [REQUEST, reasoning(1), function("a"), output("a"), reasoning(2), DONE]
    transcript = rollout(named, *items(*first, message("user", "More."), reasoning(3), DONE))
    thinking = [block for _, block in transcript.blocks() if block.kind is BlockKind.THINKING]
    assert [block.forgotten for block in thinking] == [is_forgotten, is_forgotten, False]
    count = Counter.of(transcript)
    assert [count.block(block) > 0 for block in thinking] == [not is_forgotten, not is_forgotten, True]
    shown = estimated_tokens(transcript)
    assert shown == sum(block.estimate for block in thinking if not block.forgotten)
    assert serialize(transcript) == transcript.source.data


# Nothing is wrong with a session as the client writes it.
def test_a_whole_session_has_no_faults() -> None:
    records = items(
        REQUEST,
        reasoning(),
        function("a"),
        custom("b", PATCH),
        output("b", "ok", "custom_tool_call_output"),
        output("a"),
        DONE,
    )
    found = check(rollout(*records), source="x")
    assert (found.faults, found.notes) == ([], [])
    assert validate(rollout(*records)) == []


# The bytes of a file are told apart by what they are for, and add up.
def test_sizes_add_up() -> None:
    shown = record("event_msg", type="exec_command_end", aggregated_output=LONG)
    compacted = record("compacted", message="", replacement_history=[REQUEST, reasoning()])
    records = [*items(message("user", "old " + LONG)), compacted, *items(function("a"), output("a")), shown]
    transcript = rollout(*records)
    sizes = format_named("codex").beside.sizes(transcript)
    assert sum(sizes.values()) == len(transcript.source.data)
    assert sizes["display_copies"] == len(json.dumps(shown))
    assert sizes["not_live"] == len(json.dumps(records[0]))
    assert sizes["other_records"] == len(json.dumps(HEAD))
    sent = [REQUEST, reasoning(), function("a"), output("a")]
    assert sizes["sent"] == sum(len(json.dumps(value)) for value in sent)
