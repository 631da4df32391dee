"""How much memory reading, condensing and writing take, and where input without an end stops."""

from __future__ import annotations

import json
import os
import runpy
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from build import assistant, call, result, text, user
from helpers import as_lines, condense, session
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from real import PROJECT

from condense_cli import api
from condense_cli.config import loading
from condense_cli.config.models import Configuration, Prelude
from condense_cli.core.values import LONG, LazyText, compact
from condense_cli.formats import parse, serialize
from condense_cli.rows import reading
from condense_cli.storage import files

TEXTS = st.text(st.characters() | st.sampled_from('"\\/\n\t\x00→😀\ud800'), min_size=1, max_size=20)


# Every text reads the same in the form that takes less memory, and equal texts are equal in it.
@given(TEXTS, st.integers(1, 2 * LONG))
def test_compact_texts_read_the_same(piece: str, times: int) -> None:
    whole = piece * times
    held = compact(whole)
    assert str(held) == whole
    assert compact(held) is held
    assert compact(piece * times) == held
    assert hash(compact(piece * times)) == hash(held)


# A word is found in a text however that is spelled.
@given(
    TEXTS,
    st.sampled_from(["", "[see ", "\\u005bsee ", "\\u005b\\u0073\\u0065e ", "[\\\\u0073ee "])
    | st.sampled_from(["[… ", "[\\u2026 ", "\\u005b\\u2026\\u0020", "[\\\\u2026 "]),
    st.sampled_from(["[see ", "[… "]),
)
def test_words_are_found_in_every_spelling(piece: str, word: str, sought: str) -> None:
    literal = f'"{LONG * "x"}{json.dumps(piece)[1:-1]}{word}"'
    if piece.isascii() or piece.encode(errors="ignore").decode() == piece:
        assert (sought in LazyText(Raw(literal.encode()))) is (sought in json.loads(literal))


# However a file spells a text, the block reads it, and writing gives the same bytes back.
@given(TEXTS, st.booleans(), st.booleans())
def test_texts_read_as_the_file_spells_them(piece: str, ensure_ascii: bool, is_list: bool) -> None:
    whole = piece * LONG
    messages = [
        user([text(whole)]),
        assistant([call("a", "Bash", command=whole)]),
        user([result("a", [text(whole)] if is_list else whole)]),
    ]
    lines = "".join(json.dumps(message, ensure_ascii=ensure_ascii) + "\n" for message in messages)
    data = lines.encode("utf-8", "surrogatepass")
    transcript = parse(data)
    blocks = [block for _, block in transcript.blocks()]
    expected = json.loads(data.decode("utf-8", "surrogateescape").splitlines()[0])["content"][0]["text"]
    assert blocks[0].text == blocks[2].text == expected
    assert serialize(transcript) == data


# Of a doubled key the last counts, also for a text that is read when it is asked for.
def test_the_last_of_doubled_keys_is_read() -> None:
    first, last = "first " * LONG, "last → " * LONG
    line = f'{{"role": "user", "content": {json.dumps(first)}, "content": {json.dumps(last)}}}\n'
    assert next(parse(line.encode(), format="anthropic").blocks())[1].text == last


# A long text of the file is a stretch of its bytes.
def test_long_texts_are_stretches_of_the_file() -> None:
    transcript = api.loads([user("An arrow → " * LONG), assistant("short")])
    long, short = (block.content for _, block in transcript.blocks())
    assert isinstance(long, LazyText)
    assert short == "short"


def synthetic(folder: Path, format: str) -> bytes:
    path = folder / "synthetic.jsonl"
    functions: dict[str, Any] = runpy.run_path(str(PROJECT / "benchmarks" / "synthetic.py"))
    functions["write_transcript"](path, 3, format)
    return path.read_bytes()


# Beside the bytes of the file, reading takes less than they do; with the prelude and writing it is three times as much.
# Half of these texts holds an arrow or an emoji, so that holding all of them as strings takes twice the file alone.
@pytest.mark.slow
@pytest.mark.parametrize("format", ["claude-code", "anthropic"])
def test_memory_stays_near_the_size_of_the_file(tmp_path: Path, format: str) -> None:
    data = synthetic(tmp_path, format)
    lossless = Configuration(lossless_prelude=Prelude())
    api.dump(api.condense(api.loads(data), lossless))  # What is loaded once is loaded.
    tracemalloc.start()
    try:
        transcript = api.loads(data)
        reading = tracemalloc.get_traced_memory()[1]
        written = api.dump(api.condense(transcript, lossless))
        everything = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(written) < len(data), "nothing was condensed"
    assert reading < len(data)
    assert everything < 3.5 * len(data)


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
