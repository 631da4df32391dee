"""Rollouts of Codex CLI: what the client would send, forms of calls and outputs, reasoning with its pair."""

from __future__ import annotations

import json
from typing import Any

import laws
import pytest
import real
from build import LONG, condense, configuration, cut_to, one_pass, written
from hypothesis import given
from rollouts import ENVIRONMENT, message, record, rollout_records
from strategies import ANY_TURNS, configurations, spelled
from summarizers import Short

from condense_cli import api, patches
from condense_cli.config.models import Configuration
from condense_cli.errors import NotJsonError
from condense_cli.exchanges import cut_before
from condense_cli.formats import format_named, serialize
from condense_cli.report.validation import check
from condense_cli.tools import (
    arguments_of,
    command_lines,
    main_argument,
    patched_paths,
    path_argument,
    prints_a_file,
    writes_a_file,
)
from condense_cli.transcript import Block, BlockKind, Role, Transcript
from condense_cli.validity import validate

HEADER = "Chunk ID: f4792a\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\n"
PATCH = f"*** Begin Patch\n*** Update File: src/app.py\n@@\n{LONG}\n*** Add File: b.txt\n+x\n*** End Patch"
HEAD = record("session_meta", id="s", cwd="/repo", model_provider="openai", base_instructions={"text": "Help."})
KEPT = 2
"""Lines that the passes of these tests leave of a text."""

Item = dict[str, Any]


def function(call_id: str, name: str = "exec_command", **arguments: Any) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "name": name,
        "arguments": json.dumps(arguments),
        "call_id": call_id,
    }


def custom(call_id: str, text: str, name: str = "apply_patch") -> Item:
    return {"type": "custom_tool_call", "id": f"ctc_{call_id}", "call_id": call_id, "name": name, "input": text}


def output(call_id: str, value: Any = HEADER + LONG, kind: str = "function_call_output") -> Item:
    return {"type": kind, "call_id": call_id, "output": value}


def reasoning(number: int = 1, encrypted: str | None = "gAAAAAB" * 30) -> Item:
    summary = [{"type": "summary_text", "text": "**Thinking about it**"}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": encrypted}


def head(**keys: Any) -> dict[str, Any]:
    return record("session_meta", **{"id": "s", "model_provider": "openai", **keys})


def items(*values: Item) -> list[dict[str, Any]]:
    return [record("response_item", **value) for value in values]


def rollout(*records: dict[str, Any], head: dict[str, Any] = HEAD) -> Transcript:
    transcript = api.loads("".join(json.dumps(value) + "\n" for value in (head, *records)))
    assert transcript.format == "codex"
    return transcript


def texts(transcript: Transcript) -> list[str]:
    return [block.text for _, block in transcript.blocks()]


def only(transcript: Transcript, kind: BlockKind) -> Block:
    [block] = [block for _, block in transcript.blocks() if block.kind is kind]
    return block


REQUEST = message("user", "Please fix it.")
DONE = message("assistant", "Done.")


# What follows one another from the assistant is a turn, and so are the outputs that follow; others stand alone.
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


# A later head drops what stands before it in files of pages alone: older files of forked sessions repeat heads.
@pytest.mark.parametrize(("mode", "sent"), [("paginated", ["Done."]), ("legacy", ["Please fix it.", "Done."])])
def test_a_second_head(mode: str, sent: list[str]) -> None:
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


# Every form of an output: the result is cut, what the client wrote around it stays.
@pytest.mark.parametrize(
    ("value", "path"),
    [
        (LONG, []),
        (HEADER + LONG, []),
        ("Exit code: 1\nWall time: 2 seconds\nTotal output lines: 40\nOutput:\n" + LONG, []),
        (
            [
                {"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"},
                {"type": "input_text", "text": LONG},
            ],
            [1, "text"],
        ),
        ({"content": LONG, "success": False}, ["content"]),
        ({"type": "input_text", "text": HEADER + LONG}, ["text"]),
    ],
    ids=["plain", "header", "exit code", "list", "content", "part"],
)
def test_outputs_are_cut_inside(value: Any, path: list[str | int]) -> None:
    records = items(REQUEST, function("a", cmd="ls"), output("a", value), DONE)
    after = written(
        condense(rollout(*records), one_pass(individual_config=cut_to(KEPT)), lossless_prelude={"enabled": False})
    )
    changed = after[3]["payload"].pop("output")
    before = value
    for key in path:
        before, changed = before[key], changed[key]
    start = before.index(LONG)
    assert changed.startswith(before[: start + 30])
    assert changed.count("\n") == before[:start].count("\n") + KEPT
    assert "lines left out" in changed


# A result inside JSON in a string is exchanged inside that string: its spelling around the result stays.
@pytest.mark.parametrize("style", [{}, {"separators": (",", ":")}, {"indent": 2}], ids=str)
def test_a_result_in_json_in_a_string_keeps_the_json(style: dict[str, Any]) -> None:
    value = json.dumps({"output": LONG + "\né", "metadata": {"exit_code": 1, "duration_seconds": 0.10}}, **style)
    value = value.replace("0.1", "0.100")
    transcript = rollout(*items(REQUEST, function("a", "shell", command=["ls"]), output("a", value), DONE))
    block = only(transcript, BlockKind.TOOL_RESULT)
    assert block.text == LONG + "\né"
    assert block.is_error
    after = written(condense(transcript, lossless_prelude={"enabled": False}))[3]["payload"]["output"]
    marker = json.loads(after)["output"]
    assert marker.startswith("[condense: 41 lines left out")
    assert after == value.replace(json.dumps(LONG + "\né", **style), json.dumps(marker))


# A string that only looks like that is a text like any other.
@pytest.mark.parametrize("value", ['{"output": 1, "metadata": {}}', '{"output": "x"}', "{", "[1]", "{}"])
def test_other_json_is_text(value: str) -> None:
    transcript = rollout(*items(REQUEST, function("a"), output("a", value), DONE))
    assert only(transcript, BlockKind.TOOL_RESULT).text == value


# The exit code that a header tells of decides whether the call failed.
@pytest.mark.parametrize(("code", "failed"), [("0", False), ("1", True), ("-1", True), ("137", True)])
def test_exit_codes(code: str, failed: bool) -> None:
    text = f"Exit code: {code}\nWall time: 0 seconds\nOutput:\nExit code: 1\n"
    transcript = rollout(*items(REQUEST, function("a"), output("a", text), DONE))
    assert only(transcript, BlockKind.TOOL_RESULT).is_error is failed


# A patch stays a patch: its files are named, what is changed in them is cut.
def test_a_patch_keeps_the_paths() -> None:
    transcript = rollout(*items(REQUEST, custom("a", PATCH), output("a", "ok", "custom_tool_call_output"), DONE))
    call = only(transcript, BlockKind.TOOL_CALL)
    assert patched_paths(call) == ["src/app.py", "b.txt"]
    cut = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "suppress"}}})
    after = written(condense(transcript, cut))[2]["payload"]["input"].split("\n")
    assert after[:2] == ["*** Begin Patch", "*** Update File: src/app.py"]
    assert after[2].startswith("[condense: 41 lines left out")
    assert after[3:] == ["*** Add File: b.txt", "+x", "*** End Patch"]


# Any other free text is one value, cut as text.
def test_free_text_stays_text() -> None:
    transcript = rollout(*items(REQUEST, custom("a", LONG, "exec"), output("a", "ok", "custom_tool_call_output"), DONE))
    assert arguments_of(only(transcript, BlockKind.TOOL_CALL)) == {"input": LONG}
    cut = {"defaults": {"tool_parameters": {"operation": "truncate", "params": {"truncate": {"max_lines": 1}}}}}
    after = written(condense(transcript, one_pass(individual_config=cut)))[2]["payload"]["input"]
    assert after.startswith(LONG.split("\n")[0] + "\n[condense: 39 lines left out")


# Replacing nothing gives the same patch, whatever stands in it.
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
def test_what_codex_tools_do() -> None:
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


# Reasoning that goes takes the ids of what it led to with it, or the API would ask for it. Nothing else changes.
def test_dropped_reasoning_takes_the_ids_of_what_follows() -> None:
    shell = {"type": "local_shell_call", "id": "ls_1", "action": {"type": "exec", "command": ["ls"]}}
    answer = [reasoning(), {"id": "msg_1", **message("assistant", "I look.")}, function("a", cmd="ls"), shell]
    records = items(REQUEST, *answer, output("a"), output("ls_1"), function("b", cmd="ls"), output("b"), DONE)
    after = written(
        condense(
            rollout(*records), one_pass(individual_config={}), thinking="drop", lossless_prelude={"enabled": False}
        )
    )
    ids = [value["payload"].get("id") for value in after[1:]]
    assert ids == [None, None, None, "ls_1", None, None, "fc_b", None, None]
    assert len(after) == len(records)


# The record of a compaction stays even when nothing is left of what it held: without it the old items came back.
def test_a_compaction_is_never_undone() -> None:
    records = [
        *items(REQUEST),
        record("compacted", message="", replacement_history=[reasoning()]),
        *items(REQUEST, DONE),
    ]
    after = written(
        condense(
            rollout(*records), one_pass(individual_config={}), thinking="drop", lossless_prelude={"enabled": False}
        )
    )
    assert after[2]["payload"]["replacement_history"] == []


# A text part takes the place of an image, in the words of this API.
def test_an_image_is_left_out() -> None:
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{'A' * 90}"}
    records = items(REQUEST, function("a"), output("a", [picture]), DONE)
    leave = {"defaults": {"images": {"operation": "suppress"}}}
    [part] = written(condense(rollout(*records), one_pass(individual_config=leave)))[3]["payload"]["output"]
    assert part["type"] == "input_text"
    assert part["text"].startswith("[condense: image left out")


# A header with nothing under it is no result.
def test_a_command_that_printed_nothing() -> None:
    transcript = rollout(*items(REQUEST, function("a"), output("a", HEADER), DONE))
    [block] = transcript.messages[2].blocks
    assert (block.kind, block.text, block.answers) == (BlockKind.OPAQUE, HEADER, "a")


# Where reasoning was all that stood between two turns of results, they are one turn then, as they are read again.
def test_turns_that_meet_are_one() -> None:
    calls = [function("a"), function("b")]
    records = items(REQUEST, *calls, output("a"), reasoning(), output("b"), DONE, message("user", "More."), DONE)
    result = condense(rollout(*records), one_pass(individual_config={}), thinking="drop")
    assert len(result.before.messages) == 8
    again = api.loads(api.dump(result))
    assert len(again.messages) == len(result.transcript.messages) == 6


# Words may stand between two results of one turn: a cut there would separate the second from its call.
def test_no_cut_separates_late_results_from_their_calls() -> None:
    calls = [function("a"), function("b")]
    records = items(REQUEST, *calls, output("a"), message("assistant", "Wait."), output("b"), DONE)
    messages = rollout(*records).messages
    assert [cut_before(messages, position) for position in range(7)] == [0, 1, 1, 1, 1, 5, 6]


# A line that is not JSON stops a run, as in every format; with lenient it stays, and the client skips it as well.
def test_a_broken_line() -> None:
    data = b"".join(json.dumps(value).encode() + b"\n" for value in (HEAD, *items(REQUEST, DONE)))
    data = data.replace(b"\n", b'\n{"broken\n', 1)
    with pytest.raises(NotJsonError, match=":2:"):
        api.loads(data)
    transcript = api.loads(data, lenient=True)
    assert texts(transcript) == ["Please fix it.", "Done."]
    assert serialize(transcript) == data
    assert check(transcript, source="x").faults == []


# Up to a rollback the client knows its own words by how they begin, and so no pass touches them.
def test_words_of_the_client_that_are_counted_stay() -> None:
    told = message("user", "<user_shell_command>\n" + LONG)
    records = [
        *items(REQUEST, told, DONE, message("user", "More.")),
        record("event_msg", type="thread_rolled_back", num_turns=1),
    ]
    cut = {"defaults": {"message_text": {"operation": "suppress"}}}
    result = condense(rollout(*records), one_pass(individual_config=cut, selection={"type": "custom"}))
    assert told["content"][0]["text"] in texts(result.transcript)


# A compaction that a summary writes repeats them behind the rollback: they read back as they were, and stay.
@pytest.mark.parametrize("selection", [{"type": "preserve_recent", "keep_recent_count": 3}, {"type": "custom"}])
def test_words_that_were_counted_stay_behind_a_new_compaction(selection: dict[str, Any]) -> None:
    told = message("user", "<user_shell_command>\n" + LONG)
    taken_back = record("event_msg", type="thread_rolled_back", num_turns=1)
    done = [message("assistant", f"{number} {LONG}") for number in range(4)]
    turns = [item for number, answer in enumerate(done) for item in (answer, message("user", f"More, {number}."))]
    records = [*items(told, REQUEST, *turns, DONE), taken_back, *items(*turns, DONE)]
    batch = one_pass(id="batch", mode="batch", selection=selection, batch_config={"operation": "summarize"})
    shorter = {"operation": "truncate", "params": {"truncate": {"max_chars": 60}}}
    cut = one_pass(individual_config={"defaults": {"message_text": shorter}}, selection=selection)
    for configured in (configuration(batch), configuration(cut, batch)):
        result = laws.check_all(rollout(*records), configured, summarizer=Short())
        assert result.transcript.has_new_summary
        assert told["content"][0]["text"] in texts(result.transcript)


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
def test_faults(rule: str, is_note: bool, records: list[dict[str, Any]]) -> None:
    found = check(api.loads("".join(json.dumps(value) + "\n" for value in records), format="codex"), source="x")
    assert [fault.rule for fault in (found.notes if is_note else found.faults)] == [rule]
    assert [fault.rule for fault in (found.faults if is_note else found.notes)] == []


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
    sizes = format_named("codex").sizes(transcript)
    assert sum(sizes.values()) == len(transcript.source.data)
    assert sizes["display_copies"] == len(json.dumps(shown))
    assert sizes["not_live"] == len(json.dumps(records[0]))
    assert sizes["other_records"] == len(json.dumps(HEAD))
    sent = [REQUEST, reasoning(), function("a"), output("a")]
    assert sizes["sent"] == sum(len(json.dumps(value)) for value in sent)


# Events for the screen stay as they are, whatever becomes of what they repeat.
def test_copies_for_display_stay() -> None:
    shown = record("event_msg", type="exec_command_end", aggregated_output=LONG)
    after = written(condense(rollout(*items(REQUEST, function("a"), output("a")), shown, *items(DONE))))
    assert after[4] == shown


# Every law holds where compactions, rollbacks and every form of call and output come together.
@given(rollout_records(ANY_TURNS).flatmap(lambda records: spelled(records, lines_only=True)), configurations())
def test_laws_hold(data: bytes, configuration: Configuration) -> None:
    laws.check_all(api.loads(data), configuration)


# Lossless is lossless on the real rollouts and the sample.
@pytest.mark.parametrize(
    "path", [*real.files_of("codex"), *(p for p in real.SAMPLES if "rollout" in p.name)], ids=lambda p: p.name
)
def test_restore_gives_the_same_bytes(path: Any) -> None:
    transcript = real.transcript(path)
    result = api.condense(transcript, configuration())
    restored = api.restore(api.loads(api.dump(result)))
    assert [json.loads(line) for line in api.dump(restored).splitlines()] == [
        json.loads(line) for line in path.read_bytes().splitlines()
    ]


# Items of newer models that carry tools stand with the standing instructions.
def test_an_item_of_the_developer_is_the_developers() -> None:
    tools = record("response_item", type="additional_tools", role="developer", tools=[{"name": "t"}])
    asked = record("response_item", **message("user", "Go."))
    transcript = rollout(tools, asked)
    assert [found.role for found in transcript.messages] == [Role.DEVELOPER, Role.USER]
