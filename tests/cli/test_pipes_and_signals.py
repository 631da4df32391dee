"""Readers that leave, streams that are closed, and Ctrl-C: the right status, no traceback, nothing half written."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from helpers import (
    COMMAND,
    CUT,
    DATA,
    LONG,
    SMALLER,
    Outcome,
    as_lines,
    condense_process,
    environment,
    listing,
    session,
    unharmed,
)

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
