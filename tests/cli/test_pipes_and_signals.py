"""Standard streams: what goes where, readers that leave, streams that are closed, Ctrl-C; nothing half written."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
import real
from bombs import BOMBS, counted
from helpers import (
    COMMAND,
    CUT,
    DATA,
    LONG,
    MARKER,
    SMALLER,
    Outcome,
    as_lines,
    condense,
    condense_on_terminal,
    condense_process,
    environment,
    listing,
    session,
    unharmed,
)
from msgspec.structs import replace

from condense_cli.config.loading import parse_configuration
from condense_cli.config.preset_folders import preset_names
from condense_cli.errors import ExitStatus


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
    status = process.wait(timeout=LONG)
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


@pytest.mark.slow
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


@pytest.mark.sampled(1)
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
        status, says = {"<&-": (ExitStatus.INPUT, "input is empty"), ">&-": (ExitStatus.FAILED, "output is closed")}[
            closed
        ]
        assert done.returncode == status
        assert says in Outcome(done.returncode, done.stdout, done.stderr.decode()).message


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


@pytest.mark.slow
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


def test_in_a_pipe_the_transcript_goes_to_stdout_and_two_lines_to_stderr(file: Path) -> None:
    done = condense_process("run", file, "--preset", "speed")
    assert (done.status, done.stdout) == (ExitStatus.DONE, SMALLER)
    assert re.fullmatch(
        r"condense: [\d,]+ → [\d,]+ tokens \(\d+\.\d% saved, estimated\), 18 → 18 messages, speed\n"
        r"The output went to the pipe; --dry-run prints the report alone\.\n",
        done.stderr,
    )


def test_redirected_to_a_file_the_transcript_goes_there(file: Path, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        assert condense_process("run", file, "-p", "speed", stdout=out).status == ExitStatus.DONE
    assert (tmp_path / "out").read_bytes() == SMALLER


@pytest.mark.slow
def test_standard_input_is_read_where_the_file_is_a_hyphen(file: Path) -> None:
    assert condense_process("run", "-", "-p", "speed", stdin=DATA).stdout == SMALLER
    assert condense_process("run", "-", "--json", stdin=DATA).json["input"] == "standard input"


def test_output_hyphen_is_standard_output(file: Path) -> None:
    done = condense_process("run", file, "-p", "speed", "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.DONE, SMALLER)
    assert done.stderr.count("\n") == 1


def test_output_hyphen_writes_the_transcript_on_a_terminal_too(file: Path) -> None:
    """Who asks for standard output gets the transcript, terminal or not."""
    done = condense_on_terminal("run", file, "-p", "speed", "-o", "-")
    assert done.stdout.startswith(SMALLER)


def test_a_script_that_writes_a_file_gets_one_line(file: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.jsonl"
    done = condense("run", file, "-p", "speed", "-o", small)
    assert small.read_bytes() == SMALLER
    assert done.text == f"Written: {small} ({len(SMALLER):,} bytes)\n"
    assert re.fullmatch(r"condense: [\d,]+ → [\d,]+ tokens .*, speed\n", done.stderr)
    again = condense("run", file, "-p", "speed", "-o", small)
    assert again.text == done.text.replace("bytes)", "bytes), in place of the file that was there")
    assert MARKER.search(condense("run", file, "-p", "speed", "-o", small, "-v").text)
    assert MARKER.search(condense_on_terminal("run", file, "-p", "speed", "--diff", "-o", small).plain)


@pytest.mark.slow
@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
def test_quiet_says_nothing(quiet: str, file: Path, tmp_path: Path) -> None:
    piped = condense("run", file, "-p", "speed", quiet)
    assert (piped.stdout, piped.stderr) == (SMALLER, "")
    to_file = condense("run", file, "-p", "speed", quiet, "-o", tmp_path / "small.jsonl")
    assert (to_file.stdout, to_file.stderr) == (b"", "")
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER
    assert condense_on_terminal("run", file, quiet).stdout == b""


COMMANDS = {
    "run": ["run", "FILE", "--preset", "cost", "--dry-run"],
    "run at a target": ["run", "FILE", "--preset", "balanced", "--target-percent", "50", "-o", "OUT"],
    "restore": ["restore", "FILE", "-o", "OUT"],
    "estimate": ["estimate", "FILE"],
    "inspect": ["inspect", "FILE"],
    "show": ["show", "FILE", "2"],
    "diff": ["diff", "FILE", "FILE"],
    "validate": ["validate", "FILE"],
    "check": ["check", "FILE", "--above", "1000"],
    "evaluate": ["evaluate", "FILE"],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_bounded(command: str, bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = counted(monkeypatch)
    path = tmp_path / "bomb.jsonl"
    path.write_bytes(as_lines(BOMBS[bomb]))
    paths = {"FILE": str(path), "OUT": str(tmp_path / "out.jsonl")}
    outcome = condense(*(paths.get(word, word) for word in COMMANDS[command]))
    assert outcome.status in (0, 3, 4), outcome.stderr
    assert max(looked_at, default=0) <= path.stat().st_size, "no reference gives more than the file has"
    out = tmp_path / "out.jsonl"
    assert not out.exists() or out.stat().st_size <= 3 * path.stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_inspect_answers_in_a_screen(columns: int) -> None:
    answer = condense_on_terminal("inspect", real.SESSION, columns=columns).plain
    lines = answer.splitlines()
    assert lines[0] == "38,534 tokens in 160 messages"
    assert len(lines) <= 32
    assert max(map(len, lines)) <= columns
    assert "repeat earlier text; references would save up to" in " ".join(answer.split())
    assert "--all shows" in answer
    whole = condense_on_terminal("inspect", real.SESSION, "--all", columns=columns).plain
    assert len(whole.splitlines()) > 60
    assert condense_on_terminal("inspect", real.SESSION, "--top", "3", columns=columns).plain.count("\n") > 40
    assert "--all" not in condense("inspect", real.SESSION).text


@pytest.mark.slow
@pytest.mark.parametrize("preset", preset_names())
def test_config_show_has_what_somebody_set(preset: str) -> None:
    answer = condense_on_terminal("config", "show", "-p", preset).plain
    assert "# default" not in answer
    assert answer.startswith(f"# From preset {preset}, unless")
    assert answer.count(f"# preset {preset}") == 0
    everything = condense_on_terminal("config", "show", "-p", preset, "--all").plain
    assert everything == condense("config", "show", "-p", preset).text
    assert len(answer) < len(everything)
    assert replace(parse_configuration(answer), provider="smart") == parse_configuration(everything)


def test_config_show_names_flags(tmp_path: Path) -> None:
    answer = condense_on_terminal("config", "show", "--keep", "tool:Read", "--target-tokens", "60k").plain
    assert '"tool:Read"' in answer or "tool:Read" in answer
    assert "# --keep" in answer
    assert "target_tokens: 60000" in answer
