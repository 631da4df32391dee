"""`condense evaluate --html FILE`: curves and tables as a page, where it goes, and that no name in it is markup."""

from __future__ import annotations

import re
from pathlib import Path

import compacted_work
import pytest
from helpers import condense, unharmed
from looked_up import work
from pages import data_of

from condense_cli.errors import ExitStatus

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
