"""`condense show` for the hash of a summary: the messages that it stands for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from build import text
from claude_tree import reply, said
from helpers import CUT, as_lines, condense, session
from real import PROJECT

from condense_cli import api
from condense_cli.core.markers import SummaryMark, find_stretch, gaps_in, parse_summary, stretch_hash
from condense_cli.errors import ExitStatus

SAMPLES = PROJECT / "sample_transcripts"
CUT_THEN_SUMMARIZED = """
passes:
  - id: cut
    selection: {type: preserve_recent, keep_recent_count: 0}
    individual_config:
      defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: 10}}}}
  - id: one-summary
    mode: batch
    selection: {type: preserve_recent, keep_recent_count: 5}
    batch_config: {operation: summarize, summarization_config: {keep_first: 0, keep_last: 0}}
"""
SHORT_SUMMARY = """
passes:
  - id: short-summary
    mode: batch
    selection: {type: preserve_recent, keep_recent_count: 1}
    batch_config: {operation: summarize, summarization_config: {max_tokens: 300, keep_first: 0, keep_last: 0}}
"""


def condensed(original: Path, *flags: str | Path) -> tuple[Path, str]:
    """The file with a summary of the middle, and the hash in its mark."""
    small = original.with_name("small.jsonl")
    assert condense("run", original, *flags, "-o", small, "-q").status == ExitStatus.DONE
    (mark,) = [mark for _, block in api.load(small).blocks() if (mark := parse_summary(block.text))]
    return small, mark.hash


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.jsonl"
    path.write_bytes(as_lines(session()))
    return path


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("---")]


def test_the_original_has_all_messages_that_a_summary_stands_for(original: Path, tmp_path: Path) -> None:
    """As they were, even where a pass had cut the last of them before."""
    configuration = tmp_path / "passes.yaml"
    configuration.write_text(CUT_THEN_SUMMARIZED)
    for last, *flags in ((7, "--config", configuration), (7, "--preset", "max")):
        _, name = condensed(original, *flags)
        done = condense("show", original, name)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        exchanges = [
            heading
            for number in range(1, last)
            for heading in (
                f"--- {2 * number - 1}.0  tool call  Read src/{number}.py",
                f"--- {2 * number}.0  tool result  Read src/{number}.py",
            )
        ]
        assert headings(done.text) == exchanges
        assert all(listing in done.text for listing in CUT[: last - 1])


def test_a_condensed_file_without_them_says_which_to_ask(original: Path) -> None:
    """It has the summary, and nothing of what that stands for."""
    small, name = condensed(original, "--preset", "max")
    done = condense("show", small, name)
    assert (done.status, done.stdout) == (ExitStatus.FAILED, b"")
    assert "The 12 messages of this summary are not in the file." in done.message
    assert f"condense show ORIGINAL {name}" in done.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bugfix-session.jsonl", "bugfix-rollout.jsonl"])
def test_a_session_that_grew_by_its_summary_has_them_still(name: str, tmp_path: Path) -> None:
    """Claude Code and Codex append; the positions are those of the records, as no message number means them."""
    original = tmp_path / name
    original.write_bytes((SAMPLES / name).read_bytes())
    small, found = condensed(original, "--preset", "max")
    before, after = condense("show", original, found).text, condense("show", small, found).text
    assert len(headings(before)) > 20
    assert re.sub(r"(?m)^--- \d+\.\d+", "---", before) == re.sub(r"(?m)^--- record \d+", "---", after)
    blocks = condense("show", small, found, "--json").json["blocks"]
    assert {(block["found"], block["message"]) for block in blocks} == {("summarized", None)}
    assert blocks[0]["role"] == "assistant"


@pytest.mark.slow
def test_a_summary_of_a_summary_leads_to_both(tmp_path: Path) -> None:
    """A session that was condensed, went on and was condensed again holds what either summary stands for."""
    original = tmp_path / "original.jsonl"
    original.write_bytes((SAMPLES / "bugfix-session.jsonl").read_bytes())
    first, one = condensed(original, "--preset", "max")
    newest = json.loads(first.read_bytes().splitlines()[-1])
    more = [
        said(1, None, CUT[0]) | {"parentUuid": newest["uuid"]},
        reply(2, 1, "msg_2", text(CUT[1])),
        said(3, 2, CUT[2]),
        reply(4, 3, "msg_4", text("Done.")),
    ]
    original.write_bytes(first.read_bytes() + as_lines(more))
    passes = tmp_path / "passes.yaml"
    passes.write_text(SHORT_SUMMARY)
    second, two = condensed(original, "--config", passes, "--keep", "last:1")
    assert f"#{one}]" in condense("show", second, two).text
    assert CUT[2] in condense("show", second, two).text
    assert len(headings(condense("show", second, one).text)) > 100


def test_what_a_later_summary_left_out_of_an_earlier_one_is_found(tmp_path: Path) -> None:
    """Its marker names what the earlier ones said, without their marks and ledgers, and taken together."""
    marks = [SummaryMark(9, 1, f"0123abc{number}") for number in range(2)]
    summaries = [{"role": "assistant", "content": f"{mark}\n{words}"} for mark, words in zip(marks, CUT, strict=False)]
    request, more = ({"role": "user", "content": words} for words in ("Find it.", "Go on."))
    answer = {"role": "assistant", "content": "Found."}
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    passes = tmp_path / "passes.yaml"
    passes.write_text(SHORT_SUMMARY)
    for earlier in (summaries[:1], summaries):
        first.write_bytes(as_lines([request, *earlier, more, answer, more]))
        assert condense("run", first, "--config", passes, "-o", second, "-q").status == ExitStatus.DONE
        (summary,) = [block.text for _, block in api.load(second).blocks() if parse_summary(block.text)]
        (name,) = {gap.hash for gap in gaps_in(summary)}
        done = condense("show", first, name)
        assert (done.status, done.text) == (ExitStatus.DONE, "\n\n".join(CUT[: len(earlier)]))


def test_a_stretch_is_found_by_its_ends() -> None:
    """Others that begin with the same digits are passed over."""
    hashes = ["aa000000", "bb000000", "bb111111", "cc000000", "dd000000"]
    assert find_stretch(hashes, stretch_hash("bb111111", "dd000000")) == (2, 4)
    assert find_stretch(hashes, stretch_hash("cc000000", "cc000000")) == (3, 3)
    assert find_stretch(hashes, stretch_hash("dd000000", "aa000000")) is None
