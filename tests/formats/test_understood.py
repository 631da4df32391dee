"""Input that is not understood is refused by name or reported; never called valid or silently 0 % saved."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import claude_tree
import further_agents
import odd_values
import pytest
import real
from agent_work import WORK, answer, asked
from agent_work import call as function
from build import LONG, assistant, call, result, text, user
from helpers import condense, listing

from condense_cli import api
from condense_cli.core.values import BlockKind
from condense_cli.errors import ExitStatus, NotJsonError, UnknownFormatError
from condense_cli.formats import parse
from condense_cli.live.conversation import Live
from condense_cli.live.deciding import DecisionKind
from condense_cli.proxy.compress import compressed, order_of
from condense_cli.rules.validity import validate

Json = dict[str, Any]


def converse(turns: int = 4) -> list[Json]:
    """Build messages of Amazon Bedrock's Converse API."""
    messages = [{"role": "user", "content": [{"text": "Read."}]}]
    for number in range(turns):
        asked = {"toolUseId": f"t{number}", "name": "read", "input": {"path": f"{number}.py"}}
        told = {"toolUseId": f"t{number}", "content": [{"text": listing(number)}]}
        messages += [
            {"role": "assistant", "content": [{"toolUse": asked}]},
            {"role": "user", "content": [{"toolResult": told}]},
        ]
    return messages


def amp(turns: int = 4) -> list[Json]:
    """Build messages of a thread of Amp: calls are Anthropic's, results are not."""
    messages: list[Json] = [user([text("Read.")])]
    for number in range(turns):
        run = {"status": "done", "result": {"content": listing(number)}}
        messages.append(assistant([call(f"t{number}", "Read", path="a.py")]))
        messages.append(user([{"type": "tool_result", "toolUseID": f"t{number}", "run": run}]))
    return [message | {"messageId": number} for number, message in enumerate(messages)]


def iflow() -> list[Json]:
    """Build records of iFlow CLI: Claude Code's keys, and replies that hang on the record of the user."""
    records = [claude_tree.said(1, None, "Read.")]
    for number in range(2, 8, 2):
        records.append(claude_tree.reply(number, 1, f"m{number}", call(f"t{number}", "read_file")))
        told = {"functionResponse": {"id": f"t{number}", "response": {"output": listing(number)}}}
        records.append(claude_tree.said(number + 1, number, [result(f"t{number}", told)]))
    return [record | {"sessionId": f"session-{claude_tree.SESSION}"} for record in records]


@pytest.mark.parametrize(
    ("messages", "name"), [(converse(), "Amazon Bedrock's Converse API"), (amp(), "a thread of Amp")]
)
def test_another_format_than_the_one_named_is_refused_by_name(messages: list[Json], name: str, tmp_path: Path) -> None:
    path = tmp_path / "input.json"
    path.write_text(json.dumps({"messages": messages}))
    done = condense("validate", path, "--format", "anthropic")
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert name in done.message
    assert condense("validate", path).status == ExitStatus.DONE


def test_a_session_of_iflow_is_no_session_of_claude_code(tmp_path: Path) -> None:
    path = tmp_path / "input.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in iflow()))
    done = condense("validate", path, "--format", "claude-code")
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert "a session of iFlow CLI" in done.message
    assert condense("validate", path).stdout.endswith(b"format iflow\n")


def test_a_conversation_that_goes_on_passes_as_it_is() -> None:
    messages = amp(20)
    fitted = Live(preset="speed", policy="tokens:1000", model="claude-opus-4-5", format="anthropic").fit(messages)
    assert fitted.messages == messages
    assert fitted.decision.kind is DecisionKind.FAILED
    assert "a thread of Amp" in fitted.decision.reason


def test_rows_of_a_gateway_are_refused() -> None:
    rows = [
        {"role": "system", "content": "Be brief."},
        *amp(),
        {"role": "tool", "tool_call_id": "c", "content": LONG},
    ]
    with pytest.raises(UnknownFormatError, match="a thread of Amp"):
        compressed(order_of(json.dumps({"messages": rows}).encode()))


def exchange(number: int, **renamed: Any) -> list[Json]:
    """Build a call and its result, which may have other keys."""
    told = {**result(f"t{number}", listing(number)), **renamed}
    return [assistant([call(f"t{number}", "Read", path="a.py")]), user([told])]


# Parts that new versions of an API bring are carried along, as long as the rest is understood.
def test_single_parts_of_unknown_kinds_are_said() -> None:
    messages = [user("Go."), *exchange(1), *exchange(2), *exchange(3, type="tool_answer")]
    transcript = api.loads([*messages, assistant([{"type": "hologram", "depth": 3}])])
    (warning,) = transcript.warnings
    assert warning.startswith("2 parts of the messages cannot be understood and will not be changed")
    assert "'tool_answer'" in warning
    assert "'hologram'" in warning
    assert [block.is_unknown for _, block in transcript.blocks()].count(True) == 2


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([*exchange(1), *exchange(2, type="tool_answer"), *exchange(3, type="tool_answer")], "text"),
        ([*exchange(1), *exchange(2, type="tool_output"), *exchange(3, tool_use_id=5)], "results"),
        ([assistant([{"type": "tool_query", "id": "t", "name": "Read"}]), user(LONG)], "calls"),
        ([assistant([{"type": "letter", "body": LONG}]), user("Thanks.")], "text"),
    ],
)
def test_what_is_not_understood_for_the_most_part_is_refused(messages: list[Json], said: str) -> None:
    with pytest.raises(UnknownFormatError, match=f"read as anthropic, but most of the {said} in it cannot be"):
        api.loads([user("Go."), *messages], format="anthropic")


# Whoever wrote it wants to know where to look.
@pytest.mark.parametrize("kind", [["text"], {"a": 1}, 5])
def test_a_type_that_is_no_string_is_named_with_its_place(kind: object) -> None:
    calls = asked(function("c", "f", path="a.py")), answer("c", "z")
    odd = {"role": "user", "content": [{"type": kind, "text": LONG}]}
    with pytest.raises(UnknownFormatError, match=r"'type .*', first in record 4 at content\.0\."):
        api.loads([user("hi"), *calls, odd])


# It is the larger part of the file then, and was known before.
def test_what_a_run_left_of_a_file_is_not_refused() -> None:
    letter = assistant([{"type": "letter", "body": LONG}])
    work = [each for number in range(9) for each in exchange(number)]
    result = api.condense(api.loads([user("Go."), letter, *work]), preset="speed")
    again = api.loads(api.dump(result))
    assert len(result.receipts) > 6
    assert len(again.warnings) == 1


SERVERS: dict[str, Any] = {
    "mcp": [text(f"{LONG}\nmcp")],
    "code_execution": {"type": "code_execution_result", "stdout": f"{LONG}\nrun", "stderr": "", "return_code": 0},
    "bash_code_execution": {"type": "bash_code_execution_result", "stdout": "", "stderr": f"{LONG}\nbash"},
    "text_editor_code_execution": {"type": "text_editor_code_execution_view_result", "content": f"{LONG}\nview"},
    "web_fetch": {
        "type": "web_fetch_result",
        "content": {"type": "document", "source": {"type": "text", "data": f"{LONG}\npage"}},
    },
}


def on_server(name: str) -> list[Json]:
    asked = {"type": "mcp_tool_use" if name == "mcp" else "server_tool_use", "id": f"s_{name}", "name": name}
    told = {"type": f"{name}_tool_result", "tool_use_id": f"s_{name}", "content": SERVERS[name]}
    return [user(f"Go, {name}."), assistant([asked | {"input": {}}, told, text("Good.")])]


@pytest.mark.parametrize("preset", ["speed", "max", "lossless"])
def test_results_of_servers_are_results(preset: str) -> None:
    messages = [each for name in SERVERS for each in on_server(name)]
    later = [each for number in range(6) for each in (user(f"And {number}?"), assistant("Yes."))]
    transcript = api.loads([*messages, *later])
    found = [block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_RESULT]
    assert [block.tool for block in found] == [*SERVERS]
    assert all(block.text.startswith(LONG) and not block.answers for block in found)
    result = api.condense(transcript, preset=preset)
    assert result.tokens_after < result.tokens_before / 2
    assert validate(api.loads(api.dump(result))) == []


# Nothing else would be taken back by the API: what is encrypted in it is the server's own.
def test_results_without_a_text_stay_whole() -> None:
    found = {"type": "web_search_result", "url": "https://example.org", "encrypted_content": "QUJD"}
    told = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [found]}
    asked = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    transcript = api.loads([user("Go."), assistant([asked, told, text("Good.")])])
    assert [(block.kind, block.tool) for block in transcript.messages[1].blocks[1:2]] == [
        (BlockKind.OPAQUE, "web_search")
    ]
    assert not transcript.warnings


def test_a_condensed_result_of_a_server_goes_over_in_a_conversion() -> None:
    messages = on_server("web_fetch") + [each for n in range(6) for each in (user(f"And {n}?"), assistant("Yes."))]
    result = api.condense(api.loads(messages), preset="speed")
    converted = json.loads(api.convert(result, "anthropic").data)["messages"]
    assert converted == json.loads(json.dumps(api.dump_messages(result)))
    assert LONG not in json.dumps(converted)


# Fields of a result that were renamed hold a text that nobody would look at.
@pytest.mark.parametrize("client", ["qwen-code", "google-adk"])
def test_parts_of_contents_are_known_by_their_keys(client: str) -> None:
    data = further_agents.WRITABLE[client](WORK).replace(b'"functionResponse"', b'"functionAnswer"')
    data = data.replace(b'"function_response"', b'"function_answer"')
    with pytest.raises(UnknownFormatError, match=r"most of the .*function_?[aA]nswer"):
        parse(data)


def chat(turns: int = 12) -> list[Json]:
    """Build chat-completions messages of which only texts are left when their calls go."""
    calls = [
        each
        for number in range(turns)
        for each in (asked(function(f"c{number}", "read_file", path="a.py")), answer(f"c{number}", listing(number)))
    ]
    return [user("Fix it."), *calls, *(each for n in range(6) for each in (assistant(f"Done {n}."), user(f"Now {n}.")))]


# Both APIs take such messages, so that nothing tells which one they are for; the model does, where it is named.
def test_an_output_of_texts_alone_says_what_to_read_it_as(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(chat()))
    done = condense("run", "chat.json", "-p", "max", "-o", "out.json", cwd=tmp_path)
    assert "recognized as anthropic. Name --format openai-chat" in " ".join(done.stderr.split())
    assert condense("validate", "out.json", "--format", "openai-chat", cwd=tmp_path).status == ExitStatus.DONE
    (tmp_path / "request.json").write_text(json.dumps({"model": "gpt-5", "messages": chat()}))
    done = condense("run", "request.json", "-p", "max", "-o", "smaller.json", cwd=tmp_path)
    assert "--format" not in done.stderr
    assert api.load(tmp_path / "smaller.json").format == "openai-chat"
    (tmp_path / "short.json").write_text(json.dumps(chat(2)))
    assert "--format" not in condense("run", "short.json", "-p", "speed", "-n", cwd=tmp_path).stderr


# Its calls went, and what is left of it is known by its thoughts alone.
def test_thoughts_tell_whose_messages_are_without_calls() -> None:
    thought = assistant([{"type": "reasoning", "text": "Hm."}, text("Done.")])
    transcript = parse(json.dumps([user("Fix it."), thought]).encode())
    assert (transcript.format, transcript.warnings) == ("openai-chat", ())
    assert [block.kind for block in transcript.messages[1].blocks] == [BlockKind.THINKING, BlockKind.TEXT]


def test_a_call_that_is_said_a_second_time_behind_a_text_hides_no_chat() -> None:
    again = call("c", "read_file", path="a.py")
    first = assistant([text("I look."), again]) | {"tool_calls": [function("c", "read_file", path="a.py")]}
    transcript = parse(json.dumps([user("Fix it."), first, answer("c", LONG), assistant("Done.")]).encode())
    assert (transcript.format, transcript.warnings, validate(transcript)) == ("openai-chat", (), [])


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("kimi.jsonl", ("context.append_loop_event", odd_values.retyped), "most of its records .*append_loop_event_"),
        ("copilot.json", ("assistant.message", odd_values.retyped), "most of its records .*event assistant.message_"),
        ("copilot.json", ("toolRequests", odd_values.renamed), "most of its records .*result without a call"),
        ("gemini.json", ("toolCalls", odd_values.renamed), "most of its records .*message with toolCalls_"),
        ("gemini-log.jsonl", ("gemini", odd_values.retyped), "most of its records .*record gemini_"),
        ("vscode-chat.json", ("toolCalls", odd_values.renamed), "most of its records .*round without calls"),
        ("langfuse.json", ("GENERATION", odd_values.retyped), "10 records .*observation GENERATION_"),
        ("langsmith.json", ("generations", odd_values.renamed), "10 records .*whose answer"),
        ("openhands-sdk.jsonl", ("MessageEvent", odd_values.retyped), "2 records .*event MessageEvent_"),
        ("openhands-sdk.jsonl", ("llm_message", odd_values.renamed), "2 records .*event MessageEvent"),
        ("vscode-chat.json", ("toolCallRounds", odd_values.renamed), "1 record .*request without its rounds"),
        ("kimi.jsonl", ("part", odd_values.renamed), "1 part .*content.part"),
    ],
)
def test_records_that_are_not_understood_are_refused_or_said(
    name: str, change: tuple[str, Callable[[Any, str], Any]], said: str
) -> None:
    value, write = odd_values.loaded(odd_values.samples()[name])
    data = write(change[1](value, change[0]))
    if said.startswith("most"):
        with pytest.raises(UnknownFormatError, match=said):
            parse(data)
    else:
        assert [re.match(said, warning) for warning in parse(data).warnings] != [None]


# In formats with many records beside the conversation, those that may be messages are said, and a few others are not.
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"message":', b'"msg":', "record assistant without message, record user without message"),
        (b'"uuid":', b'"uid":', "record assistant without uuid"),
        (b'"type":"assistant"', b'"type":"answer"', "record answer without a known type"),
    ],
)
def test_records_that_may_be_messages_are_said(old: bytes, new: bytes, said: str) -> None:
    lines = real.SESSION.read_bytes().splitlines(keepends=True)
    some = [line.replace(old, new) if 40 <= number < 45 else line for number, line in enumerate(lines)]
    told = [warning for warning in parse(b"".join(some)).warnings if "cannot be understood" in warning]
    assert [said in warning for warning in told] == [True]
    assert not any("understood" in warning for warning in parse(b"".join([*lines, b'{"type":"new"}\n'])).warnings)
    with pytest.raises(UnknownFormatError, match=f"most of its records cannot be understood: .*{said}"):
        parse(b"".join(line.replace(old, new) if number >= 60 else line for number, line in enumerate(lines)))


LINE = {"uuid": "1", "parentUuid": None, "sessionId": "s", "type": "user", "message": {"role": "user", "text": "hi"}}
FILES = {
    "claude-code": LINE,
    "copilot": {"type": "session.start", "data": {}, "id": "1", "timestamp": "", "parentId": None},
    "pi": {"type": "session", "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/src"},
}


@pytest.mark.parametrize("format", FILES)
def test_it_is_refused(format: str) -> None:
    with pytest.raises(UnknownFormatError, match=f"read as {format}, but holds no message"):
        parse(json.dumps(FILES[format]).encode() + b"\n")


def test_commands_refuse_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(LINE) + "\n")
    for command, options in (("validate", ()), ("run", ("-o", tmp_path / "out.jsonl"))):
        done = condense(command, path, *options)
        assert done.status == ExitStatus.INPUT
        assert "holds no message" in done.message
    assert not (tmp_path / "out.jsonl").exists()


RECORDED = {"SystemMessage": "You are an agent.", "UserMessage": "Fix the bug.", "AssistantMessage": "I look."}
AUTOGEN = [
    {"mode": "create", "messages": [{"content": text, "source": "x", "type": kind} for kind, text in RECORDED.items()]}
    | {"response": {"content": "Done."}}
]
REFUSED: dict[str, Any] = {"tau-bench": {"task_id": 0, "reward": 1.0, "info": {}, "traj": WORK}, "AutoGen": AUTOGEN}


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize("what", REFUSED)
def test_the_advice_works(tmp_path: Path, what: str) -> None:
    path, out = tmp_path / "file.json", tmp_path / "out.json"
    path.write_text(json.dumps(REFUSED[what]))
    with pytest.raises(UnknownFormatError, match=what) as refused:
        parse(path.read_bytes())
    command = refused.value.hint.partition(": ")[2].partition(" FILE")[0]
    out.write_bytes(subprocess.run([*shlex.split(command), str(path)], check=True, capture_output=True).stdout)
    assert "format openai-chat" in condense("validate", out).text


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        (b"\n# aider chat started at 2026-01-02 03:04:05\n\n#### hi\n", "aider chat history"),
        (b"<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# A session\n", "a SpecStory history"),
        (b"SQLite format 3\0" + bytes(90), "an SQLite database"),
    ],
)
def test_texts_that_are_known(beginning: bytes, said: str) -> None:
    with pytest.raises(NotJsonError, match=said):
        parse(beginning)


SEVERAL = {
    "atif": further_agents.atif(WORK),
    "google-adk": further_agents.google_adk(WORK),
    "swe-agent": json.loads((real.PROJECT / "sample_transcripts" / "bugfix.traj").read_bytes()),
}


# Of several in one file, as lines or as an array, one is taken out.
@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize("are_lines", [True, False])
@pytest.mark.parametrize("format", SEVERAL)
def test_one_of_several(tmp_path: Path, format: str, are_lines: bool) -> None:
    path, one = tmp_path / "file.json", json.dumps(SEVERAL[format])
    path.write_text(f"{one}\n{one}\n" if are_lines else f"[{one},\n{one}]")
    with pytest.raises(UnknownFormatError, match="several") as refused:
        parse(path.read_bytes(), format=format)
    command = refused.value.hint.partition(": ")[2].partition(" FILE")[0]
    out = subprocess.run([*shlex.split(command), str(path)], check=True, capture_output=True).stdout
    assert parse(out).format == format


def test_rows_among_much_else(tmp_path: Path) -> None:
    path, out = tmp_path / "runs.jsonl", tmp_path / "out.jsonl"
    lines = [{"messages": WORK}, *({"question": f"{number}?"} for number in range(5))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused = condense("run", path, "-p", "speed", "-o", out)
    assert (refused.status, "--format rows" in refused.stderr) == (ExitStatus.INPUT, True)
    done = condense("run", path, "-p", "speed", "-o", out, "--format", "rows")
    assert done.status == ExitStatus.INPUT  # Five are no rows.
    assert [json.loads(line) for line in out.read_bytes().splitlines()[1:]] == lines[1:]
    assert len(out.read_bytes()) < len(path.read_bytes())
