"""A figure that is told in two places is the same in both, and it is known what each was measured on."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from real import PROJECT

README = (PROJECT / "README.md").read_text()
PAGES = {path.name: path.read_text() for path in (PROJECT / "README.md", *(PROJECT / "docs").glob("*.md"))}
MARKS = re.compile(r"<!-- [^>]*written by benchmarks/(\S+?)\.py --write -->\n\n(.*?)\n\n<!-- end of", re.DOTALL)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    return runpy.run_path(str(PROJECT / "benchmarks" / "figures.py"))


def tables() -> list[tuple[str, str]]:
    """What scripts wrote, with their names."""
    return [found for page in PAGES.values() for found in MARKS.findall(page)]


def test_the_readme_repeats_what_is_measured(figures: dict[str, Any]) -> None:
    assert figures["copied"](README, PAGES["quality.md"]) == README


def test_a_copy_that_differs_is_noticed(figures: dict[str, Any]) -> None:
    for row in (*figures["TOOLS"], *figures["SIZES"]):
        (line,) = re.findall(rf"(?m)^\| {re.escape(row)} \| .* \|$", README)
        name, cells = line[: len(row) + 4], line[len(row) + 4 :]
        other = README.replace(line, name + re.sub(r"\d+%", "1%", cells))
        assert other != README
        assert figures["copied"](other, PAGES["quality.md"]) == README


def test_every_table_has_a_script_that_writes_it(figures: dict[str, Any]) -> None:
    scripts = {Path(command[0]).with_suffix("").as_posix(): name for name, command in figures["SCRIPTS"].items()}
    found = tables()
    assert len(found) > 4
    for script, text in found:
        assert script in scripts
        assert "| ---" in text
    assert {name.partition(",")[0] for name in figures["kept"]()} <= {*figures["SCRIPTS"]}


# The README has some rows and columns of the table of docs/costs.md, as they are there.
def test_the_bill_is_told_once(figures: dict[str, Any]) -> None:
    pages = [PAGES[name] for name in ("README.md", "costs.md")]
    short, long = (rows_of(text) for page in pages for script, text in MARKS.findall(page) if script == "bill")
    assert len(short) > 3
    for name, cells in short.items():
        assert cells.items() <= long[name].items()
    assert figures["kept"]()["bill"]["sources"]


def rows_of(text: str) -> dict[str, dict[str, str]]:
    """The cells of a table by row and column."""
    columns, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.split("\n") if "|" in line)
    return {name: dict(zip(columns[1:], cells, strict=True)) for name, *cells in rows}


@pytest.mark.real
def test_sources_are_what_was_measured(figures: dict[str, Any]) -> None:
    found = {path.name: path for folder in (figures["TRANSCRIPTS"], figures["MORE"]) for path in folder.rglob("*")}
    for name, kept in json.loads(figures["FILE"].read_text()).items():
        for source, digest in kept["sources"].items():
            if source in found:
                assert figures["digest"](found[source]) == digest, (name, source)
