"""`condense evaluate --html FILE`: curves and tables as a page, and the picture alone."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import compacted_work
import pytest
from helpers import condense, unharmed
from looked_up import work
from msgspec.structs import replace
from pages import data_of

from condense_cli.errors import ExitStatus
from condense_cli.quality.evaluation import Cut, Evaluated, Point
from condense_cli.quality.recall import Recall, Score
from condense_cli.report import evaluation
from condense_cli.report.page.evaluation import draw

QUICK = ("--min-tokens", "0", "--cuts", "0.5", "-j", "1", "-p", "speed", "--against", "head")
HOSTILE = "<img src=x onerror=alert(1)>{{data}}.json"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.json"
    path.write_bytes(work().source.data)
    return path


def test_an_evaluation_has_its_curves_and_the_figures_of_the_json(file: Path, tmp_path: Path) -> None:
    arguments = ("evaluate", file.name, *QUICK)
    assert condense(*arguments, "--html", "page.html", cwd=tmp_path).status == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg ") == 1
    tables = {table["title"]: table for table in data_of(page)["tables"]}
    found = condense(*arguments, "--json", cwd=tmp_path).json
    shares = [at["facts"] for at in found["total"]["at_size"] if at["way"] == "speed"]
    assert tables["facts, at the same size"]["rows"][0] == [
        "speed", *("–" if share is None else f"{100 * share:.1f}" for share in shares)
    ]  # fmt: skip
    assert len(tables["Settings"]["rows"]) == len(found["total"]["settings"])
    assert tables["Transcripts"]["rows"][0][0] == "one.json"


def test_the_name_of_a_transcript_is_no_markup(tmp_path: Path) -> None:
    (tmp_path / HOSTILE).write_bytes(work().source.data)
    condense("evaluate", HOSTILE, *QUICK, "--html", "page.html", cwd=tmp_path)
    page = (tmp_path / "page.html").read_text()
    assert "<img" not in page
    assert page.count('id="data"') == 1
    assert data_of(page)["tables"][-1]["rows"][0][0] == HOSTILE


def test_recorded_compactions_have_their_tables(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(compacted_work.claude_summary())
    done = condense("evaluate", "--recorded", "session.jsonl", "-j", "1", "--html", "page.html", cwd=tmp_path)
    assert done.status == 0
    tables = {table["title"]: table["rows"] for table in data_of((tmp_path / "page.html").read_text())["tables"]}
    assert [row[1] for row in tables["What was kept"]][:3] == ["before", "client", "balanced"]
    assert tables["What followed"]


def test_where_there_is_nothing_to_measure_the_page_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    done = condense("evaluate", "broken.json", *QUICK, "--html", "page.html", cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    data = data_of((tmp_path / "page.html").read_text())
    assert data["headline"] == "There is nothing to measure."
    assert "broken.json" in data["warnings"][0]


@pytest.mark.parametrize(
    ("page", "said"),
    [("-", "--html writes a file"), ("one.json", "is the input file"), ("nowhere/page.html", "There is no folder")],
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(
    page: str, said: str, file: Path, tmp_path: Path
) -> None:
    with unharmed(tmp_path):
        done = condense("evaluate", file.name, *QUICK, "--html", page, cwd=tmp_path)
    assert done.status in (ExitStatus.USAGE, ExitStatus.FAILED)
    assert said in re.sub(r"\s+", " ", done.message)


def test_picture_and_page_are_two_files(file: Path, tmp_path: Path) -> None:
    with unharmed(tmp_path):
        done = condense("evaluate", file.name, *QUICK, "--html", "a.svg", "--plot", "a.svg", cwd=tmp_path)
    assert "same file" in done.message


NAME = "{http://www.w3.org/2000/svg}"
NOTHING = Score(0, 0)


def _point(way: str, size: float | None, share: float = 1.0, *, target: bool = True) -> Point:
    """What a way left; without a size it failed."""
    budget = size if target else None
    setting = f"to {size}" if target else "as it is"
    if size is None:
        return Point(way, setting, None, 0, 0.0, None, 0.0, "no")
    return Point(way, setting, budget, 1, size, Recall(Score(100, round(100 * share)), NOTHING, NOTHING), 0.0)


def _drawn(points: Sequence[Point], compared: Sequence[str] = ()) -> ElementTree.Element:
    ways = list(dict.fromkeys(point.way for point in points))
    budgets = sorted({point.budget for point in points if point.budget is not None})
    one = Evaluated("a.json", "anthropic", 1, (Cut(0.5, 10, 1_000, 100, 0, 0, tuple(points)),))
    found = evaluation.build([one], [], ways=ways, compared=compared, budgets=budgets, cuts=[0.5], measures=["facts"])
    return ElementTree.fromstring(draw(found))


def _lines(drawn: ElementTree.Element) -> list[ElementTree.Element]:
    return drawn.findall(f"{NAME}polyline")


def _texts(drawn: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in drawn.findall(f"{NAME}text")]


def _rings(drawn: ElementTree.Element) -> int:
    return sum(circle.attrib["fill"] == "#ffffff" for circle in drawn.findall(f"{NAME}circle"))


def test_a_way_without_targets_is_a_ring_and_no_line() -> None:
    drawn = _drawn([_point("a", 0.5, 0.8), _point("b", 0.4, 0.7, target=False)])
    assert (len(_lines(drawn)), _rings(drawn)) == (1, 1)
    assert {"a", "b", "Single rings: settings without a target."} <= set(_texts(drawn))


def test_a_way_that_failed_everywhere_is_not_in_the_legend() -> None:
    drawn = _drawn([_point("a", 0.5, 0.8), _point("b", None)])
    assert "a" in _texts(drawn)
    assert "b" not in _texts(drawn)
    assert "Failed at every cut: b." in _texts(drawn)[-1]


def test_rings_are_explained_only_where_there_are_some() -> None:
    assert not any(text.startswith("Single rings") for text in _texts(_drawn([_point("a", 0.5, 0.8)])))


def test_lines_that_lie_on_each_other_are_both_seen() -> None:
    """Also where a setting without a target, which is near their ends, is elsewhere."""
    ring = _point("b", 0.495, 0.1, target=False)
    ends = [replace(_point(way, 0.5, share), size=0.49) for way, share in (("a", 0.8), ("b", 0.8), ("c", 0.2))]
    drawn = _drawn([*ends, ring])
    legend = zip(drawn.findall(f"{NAME}line")[-3:], drawn.findall(f"{NAME}text")[-4:-1], strict=True)
    ways = {line.attrib["stroke"]: text.text for line, text in legend}
    order = [ways[line.attrib["stroke"]] for line in _lines(drawn)]
    widths = {ways[line.attrib["stroke"]]: float(line.attrib["stroke-width"]) for line in _lines(drawn)}
    assert order.index("b") < order.index("a"), "what is drawn first lies below"
    assert widths["b"] > widths["a"] == widths["c"]


def test_without_sizes_the_first_six_ways_are_drawn() -> None:
    drawn = _drawn([_point(name, 0.5, 0.8, target=False) for name in "abcdefgh"])
    assert _rings(drawn) == 6
    assert _texts(drawn)[-1].endswith("The tables have 2 more ways.")
