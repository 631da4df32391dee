"""Which presets are beaten, which one is recommended, and what is said of how much each keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import real
from build import one_pass
from helpers import condense, condense_on_terminal
from rich.cells import cell_len

from condense_cli import api
from condense_cli.config.preset_folders import preset_names
from condense_cli.errors import ExitStatus
from condense_cli.measuring.evaluating import evaluate
from condense_cli.report.estimate.ranking import Ranked, beaten, in_order, recommended
from condense_cli.report.estimate.typical import typical

SMALL, MIDDLE, LARGE = Ranked("small", 100, 70), Ranked("middle", 200, 95), Ranked("large", 300, 99)


def test_the_smallest_comes_first_and_equal_ones_by_what_they_keep() -> None:
    equal = Ranked("equal", 200, 96)
    assert in_order([LARGE, MIDDLE, equal, SMALL]) == [SMALL, equal, MIDDLE, LARGE]


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (Ranked("other", 150, 60), {"other": "small"}),
        (Ranked("other", 200, 95), {}),
        (Ranked("other", 201, 95), {"other": "middle"}),
        (Ranked("other", 90, 71), {"small": "other"}),
        (Ranked("other", 90, 69), {}),
        (Ranked("other", 900, None), {}),
    ],
)
def test_a_preset_is_beaten_by_one_that_is_no_worse_in_both(other: Ranked, found: dict[str, str]) -> None:
    assert beaten([SMALL, MIDDLE, LARGE, other]) == found


# Typical figures of two presets say nothing of one transcript: which beats which was measured side by side.
def test_by_typical_figures_only_those_are_beaten_that_are_as_a_rule() -> None:
    other = Ranked("other", 150, 60)
    assert beaten([SMALL, other], {}) == {}
    assert beaten([SMALL, other], {"small": ["other"]}) == {"other": "small"}
    assert beaten([SMALL, other], {"other": ["small"]}) == {}, "it leaves more"


def test_the_smallest_that_keeps_enough_is_recommended() -> None:
    found = recommended([LARGE, MIDDLE, SMALL], 400)
    assert found is not None
    assert found.preset == "middle"
    assert found.reason.startswith("the smallest that keeps at least 90%")
    poor = recommended([SMALL, Ranked("poor", 90, 50)], 400)
    assert poor is not None
    assert (poor.preset, poor.reason.startswith("the one that keeps the most")) == ("small", True)


def test_with_a_target_it_is_the_one_that_keeps_the_most_of_those_that_reach_it() -> None:
    found = recommended([LARGE, MIDDLE, SMALL], 400, target=250)
    assert found is not None
    assert (found.preset, "reach the target" in found.reason) == ("middle", True)
    assert recommended([LARGE, MIDDLE], 400, target=50) is None


def test_nothing_is_recommended_alone_or_where_nothing_is_known_or_saved() -> None:
    assert recommended([MIDDLE], 400) is None
    assert recommended([Ranked("a", 1, None), Ranked("b", 2, None)], 400) is None
    assert recommended([SMALL, MIDDLE], 100) is None


def estimated(*arguments: str) -> dict[str, Any]:
    found = condense("estimate", real.SESSION, "--json", *arguments).json
    assert isinstance(found, dict)
    return found


# The figures that come with the program know every preset, and lossless loses nothing.
@pytest.mark.slow
def test_typical_figures_are_shown_as_such() -> None:
    known = typical()
    assert sorted(known.presets) == preset_names()
    assert known.presets["lossless"].low == 100
    found = estimated()
    left = [option["tokens_after"] for option in found["presets"]]
    assert left == sorted(left)
    assert found["kept"]["is_typical"]
    assert {option["preset"]: option["kept"]["cuts"] for option in found["presets"]}.keys() == known.presets.keys()
    said = condense("estimate", real.SESSION).text
    assert "the share of what later work needs" in said
    assert f"Recommended: {found['recommended']['preset']}, " in said


@pytest.mark.slow
def test_quality_measures_the_transcript_itself() -> None:
    found = estimated("speed", "balanced", "--quality")
    assert (found["kept"]["is_typical"], found["kept"]["date"]) == (False, None)
    measured = evaluate(api.load(real.SESSION), presets=["speed"], against=(), budgets=())
    (speed,) = (option["kept"] for option in found["presets"] if option["preset"] == "speed")
    (setting,) = measured.summary.settings
    assert setting.facts is not None
    assert speed["facts"] == pytest.approx(100 * setting.facts.recall, abs=0.1)
    assert speed["cuts"] == found["kept"]["cuts"] == measured.summary.cuts
    assert "needs, measured here" in condense("estimate", real.SESSION, "speed", "--quality").text


def test_what_is_too_short_to_measure_has_typical_figures_and_says_why(tmp_path: Path) -> None:
    path = real.PROJECT / "sample_transcripts" / "bugfix-messages.jsonl"
    found = condense("estimate", path, "--quality", "--json").json
    assert found["kept"]["is_typical"]
    assert any("could not be measured" in warning and "8,000" in warning for warning in found["warnings"])


# What presets keep on their way to a target is not known of other sessions; measured here it is.
@pytest.mark.slow
def test_with_a_target_only_measured_figures_are_shown() -> None:
    target = ("speed", "max", "--target-percent", "40")
    found = estimated(*target)
    assert (found["kept"], found["recommended"]) == (None, None)
    assert "--quality measures how much of what later work needs" in condense("estimate", real.SESSION, *target).text
    measured = estimated(*target, "--quality")
    assert measured["recommended"]["preset"] in ("speed", "max")
    assert all(option["kept"]["percent"] > 0 for option in measured["presets"])


def test_of_other_configurations_nothing_is_typical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a provider, and a preset of the project that has the name of another one."""
    config = tmp_path / "mine.json"
    config.write_text(json.dumps({"passes": [one_pass()]}))
    assert estimated(str(config), "--provider", "truncation")["kept"] is None
    (tmp_path / ".git").mkdir()
    presets = tmp_path / ".condense" / "presets"
    presets.mkdir(parents=True)
    (presets / "speed.json").write_text(config.read_text())
    monkeypatch.chdir(tmp_path)
    (option,) = estimated("speed")["presets"]
    assert option["kept"] is None


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_with_what_is_kept(columns: int) -> None:
    done = condense_on_terminal("estimate", real.SESSION, columns=columns)
    assert done.status == ExitStatus.DONE
    table = done.plain.split("\n\n")[1].splitlines()
    assert max(map(cell_len, table)) <= columns
    assert {"keeps", "saved", "pays after"} <= {part.strip() for part in table[0].split("  ")}
