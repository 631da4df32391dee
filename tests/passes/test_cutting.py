"""Cutting texts: within limits, marked, counted right, never cut twice; and what provider truncation cuts."""

from __future__ import annotations

from typing import Any

import pytest
from build import LONG, anthropic, assistant, call, configuration, openai, result, text, user
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli import api
from condense_cli.config.checks import value_warnings
from condense_cli.core.markers import Gap, content_hash, gaps_in, parse_gap, short_hash
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.passes.blocks.cutting import CutLimits, suppress, truncate
from condense_cli.passes.condensation import Condensation

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


QUESTION = user("First of all, what is in src?")
REMARK = "\n".join(f"What I think about item {n} is this." for n in range(30))


def talk(turns: int = 8) -> Transcript:
    """Turns of a request, a call with words beside it, its result, and a long answer."""
    return anthropic(QUESTION, *(message for number in range(turns) for message in turn(number)))


def turn(number: int) -> list[dict[str, Any]]:
    words = "\n".join(f"{number} beside the call, line {line} of my words" for line in range(30))
    arguments = {"path": f"src/file{number}.py", "content": f"{number} " + "new text " * 80}
    return [
        assistant([text(words), call(f"c{number}", "Write", **arguments)]),
        user([result(f"c{number}", f"{number}\n{LONG}")]),
        assistant(f"{number}\n{REMARK}"),
        user(f"{number} please go on:\n{REMARK}"),
    ]


def run(transcript: Transcript | None = None, **settings: object) -> Condensation:
    found = api.condense(transcript or talk(), configuration(provider="truncation", truncation=settings))
    api.dump(found)
    return found


def changed(found: Condensation, kind: BlockKind) -> list[str]:
    """Names of what changed: the kind's texts as they are now."""
    return [block.text for _, block in found.transcript.blocks() if block.changed and block.kind is kind]


# The defaults: results of more than five lines and long parameters are cut, words stay.
def test_old_results_and_parameters_are_cut() -> None:
    found = run()
    results = changed(found, BlockKind.TOOL_RESULT)
    assert len(results) == 7
    assert all(len([line for line in cut.split("\n") if not gaps_in(line)]) == 5 for cut in results)
    calls = [block for _, block in found.transcript.blocks() if block.kind is BlockKind.TOOL_CALL and block.changed]
    assert len(calls) == 7
    assert all("src/file" in block.text and len(block.text) < 250 for block in calls)
    assert not changed(found, BlockKind.TEXT)


def test_the_first_message_and_the_newest_stay() -> None:
    for count in (1, 5, 12):
        found = run(preserveRecentCount=count)
        before, after = found.before.messages, found.transcript.messages
        assert after[0] == before[0]
        assert after[-count:] == before[-count:]
        assert after != before


# Suppressed results say how much is gone; parameters are cut all the same, as a call without its path says nothing.
def test_results_can_be_suppressed() -> None:
    found = run(truncationMode="suppress")
    assert all(cut.startswith("[… ") and "\n" not in cut for cut in changed(found, BlockKind.TOOL_RESULT))
    assert all("src/file" in cut for cut in changed(found, BlockKind.TOOL_CALL))


@pytest.mark.parametrize("lines", [1, 20])
def test_results_keep_so_many_lines(lines: int) -> None:
    for cut in changed(run(maxToolResultLines=lines), BlockKind.TOOL_RESULT):
        assert len([line for line in cut.split("\n") if not gaps_in(line)]) == lines


def test_parameters_keep_so_many_characters() -> None:
    short, long = (run(maxToolParamChars=characters) for characters in (50, 300))
    for one, other in zip(changed(short, BlockKind.TOOL_CALL), changed(long, BlockKind.TOOL_CALL), strict=True):
        assert len(one) + 200 < len(other)


# Words are given up by whole messages: those of the user without results, those of the assistant without calls.
@pytest.mark.parametrize(
    ("key", "said"), [("preserveUserMessages", "please go on"), ("preserveAssistantText", REMARK[:20])]
)
def test_words_that_are_not_preserved_are_cut(key: str, said: str) -> None:
    found = run(None, **{key: False})
    texts = changed(found, BlockKind.TEXT)
    assert len(texts) == 6 + (key == "preserveAssistantText")
    assert all(said in cut and gaps_in(cut) for cut in texts)
    assert not any("beside the call" in cut for cut in texts)


def test_words_that_are_not_preserved_are_suppressed_with_the_rest() -> None:
    found = run(truncationMode="suppress", preserveUserMessages=False)
    assert all(cut.startswith("[… ") for cut in changed(found, BlockKind.TEXT))


def test_it_works_where_results_have_a_role_of_their_own() -> None:
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": "{}"}} for n in range(9)]
    messages = [
        message
        for one in calls
        for message in (
            {"role": "assistant", "content": None, "tool_calls": [one]},
            {"role": "tool", "tool_call_id": one["id"], "content": LONG},
        )
    ]
    found = run(openai(QUESTION, *messages), preserveRecentCount=4)
    assert len(changed(found, BlockKind.TOOL_RESULT)) == 7


# Unusual values run, and are told.
def test_unusual_values_are_warned_of() -> None:
    found = run(preserveRecentCount=0, maxToolParamChars=20)
    assert found.changes
    assert list(found.warnings) == [
        "truncation.preserve_recent_count is 0; 1 to 20 is usual. Change it unless you mean it.",
        "truncation.max_tool_param_chars is 20; 50 to 500 is usual. Change it unless you mean it.",
    ]
    assert value_warnings(configuration(provider="truncation", truncation={"preserveRecentCount": 20})) == []
