"""Formats that are only read: reports work on them, writing is refused, and `--to` is offered."""

import json
from pathlib import Path
from typing import Any

import agent_logs
import further_agents
import pytest
import real
from agent_work import WORK, answer, asked, call, shape
from build import configuration, one_pass
from helpers import condense, condense_on_terminal, listing

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.errors import UnknownFormatError, UsageError
from condense_cli.formats import FORMATS, parse
from condense_cli.formats.convert import TARGETS
from condense_cli.report.lists.validation import check
from condense_cli.rules.validity import validate

LONG_WORK = [
    *WORK[:2],
    *(
        message
        for number in range(8)
        for message in (asked(call(f"c{number}", "read_file", path="a.py")), answer(f"c{number}", listing(number)))
    ),
    {"role": "assistant", "content": "It works."},
]


# Real files of every format go through the laws of writing, or are known to be read alone.
def test_formats_are_written_or_only_read() -> None:
    written = {form.name for form in FORMATS if form.is_writable}
    only_read = {form.name for form in FORMATS if not form.is_writable}
    assert written == set(real.OF_FORMAT) | (real.WITHOUT_FILES & written)
    assert only_read == set(real.READ_ONLY) | (real.WITHOUT_FILES & only_read)


# What a subagent said is no part of the conversation, and neither are deltas of what comes whole as well.
def test_streams_with_subagents_and_deltas() -> None:
    lines = agent_logs.READ_ONLY["claude-stream-json"](WORK).splitlines(keepends=True)
    inner = json.loads(lines[1]) | {"parent_tool_use_id": "c1"}
    delta = {"type": "stream_event", "event": {"type": "content_block_delta"}, "session_id": "s"}
    lines[3:3] = [json.dumps(inner).encode() + b"\n", json.dumps(delta).encode() + b"\n"]
    assert shape(parse(b"".join(lines))) == shape(parse(agent_logs.READ_ONLY["claude-stream-json"](WORK)))


def test_logs_of_other_conversations_are_told() -> None:
    other = agent_logs.READ_ONLY["request-log"]([{"role": "user", "content": "Hello"}, *WORK[-1:]])
    transcript = parse(other + agent_logs.READ_ONLY["request-log"](WORK))
    assert len(transcript.messages) == len(WORK)
    assert transcript.warnings == ("Requests of other conversations are ignored (1).",)


def test_a_log_without_requests_is_refused() -> None:
    lines = agent_logs.READ_ONLY["request-log"](WORK).splitlines(keepends=True)
    with pytest.raises(UnknownFormatError, match="no request with messages"):
        parse(b"".join(lines[1::2]))


# A call may fail, and a new version of the client may tell more of its own state: nothing is missing then.
@pytest.mark.parametrize(
    ("format", "last"),
    [
        ("request-log", {"type": "response", "response": {"error": {"message": "overloaded"}}}),
        ("request-log", {"type": "response", "response": None, "error": "timed out"}),
        ("claude-stream-json", {"type": "keep_alive", "session_id": "s"}),
    ],
)
def test_what_is_no_message_is_not_missed(format: str, last: dict[str, Any]) -> None:
    transcript = parse(agent_logs.READ_ONLY[format](WORK) + json.dumps(last).encode() + b"\n")
    assert shape(transcript) == shape(parse(agent_logs.READ_ONLY[format](WORK)))
    assert (transcript.warnings, check(transcript, source="log").faults) == ((), [])


@pytest.mark.parametrize(
    ("format", "last", "said"),
    [
        ("request-log", {"type": "request", "request_params": {"input": []}}, "request without messages"),
        ("request-log", {"type": "response", "response": {"output": []}}, "response without an answer"),
        ("claude-stream-json", {"type": "user", "session_id": "s"}, "event user without message"),
        ("claude-stream-json", {"type": "tool", "message": {}, "session_id": "s"}, "event tool without a known type"),
    ],
)
def test_what_may_be_a_message_is_missed(format: str, last: dict[str, Any], said: str) -> None:
    transcript = parse(agent_logs.READ_ONLY[format](WORK) + json.dumps(last).encode() + b"\n")
    assert transcript.warnings == (f"1 record cannot be understood and will not be changed: {said}.",)
    assert [fault.rule for fault in check(transcript, source="log").faults] == ["messages_understood"]


@pytest.fixture(params=list(agent_logs.READ_ONLY))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(agent_logs.READ_ONLY[request.param](LONG_WORK))
    return path


def test_a_changed_transcript_is_not_written(path: Path) -> None:
    transcript = api.load(path)
    condensation = api.condense(transcript, configuration(one_pass()))
    assert condensation.changes
    with pytest.raises(UsageError, match="cannot write"):
        api.dump(condensation)
    keep = api.condense(transcript, configuration(one_pass(individual_config={"defaults": {}})))
    assert api.dump(keep) == path.read_bytes()


@pytest.mark.parametrize("arguments", [[], ["-o", "OUT"], ["-o", "-"], ["--json", "-o", "OUT"], ["--report", "OUT"]])
def test_run_refuses_to_write_it(path: Path, arguments: list[str]) -> None:
    output = path.parent / "out.json"
    done = condense("run", path, *[str(output) if argument == "OUT" else argument for argument in arguments])
    assert (done.status, done.stdout) == (2, b"")
    assert "cannot write" in done.message
    assert "--dry-run" in done.message
    assert "--to anthropic" in done.message
    assert not output.exists()


def test_run_reports_on_it(path: Path) -> None:
    report = condense("run", path, "--preset", "speed", "--json").json
    assert report["tokens"]["after"] < report["tokens"]["before"]
    assert report["bytes"] == {"before": path.stat().st_size, "after": None}
    output = path.parent / "out.jsonl"
    dry = condense("run", path, "--preset", "speed", "--dry-run", "-o", output)
    assert (dry.status, output.exists()) == (0, False)
    assert "bytes" not in dry.plain
    assert f"{report['tokens']['after']:,}" in dry.plain


@pytest.mark.slow
def test_run_shows_it_on_a_terminal(path: Path) -> None:
    shown = condense_on_terminal("run", path, "--preset", "speed")
    assert shown.status == 0
    assert "Nothing was written: this format can only be read. Add --to anthropic -o FILE" in shown.plain


@pytest.mark.parametrize("command", ["inspect", "estimate", "validate"])
def test_every_other_command_works(path: Path, command: str) -> None:
    done = condense(command, path)
    assert done.status == 0
    assert done.plain


@pytest.mark.parametrize("to", TARGETS)
def test_run_converts_it(path: Path, to: str) -> None:
    output = path.parent / "messages.json"
    done = condense("run", path, "--preset", "speed", "--to", to, "-o", output, "--json")
    assert done.status == 0
    assert done.json["bytes"]["after"] == output.stat().st_size
    transcript = api.load(output)
    assert transcript.format == to
    assert validate(transcript) == []
    told: Any = [block.text for _, block in transcript.blocks()]
    assert any("[… " in text for text in told)
    assert condense("run", path, "--preset", "speed", "--to", to).stdout == output.read_bytes()


def test_real_logs_are_condensed() -> None:
    for format in real.READ_ONLY:
        for file in real.files_of(format):
            assert real.transcript(file).messages
            assert api.condense(real.transcript(file), load_preset("speed")).tokens_before


def test_what_a_tool_of_chatgpt_says_in_several_messages_is_one_result() -> None:
    export = further_agents.chatgpt_export(
        [
            {"role": "user", "content": "Look."},
            asked(call("c", "browser", query="tests")),
            answer("c", "The first page."),
            answer("c", "The second page."),
            {"role": "assistant", "content": "Two pages."},
        ]
    )
    transcript = parse(json.dumps(export).encode())
    assert check(transcript, source="test").faults == []
    results = [block.text for _, block in transcript.blocks() if block.answers]
    assert results == ["The first page.", "The second page."]


def test_what_can_only_be_read_is_not_said_to_be_mended(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    export = further_agents.chatgpt_export([{"role": "user", "content": "Look at \\ud83d."}, *WORK[2:]])
    path.write_text(json.dumps(export).replace("\\\\ud83d", "\\ud83d"))
    told = [condense("validate", path), condense("run", path, "--dry-run")]
    assert "not valid: 1 fault" in told[0].text
    assert "violates a rule" in told[1].text
    assert not [done for done in told if "condense repair" in done.text + done.stderr]
