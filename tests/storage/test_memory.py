"""Texts that are read from their spelling, and how much memory reading, condensing and writing take."""

from __future__ import annotations

import json
import runpy
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from build import assistant, call, result, text, user
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from real import PROJECT

from condense_cli import api
from condense_cli.config.models import Configuration, Prelude
from condense_cli.core.values import LONG, LazyText, compact
from condense_cli.formats import parse, serialize

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
