"""Input that is no transcript, or not all of one: a clear message, the right status, no harm."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers import DATA, condense, condense_process, condensed, unharmed
from rollouts import BARE_ROLLOUT

from condense_cli.core.json_text import DEEPEST
from condense_cli.errors import ExitStatus

LINES = DATA.splitlines(keepends=True)


NO_TRANSCRIPT: dict[str, tuple[bytes, str]] = {
    # name: (bytes, what the message says)
    "empty": (b"", "is empty"),
    "blank": (b" \n\r\n\t\n", "is empty"),
    "only a BOM": (b"\xef\xbb\xbf", "is empty"),
    "a line with a format's key": (b'the key "input" of it\n', ":1:1: not JSON"),
    "a line with another's": (b'the key "conversations" of it\n', ":1:1: not JSON"),
    "prose": (b"Dear diary,\ntoday I condensed nothing.\n", ":1:1: not JSON"),
    "HTML": (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "looks like HTML"),
    "text": ("Größe: 5\n".encode(), "looks like text"),
    "binary": (bytes(range(256)), "not JSON but binary data."),
    "binary without NUL": (bytes(range(1, 256)), "not JSON but binary data, or"),
    "binary after a line of text": (
        b"%PDF-1.4\n%" + b"a" * 300 + bytes(range(128, 256)),
        "not JSON but binary data, or",
    ),
    "UTF-16": ("{}".encode("utf-16"), "UTF-16"),
    "a number": (b"42\n", "is not a transcript"),
    "numbers": (b"1\n2\n", "is not a transcript"),
    "a string": (b'"hello"\n', "is not a transcript"),
    "null": (b"null\n", "is not a transcript"),
    "an empty list": (b"[]\n", "is not a transcript"),
    "an empty object": (b"{}\n", "is not a transcript"),
    "no messages": (b'{"messages": []}\n', "is not a transcript"),
    "messages that are null": (b'{"messages": null}\n', "is not a transcript"),
    "other JSON": (b'{"name": "condense", "version": 1}\n', '"name", "version"'),
    "other JSON lines": (b'{"level": "info"}\n{"level": "error"}\n', '"level"'),
    "a list of numbers": (b"[1, 2, 3]\n", "is not a transcript"),
    "an unknown role": (b'{"role": "tester", "content": "x"}\n', '"role"'),
    "a list that does not end": (b'[{"role": "user", "content": "hi"},\n', ":"),
    "a list with a trailing comma": (b'[{"role": "user", "content": "hi"},]', ":1:"),
    "something after the list": (b'[{"role": "user", "content": "hi"}] x', ":1:37: not JSON"),
    "two lists": (b'[{"role": "user", "content": "hi"}] [1]', ":1:37: a second JSON value begins here"),
    "two values on a line": (LINES[0].rstrip() + LINES[1] + LINES[2], ":1:"),
    "a truncated last line": (DATA[:-30], f":{len(LINES)}:"),
    "a line that is no JSON": (b"".join([*LINES[:4], b"Killed\n", *LINES[4:]]), ":5:1: not JSON"),
    "a line cut in the middle": (b"".join([*LINES[:4], LINES[4][:60] + b"\n", *LINES[5:]]), ":5:"),
    "single quotes": (b"{'role': 'user', 'content': 'hi'}\n", ":1:2: not JSON"),
    "a line of another kind": (b"".join([*LINES[:4], b'{"a": 1}\n', *LINES[4:]]), "5"),
    "100,000 open brackets": (b"[" * 100_000, "nested too deeply"),
    "100,000 nested lists": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "100,000 nested lists in a record": (
        b'{"role": "user", "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n" + DATA,
        "nested too deeply",
    ),
    "100,000 nested objects in the last record": (DATA + b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too"),
    "50 MB of a line that does not end": (b'{"role": "user", "content": "' + b"word " * 10_000_000, ":1:"),
    "50 MB of one word": (b"y" * 50_000_000, ":1:1: not JSON"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NO_TRANSCRIPT)
def test_what_is_no_transcript_is_refused(name: str, tmp_path: Path) -> None:
    data, says = NO_TRANSCRIPT[name]
    (tmp_path / "input.jsonl").write_bytes(data)
    with unharmed(tmp_path):
        done = condense("run", "input.jsonl", "-o", "out.jsonl", "--report", "report.json", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b""), done.stderr
    assert "input.jsonl" in done.message
    assert says in done.message
    assert len(done.stderr) < 600, "the message quotes the file at length"
    (tmp_path / "input.jsonl").unlink()  # pytest keeps what tests leave, and some of these are large.


@pytest.mark.parametrize("options", [[], ["--lenient"]])
def test_values_over_many_lines_are_not_said_to_be_cut_off(options: list[str], tmp_path: Path) -> None:
    """What `jq .` makes of JSON lines is whole, and jq makes lines of it again."""
    indented = "\n".join(json.dumps(json.loads(line), indent=2) for line in LINES)
    (tmp_path / "input.json").write_text("\n" + indented + "\n")
    second = 2 + json.dumps(json.loads(LINES[0]), indent=2).count("\n") + 1
    done = condense("run", "input.json", *options, cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert f"input.json:{second}:1: a second JSON value begins here" in done.message
    assert "jq -c ." in done.message
    assert "not whole" not in done.message


# The first line alone would be a row of a data set, and each line behind it a bad one.
@pytest.mark.parametrize("first", [{"messages": [json.loads(line) for line in LINES]}, json.loads(LINES[0])])
@pytest.mark.parametrize("command", ["run", "validate", "estimate", "inspect"])
def test_a_value_over_many_lines_behind_a_line_is_no_row(command: str, first: Any, tmp_path: Path) -> None:
    second = {"messages": [json.loads(line) for line in LINES]}
    (tmp_path / "input.json").write_text(f"{json.dumps(first)}\n{json.dumps(second, indent=2)}\n")
    done = condense(command, "input.json", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert "input.json:2:1: a second JSON value begins here" in done.message


def test_an_old_rollout_is_told_from_what_is_unknown(tmp_path: Path) -> None:
    """Its items stand without the records around them that came later."""
    (tmp_path / "input.jsonl").write_bytes(BARE_ROLLOUT)
    done = condense("inspect", "input.jsonl", cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert "a Codex CLI rollout from before September 2025" in done.message
    assert "jq -c" in done.message
    asked_for = condense("inspect", "input.jsonl", "--format", "codex", cwd=tmp_path)
    assert (asked_for.status, asked_for.stdout) == (ExitStatus.INPUT, b"")
    assert "none of its records has a payload" in asked_for.message


def test_a_last_line_of_many_levels_is_not_said_to_be_cut_off(tmp_path: Path) -> None:
    """It may be JSON, and whole."""
    (tmp_path / "input.jsonl").write_bytes(DATA + b'{"a":' * 3_000 + b"1" + b"}" * 3_000)
    done = condense("run", "input.jsonl", cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert "the line is nested too deeply" in done.message
    assert f"input.jsonl:{len(LINES) + 1}:" in done.message
    assert "not JSON" not in done.message
    assert "cut off" not in done.message
    assert "--lenient" in done.message


@pytest.mark.parametrize("command", ["run", "inspect"])
@pytest.mark.parametrize("extra", [0, 1], ids=["deepest", "deeper"])
def test_arguments_nest_as_deep_on_every_python(command: str, extra: int, tmp_path: Path) -> None:
    """Later Pythons parse more levels than there is room to walk."""
    levels = DEEPEST + extra - 4  # Those around the arguments: the record, the content, the call, its input.
    nested = b'{"a":' * levels + b'"word"' + b"}" * levels
    call = b'{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Note","input":{"a":%s}}]}\n' % nested
    result = b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]}\n'
    (tmp_path / "input.jsonl").write_bytes(b'{"role":"user","content":"Note it."}\n' + call + result)
    done = condense(command, "input.jsonl", cwd=tmp_path)
    assert done.status == (ExitStatus.INPUT if extra else ExitStatus.DONE), done.stderr
    assert ("input.jsonl:2: the line is nested too deeply" in done.stderr) == bool(extra)
    assert "RecursionError" not in done.stderr


def test_what_is_no_transcript_is_refused_in_a_real_pipe() -> None:
    """The same through standard input of a process, which is then called that."""
    done = condense_process("run", "-", stdin=b"Dear diary\n")
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert done.message.startswith("condense: standard input:1:1: not JSON")


@pytest.mark.parametrize("side", [0, 1], ids=["first", "second"])
def test_diff_refuses_what_is_no_transcript(side: int, file: Path, tmp_path: Path) -> None:
    (tmp_path / "prose.txt").write_text("Dear diary\n")
    names = [file.name, file.name]
    names[side] = "prose.txt"
    done = condense("diff", *names, cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert "prose.txt:1:1" in done.message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with unharmed(tmp_path):
        done = condense("run", "nowhere.jsonl", "-o", "out.jsonl", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert "nowhere.jsonl" in done.message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    with unharmed(tmp_path):
        done = condense("inspect", "sessions", cwd=tmp_path)
        assert done.status == ExitStatus.INPUT
        assert "sessions is a folder" in done.message
        done = condense("run", "sessions", "-o", "out.jsonl", cwd=tmp_path)
        assert done.status == ExitStatus.USAGE
        assert "sessions is a folder" in done.message
        assert "--out-dir" in done.message


def test_a_path_under_a_file_is_refused(file: Path, tmp_path: Path) -> None:
    done = condense("run", file / "inner.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "inner.jsonl" in done.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_refused(file: Path, tmp_path: Path) -> None:
    file.chmod(0)
    done = condense("run", file)
    assert done.status == ExitStatus.INPUT
    assert "Permission denied" in done.message


@pytest.mark.parametrize("name", ["a\x1b[31m.jsonl", "new\nline.jsonl", os.fsdecode(b"bad\xff.jsonl")], ids=repr)
def test_a_strange_file_name_does_no_harm(name: str, tmp_path: Path) -> None:
    """A name with control characters or without an encoding is one message, and never steers the terminal."""
    done = condense("run", name, cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert done.message.startswith("condense: There is no file ")
    (tmp_path / name).write_bytes(DATA)
    for arguments in (("--json",), ("--dry-run",), ()):
        assert condense("run", name, *arguments, cwd=tmp_path).status == ExitStatus.DONE


def test_a_missing_value_is_said_in_the_words_of_json(tmp_path: Path) -> None:
    """A person who looks at a JSON file knows numbers and null, not int and NoneType."""
    for value in (b"42", b"null", b"[[1]]"):
        (tmp_path / "input.json").write_bytes(value)
        message = condense("run", tmp_path / "input.json").message
        assert not any(word in message for word in ("NoneType", " a int", " a list", " a str"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1}', 'It is one JSON value with the keys "a".'),
        (b"null", "It is one JSON value, null."),
        (b"[]", "It is an empty JSON array."),
        (b'{"messages": []}', "It is a JSON object without messages."),
        (b'[{"role": "user"}]', 'It is a JSON array whose first record has the keys "role".'),
    ],
)
def test_only_what_has_records_is_said_to_have_some(data: bytes, said: str) -> None:
    assert said in condense("run", "-", "--dry-run", stdin=data).message


BROKEN_LINES: dict[str, bytes] = {
    "truncated last line": DATA + LINES[4][:50],
    "noise in the middle": b"".join([*LINES[:4], b"Killed\n", *LINES[4:]]),
    "noise with bad bytes": b"".join([*LINES[:4], b"\xff\xfe{[\x00\n", *LINES[4:]]),
    "nesting in the middle": b"".join([*LINES[:4], b"[" * 100_000 + b"\n", *LINES[4:]]),
    "noise before a CRLF": b"".join([*LINES[:4], b"Killed\r\n", *LINES[4:]]),
    "noise at the start": b"Script started\n" + DATA,
}


@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_broken_line_stops_the_run_unless_lenient_keeps_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "input.jsonl"
    path.write_bytes(BROKEN_LINES[name])
    with unharmed(tmp_path):
        refused = condense("run", path, "-p", "speed", "-o", tmp_path / "out.jsonl")
        lenient = condense("run", path, "-p", "speed", "--lenient")
    assert refused.status == ExitStatus.INPUT
    if name != "noise at the start":
        assert "--lenient" in refused.message
        line = len(LINES) + 1 if name == "truncated last line" else 5
        assert f"input.jsonl:{line}:" in refused.message
    assert (lenient.status, lenient.stdout) == (ExitStatus.DONE, condensed(BROKEN_LINES[name]))


@pytest.mark.parametrize(
    "data", [bytes(range(256)), b"some\nlines\nof text\n", b'{"role": "us'], ids=["binary", "text", "torn"]
)
def test_a_file_without_a_line_of_json_is_refused_with_lenient_too(data: bytes) -> None:
    refused = [condense("inspect", "-", *flag, stdin=data) for flag in ((), ("--lenient",))]
    assert [done.status for done in refused] == 2 * [ExitStatus.INPUT]
    assert "not JSON" in refused[1].message
    assert "holds no message" not in refused[1].message
