"""Which presets are beaten, which one is recommended, and what is said of how much each keeps."""

import json
from pathlib import Path
from typing import Any

import pytest
import real
from build import one_pass
from helpers import DATA, condense, condense_on_terminal
from msgspec.structs import replace
from rich.cells import cell_len

from condense_cli import api
from condense_cli.api.evaluating import evaluate
from condense_cli.errors import ExitStatus
from condense_cli.quality.evaluation import expected_of
from condense_cli.report.estimate import Ranked, beaten, in_order, recommended
from condense_cli.tokens.counting import Counter

SMALL, MIDDLE, LARGE = Ranked("small", 100, 70, 60), Ranked("middle", 200, 95, 90), Ranked("large", 300, 99, 97)


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


def test_the_smallest_that_keeps_enough_is_recommended() -> None:
    found = recommended([LARGE, MIDDLE, SMALL], 400)
    assert found is not None
    assert found.preset == "middle"
    assert found.reason.startswith("the smallest that keeps at least 90%")
    # The lower bound decides, not the figure itself.
    doubtful = recommended([LARGE, Ranked("doubtful", 150, 95, 68), SMALL], 400)
    assert doubtful is not None
    assert doubtful.preset == "large"
    poor = recommended([SMALL, Ranked("poor", 90, 50, 40)], 400)
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


@pytest.mark.slow
def test_what_is_expected_of_this_transcript_is_shown_and_decides() -> None:
    found = estimated()
    left = [option["tokens_after"] for option in found["presets"]]
    assert left == sorted(left)
    assert found["kept"] == {"cuts": 0, "is_expected": True, "is_typical": False, "transcripts": 1, "date": None}
    kept = {option["preset"]: option["kept"] for option in found["presets"]}
    assert kept["lossless"]["low"] == 100
    assert all(each["low"] <= each["percent"] <= each["high"] for each in kept.values())
    assert kept["speed"]["percent"] < kept["balanced"]["percent"]
    assert kept[found["recommended"]["preset"]]["low"] >= 90
    said = condense("estimate", real.SESSION).text
    assert "what later work is expected to need here" in said
    assert f"Recommended: {found['recommended']['preset']}, the smallest that is expected to keep" in said


def test_more_of_what_is_needed_is_expected_where_more_stays() -> None:
    """Of two results of the same conversation; what repeats stays needed once, and a list of names is no line."""
    transcript, count = api.loads(DATA), Counter()
    whole = transcript.messages
    half = tuple(message for message in whole if message.index < len(whole) // 2)
    names = replace(whole[0], blocks=(replace(whole[0].blocks[0], content="src/1.py src/2.py src/3.py"),))
    found = expected_of(whole, {"whole": whole, "half": half, "none": (), "names": (names,)}, count)
    assert (found["whole"].percent, found["whole"].low, found["none"].percent) == (100, 100, 0)
    assert 0 < found["half"].low <= found["half"].percent < 100
    assert found["names"].percent == 0


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


def test_what_is_too_short_to_measure_has_expected_figures_and_says_why(tmp_path: Path) -> None:
    path = real.PROJECT / "sample_transcripts" / "bugfix-messages.jsonl"
    found = condense("estimate", path, "--quality", "--json").json
    assert found["kept"]["is_expected"]
    assert any("could not be measured" in warning and "8,000" in warning for warning in found["warnings"])


@pytest.mark.slow
def test_with_a_target_the_one_that_keeps_most_is_recommended() -> None:
    target = ("speed", "max", "--target-percent", "40")
    for flags in ((), ("--quality",)):
        found = estimated(*target, *flags)
        assert found["recommended"]["preset"] in ("speed", "max")
        assert all(option["kept"]["percent"] > 0 for option in found["presets"])


@pytest.mark.slow
def test_of_other_configurations_as_much_is_known(tmp_path: Path) -> None:
    config = tmp_path / "mine.json"
    config.write_text(json.dumps({"passes": [one_pass()]}))
    found = estimated(str(config), "--provider", "truncation")
    assert all(option["kept"]["percent"] > 0 for option in found["presets"])


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_with_what_is_kept(columns: int) -> None:
    done = condense_on_terminal("estimate", real.SESSION, columns=columns)
    assert done.status == ExitStatus.DONE
    table = done.plain.split("\n\n")[1].splitlines()
    assert max(map(cell_len, table)) <= columns
    assert {"keeps", "saved", "pays after"} <= {part.strip() for part in table[0].split("  ")}
