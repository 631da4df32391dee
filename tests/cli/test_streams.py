"""Standard input, standard output and standard error of `condense run`: the transcript here, messages there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import DATA, MARKER, SMALLER, condense, condense_on_terminal, condense_process

from condense_cli.errors import ExitStatus


def test_in_a_pipe_the_transcript_goes_to_stdout_and_two_lines_to_stderr(file: Path) -> None:
    """Data on standard output, messages on standard error; the output is exactly what the preset makes of the input."""
    done = condense_process("run", file, "--preset", "speed")
    assert (done.status, done.stdout) == (ExitStatus.DONE, SMALLER)
    assert re.fullmatch(
        r"condense: [\d,]+ → [\d,]+ tokens \(\d+\.\d% saved, estimated\), 18 → 18 messages, speed\n"
        r"The output went to the pipe; --dry-run prints the report alone\.\n",
        done.stderr,
    )


def test_redirected_to_a_file_the_transcript_goes_there(file: Path, tmp_path: Path) -> None:
    """`> FILE` gives the same bytes as a pipe."""
    with (tmp_path / "out").open("wb") as out:
        assert condense_process("run", file, "-p", "speed", stdout=out).status == ExitStatus.DONE
    assert (tmp_path / "out").read_bytes() == SMALLER


@pytest.mark.slow
def test_standard_input_is_read_where_the_file_is_a_hyphen(file: Path) -> None:
    """`-` reads standard input, and the report says so."""
    assert condense_process("run", "-", "-p", "speed", stdin=DATA).stdout == SMALLER
    assert condense_process("run", "-", "--json", stdin=DATA).json["input"] == "standard input"


def test_output_hyphen_is_standard_output(file: Path) -> None:
    """`-o -` writes the transcript to standard output and the report to standard error."""
    done = condense_process("run", file, "-p", "speed", "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.DONE, SMALLER)
    assert done.stderr.count("\n") == 1


def test_output_hyphen_writes_the_transcript_on_a_terminal_too(file: Path) -> None:
    """Who asks for standard output gets the transcript, terminal or not."""
    done = condense_on_terminal("run", file, "-p", "speed", "-o", "-")
    assert done.stdout.startswith(SMALLER)


def test_output_file_holds_the_transcript(file: Path, tmp_path: Path) -> None:
    """`-o FILE` writes the bytes that a pipe would get, and no transcript goes to standard output."""
    done = condense("run", file, "-p", "speed", "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.DONE
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER
    assert b'"role"' not in done.stdout


def test_a_script_that_writes_a_file_gets_one_line(file: Path, tmp_path: Path) -> None:
    """What was written is on standard output, the report in a line on standard error; -v and --explain ask for more."""
    small = tmp_path / "small.jsonl"
    done = condense("run", file, "-p", "speed", "-o", small)
    assert done.text == f"Written: {small} ({len(SMALLER):,} bytes)\n"
    assert re.fullmatch(r"condense: [\d,]+ → [\d,]+ tokens .*, speed\n", done.stderr)
    again = condense("run", file, "-p", "speed", "-o", small)
    assert again.text == done.text.replace("bytes)", "bytes), in place of the file that was there")
    assert MARKER.search(condense("run", file, "-p", "speed", "-o", small, "-v").text)
    assert MARKER.search(condense_on_terminal("run", file, "-p", "speed", "--diff", "-o", small).plain)


@pytest.mark.slow
@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
def test_quiet_says_nothing(quiet: str, file: Path, tmp_path: Path) -> None:
    """With -q the transcript is all there is, in a pipe, in a file, and on a terminal."""
    piped = condense("run", file, "-p", "speed", quiet)
    assert (piped.stdout, piped.stderr) == (SMALLER, "")
    to_file = condense("run", file, "-p", "speed", quiet, "-o", tmp_path / "small.jsonl")
    assert (to_file.stdout, to_file.stderr) == (b"", "")
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER
    assert condense_on_terminal("run", file, quiet).stdout == b""
