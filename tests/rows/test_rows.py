"""Sets of rows, exported chats among them: each row is a conversation of its own, all around it stays as it was."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import further_agents
import laws
import pytest
import real
from agent_work import WORK
from build import configuration
from generated_configurations import configurations
from helpers import as_lines, condense
from hypothesis import given
from msgspec.structs import replace
from rowsets import chat, row, row_lines, rows

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.transcript import Transcript
from condense_cli.errors import CondenseError, ExitStatus
from condense_cli.formats import serialize
from condense_cli.rows.condensing import Counters, for_each_row, tally_result
from condense_cli.rows.facts import Tally
from condense_cli.rows.reading import Row, RowKind, RowLines, kind_of, named_kind, read_row
from condense_cli.tokens.counting import Counter


def line_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def transcript_of(found: Row) -> Transcript:
    assert found.transcript is not None
    return found.transcript


def condensed(
    lines: list[bytes], config: Configuration, kind: RowKind, model: str | None = None
) -> tuple[list[bytes], Tally]:
    """The lines as a run writes them."""
    tally, counters = Tally(), Counters()

    def condense(transcript: Transcript, line: int) -> bytes | None:
        transcript = replace(transcript, model=model or transcript.model)
        return tally_result(api.condense(transcript, config, counter=counters(transcript)), tally, line)

    done = for_each_row(
        RowLines(1, lines),
        "rows.jsonl",
        kind,
        tally,
        condense,
    )
    return done, tally


def without_conversation(line: bytes, kind: RowKind) -> tuple[bytes, bytes]:
    found = read_row(line.strip(), kind, "row")
    return found.before, found.after


# Every law holds for the conversation of a row, and not a byte around it changes.
@given(row_lines(), configurations())
def test_laws_hold_for_any_row(line: bytes, config: Configuration) -> None:
    found = read_row(line.strip(), RowKind(), "row")
    result = laws.check_all(transcript_of(found), config)
    [new], tally = condensed([line], config, RowKind())
    assert without_conversation(new, RowKind((), result.transcript.format)) == (found.before, found.after)
    assert new.strip() == found.holding(api.dump(result))
    assert len(new) - len(new.lstrip()) == len(line) - len(line.lstrip())
    assert (tally.tokens_before, tally.tokens_after) == (result.tokens_before, result.tokens_after)
    assert tally.bad == 0
    if not result.transcript.is_changed:
        assert new == line


# What one run wrote changes no more in the next one.
@given(row_lines())
def test_a_second_run_changes_nothing(line: bytes) -> None:
    config = load_preset("speed")
    [once], _ = condensed([line], config, RowKind())
    [twice], tally = condensed([once], config, RowKind())
    assert (twice, tally.changed) == (once, 0)


# The laws hold for real rows.
@pytest.mark.parametrize("preset", preset_names())
@pytest.mark.parametrize("path", real.row_sets(), ids=lambda path: path.name[-40:])
def test_laws_hold_for_real_rows(path: Path, preset: str) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    kind = kind_of(lines[:32])
    assert kind is not None
    sample = lines[:: max(1, len(lines) // 6)]
    count, config, model = Counter(), load_preset(preset), "a-model"  # Counted as the laws count.
    results = []
    for line in sample:
        try:
            found = read_row(line.strip(), kind, "row")
        except CondenseError:
            results.append(line)  # Another line of a log.
            continue
        result = laws.check_all(replace(transcript_of(found), model=model), config, count)
        results.append(found.holding(api.dump(result)) + b"\n")
    done, tally = condensed(sample, config, kind, model)
    assert done == results
    assert tally.bad <= len(sample) // 2


# Nothing is lost by references: restoring gives every row back.
@pytest.mark.parametrize("path", real.row_sets(), ids=lambda path: path.name[-40:])
def test_lossless_is_lossless_for_real_rows(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    kind = kind_of(lines[:32]) or RowKind()
    done, tally = condensed(lines, configuration(lossless_prelude={}), kind)
    assert tally.changed == sum(old != new for old, new in zip(lines, done, strict=True))
    assert bool(tally.changed) != path.name.startswith("lf-")  # There no conversation repeats anything.
    for old, new in zip(lines, done, strict=True):
        if old != new:
            found = read_row(new.strip(), kind, "row")
            assert json.loads(found.holding(api.dump(api.restore(transcript_of(found))))) == json.loads(old)


@pytest.mark.parametrize("pattern", real.ROW_SETS)
def test_real_sets_are_recognised(pattern: str) -> None:
    for path in real.FOLDER.glob(pattern):
        kind = kind_of(path.read_bytes().splitlines(keepends=True)[:32])
        assert kind is not None
        assert kind.format == real.ROW_SETS[pattern]


def test_other_real_files_are_no_rows() -> None:
    files = [path for pattern in real.NO_ROW_SETS for path in real.FOLDER.glob(pattern)]
    if not files:
        pytest.skip("the real transcripts are not present")
    assert [path.name for path in files if kind_of(path.read_bytes().splitlines(keepends=True)[:32])] == []


def test_files_of_one_transcript_are_no_rows() -> None:
    for path in real.SAMPLES:
        assert kind_of(path.read_bytes().splitlines(keepends=True)[:32]) is None, path.name
    assert kind_of([line_of({"messages": chat()})]) is None, "one line is one conversation"
    assert kind_of([]) is None


# A set may begin with a broken line, and have lines of another kind between the rows.
def test_a_set_is_recognised_behind_other_lines() -> None:
    good = line_of(row(1))
    assert kind_of([b"{broken\n", good, good]) is not None
    assert kind_of([line_of({"type": "note"}), good]) is not None
    assert kind_of([line_of({"type": "note"})] * 2 + [good]) is None, "most lines are something else"


@pytest.mark.parametrize("column", ["messages", "conversations", "conversation", "trajectory", "anything"])
def test_the_column_is_the_one_that_holds_messages(column: str) -> None:
    found = read_row(line_of({"tags": [{"a": 1}], "words": ["x"], **row(1, column=column)}), RowKind(), "row")
    assert transcript_of(found).format == "openai-chat"
    assert found.before.endswith(f'"{column}": '.encode())


def test_messages_come_before_other_columns_that_hold_some() -> None:
    line = line_of({"rejected": chat(1), "messages": chat(2)})
    assert len(transcript_of(read_row(line, RowKind(), "row")).messages) == len(
        transcript_of(read_row(line_of({"messages": chat(2)}), RowKind(), "row")).messages
    )
    named = named_kind("rows:rejected")
    assert named is not None
    assert read_row(line, named, "row").before == b'{"rejected": '


def test_a_column_inside_another_can_be_named() -> None:
    line = line_of({"input": {"deep": chat(1)}})
    with pytest.raises(CondenseError, match="none of its columns holds messages"):
        read_row(line, RowKind(), "row")
    kind = named_kind("rows:input.deep")
    assert kind is not None
    assert len(transcript_of(read_row(line, kind, "row")).messages) == 4
    with pytest.raises(CondenseError, match=r"column input\.deep holds no messages"):
        read_row(line_of(row(1)), kind, "row")


def test_a_list_of_messages_has_no_named_column() -> None:
    kind = named_kind("rows:messages")
    assert kind is not None
    with pytest.raises(CondenseError, match="column messages holds no messages"):
        read_row(json.dumps(chat(1)).encode(), kind, "row")


# Doubled keys: the last one counts, as for every reader of JSON.
def test_of_a_column_that_is_there_twice_the_last_counts() -> None:
    first, last = line_of({"messages": chat(1)})[1:-1], line_of({"messages": chat(2)})[1:-1]
    found = read_row(b"{" + first + b"," + last + b"}", RowKind(), "row")
    assert found.before.count(b'"messages"') == 2
    assert serialize(transcript_of(found)) == last.partition(b" ")[2]


# Plain text fits several formats: a row of a set is taken for what the others of the set are.
def test_rows_of_plain_text_are_of_the_format_of_their_set() -> None:
    plain = line_of({"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]})
    assert transcript_of(read_row(plain, RowKind(), "row")).format == "anthropic"
    kind = kind_of([line_of(row(1)), plain])
    assert kind is not None
    assert transcript_of(read_row(plain, kind, "row")).format == "openai-chat"


# One file in one message does not make a row bad.
def test_a_row_may_hold_any_part_of_a_chat_message() -> None:
    shown = {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}
    line = line_of({"messages": [shown, *chat(1)]})
    assert transcript_of(read_row(line, RowKind(), "row")).format == "openai-chat"


def test_the_model_of_a_row_is_the_one_it_names() -> None:
    assert transcript_of(read_row(line_of({"model": "gpt-4", **row(1)}), RowKind(), "row")).model == "gpt-4"
    inside = line_of({"request": {"model": "gpt-4o", "messages": chat(1)}})
    assert transcript_of(read_row(inside, RowKind(), "row")).model == "gpt-4o"


BAD: dict[bytes, str] = {
    b'{"messages": [': "not JSON",
    b"[1, 2]": "neither an object nor a list of messages",
    b'"text"': "neither an object",
    b'{"question": "?"}': 'none of its columns holds messages in a known format (columns: "question")',
    b'{"messages": [{"role": "wizard", "content": "x"}]}': "none of its columns",
    b'{"messages": ["x"]}': "none of its columns",
    b'{"messages": {"0": {}}}': "none of its columns",
    b"[" * 100_000: "nested too deeply",
    b'{"n": ' + b"9" * 5_000_000 + b"}": "not JSON",
    b"\xff\xfe\x00binary": "not JSON",
    b"\x00": "not JSON",
}


@pytest.mark.parametrize("line", BAD, ids=lambda line: str(line[:30]))
def test_a_bad_row_is_passed_through_and_named(line: bytes) -> None:
    good = line_of(row(1)) + b"\n"
    done, tally = condensed([good, line + b"\n", good], load_preset("speed"), RowKind())
    assert done[1] == line + b"\n"
    assert done[0] == done[2] != good
    assert (tally.rows, tally.changed, tally.bad) == (3, 2, 1)
    [problem] = tally.problems
    assert problem.line == 2
    assert BAD[line] in problem.why


# A defect that shows in one row costs that row its condensing, and nothing else.
def test_an_error_in_one_row_does_not_stop_the_others() -> None:
    def fails(transcript: Transcript, line: int) -> bytes | None:
        if line == 2:
            raise ValueError("a defect")
        return b"[]"

    tally = Tally()
    lines = as_lines(rows(1, 1, 1)).splitlines(keepends=True)
    done = for_each_row(RowLines(1, lines), "f", RowKind(), tally, fails)
    assert done[1] == lines[1]
    assert b'"messages": [],' in done[0]
    assert "a defect" in tally.problems[0].why


def test_rows_without_messages_are_left_alone_and_not_bad() -> None:
    lines = [line_of({"messages": [], "id": 1}) + b"\n", b"\n", b"  \r\n"]
    done, tally = condensed(lines, load_preset("speed"), RowKind())
    assert (done, tally.rows, tally.bad, tally.changed) == (lines, 1, 0, 0)


# What is remembered of texts is forgotten, or a million rows would fill the memory.
def test_counters_forget() -> None:
    counters = Counters()
    count = counters(transcript_of(read_row(line_of(row(1)), RowKind(), "row")))
    count("some text")
    counters.forget()
    assert count._known == {"": 0}


def test_only_some_problems_are_kept_however_many_there_are() -> None:
    total = Tally()
    for _ in range(3):
        part = Tally()
        for line in range(60):
            part.refuse(line, "why")
        total.add(part)
    assert (total.bad, len(total.problems)) == (180, 100)


EXPORTS = {"chatgpt-export": further_agents.chatgpt_export, "claude-export": further_agents.claude_export}


def exported(path: Path, format: str, number: int) -> Path:
    made: list[Any] = [{**EXPORTS[format](WORK), "title": f"Work {each}"} for each in range(number)]
    path.write_text(json.dumps(made))
    return path


@pytest.mark.parametrize("format", EXPORTS)
def test_each_conversation_is_a_row(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 3)
    done = condense("validate", path)
    assert done.status == ExitStatus.DONE
    assert "3 rows" in done.text
    one = tmp_path / "one.json"
    one.write_text(json.dumps(EXPORTS[format](WORK)))
    of_one, of_all = (json.loads(condense("inspect", each, "--json").stdout) for each in (one, path))
    assert of_all["tokens"] == 3 * of_one["tokens"]["total"]


@pytest.mark.parametrize("format", EXPORTS)
def test_an_export_of_one_conversation_is_that_one(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 1)
    assert f"format {format}" in condense("validate", path).text
    assert condense("repair", path, "--dry-run").status == ExitStatus.DONE
    assert condense("recap", path).text.startswith("Recap of ")
    converted = condense("run", path, "--to", "openai-chat", "-o", tmp_path / "chat.json")
    assert (converted.status, (tmp_path / "chat.json").exists()) == (ExitStatus.DONE, True)


ONE = [["check"], ["recap"], ["show", "0"], ["repair"], ["diff", "-p", "speed"], ["mcp"]]


@pytest.mark.parametrize("arguments", ONE, ids=lambda each: each[0])
@pytest.mark.parametrize("format", EXPORTS)
def test_commands_for_one_conversation_say_how_to_take_it_out(
    format: str, arguments: list[str], tmp_path: Path
) -> None:
    path = exported(tmp_path / "conversations.json", format, 3)
    command, *rest = arguments
    done = condense(command, path, *rest)
    assert done.status == ExitStatus.INPUT
    assert "conversations of C" in done.message
    assert "jq '.[0]' FILE > conversation.json" in done.message
    assert "inspect and validate take all of them" in done.message


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize("format", EXPORTS)
def test_many_are_converted_as_the_refusal_says(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 3)
    refused = condense("run", path, "--to", "openai-chat")
    assert refused.status == ExitStatus.USAGE
    steps = refused.message.partition("For all: ")[2].replace("FILE", str(path))
    *split, run = steps.split("; ")
    for step in split:
        subprocess.run(step, shell=True, check=True, cwd=tmp_path)
    out = tmp_path / "out"
    given = run.replace("FORMAT", "openai-chat").replace("DIR", str(out)).replace("chats", str(tmp_path / "chats"))
    assert condense(*given.split()[1:]).status == ExitStatus.DONE
    assert len([*out.glob("*.json")]) == 3


def test_rows_on_lines_are_taken_out_by_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(2 * (json.dumps({"messages": [{"role": "user", "content": "Hello."}]}) + "\n"))
    assert "sed -n 1p FILE" in condense("run", path, "--to", "openai-chat").message
    assert "sed -n 1p FILE > conversation.json" in condense("check", path).message


@pytest.mark.parametrize("format", EXPORTS)
def test_a_run_reports_and_says_what_it_cannot_write(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 2)
    done = condense("run", path, "--preset", "speed", "--keep-recent", "1", "-o", tmp_path / "out.json")
    assert f"condense reads {format} files but cannot write them" in done.text
    assert (tmp_path / "out.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("format", EXPORTS)
def test_what_would_be_saved_is_reported(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 2)
    done = condense("run", path, "--preset", "speed", "--keep-recent", "1", "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert (done.status, told["rows"]["changed"], told["rows"]["bad"]) == (ExitStatus.DONE, 2, 0)
    assert told["tokens"]["saved_percent"] > 10
