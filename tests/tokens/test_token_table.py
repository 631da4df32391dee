"""The table of tokens: it counts as the tokenizer does that it was made from, or leaves it to that one."""

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import splintr
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.tokens import counting
from condense_cli.tokens import token_table as token_table
from condense_cli.tokens.counting import count_text
from condense_cli.tokens.token_table import TokenTable, UnknownCharacterError, table_of

TOKENIZER = splintr.Tokenizer.from_pretrained(token_table.ENCODING)
TABLE = table_of([bytes(TOKENIZER.decode_token_bytes(rank)) for rank in range(token_table.TOKENS)])
SURROGATES = range(0xD800, 0xE000)

count = TokenTable(memoryview(TABLE))


def expected(text: str) -> int:
    return len(TOKENIZER.encode_ordinary(text))


@pytest.fixture
def fresh() -> Iterator[None]:
    """Which counter counts is decided anew, before and after."""
    for cached in (counting._counter, counting._splintr_counter):
        cached.cache_clear()
    yield
    counting._counter.cache_clear()


def test_the_installed_table_is_the_one_of_the_installed_tokenizer() -> None:
    assert token_table.TABLE.read_bytes() == TABLE


@given(TEXTS | st.text(st.sampled_from("aAzZ0 \n\r\t'sSlLſéÉªʰ中文٣½\u0301\ufe0f\x85\u2003/!.🙂")))
def test_generated_text(text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        counted = count(whole)
    except UnknownCharacterError:
        assert any(unicodedata.category(character) == "Cn" for character in whole)
    else:
        assert counted == expected(whole)


# Alone, between letters, after blanks and before an apostrophe: where each category splits.
@pytest.mark.slow
@pytest.mark.parametrize("plane", range(17))
def test_characters_of_every_plane(plane: int) -> None:
    private = plane in (15, 16)
    codes = [code for code in range(plane << 16, (plane + 1) << 16, 64 if private else 1) if code not in SURROGATES]
    known = [chr(code) for code in codes if unicodedata.category(chr(code)) != "Cn"]
    for start in range(0, len(known), 500):
        text = "".join(f"{c}A{c}b {c}'s1{c}{c}!!{c}{c}/!{c}!" for c in known[start : start + 500])
        assert count(text) == expected(text), f"U+{ord(known[start]):04X} and the 499 that follow"


@pytest.mark.parametrize(
    "piece",
    ["\\s*‼\ufe0f\\s*", "a" * 39, "a" * 41, "=" * 997, "Qx" * 500, " " * 3_000 + "x", "ab-" * 300, "中文字" * 200],
)
def test_long_pieces(piece: str) -> None:
    assert count(piece) == expected(piece)


@given(st.binary(min_size=1, max_size=90))
def test_both_ways_to_merge_agree(piece: bytes) -> None:
    assert count._merged(piece) == count._merged_by_heap(piece)


def test_a_character_that_is_not_known_yet_is_left_to_the_tokenizer(fresh: None) -> None:
    text = "The end\U0003fffd of it"
    with pytest.raises(UnknownCharacterError):
        count(text)
    assert count_text(text) == expected(text)


def test_little_text_needs_no_tokenizer_and_much_takes_it(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    monkeypatch.setattr(counting, "IS_COMPILED", False)
    assert count_text("def total(items): return 12345") == expected("def total(items): return 12345")
    with pytest.raises(ImportError):
        count_text("one two " * 100_000)
    monkeypatch.undo()
    assert count_text("one two " * 100_000) == expected("one two " * 100_000)


@pytest.mark.parametrize("is_much", [False, True])
def test_compiled_much_text_needs_no_tokenizer_either(
    fresh: None, monkeypatch: pytest.MonkeyPatch, is_much: bool
) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    monkeypatch.setattr(counting, "IS_COMPILED", True)
    assert count_text("one two " * 100_000, is_much=is_much) == 200_001
    with pytest.raises(ImportError):
        count_text("one two", "cl100k_base")


@pytest.mark.parametrize("damage", ["none", "empty", "short", "changed", "longer"])
def test_a_damaged_table_is_not_used(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "a.table"
    middle = len(TABLE) // 2
    data = {
        "empty": b"",
        "short": TABLE[:-1],
        "changed": TABLE[:middle] + bytes([TABLE[middle] ^ 1]) + TABLE[middle + 1 :],
        "longer": TABLE + b"\0",
    }.get(damage)
    if data is not None:
        path.write_bytes(data)
    assert token_table.load(path) is None


def test_without_a_table_the_tokenizer_counts(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_table, "load", lambda: None)
    assert count_text("one two") == expected("one two")
