"""Whether a transcript is valid: every fault with its place, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest
import real
from build import anthropic, assistant, call, claude_line, conversation, openai, result, session, text, user
from helpers import as_lines, condense, condense_on_terminal

from condense_cli.core.transcript import Source, Transcript
from condense_cli.errors import ExitStatus
from condense_cli.formats.claude_code import writing as claude_faults
from condense_cli.formats.claude_code import writing as claude_links
from condense_cli.report.lists.validation import Validation, check, line_numbers
from condense_cli.rules.validity import validate


def checked(transcript: Transcript) -> Validation:
    return check(transcript, source="test")


def places(transcript: Transcript) -> list[tuple[str, int | None, int | None]]:
    """Rule, message and line of every fault."""
    return [(fault.rule, fault.message, fault.line) for fault in checked(transcript).faults]


def lines(*records: dict[str, Any]) -> Transcript:
    from condense_cli import api

    return api.loads(as_lines(list(records)), format="anthropic")


def test_a_fault_stands_where_its_block_stands() -> None:
    """Not where its message begins: messages may be spread over several lines."""
    transcript = lines(
        user("a"),
        assistant([call("1")]),
        assistant([call("2")]),
        user([result("1")]),
        user([text("b"), text(" ")]),
    )
    assert places(transcript) == [("calls_answered_next", 1, 3), ("texts_not_blank", 2, 5)]


def test_a_doubled_result_stands_where_the_second_one_stands() -> None:
    transcript = lines(user("a"), assistant([call("1")]), user([result("1")]), user([result("1")]))
    assert places(transcript) == [("one_result_per_call", 2, 4)]


def test_a_message_without_content_has_a_place_too() -> None:
    transcript = lines(user("a"), assistant([]), user("c"), assistant("d"))
    assert places(transcript) == [("messages_not_empty", 1, 2)]
    first = openai({"role": "assistant", "content": None}, user("a"))
    assert [(fault.record, fault.rule) for fault in checked(first).faults] == [(0, "content_beside_no_calls")]


def test_lines_that_are_not_json_are_no_messages() -> None:
    from condense_cli import api

    data = as_lines([user("a")]) + b"{broken\n" + as_lines([assistant([]), user("c"), assistant("d")])
    assert places(api.loads(data, format="anthropic", lenient=True)) == [("messages_not_empty", 1, 3)]


def test_lines_are_counted_in_any_layout() -> None:
    from condense_cli import api

    records = [user("a"), assistant([call("1")]), user("b")]
    spaced = api.loads(b"\n\n".join(as_lines([record]) for record in records), format="anthropic")
    assert places(spaced) == [("calls_answered_next", 1, 4)]
    indented = json.dumps(records, indent=1)
    start = indented.index("{", indented.index("}"))
    transcript = api.loads(indented, format="anthropic")
    assert places(transcript) == [("calls_answered_next", 1, indented.count("\n", 0, start) + 1)]
    assert line_numbers(transcript.source, [2, 0, 2]).keys() == {0, 2}


def test_every_violation_is_reported_in_the_words_of_the_api() -> None:
    transcript = lines(assistant([call("1"), call("1")]), user([text("a"), result("2")]), user([text("")]))
    found = checked(transcript)
    assert [fault.said for fault in found.faults] == [violation.said for violation in validate(transcript)]
    assert len(found.faults) >= 5
    assert all(fault.api for fault in found.faults)
    assert not found.valid


@pytest.mark.parametrize("path", real.all_files(), ids=lambda path: path.name)
def test_faults_of_real_transcripts_have_places(path: Path) -> None:
    transcript = real.transcript(path)
    found = checked(transcript)
    assert len([fault for fault in found.faults if fault.api]) == len(validate(transcript))
    for fault in (*found.faults, *found.notes):
        assert fault.record is not None
        assert fault.line == transcript.source.data.count(b"\n", 0, transcript.source.spans[fault.record][0]) + 1
    if path in real.SAMPLES:
        assert (found.valid, found.notes) == (True, [])


def links(*records: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    return places(session(claude_line("user", "1", None, "a"), claude_line("assistant", "2", "1", "b"), *records))


def test_a_session_with_whole_links_is_valid() -> None:
    assert links({"type": "system", "uuid": "3", "parentUuid": "2"}, claude_line("user", "4", "3", "c")) == []
    assert links({"type": "last-prompt", "leafUuid": "2"}, claude_line("user", "3", "2", "c")) == []


def test_a_parent_that_names_no_record_is_found() -> None:
    """Resuming would stop there without a word."""
    assert links(claude_line("user", "3", "gone", "c")) == [("parents_exist", 0, 3)]
    found = checked(session(claude_line("user", "3", "gone", "c"))).faults[0]
    assert (found.said, found.api) == ("parentUuid names no record in the file: gone", False)


def test_a_leaf_that_names_no_record_is_found() -> None:
    """In a summary it is a note: older clients open a file with the summaries of other sessions."""
    assert links({"type": "last-prompt", "leafUuid": "gone"}) == [("leaves_exist", None, 3)]
    transcript = session(
        {"type": "summary", "summary": "another session", "leafUuid": "elsewhere"}, claude_line("user", "1", None, "a")
    )
    found = checked(transcript)
    assert found.valid
    assert [(note.rule, note.line) for note in found.notes] == [("leaves_exist", 1)]


def test_a_caller_that_names_no_record_is_found() -> None:
    """The call that a result hangs below."""
    assert links(claude_line("user", "3", "2", "c", sourceToolAssistantUUID="gone")) == [("callers_exist", 2, 3)]
    assert links(claude_line("user", "3", "2", "c", sourceToolAssistantUUID="2")) == []


def test_doubled_uuids_are_found_in_the_live_conversation_only() -> None:
    """Two records under one uuid: the client takes the last. On an older branch nobody asks."""
    assert links(claude_line("user", "3", "2", "c"), claude_line("user", "3", "2", "d")) == [
        ("live_uuids_unique", 2, 4)
    ]
    aside = [claude_line("user", "x", "1", "c", isSidechain=True), claude_line("user", "x", "1", "d", isSidechain=True)]
    assert links(*aside) == []


def test_valid_is_one_line_and_status_0() -> None:
    done = condense("validate", "-", stdin=as_lines(conversation()))
    assert (done.status, done.text, done.stderr) == (ExitStatus.DONE, "valid: 14 messages, format anthropic\n", "")


def test_invalid_is_one_line_for_each_fault_and_status_3(tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(as_lines([user("a"), assistant([call("1")]), user([result("2")])]))
    done = condense("validate", file)
    assert (done.status, done.stderr) == (ExitStatus.INPUT, "")
    first, second, last, hint = done.text.splitlines()
    assert first.startswith(f"{file}:2: #1: messages.1: `tool_use` ids were found without `tool_result` blocks")
    assert second.startswith(f"{file}:3: #2: messages.2: unexpected `tool_use_id` found in `tool_result` blocks: 2")
    assert last == "not valid: 2 faults in 3 messages, format anthropic"
    assert hint == f"condense repair {file} mends what can be mended without a guess."
    assert not done.has_colours


def test_json_has_the_documented_shape(tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(as_lines([claude_line("user", "1", "gone", "a")]))
    done = condense("validate", file, "--json")
    assert done.status == ExitStatus.INPUT
    assert done.json == {
        "version": 2,
        "input": str(file),
        "format": "claude-code",
        "messages": 1,
        "valid": False,
        "faults": [
            {
                "rule": "parents_exist",
                "said": "parentUuid names no record in the file: gone",
                "api": False,
                "message": 0,
                "record": 0,
                "line": 1,
            }
        ],
        "notes": [],
        "warnings": [],
    }
    assert condense("validate", "-", "--json", stdin=as_lines(conversation())).json["valid"] is True


def test_a_run_warns_of_links_that_are_broken_in_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = claude_links.read_links

    def read_links(source: Source) -> dict[int, claude_links.Links]:
        reads.append(len(source.spans))
        return read(source)

    monkeypatch.setattr(claude_faults, "read_links", read_links)
    file = tmp_path / "broken.jsonl"
    aside = [claude_line("user", uuid, "gone", "c", isSidechain=True) for uuid in ("3", "4")]
    live = [claude_line("user", "1", None, "a"), claude_line("assistant", "2", "1", "b")]
    file.write_bytes(as_lines([live[0], *aside, live[1]]))
    said = (
        "The input already violates a rule of its client, in line 2: parentUuid names no record in the file: gone "
        "(and 1 more). condense repair FILE mends it, if it can."
    )
    done = condense("run", file, "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.DONE, file.read_bytes())
    assert f"condense: warning: {said}\n" in done.stderr
    assert reads == [4]
    assert said in condense("run", file, "--json").json["warnings"]
    file.write_bytes(as_lines(live))
    assert "already" not in condense("run", file, "-o", "-").stderr


def test_a_run_does_not_warn_of_what_harms_nothing(tmp_path: Path) -> None:
    """`validate` notes it."""
    elsewhere = {"type": "summary", "summary": "another session", "leafUuid": "elsewhere"}
    session = tmp_path / "session.jsonl"
    session.write_bytes(as_lines([elsewhere, claude_line("user", "1", None, "a")]))
    stopped = tmp_path / "rollout.jsonl"
    rollout = real.PROJECT / "sample_transcripts" / "bugfix-rollout.jsonl"
    answers = (b'"function_call_output"', b'"custom_tool_call_output"')
    records = rollout.read_bytes().splitlines(keepends=True)
    last = max(number for number, record in enumerate(records) if any(answer in record for answer in answers))
    stopped.write_bytes(b"".join(records[:last]))
    for file in (session, stopped):
        assert condense("validate", file, "--json").json["notes"]
        assert "rule of its client" not in condense("run", file, "-o", "-").stderr


def test_a_transcript_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "steering.jsonl"
    file.write_bytes(as_lines([user("a"), assistant([call("\x1b[31m\x07\n")]), user("b")]))
    done = condense_on_terminal("validate", file)
    assert done.status == ExitStatus.INPUT
    assert "␛[31m␇" in done.plain
    assert "not valid: 1 fault" in done.plain


@pytest.mark.slow
def test_what_a_run_writes_is_valid(tmp_path: Path) -> None:
    for path in real.SAMPLES:
        small = tmp_path / path.name
        assert condense("run", path, "--preset", "speed", "-o", small, "-q").status == ExitStatus.DONE
        assert condense("validate", small).status == ExitStatus.DONE


def test_anthropic_from_memory_is_checked_too() -> None:
    assert checked(anthropic(*conversation())).valid
