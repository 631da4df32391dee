"""Odd input that is fine, and large input: every byte that is not cut stays, and can be reported on."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import claude_tree
import pytest
import rollout_items
from helpers import (
    CUT,
    DATA,
    SMALLER,
    Records,
    as_lines,
    condense,
    condense_process,
    condensed,
    cut_by_speed,
    listing,
    session,
    unharmed,
)

from condense_cli.errors import ExitStatus

LINES = DATA.splitlines(keepends=True)


def _with_extra(text: bytes) -> bytes:
    """Add a key to a record that stays, and to one that is cut."""
    lines = [line.replace(b"{", b"{" + text, 1) if number in (0, 2, 17) else line for number, line in enumerate(LINES)]
    return b"".join(lines)


def _odd_texts(odd: str) -> Records:
    """Put odd characters in a request, in a kept result, and in lines of a cut result that stay or go.

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
    """Escape lone surrogates in a file that has other characters as they are."""
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
    """Put spaces alone in a result, and in lines of a cut one that stay or go."""
    spaces = " " * 1_000_000
    stays = f"1: first\n{spaces}\nthird\n" + _more("of the first")
    goes = f"2: first\n\n\n {spaces}\n" + _more("of the second")
    data = as_lines(session([stays, goes, f"  {spaces}", *CUT[3:], f"7{spaces}", listing(8)]))
    return data, condensed(data, [stays, goes, f"  {spaces}", *CUT[3:]])


def _array(*, indent: int | None, around: bytes = b"", line_end: bytes = b"\n") -> tuple[bytes, bytes]:
    data = json.dumps(session(), indent=indent).encode() + b"\n"
    file, expected = (around + text.replace(b"\n", line_end) for text in (data, condensed(data)))
    return file, expected


def _object() -> tuple[bytes, bytes]:
    data = json.dumps({"model": "claude-x", "messages": session(), "n": 2**70, "x": float("nan")}, indent=1).encode()
    return data, condensed(data)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FINE)
def test_odd_but_fine_input_keeps_every_byte_that_is_not_cut(name: str, tmp_path: Path) -> None:
    data, expected = FINE[name]()
    path = tmp_path / "input.jsonl"
    path.write_bytes(data)
    assert data != expected
    with unharmed(tmp_path):
        done = condense("run", path, "-p", "speed")
    assert done.status == ExitStatus.DONE, done.stderr
    assert done.stdout == expected
    if "lone surrogates" in name:  # An API refuses them, which is a warning of its own.
        assert "condense repair FILE mends it" in done.stderr
    else:
        assert done.message


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FINE)
def test_odd_but_fine_input_comes_back_as_it_was_when_nothing_is_cut(name: str, tmp_path: Path) -> None:
    """A target that is met already changes no byte."""
    data, _ = FINE[name]()
    (tmp_path / "input.jsonl").write_bytes(data)
    done = condense("run", tmp_path / "input.jsonl", "--target-tokens", "100000000", "-q")
    assert (done.status, done.stdout, done.stderr) == (ExitStatus.DONE, data, "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FINE)
def test_odd_but_fine_input_can_be_reported_on(name: str, tmp_path: Path) -> None:
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


# What tells one record of a client from another may be anything in a file that was written by something else.
@pytest.mark.parametrize("odd", [[], {}])
def test_records_without_a_kind_can_be_reported_on(odd: object, tmp_path: Path) -> None:
    hook = {"type": "hook_success", "hookEvent": odd, "content": "x"}
    for records in (
        [claude_tree.GO, claude_tree.record(2, 1, "attachment", attachment=hook)],
        [claude_tree.GO, claude_tree.record(2, 1, "progress", toolUseID=odd, data={"text": CUT[0]})],
        [
            rollout_items.HEAD,
            *rollout_items.items(rollout_items.REQUEST),
            {"timestamp": "", "type": odd, "payload": {}},
        ],
    ):
        (tmp_path / "input.jsonl").write_bytes(as_lines(records))
        done = condense("inspect", "input.jsonl", "--json", cwd=tmp_path)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        assert done.json["messages"] == 1


@pytest.mark.parametrize("odd", ["\ud800", os.fsdecode(b"\xff"), "\x1b[31m"], ids=["surrogate", "byte", "escape"])
def test_odd_names_of_tools_and_paths_can_be_reported_on(odd: str, tmp_path: Path) -> None:
    """Headings and receipts show names from the transcript."""
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
    report, warning = done.stderr.splitlines()
    assert report.endswith(" speed")
    assert warning.endswith("no low surrogate in string (and 3 more). condense repair FILE mends it, if it can.")


@pytest.mark.slow
def test_a_single_line_of_50_megabytes_is_cut(tmp_path: Path) -> None:
    records = session([*CUT, *(listing(number) for number in range(7, 9))])
    huge = records[4]["content"][0]["content"] = "word and " * 5_600_000
    data = as_lines(records)
    path = tmp_path / "input.jsonl"
    path.write_bytes(data)
    done = condense_process("run", path, "-p", "speed")
    assert done.status == ExitStatus.DONE
    assert done.stdout == condensed(data, [CUT[0], huge, *CUT[2:]])
    path.unlink()


@pytest.mark.slow
def test_a_document_of_50_megabytes_on_a_single_line_is_cut(tmp_path: Path) -> None:
    huge = "a line of the log, like all the others, as long as it is\n" * 900_000
    records = session([*CUT[:2], huge, *CUT[3:], *(listing(number) for number in range(7, 9))])
    data = json.dumps(records).encode()
    path = tmp_path / "input.json"
    path.write_bytes(data)
    done = condense_process("run", path, "-p", "speed")
    assert done.status == ExitStatus.DONE
    assert done.stdout == condensed(data, [*CUT[:2], huge, *CUT[3:]])
    path.unlink()
