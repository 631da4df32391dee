"""`--explain`: why each block was cut or kept, for people and for programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import condense, condense_on_terminal
from json_shapes import EXPLAINED, SHAPE, check_shape


def test_explain_gives_a_reason_for_every_block(file: Path) -> None:
    """One receipt per block and pass, each with a reason; the changes add up to what was saved."""
    report = condense("run", file, "-p", "speed", "--json", "--explain").json
    changes = report.pop("changes")
    check_shape(report, SHAPE)
    check_shape(changes, [EXPLAINED])
    assert sorted((entry["message"], entry["block"]) for entry in changes) == [(message, 0) for message in range(18)]
    assert all(entry["reason"] for entry in changes)
    saved = sum(entry["tokens_before"] - entry["tokens_after"] for entry in changes)
    assert saved == report["tokens"]["saved"]
    assert {entry["message"] for entry in changes if entry["changed"]} == {2, 4, 6, 8, 10, 12}


def test_explain_prints_the_reasons_for_people(file: Path) -> None:
    """Every block's position stands in the table, with why it was cut or kept; neighbours may share a row."""
    text = condense("run", file, "-p", "speed", "--dry-run", "--explain", env={"COLUMNS": "120"}).text
    assert [int(number) for number in re.findall(r"^(\d+)\.0[ –]", text, re.MULTILINE)] == list(range(14))
    assert re.search(
        r"^2\.0 +tool result +\d+ → \d+  truncated: old tool result: 3 lines or 1,500 characters of it stay$",
        text,
        re.MULTILINE,
    )
    assert re.search(r"^13\.0–17\.0 +5 blocks +\d+  kept: among the preserved turns$", text, re.MULTILINE)


TWO_PASSES = """
passes:
  - id: cut-results
    selection: {type: preserve_recent, keep_recent_count: 5}
    individual_config:
      defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: 9}}}}
  - id: cut-older-results
    selection: {type: preserve_recent, keep_recent_count: 13}
    individual_config: {defaults: {tool_results: {operation: suppress}}}
"""


OVER = "old tool result: 9 lines or 4,500 characters of it stay"


def test_explain_has_one_row_for_each_block(file: Path, tmp_path: Path) -> None:
    """What several passes say of a block is one row, which tells them apart where that matters."""
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PASSES)
    text = condense("run", file, "-c", config, "-n", "--explain", env={"COLUMNS": "200"}).text
    rows = dict(re.findall(r"^(\d+\.\d\S*)  (.*)$", text, re.MULTILINE))
    assert len(rows) == len(re.findall(r"^\d+\.\d\S* ", text, re.MULTILINE)) == 14
    older, newer = "old tool result: only its marker stays (cut-older-results)", f"{OVER} (cut-results)"
    assert "truncated + removed" in rows["2.0"]
    assert rows["2.0"].endswith(f"{newer}; {older}")
    assert rows["8.0"].endswith(newer)
    assert rows["13.0–17.0"].endswith("  kept: among the preserved turns")
    assert rows["1.0"].endswith("kept: the pass keeps this kind")
    assert rows["9.0"].endswith("(cut-results); among the preserved turns (cut-older-results)")
    narrow = condense_on_terminal("run", file, "-c", config, "-n", "--explain", columns=80).plain
    shown = narrow.split("\nblock ")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split(" ")[0] for line in shown if not line.startswith(" ")] == list(rows)
    assert max(map(len, shown)) <= 80
    for row in rows.values():  # No reason is cut off; it goes on below.
        assert row.rpartition("  ")[2].split()[-1] in " ".join(shown)


def test_explain_and_verbose_take_a_line_for_each_pass(file: Path, tmp_path: Path) -> None:
    """Nothing is left out then."""
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PASSES)
    text = condense("run", file, "-c", config, "-n", "-v", "--explain", env={"COLUMNS": "150"}).text
    for name in ("cut-results", "cut-older-results"):
        assert len(re.findall(rf"^\d+\.\d+ .* \({name}\)$", text, re.MULTILINE)) == 18


@pytest.mark.slow
def test_blocks_that_share_their_reason_take_one_line(file: Path) -> None:
    """Neighbours only; messages come last, and --json has each block."""
    said = condense("run", file, "--preset", "max", "--explain", "-n").text
    assert re.search(r"(?m)^1\.0 +tool call +\d+ → 0  summarized: old call: the summary has what", said), (
        "its own reason"
    )
    assert re.search(r"(?m)^13\.0–17\.0 +5 blocks", said)
    assert re.search(r"(?m)^3–12 +10 messages +30 → 0  removed: the message became empty", said)
    assert said.index("among the preserved turns") < said.index("the message became empty")
    changes = condense("run", file, "--preset", "max", "--explain", "--json").json["changes"]
    assert {(change["message"], change["block"]) for change in changes} >= {(number, 0) for number in range(18)}
    lines = condense_on_terminal("run", file, "--preset", "speed", "--explain").plain.splitlines()
    (line,) = [line for line in lines if line.startswith("0.0 ")]
    assert line.endswith("kept: part of the user's first request")
