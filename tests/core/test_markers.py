"""Markers: written and read back; anything spelled otherwise is text."""

import json
from hashlib import sha256

import pytest
from msgspec import Raw

from condense_cli.core.markers import (
    MARKER_BYTES,
    Gap,
    SummaryMark,
    begins_as_summary,
    content_hash,
    find_stretch,
    gaps_at,
    gaps_in,
    is_marked,
    is_same,
    parse_gap,
    parse_summary,
    short,
    short_hash,
    stretch_hash,
    with_escape,
    without_escape,
    without_escapes,
)
from condense_cli.core.values import LazyText

HASH = "0a1b2c3d"
SHORT = "012345"
GAPS = {
    "[condense: 1 line left out #0a1b2c3d]": Gap(HASH, 1),
    "[condense: 68 lines left out #0a1b2c3d]": Gap(HASH, 68),
    "[condense: 1 character left out #0a1b2c3d]": Gap(HASH, 0, 1),
    "[condense: 300 characters left out #0a1b2c3d]": Gap(HASH, 0, 300),
    "[condense: 2 lines, 1 character left out #0a1b2c3d]": Gap(HASH, 2, 1),
    "[condense: image left out #0a1b2c3d]": Gap(HASH, is_image=True),
    "[condense: summary of 70 lines #0a1b2c3d]": Gap(HASH, 70, is_summary=True),
    "[condense: summary of 2 lines, 3 characters #0a1b2c3d]": Gap(HASH, 2, 3, is_summary=True),
    "[condense: 9999999999 lines left out #0a1b2c3d]": Gap(HASH, 9_999_999_999),
    "[… 1 line #012345]": Gap(SHORT, 1),
    "[… 68 lines #012345]": Gap(SHORT, 68),
    "[… 1 character #012345]": Gap(SHORT, 0, 1),
    "[… 300 characters #012345]": Gap(SHORT, 0, 300),
    "[… 2 lines, 1 character #012345]": Gap(SHORT, 2, 1),
    "[… image #012345]": Gap(SHORT, is_image=True),
    "[condense: summary of 70 lines #012345]": Gap(SHORT, 70, is_summary=True),
    "[condense: summary of 2 lines, 3 characters #012345]": Gap(SHORT, 2, 3, is_summary=True),
}


@pytest.mark.parametrize("spelled", GAPS)
def test_what_is_written_is_read(spelled: str) -> None:
    assert str(GAPS[spelled]) == spelled
    assert parse_gap(spelled) == GAPS[spelled]
    assert MARKER_BYTES.fullmatch(spelled.encode())
    assert is_marked(f"a text\n{spelled}\n")


@pytest.mark.parametrize(
    "text",
    [
        "[condense: 1 lines left out #0a1b2c3d]",
        "[condense: 10000000000 lines left out #0a1b2c3d]",
        "[condense: 2 line left out #0a1b2c3d]",
        "[condense: 02 lines left out #0a1b2c3d]",
        "[condense: 0 lines left out #0a1b2c3d]",
        "[condense: 0 characters left out #0a1b2c3d]",
        "[condense:  left out #0a1b2c3d]",
        "[condense: 3 lines #0a1b2c3d]",
        "[condense: summary of 3 lines left out #0a1b2c3d]",
        "[condense: 3 lines left out #0A1B2C3D]",
        "[condense: 3 lines left out #0a1b2c3]",
        "[condense: 3 lines left out #0a1b2c3d] ",
        " [condense: 3 lines left out #0a1b2c3d]",
        "[condense: 3 lines left out #0a1b2c3d]\n",
        "[condense: ٣ lines left out #0a1b2c3d]",
        "[condense: image left out #0a1b2c3]",
        "[Condense: 3 lines left out #0a1b2c3d]",
        "[condense: 3 lines, left out #0a1b2c3d]",
        "[condense: 99999999999 lines left out #0a1b2c3d]",
        "[condense: 3 lines left out #012345]",
        "[… 3 lines #0a1b2c3d]",
        "[… 1 lines #012345]",
        "[… 99999999999 lines #012345]",
        "[… image left out #012345]",
        "[… summary of 3 lines #012345]",
        "[… 3 lines #012345] ",
        "[... 3 lines #012345]",
        "[condense: 999999999999999 characters left out #0a1b2c3d]",
        "[condense: , left out #0a1b2c3d]",
        "[condense: 3 lines4 characters left out #0a1b2c3d]",
        "[… 0 lines #012345]",
        "[… 3 lines #01234a]",
        "[… 3 lines #0123456]",
        "[… 3 lines left out #012345]",
        "[…  #012345]",
        "[…3 lines #012345]",
        "[… ٣ lines #012345]",
        "[… 3 lines #٠١٢٣٤٥]",
        "",
    ],
)
def test_what_is_spelled_in_another_way_is_text(text: str) -> None:
    assert parse_gap(text) is None


def test_the_gaps_of_a_text_in_order() -> None:
    lines = ["def f():", *GAPS, "  [condense: 3 lines left out #0a1b2c3d]", "end"]
    assert gaps_in("\n".join(lines)) == [*GAPS.values()]
    assert gaps_in("no marker") == []


@pytest.mark.parametrize(
    ("spelled", "gap"),
    [("[…1 line]", Gap("", 1)), ("[…68 lines]", Gap("", 68)), ("[…2 lines, 1 character]", Gap("", 2, 1))],
)
def test_a_further_marker_shares_the_hash_of_the_one_before_it(spelled: str, gap: Gap) -> None:
    assert str(gap) == spelled
    assert parse_gap(spelled) == gap
    (first, further) = gaps_in(f"[… 68 lines #{SHORT}]\na line\n{spelled}")
    assert first == Gap(SHORT, 68)
    assert further == Gap(SHORT, gap.lines, gap.characters)


def test_what_looks_like_a_further_marker_is_text_where_none_is_before_it() -> None:
    text = f"[…68 lines]\n[… 3 lines #{SHORT}]\nb\n[…2 lines]"
    assert gaps_in(text) == [Gap(SHORT, 3), Gap(SHORT, 2)]
    assert [*gaps_at(text.split("\n"))] == [1, 3]


@pytest.mark.parametrize(
    "text", ["[…1 lines]", "[…]", "[… 3 lines]", "[…03 lines]", "[…image]", "[...3 lines]", "[…3 lines] "]
)
def test_a_further_marker_has_one_spelling(text: str) -> None:
    assert parse_gap(text) is None


def test_gaps_add_up_under_the_first_hash() -> None:
    assert Gap(HASH, 2, 3).plus(Gap("ffffffff", 40, 500)) == Gap(HASH, 42, 503)


@pytest.mark.parametrize(
    ("mark", "spelled"),
    [
        (SummaryMark(1, 0, HASH), "[condense: summary of 1 message, 0 follow #0a1b2c3d]"),
        (SummaryMark(70, 12, HASH), "[condense: summary of 70 messages, 12 follow #0a1b2c3d]"),
        (SummaryMark(2, 3, HASH, "073811"), "[condense: summary of 2 messages, 3 follow, after #073811 #0a1b2c3d]"),
    ],
)
def test_marks_of_summaries(mark: SummaryMark, spelled: str) -> None:
    assert str(mark) == spelled
    assert parse_summary(f"{spelled}\nWhat happened.") == mark
    assert parse_summary(spelled) == mark
    assert parse_gap(spelled) is None


@pytest.mark.parametrize(
    "text",
    [
        "[condense: summary of 1 messages, 0 follow #0a1b2c3d]",
        "[condense: summary of 2 message, 0 follow #0a1b2c3d]",
        "[condense: summary of 02 messages, 0 follow #0a1b2c3d]",
        "[condense: summary of 70 lines #0a1b2c3d]",
        "[condense: summary of 2 messages, 0 follow #0a1b2c3d] and more",
        "What happened.\n[condense: summary of 2 messages, 0 follow #0a1b2c3d]",
        "\n[condense: summary of 2 messages, 0 follow #0a1b2c3d]",
        "",
    ],
)
def test_what_begins_otherwise_is_no_summary(text: str) -> None:
    assert parse_summary(text) is None
    assert not begins_as_summary(text)


# Each layer of escapes is taken off as it was put on; what has none is left as it is.
@pytest.mark.parametrize(
    "words", ["summary of 2 messages, 0 follow #0a1b2c3d]", "summary of 1 message, 0 follow #0a1b2c3d]\nWhat"]
)
def test_escaped_marks(words: str) -> None:
    mark, once, twice = (f"[condense: {escapes}{words}" for escapes in ("", "\\", "\\\\"))
    assert (with_escape(mark), with_escape(once)) == (once, twice)
    assert without_escape(twice) == once
    assert without_escape(once) == without_escape(mark) == mark
    assert without_escapes(twice) == without_escapes(once) == without_escapes(mark) == mark
    assert all(map(begins_as_summary, (mark, once, twice)))
    assert parse_summary(once) is None


def test_escapes_elsewhere_stay() -> None:
    assert without_escapes("[see \\\\a \\b") == "[see a \\b"
    assert without_escape("[see a \\b") == without_escapes("[see a \\b") == "[see a \\b"
    assert not begins_as_summary("a [condense: summary of 2 messages, 0 follow #0a1b2c3d]")
    assert not begins_as_summary("[condense:summary of 2 messages, 0 follow #0a1b2c3d]")


# Larger than any text: never written, so that everything written can be read.
def test_sums_of_what_others_wrote_have_an_end() -> None:
    most = Gap(HASH, 9_999_999_999)
    assert str(most.plus(most)) == str(most)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a [condense: 3 lines left out #0a1b2c3d] b", True),
        ("a [… 3 lines #012345] b", True),
        ("a […] b", False),
        ("a [see lines 3-9 above #401752] b", True),
        ("[see lines 3-9 above]", False),
        ("[see a\nb #401752]", False),
        ("see lines 3-9 above #401752]", False),
        ("[condensed: 3 lines #0a1b2c3d]", False),
        ("", False),
    ],
)
def test_whether_something_may_be_missing(text: str, expected: bool) -> None:
    assert is_marked(text) is expected


def test_hashes() -> None:
    assert content_hash("") == "e3b0c442"
    assert content_hash("é") == "4a99557e"
    assert content_hash("a\ud800") == "25819b9b"
    for size in (4_998, 4_999, 5_000, 5_001):  # Little and much are hashed by different means.
        assert content_hash("é" + "x" * size) == sha256(("é" + "x" * size).encode()).hexdigest()[:8]
    assert short_hash("") == short(content_hash("")) == f"{0xE3B0C442 % 1_000_000:06}"
    assert short_hash("81") == "002460"
    assert short("012345") == "012345"
    assert stretch_hash("aabbccdd", "11223344") == "aa" + content_hash("aabbccdd11223344")[2:]


def test_hashes_of_the_same_content() -> None:
    whole = content_hash("a")
    assert is_same(whole, whole)
    assert is_same(whole, short(whole))
    assert is_same(short(whole), whole)
    assert is_same("012345", "012345")
    other = f"{int(whole, 16) + 1_000_000:08x}"
    assert short(other) == short(whole)
    assert not is_same(whole, other)
    assert not is_same("012345", "012346")


# A file may spell the ellipsis as an escape, and long texts are held as they are spelled.
@pytest.mark.parametrize("ascii", [False, True])
def test_a_marker_in_a_long_text_as_json_spells_it(ascii: bool) -> None:
    def spelled(text: str) -> LazyText:
        return LazyText(Raw(json.dumps("x" * 600 + text, ensure_ascii=ascii).encode()))

    assert is_marked(spelled("\n[… 3 lines #012345]"))
    assert not is_marked(spelled("\n[…] 3 lines #012345]"))
    assert not is_marked(spelled("\n[\\u2026 3 lines #012345]"))
    line = json.dumps(json.dumps({"a": "[… 3 lines #012345]"}, ensure_ascii=ascii), ensure_ascii=ascii).encode()
    assert MARKER_BYTES.search(line)


def test_a_stretch_is_found_by_its_ends() -> None:
    hashes = [content_hash(str(number)) for number in range(40)]
    for first, last in ((0, 0), (0, 39), (5, 9), (39, 39)):
        assert find_stretch(hashes, stretch_hash(hashes[first], hashes[last])) == (first, last)
    assert find_stretch(hashes, stretch_hash(hashes[9], hashes[5])) is None
    assert find_stretch([], stretch_hash("aa", "bb")) is None


def test_the_first_of_equal_stretches_is_the_one() -> None:
    a, b, c = "aa111111", "aa222222", "cc333333"
    assert find_stretch([b, a, c, a, c], stretch_hash(a, c)) == (1, 2)
