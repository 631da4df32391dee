"""Devices and pipes without an end stop at a stated size; a file is read whatever its size."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from helpers import as_lines, condense, session

from condense_cli.config import loading
from condense_cli.rows import reading
from condense_cli.storage import files

LIMIT = 300_000
ZERO = Path("/dev/zero")
needs_zero = pytest.mark.skipif(not ZERO.exists(), reason="there is no /dev/zero")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_STREAM", LIMIT)
    monkeypatch.setattr(reading, "LARGEST_STREAM", LIMIT)


@contextmanager
def endless(path: Path, piece: bytes) -> Iterator[Path]:
    """A named pipe into which somebody writes for as long as anybody reads."""
    os.mkfifo(path)

    def write() -> None:
        with suppress(OSError), path.open("wb", buffering=0) as pipe:
            while True:
                pipe.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield path
    finally:
        while writer.is_alive():  # In case nobody read: it may only now begin to wait for a reader.
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            writer.join(0.01)


@needs_zero
def test_a_configuration_stops() -> None:
    outcome = condense("run", "-", "-c", ZERO, stdin=as_lines(session()))
    assert outcome.status == 2
    assert "The configuration /dev/zero has more than 1,000,000 characters." in outcome.stderr
    assert loading.LARGEST == 1_000_000


def test_a_configuration_from_a_pipe_works_and_stops(tmp_path: Path) -> None:
    with endless(tmp_path / "pipe", b"# and on\n" * 100) as pipe:
        outcome = condense("run", "-", "-c", pipe, stdin=as_lines(session()))
    assert outcome.status == 2
    assert "has more than 1,000,000 characters" in outcome.stderr


@needs_zero
@pytest.mark.parametrize("command", ["run", "inspect", "restore", "validate", "show"])
def test_a_transcript_stops(command: str, small: None) -> None:
    outcome = condense(command, ZERO, *(["0"] if command == "show" else []))
    assert outcome.status == 3
    assert f"/dev/zero gives more than {LIMIT:,} bytes" in outcome.stderr
    assert "name the file" in outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"y\n", b"y", as_lines(session())], ids=["lines", "one line", "messages"])
def test_a_pipe_stops(piece: bytes, small: None, tmp_path: Path) -> None:
    with endless(tmp_path / "pipe", piece) as pipe:
        outcome = condense("run", pipe, "--dry-run")
    assert outcome.status == 3
    assert f"gives more than {LIMIT:,} bytes" in outcome.stderr


@pytest.mark.parametrize("piece", [b"y\n", b"y"], ids=["lines", "one line"])
def test_standard_input_stops(piece: bytes, small: None) -> None:
    outcome = condense("run", "-", "--dry-run", stdin=piece * (3 * LIMIT // len(piece)))
    assert outcome.status == 3
    assert f"Standard input gives more than {LIMIT:,} bytes" in outcome.stderr


def test_a_row_without_an_end_stops(small: None, tmp_path: Path) -> None:
    row = b'{"messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]}\n'
    outcome = condense("run", "-", "-o", tmp_path / "out.jsonl", stdin=row * 40 + b"y" * LIMIT * 2)
    assert outcome.status == 3
    assert f"the line is longer than {LIMIT:,} bytes" in outcome.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.slow
def test_a_large_file_is_read(small: None, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(as_lines(session(["line of a large file\n" * 20_000] * 3)))
    assert path.stat().st_size > LIMIT
    assert condense("run", path, "--dry-run").status == 0


# Nobody asked for what a project's file is: it must not wait for somebody to write.
def test_a_project_makes_nobody_wait(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "session.jsonl").write_bytes(as_lines(session()))
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "condense.yaml").symlink_to("pipe.yaml")
    outcome = condense("run", "session.jsonl", "--dry-run", cwd=tmp_path)
    assert outcome.status == 2
    assert "leads to a device or a pipe" in outcome.stderr
