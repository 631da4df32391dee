"""Cutting texts: within the limits, marked, counted right, and never cut twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.core.markers import Gap, content_hash, gaps_in, parse_gap, short_hash
from condense_cli.passes.blocks.cutting import CutLimits, suppress, truncate

LIMITS = st.builds(
    CutLimits,
    st.one_of(st.none(), st.integers(1, 9)),
    st.one_of(st.none(), st.integers(1, 200)),
    st.sampled_from(["head", "tail", "both"]),
    st.booleans(),
)
PLAIN = TEXTS.filter(lambda text: not gaps_in(text) and "…" not in text)
TEN = "\n".join(f"line {n}" for n in range(10))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (CutLimits(max_lines=2), "line 0\nline 1\n[… 8 lines #{}]"),
        (CutLimits(max_lines=2, keep="tail"), "[… 8 lines #{}]\nline 8\nline 9"),
        (CutLimits(max_lines=3, keep="both"), "line 0\nline 1\n[… 7 lines #{}]\nline 9"),
        (CutLimits(max_lines=1, keep="both"), "line 0\n[… 9 lines #{}]"),
        (CutLimits(max_chars=9), "line 0\nli…\n[… 8 lines, 4 characters #{}]"),
        (CutLimits(max_chars=9, add_ellipsis=False), "line 0\nli\n[… 8 lines, 4 characters #{}]"),
        (CutLimits(max_chars=6), "line 0\n[… 9 lines #{}]"),
        (CutLimits(max_chars=4, keep="tail"), "[… 9 lines, 2 characters #{}]\n…ne 9"),
        (CutLimits(max_lines=2, max_chars=3), "lin…\n[… 9 lines, 3 characters #{}]"),
    ],
)
def test_what_a_cut_looks_like(limits: CutLimits, expected: str) -> None:
    assert truncate(TEN, limits) == expected.format(short_hash(TEN))


# A cut in the middle of one line leaves both its ends.
def test_both_ends_of_a_long_line() -> None:
    text = "a" * 50 + "b" * 50
    cut = truncate(text, CutLimits(max_chars=10, keep="both"))
    assert cut == f"aaaaa…\n[… 90 characters #{short_hash(text)}]\n…bbbbb"


# A text within its limits is the very same text.
@given(TEXTS)
def test_within_the_limits_nothing_changes(text: str) -> None:
    assert truncate(text, CutLimits(max_lines=10_000, max_chars=1_000_000)) is text


# Cutting again to the same limits, or to those of any other pass after it, changes nothing.
@given(TEXTS, LIMITS, LIMITS)
def test_a_cut_text_is_not_cut_again(text: str, limits: CutLimits, others: CutLimits) -> None:
    once = truncate(text, limits)
    assert truncate(once, limits) == once
    both = truncate(once, others)
    assert truncate(both, others) == both


# What stays is within the limits, and what is missing is counted exactly.
@given(PLAIN, LIMITS)
def test_kept_and_missing_add_up(text: str, limits: CutLimits) -> None:
    cut = truncate(text, limits)
    if cut == text:
        lines, chars = text.count("\n") + 1, len(text)
        assert lines <= (limits.max_lines or lines) + 1
        assert chars <= (limits.max_chars or chars) + 1
        return
    kept = [line for line in cut.split("\n") if not parse_gap(line)]
    gaps = gaps_in(cut)
    assert gaps
    if limits.max_lines is not None and limits.max_chars is None:
        assert len(kept) <= limits.max_lines
        missing = len(text.split("\n")) - len(kept) - (text.endswith("\n") and limits.keep == "head")
        assert sum(gap.lines for gap in gaps) == missing
    if limits.max_chars is not None:
        assert sum(len(line.strip("…")) for line in kept) <= limits.max_chars
        assert all(gap.lines or gap.characters for gap in gaps)
    assert {gap.hash for gap in gaps} == {short_hash(text)}


# Cutting further merges the gaps, keeps the hash of the whole text, and counts everything missing.
def test_gaps_merge_when_cut_further() -> None:
    once = truncate(TEN, CutLimits(max_lines=5))
    twice = truncate(once, CutLimits(max_lines=2))
    assert twice == truncate(TEN, CutLimits(max_lines=2))
    assert suppress(twice) == suppress(TEN) == f"[… 10 lines #{short_hash(TEN)}]"


# A text that version 0.1.0 cut has its marker still when it is cut further: the whole hash is the better one.
def test_a_marker_of_eight_digits_is_written_again_as_it_is() -> None:
    hash = content_hash(TEN)
    once = f"line 0\nline 1\n[condense: 8 lines left out #{hash}]"
    assert truncate(once, CutLimits(max_lines=2)) == once
    assert truncate(once, CutLimits(max_lines=1)) == f"line 0\n[condense: 9 lines left out #{hash}]"
    assert suppress(once) == f"[condense: 10 lines left out #{hash}]"


# Suppressing says how much there was, and a suppressed text stays as it is.
@given(TEXTS)
def test_suppressing(text: str) -> None:
    marker = suppress(text)
    assert suppress(marker) == marker
    if marker != text:
        assert parse_gap(marker)


def test_a_suppressed_line_is_counted_in_characters() -> None:
    assert suppress("x" * 300) == f"[… 300 characters #{short_hash('x' * 300)}]"


@given(st.builds(Gap, st.sampled_from(["0123abcd", "012345"]), st.integers(0, 10**6), st.integers(0, 10**6)))
def test_markers_read_back(gap: Gap) -> None:
    assert parse_gap(str(gap)) == (gap if gap.lines or gap.characters else None)
