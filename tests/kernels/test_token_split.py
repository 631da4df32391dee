"""The split that is written out counts as tiktoken does, interpreted and compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import real
from forms import PROJECT, kernel
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.formats import parse
from condense_cli.tokens.counting import chunks
from condense_cli.tokens.tiktoken_counter import counter_of
from condense_cli.tokens.token_table import ENCODING, TokenTable, UnknownCharacterError, load

Count = Callable[[str], int]

# Where the pattern decides: letters of both cases and of neither, marks, numbers, blanks, line breaks, signs, and parts
# that are contracted.
TELLING = [
    *"aAzZ0 \n\r\t'sSſKéÉªʰǅ中文٣½\u0301\u20dd\ufe0f\x85\xa0\u3000\u2028/!._🙂\x1c\x00\u200d",
    "'ll",
    "'Ve",
    "'re",
    "'ſ",
]
TELLING_TEXTS = st.lists(st.sampled_from(TELLING)).map("".join) | TEXTS | st.text()


def counting(folder: Path) -> Count:
    table = load()
    assert isinstance(table, TokenTable)
    splitter = table.splitter(kernel(folder, "tokens").Splitter)
    return lambda text: splitter.count(text.encode())


@pytest.fixture(scope="module")
def expected() -> Count:
    return counter_of(ENCODING)


@pytest.fixture(scope="module")
def count() -> Count:
    """The form that this checkout runs."""
    return counting(PROJECT)


@pytest.fixture(scope="module")
def counts(interpreted: Path, compiled: Path) -> tuple[Count, Count]:
    return counting(interpreted), counting(compiled)


def with_unicode(text: str) -> str:
    """The text as it is counted, with a character in place of each lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check(text: str, count: Count, expected: Count) -> None:
    whole = with_unicode(text)
    try:
        found = count(whole)
    except UnknownCharacterError:
        return  # Then the tokenizer counts.
    assert found == expected(whole)


@given(TELLING_TEXTS)
def test_generated_texts_count_as_with_tiktoken(count: Count, expected: Count, text: str) -> None:
    check(text, count, expected)


@pytest.mark.slow
@given(TELLING_TEXTS)
def test_both_forms_count_as_tiktoken(counts: tuple[Count, Count], expected: Count, text: str) -> None:
    for count in counts:
        check(text, count, expected)


@pytest.mark.parametrize(
    "piece",
    [
        "a" * 63,
        "a" * 65,
        "=" * 997,
        "Qx" * 500,
        " " * 3_000 + "x",
        "ab-" * 300,
        "中文字" * 200,
        "\u0301" * 90,
        "ªA" * 60,
    ],
)
def test_long_pieces(count: Count, expected: Count, piece: str) -> None:
    assert count(piece) == expected(piece)


# Pieces that were counted before are known by all of their bytes.
def test_pieces_that_are_alike_in_part_are_not_taken_for_each_other(count: Count, expected: Count) -> None:
    pieces = [
        f" {'x' * before}{letter}{'y' * behind}" for before in range(14) for behind in range(5) for letter in "qwv"
    ]
    for text in [*pieces, *pieces]:
        assert count(text) == expected(text)


def test_lone_surrogates_are_left_to_the_caller(count: Count) -> None:
    with pytest.raises(UnicodeEncodeError):
        count("a\ud800b")


def test_characters_that_are_not_known_yet_are_left_to_the_tokenizer(count: Count) -> None:
    for _ in range(2):
        with pytest.raises(UnknownCharacterError):
            count("The end\U0003fffd of it")


# Every character whose class is known, in every place that its class decides.
@pytest.mark.slow
@pytest.mark.parametrize("plane", [0, 1, 2, 3, 14])
def test_characters_of_every_plane_count_as_with_tiktoken_compiled(
    plane: int, counts: tuple[Count, Count], expected: Count
) -> None:
    for code in range(plane << 16, (plane + 1) << 16, 17 if plane in (2, 3) else 1):
        character = chr(code)
        check(
            f"{character}A{character}b {character}'s1{character}{character}!!{character}/!{character}",
            counts[1],
            expected,
        )


@pytest.mark.real
def test_recorded_texts_count_as_with_tiktoken_in_both_forms(counts: tuple[Count, Count], expected: Count) -> None:
    interpreted, compiled = counts
    seen: set[str] = set()
    for path in [*real.readable_files(), *real.more_files()]:
        for message in parse(path.read_bytes(), name=path.name).messages:
            for block in message.blocks:
                for text in chunks(block.text):
                    if text not in seen:
                        seen.add(text)
                        check(text, compiled, expected)
                        if not len(seen) % 50:
                            check(text, interpreted, expected)
    assert seen
