"""Broken, hostile and odd input, and outputs that cannot be written: a clear message, the right status, no harm."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from helpers import (
    COMMAND,
    CUT,
    Outcome,
    Records,
    as_lines,
    condense,
    condense_process,
    condensed,
    cut_by_speed,
    environment,
    listing,
    session,
    snapshot,
)

from condense_cli import files
from condense_cli.errors import ExitStatus, OutputError

DATA = as_lines(session())
SMALLER = condensed(DATA)
LINES = DATA.splitlines(keepends=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(DATA)
    return path


@contextmanager
def unharmed(folder: Path) -> Iterator[None]:
    """Nothing in the folder is written, changed, added or left behind."""
    before = snapshot(folder)
    yield
    after = snapshot(folder)
    assert after.keys() == before.keys(), "files were left behind or went"
    assert after == before, "a file was touched"


# --- Input that is no transcript -------------------------------------------------------------------------------------

NO_TRANSCRIPT: dict[str, tuple[bytes, str]] = {
    # name: (bytes, what the message says)
    "empty": (b"", "is empty"),
    "blank": (b" \n\r\n\t\n", "is empty"),
    "only a BOM": (b"\xef\xbb\xbf", "is empty"),
    "prose": (b"Dear diary,\ntoday I condensed nothing.\n", ":1:1: not JSON"),
    "HTML": (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "looks like HTML"),
    "binary": (bytes(range(256)), "not JSON"),
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


@pytest.mark.parametrize("name", NO_TRANSCRIPT)
def test_what_is_no_transcript_is_refused(name: str, tmp_path: Path) -> None:
    """Exit status 3, one message that names the file and says what is wrong, no output, everything as it was."""
    data, says = NO_TRANSCRIPT[name]
    (tmp_path / "input.jsonl").write_bytes(data)
    with unharmed(tmp_path):
        done = condense("run", "input.jsonl", "-o", "out.jsonl", "--report", "report.json", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b""), done.stderr
    assert "input.jsonl" in done.message
    assert says in done.message
    assert len(done.stderr) < 600, "the message quotes the file at length"
    (tmp_path / "input.jsonl").unlink()  # pytest keeps what tests leave, and some of these are large.


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


def test_what_is_no_transcript_is_refused_in_a_real_pipe() -> None:
    """The same through standard input of a process, which is then called that."""
    done = condense_process("run", "-", stdin=b"Dear diary\n")
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert done.message.startswith("condense: standard input:1:1: not JSON")


@pytest.mark.parametrize("side", [0, 1], ids=["first", "second"])
def test_diff_refuses_what_is_no_transcript(side: int, file: Path, tmp_path: Path) -> None:
    """Either side of a diff is checked like the input of a run."""
    (tmp_path / "prose.txt").write_text("Dear diary\n")
    names = [file.name, file.name]
    names[side] = "prose.txt"
    done = condense("diff", *names, cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert "prose.txt:1:1" in done.message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """Exit status 3; the message names the file."""
    with unharmed(tmp_path):
        done = condense("run", "nowhere.jsonl", "-o", "out.jsonl", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    assert "nowhere.jsonl" in done.message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """Where one transcript is wanted; the message says that it is a folder, and `run` where a whole one may go."""
    (tmp_path / "sessions").mkdir()
    with unharmed(tmp_path):
        done = condense("inspect", "sessions", cwd=tmp_path)
        assert done.status == ExitStatus.INPUT
        assert "sessions is a folder" in done.message
        done = condense("run", "sessions", "-o", "out.jsonl", cwd=tmp_path)
        assert done.status == ExitStatus.USAGE
        assert "sessions is no file but a folder" in done.message
        assert "--out-dir" in done.message


def test_a_path_under_a_file_is_refused(file: Path, tmp_path: Path) -> None:
    """What the system says about such a path is passed on with the path."""
    done = condense("run", file / "inner.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "inner.jsonl" in done.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_refused(file: Path, tmp_path: Path) -> None:
    """Exit status 3; the message says why it cannot be read."""
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


# --- Lines that are not JSON, and --lenient --------------------------------------------------------------------------

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
    """Without --lenient the line is named and the option offered; with it the line stays, byte for byte."""
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


# --- Odd input that is fine ------------------------------------------------------------------------------------------


def _with_extra(text: bytes) -> bytes:
    """A key in a record that stays, and the same key in one that is cut."""
    lines = [line.replace(b"{", b"{" + text, 1) if number in (0, 2, 17) else line for number, line in enumerate(LINES)]
    return b"".join(lines)


def _odd_texts(odd: str) -> Records:
    """The odd characters in a request, in a kept result, in lines that stay of a cut result, in lines that go.

    No line comes twice, so that none becomes a reference.
    """
    stays = f"{odd}1: first{odd}\nsecond {odd}\nthird\n" + _more("of the first")
    goes = "2: first\nsecond\nthird\n" + _more(f"of the second {odd}")
    kept = "".join(f"7: {odd} kept {number}\n" for number in range(20))
    records = session([stays, goes, *CUT[2:], kept, listing(8)])
    records[0]["content"] = f"Please {odd} look."
    return records


def _more(what: str) -> str:
    return "".join(f"more {what}, {number}\n" for number in range(40))


def _texts(records: Records) -> list[str]:
    return [record["content"][0]["content"] for record in records[2:13:2]]


def _odd_file(odd: str, *, ensure_ascii: bool) -> tuple[bytes, bytes]:
    records = _odd_texts(odd)
    data = as_lines(records, ensure_ascii=ensure_ascii)
    return data, condensed(data, _texts(records), ensure_ascii=ensure_ascii)


def _swap(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    return DATA.replace(old, new), SMALLER.replace(old, new)


def _extra(text: bytes) -> tuple[bytes, bytes]:
    return _with_extra(text), condensed(_with_extra(text))


def _lone_surrogates() -> tuple[bytes, bytes]:
    """Escaped in a file that has other characters as they are."""
    data = as_lines(_odd_texts("é@"), ensure_ascii=False).replace(b"@", b"\\ud800")
    expected = data
    for text in _texts(_odd_texts("é\ud800")):
        old, new = (
            json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass").replace(b"\xed\xa0\x80", b"\\ud800")
            for value in (text, cut_by_speed(text))
        )
        assert old in expected
        expected = expected.replace(old, new)
    return data, expected


FINE: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    # name: the file, and what the preset `speed` makes of it
    "as usual": lambda: (DATA, SMALLER),
    "invalid UTF-8": lambda: _odd_file(os.fsdecode(b"\xff\xc3("), ensure_ascii=False),
    "invalid UTF-8 in an extra key": lambda: _extra(b'"raw": "\xff\xfe", '),
    "lone surrogates": lambda: _odd_file("\ud800", ensure_ascii=True),
    "lone surrogates beside other characters": _lone_surrogates,
    "escaped characters": lambda: _odd_file("é日本\U0001f389", ensure_ascii=True),
    "plain characters": lambda: _odd_file("é日本\U0001f389", ensure_ascii=False),
    "U+2028 and U+2029": lambda: _odd_file("\u2028\u2029\x85", ensure_ascii=False),
    "control characters": lambda: _odd_file("\x00\x1b[31m\x08", ensure_ascii=False),
    "carriage returns in strings": lambda: _odd_file("\r", ensure_ascii=False),
    "a million spaces": lambda: _million_spaces(),
    "integers over 64 bits": lambda: _extra(b'"n": [123456789012345678901234567890, -9223372036854775809], '),
    "an integer of 5,000 digits": lambda: _extra(b'"n": ' + b"9" * 5_000 + b", "),
    "NaN and Infinity": lambda: _extra(b'"n": [NaN, Infinity, -Infinity], '),
    "floats in other spellings": lambda: _extra(b'"n": [1.0E+2, -0.0, 1e400, 0.10000000000000000001], '),
    "duplicate keys": lambda: _extra(b'"note": 1, "note": "2", '),
    "duplicate keys, the last of which counts": lambda: _extra(b'"role": "nobody", "content": "before", '),
    "strange keys": lambda: _extra(b'"": {"": [[], {}]}, "\\u0000": null, '),
    "nesting of 500 lists": lambda: _extra(b'"n": ' + b"[" * 500 + b"]" * 500 + b", "),
    "spaces inside the records": lambda: _swap(b'{"role": ', b'{ "role"\t:  '),
    "escaped slashes": lambda: _extra(b'"path": "a\\/b", '),
    "CRLF line ends": lambda: _swap(b"\n", b"\r\n"),
    "a BOM": lambda: (b"\xef\xbb\xbf" + DATA, b"\xef\xbb\xbf" + SMALLER),
    "blank lines": lambda: (
        b"\n \n" + DATA.replace(b"\n", b"\n\n\t\r\n"),
        b"\n \n" + SMALLER.replace(b"\n", b"\n\n\t\r\n"),
    ),
    "no line end at the end": lambda: (DATA.rstrip(), SMALLER.rstrip()),
    "indented lines": lambda: _swap(b'{"role"', b'  {"role"'),
    "an array": lambda: _array(indent=None),
    "an indented array": lambda: _array(indent=2),
    "an indented array with CRLF and a BOM": lambda: _array(indent=4, around=b"\xef\xbb\xbf", line_end=b"\r\n"),
    "an object with messages": lambda: _object(),
}


def _million_spaces() -> tuple[bytes, bytes]:
    """Alone in a result, in a line that stays of a cut one, and in a line that goes."""
    spaces = " " * 1_000_000
    stays = f"1: first\n{spaces}\nthird\n" + _more("of the first")
    goes = f"2: first\n\n\n {spaces}\n" + _more("of the second")
    data = as_lines(session([stays, goes, f"  {spaces}", *CUT[3:], f"7{spaces}", listing(8)]))
    return data, condensed(data, [stays, goes, *CUT[3:]])


def _array(*, indent: int | None, around: bytes = b"", line_end: bytes = b"\n") -> tuple[bytes, bytes]:
    data = json.dumps(session(), indent=indent).encode() + b"\n"
    file, expected = (around + text.replace(b"\n", line_end) for text in (data, condensed(data)))
    return file, expected


def _object() -> tuple[bytes, bytes]:
    data = json.dumps({"model": "claude-x", "messages": session(), "n": 2**70, "x": float("nan")}, indent=1).encode()
    return data, condensed(data)


@pytest.mark.parametrize("name", FINE)
def test_odd_but_fine_input_keeps_every_byte_that_is_not_cut(name: str, tmp_path: Path) -> None:
    """The output is the input with the cut results exchanged, whatever else stands around and inside them."""
    data, expected = FINE[name]()
    path = tmp_path / "input.jsonl"
    path.write_bytes(data)
    assert data != expected
    with unharmed(tmp_path):
        done = condense("run", path, "-p", "speed")
    assert done.status == ExitStatus.DONE, done.stderr
    assert done.stdout == expected
    assert done.message


@pytest.mark.parametrize("name", FINE)
def test_odd_but_fine_input_comes_back_as_it_was_when_nothing_is_cut(name: str, tmp_path: Path) -> None:
    """A target that is met already leaves every byte."""
    data, _ = FINE[name]()
    (tmp_path / "input.jsonl").write_bytes(data)
    done = condense("run", tmp_path / "input.jsonl", "--target-tokens", "100000000", "-q")
    assert (done.status, done.stdout, done.stderr) == (ExitStatus.DONE, data, "")


@pytest.mark.parametrize("name", FINE)
def test_odd_but_fine_input_can_be_reported_on(name: str, tmp_path: Path) -> None:
    """Every report about it is printed: for people, as JSON, and as a difference."""
    data, expected = FINE[name]()
    (tmp_path / "input.jsonl").write_bytes(data)
    (tmp_path / "output.jsonl").write_bytes(expected)
    for arguments in (
        ("run", "input.jsonl", "-p", "speed", "--dry-run", "--explain"),
        ("run", "input.jsonl", "-p", "speed", "--json", "--explain"),
        ("diff", "input.jsonl", "output.jsonl"),
        ("diff", "input.jsonl", "output.jsonl", "--json"),
    ):
        done = condense(*arguments, cwd=tmp_path)
        assert (done.status, done.stderr) == (ExitStatus.DONE, ""), arguments
        assert done.stdout
        if "--json" in arguments:
            assert done.json


@pytest.mark.parametrize("odd", ["\ud800", os.fsdecode(b"\xff"), "\x1b[31m"], ids=["surrogate", "byte", "escape"])
def test_odd_names_of_tools_and_paths_can_be_reported_on(odd: str, tmp_path: Path) -> None:
    """What stands in headings and receipts comes from the transcript too."""
    records = session()
    for record in records[1:-1:2]:
        record["content"][0]["name"] = f"Read{odd}"
        record["content"][0]["input"]["file_path"] += odd
    path = tmp_path / "input.jsonl"
    path.write_bytes(as_lines(records, ensure_ascii=odd != os.fsdecode(b"\xff")))
    for arguments in (
        ("run", path, "-p", "speed", "--dry-run", "--explain"),
        ("run", path, "-p", "speed", "--json", "--explain"),
        ("diff", path, "-p", "speed"),
        ("diff", path, "-p", "speed", "--json"),
    ):
        done = condense(*arguments)
        assert (done.status, done.stderr) == (ExitStatus.DONE, ""), arguments
        assert b"\x1b" not in done.stdout


def test_an_output_file_of_odd_input_is_done_with_status_0(tmp_path: Path) -> None:
    """A file that was written must not end in an error because the report about it could not be printed."""
    data, expected = FINE["lone surrogates"]()
    (tmp_path / "input.jsonl").write_bytes(data)
    done = condense_process("run", "input.jsonl", "-p", "speed", "-o", "out.jsonl", cwd=tmp_path)
    assert (tmp_path / "out.jsonl").read_bytes() == expected
    assert done.status == ExitStatus.DONE
    assert done.message.endswith(" speed\n")


# --- Large input -----------------------------------------------------------------------------------------------------


def test_a_single_line_of_50_megabytes_is_kept(tmp_path: Path) -> None:
    """A result of 50 MB in one line is read, counted and written back as it was."""
    records = session([*CUT, *(listing(number) for number in range(7, 9))])
    records[4]["content"][0]["content"] = "word and " * 5_600_000
    data = as_lines(records)
    path = tmp_path / "input.jsonl"
    path.write_bytes(data)
    done = condense_process("run", path, "-p", "speed")
    assert done.status == ExitStatus.DONE
    assert done.stdout == condensed(data, [CUT[0], *CUT[2:]])
    path.unlink()


def test_a_document_of_50_megabytes_on_a_single_line_is_cut(tmp_path: Path) -> None:
    """A whole session in one line, with one result of a million lines, becomes small."""
    huge = "a line of the log, like all the others, as long as it is\n" * 900_000
    records = session([*CUT[:2], huge, *CUT[3:], *(listing(number) for number in range(7, 9))])
    data = json.dumps(records).encode()
    path = tmp_path / "input.json"
    path.write_bytes(data)
    done = condense_process("run", path, "-p", "speed")
    assert done.status == ExitStatus.DONE
    assert done.stdout == condensed(data, [*CUT[:2], huge, *CUT[3:]])
    path.unlink()


# --- Presets and configurations on the command line ------------------------------------------------------------------

BAD_CONFIGURATIONS: dict[str, tuple[str, str]] = {
    "wrong key": ("pases: []\n", "mine.yaml:1:1: unknown key 'pases'"),
    "wrong type": ("keep_first: many\n", "mine.yaml:1:1:"),
    "impossible value": ("keep_first: -1\n", "mine.yaml:1:1:"),
    "code": ("name: !!python/object/apply:os.system [touch executed]\n", "mine.yaml:1:"),
    "no YAML": ("passes: [\n", "mine.yaml:"),
    "duplicate key": ("keep_first: 1\nkeep_first: 1\n", "mine.yaml:2:1:"),
    "no mapping": ("- a\n", "mine.yaml:1:1:"),
    "a value that denies its tag": ("keep_first: !!int abc\n", "mine.yaml:1:"),
}


@pytest.mark.parametrize("option", ["--config", "--preset"])
@pytest.mark.parametrize("name", BAD_CONFIGURATIONS)
def test_a_wrong_configuration_is_a_usage_error(name: str, option: str, file: Path, tmp_path: Path) -> None:
    """Exit status 2, one message with file, line and column; nothing is run or written."""
    text, says = BAD_CONFIGURATIONS[name]
    (tmp_path / "mine.yaml").write_text(text)
    with unharmed(tmp_path):
        done = condense("run", file.name, option, "mine.yaml", "-o", "out.jsonl", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b""), done.stderr
    assert says in done.message


def test_an_unknown_preset_is_a_usage_error(file: Path, tmp_path: Path) -> None:
    """Exit status 2; the message names the nearest preset, for run and for diff."""
    with unharmed(tmp_path):
        for arguments in (("run", file, "-o", tmp_path / "out.jsonl"), ("diff", file)):
            done = condense(*arguments, "--preset", "spede")
            assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
            assert "'spede'" in done.message
            assert "speed" in done.message


def test_a_missing_configuration_is_a_usage_error(file: Path, tmp_path: Path) -> None:
    """Exit status 2; the message names the file."""
    done = condense("run", file, "--config", tmp_path / "nowhere.yaml")
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "nowhere.yaml" in done.message


# --- Outputs that cannot be written ----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--output", "--report"])
@pytest.mark.parametrize("link", ["the file itself", "another spelling", "symbolic link", "hard link"])
def test_an_output_that_is_the_input_is_refused(link: str, option: str, file: Path, tmp_path: Path) -> None:
    """Under whatever name: exit status 2, and the input stays as it is."""
    output = tmp_path / "other.jsonl"
    if link == "the file itself":
        output = file
    elif link == "another spelling":
        output = tmp_path / "." / ".." / tmp_path.name / file.name
    elif link == "symbolic link":
        output.symlink_to(file)
    else:
        output.hardlink_to(file)
    with unharmed(tmp_path):
        done = condense("run", file, "-p", "speed", option, str(output))
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "is the input file" in done.message


def test_an_input_that_is_a_link_to_the_output_is_refused(file: Path, tmp_path: Path) -> None:
    """The other way round is the same."""
    (tmp_path / "link.jsonl").symlink_to(file.name)
    with unharmed(tmp_path):
        done = condense("run", tmp_path / "link.jsonl", "-p", "speed", "-o", file)
    assert done.status == ExitStatus.USAGE


def test_output_and_report_in_one_file_are_refused(file: Path, tmp_path: Path) -> None:
    """The second would overwrite the first."""
    (tmp_path / "link").symlink_to("out")
    with unharmed(tmp_path):
        for report in ("out", "link"):
            done = condense("run", file, "-o", tmp_path / "out", "--report", tmp_path / report)
            assert done.status == ExitStatus.USAGE
            assert "same file" in done.message


@pytest.mark.parametrize("option", ["--output", "--report"])
@pytest.mark.parametrize("output", ["folder", "session.jsonl/out.jsonl", "nowhere/out.jsonl"])
def test_an_output_that_cannot_be_written_fails(output: str, option: str, file: Path, tmp_path: Path) -> None:
    """A folder, a path under a file or in no folder: exit status 1, the path is named, everything is as it was."""
    (tmp_path / "folder").mkdir()
    with unharmed(tmp_path):
        done = condense("run", file.name, "-q", option, output, cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert output in done.message


@pytest.mark.parametrize("option", ["--output", "--report"])
def test_an_output_without_a_name_is_refused(option: str, file: Path, tmp_path: Path) -> None:
    """An empty name, as an unset variable in a script gives, is an error and no file."""
    with unharmed(tmp_path):
        done = condense("run", file.name, "-q", option, "", cwd=tmp_path)
    assert done.status in (ExitStatus.FAILED, ExitStatus.USAGE)
    assert done.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_fails(file: Path, tmp_path: Path) -> None:
    """Exit status 1, and the message names the path."""
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    done = condense("run", file, "-o", folder / "out.jsonl")
    folder.chmod(0o700)
    assert done.status == ExitStatus.FAILED
    assert "Permission denied" in done.message


def test_a_full_device_as_output_fails(file: Path, tmp_path: Path) -> None:
    """`-o /dev/full`: exit status 1, the path and the reason."""
    with unharmed(tmp_path):
        done = condense_process("run", file, "-q", "-o", "/dev/full")
    assert done.status == ExitStatus.FAILED
    assert "/dev/full" in done.message
    assert "No space left" in done.message


@pytest.mark.parametrize(
    "arguments",
    [("run",), ("run", "--dry-run"), ("run", "--json"), ("diff", "-p", "speed"), ("diff", "-p", "speed", "--json")],
    ids=" ".join,
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_device_as_standard_output_fails(arguments: tuple[str, ...], unbuffered: str, file: Path) -> None:
    """Exit status 1 and one message, whatever was to be printed and however Python buffers."""
    with Path("/dev/full").open("wb") as full:
        done = condense_process(arguments[0], file, *arguments[1:], stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
    assert done.status == ExitStatus.FAILED
    assert "cannot write the output: No space left" in done.message


def test_a_folder_that_is_gone_is_not_said_to_be_a_failed_write(tmp_path: Path) -> None:
    """Another error of the system is told as what it is."""
    here = tmp_path / "here"
    here.mkdir()
    done = condense_process("sessions", "--here", cwd=here, before_start=here.rmdir)
    assert (done.status, done.message) == (ExitStatus.FAILED, "condense: No such file or directory.\n")


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("--version",)], ids=" ".join)
def test_help_on_a_full_device_fails_without_a_traceback(arguments: tuple[str, ...]) -> None:
    """Help and version are written by other code and fail the same way."""
    with Path("/dev/full").open("wb") as full:
        done = condense_process(*arguments, stdout=full)
    assert done.status == ExitStatus.FAILED
    assert "No space left" in done.message


def _only_4_kilobytes() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_disk_that_fills_up_under_standard_output_is_no_success(unbuffered: str, file: Path, tmp_path: Path) -> None:
    """Where only the first part of the transcript could be written, the status says so."""
    with (tmp_path / "out.jsonl").open("wb") as out:
        done = condense_process(
            "run",
            file,
            "--target-tokens",
            "1000000",
            stdout=out,
            before_start=_only_4_kilobytes,
            env={"PYTHONUNBUFFERED": unbuffered},
        )
    assert (tmp_path / "out.jsonl").stat().st_size < len(DATA)
    assert done.status == ExitStatus.FAILED
    assert done.message


def test_a_disk_that_fills_up_under_an_output_file_leaves_the_old_one(file: Path, tmp_path: Path) -> None:
    """Whole or not at all: the file that was there is still there, and no part of the new one."""
    (tmp_path / "out.jsonl").write_text("precious")
    with unharmed(tmp_path):
        done = condense_process(
            "run", file, "--target-tokens", "1000000", "-o", tmp_path / "out.jsonl", before_start=_only_4_kilobytes
        )
    assert done.status == ExitStatus.FAILED
    assert "out.jsonl" in done.message


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt(), MemoryError()], ids=repr)
@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_writing_that_breaks_off_leaves_the_old_file_and_nothing_else(
    step: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever step a file is being written, and for whatever reason it stops."""
    target = tmp_path / "out.jsonl"
    target.write_text("precious")

    def fail(*_: object, **__: object) -> None:
        raise error

    if step == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr(os, step, fail)
    with unharmed(tmp_path), pytest.raises((OutputError, KeyboardInterrupt, MemoryError)):
        files.write_bytes(target, b"new")


def test_the_umask_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of the whole process: files that other threads make meanwhile would be anybody's."""
    monkeypatch.delattr(os, "umask")
    files.write_bytes(tmp_path / "out.jsonl", b"new")
    assert (tmp_path / "out.jsonl").read_bytes() == b"new"


# --- Pipes and signals -----------------------------------------------------------------------------------------------


@contextmanager
def _running(*arguments: str | Path, unbuffered: str = "") -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONUNBUFFERED": unbuffered}),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _end(process: subprocess.Popen[bytes]) -> Outcome:
    """How the process ends once nobody reads its output any more."""
    status = process.wait(timeout=20)
    return Outcome(status, b"", _pipe(process.stderr).read().decode())


def _long_session(tmp_path: Path) -> Path:
    path = tmp_path / "long.jsonl"
    path.write_bytes(as_lines(session([listing(number) for number in range(1, 400)])))
    return path


LONG_OUTPUTS = [
    ("run", "--target-tokens", "1000000"),
    ("run", "--dry-run", "-v"),
    ("run", "--json", "--explain"),
    ("diff", "-p", "speed", "-v"),
    ("diff", "-p", "speed", "--json"),
]


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", LONG_OUTPUTS, ids=" ".join)
def test_a_reader_that_leaves_early_is_no_defect(arguments: tuple[str, ...], unbuffered: str, tmp_path: Path) -> None:
    """`| head -1`: the process ends without a word, and with the status that the shell gives other commands."""
    file = _long_session(tmp_path)
    with unharmed(tmp_path), _running(arguments[0], file, *arguments[1:], unbuffered=unbuffered) as process:
        assert _pipe(process.stdout).read(1)
        _pipe(process.stdout).close()
        done = _end(process)
    assert (done.status, done.stderr) == (ExitStatus.READER_LEFT, "")


def test_messages_that_nobody_reads_do_not_spoil_the_data(file: Path) -> None:
    """`2>&1 >out | true`: standard error is closed, the transcript on standard output is whole and the status 0."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "run", str(file), "-p", "speed"],
        stdout=subprocess.PIPE,
        stderr=writer,
        env=environment(),
        check=False,
    )
    os.close(writer)
    assert done.stdout == SMALLER
    assert done.returncode == ExitStatus.DONE


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_internal_error(closed: str, file: Path) -> None:
    """Started without one of the three streams, the command works without it or says what it lacks."""
    source = "-" if closed == "<&-" else file.name
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "run", source, "-p", "speed"],
        capture_output=True,
        env=environment(),
        cwd=file.parent,
        check=False,
    )
    if closed == "2>&-":
        assert (done.returncode, done.stdout) == (ExitStatus.DONE, SMALLER)
    else:
        assert done.returncode in (ExitStatus.FAILED, ExitStatus.USAGE, ExitStatus.INPUT)
        assert Outcome(done.returncode, done.stdout, done.stderr.decode()).message


def test_an_interrupt_while_reading_ends_with_130(tmp_path: Path) -> None:
    """SIGINT while the input arrives: status 130, one message, nothing written."""
    with unharmed(tmp_path), _running("run", "-", "-o", tmp_path / "out.jsonl") as process:
        # More than a pipe holds: the write returns once the process has begun to read.
        _pipe(process.stdin).write(DATA * 40)
        _pipe(process.stdin).flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _pipe(process.stdin).close()  # In case the signal came just before the process began to wait for more.
        done = _end(process)
    assert done.status == ExitStatus.INTERRUPTED
    assert "interrupted" in done.message


def test_an_interrupt_while_writing_to_a_pipe_ends_with_130(tmp_path: Path) -> None:
    """SIGINT while the output is being read: status 130, and the message does not deny what was written."""
    file = _long_session(tmp_path)
    with unharmed(tmp_path), _running("run", file, "--target-tokens", "1000000") as process:
        assert _pipe(process.stdout).read(1)
        process.send_signal(signal.SIGINT)
        done = _end(process)
    assert done.status == ExitStatus.INTERRUPTED
    assert "interrupted" in done.message
    assert "nothing was written" not in done.message


def test_an_interrupt_while_working_ends_with_130(tmp_path: Path) -> None:
    """SIGINT in the middle of a long count: status 130, one message, no output and no part of one."""
    words = "".join(f"{number} words and numbers {number * 7919}\n" for number in range(700_000))
    with unharmed(tmp_path), _running("run", "-", "-p", "speed", "-o", tmp_path / "out.jsonl") as process:
        _pipe(process.stdin).write(as_lines(session([words, *CUT])))
        _pipe(process.stdin).close()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        done = _end(process)
    assert done.status == ExitStatus.INTERRUPTED
    assert "interrupted" in done.message


def test_an_interrupt_while_starting_ends_with_130(tmp_path: Path) -> None:
    """Ctrl-C during the first tenth of a second, while modules are imported, is no traceback either."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")  # As if the key were pressed just then.
    done = condense_process("run", "session.jsonl", env={"PYTHONPATH": str(tmp_path)})
    assert done.status == ExitStatus.INTERRUPTED
    assert "Traceback" not in done.stderr
