"""A figure that is told in two places is the same in both."""

from __future__ import annotations

import re

import pytest
from real import PROJECT

README = (PROJECT / "README.md").read_text()
QUALITY = (PROJECT / "docs" / "quality.md").read_text()
TOOLS = QUALITY.partition("<!-- tables")[2].partition("All cuts that count")[0]
WAYS = {
    "condense, half the size": "balanced",
    "masking old tool results": "mask old results",
    "LangChain, keeping 5 results": "LangChain, results cleared, keep 5 / keep 3",
    "cozempic, standard": "cozempic, standard",
    "headroom": "headroom, compress, all of it, from 50 tokens",
}
"""Rows of the README, and the rows of docs/quality.md whose figures at half of the size they repeat."""

SIZES = {
    "without a target": "as it comes",
    "with a target of 62%": "to 62%",
    "with a target of 47%": "to 47%",
    "with a target of 30%": "to 30%",
}


def cells(page: str, row: str) -> list[str]:
    (found,) = re.findall(rf"(?m)^\| {re.escape(row)} \| (.*) \|$", page)
    return [cell.strip(" *") for cell in found.split(" | ")]


@pytest.mark.parametrize("row", WAYS)
def test_next_to_other_tools(row: str) -> None:
    told = [cell.rstrip("%") for cell in cells(README, row)[:3]]
    assert told == [cell.partition(" / ")[0].strip("*") for cell in cells(TOOLS, WAYS[row])[:3]]


@pytest.mark.parametrize("row", SIZES)
def test_what_balanced_keeps(row: str) -> None:
    left, facts, edits, worst = cells(README, row)
    measured = cells(QUALITY, SIZES[row])
    figures = [measured[1], measured[2], measured[3], *measured[6].split(", ")]
    assert [float(each.split()[0]) // 1 for each in figures] == [
        float(each.rstrip("%")) for each in (left, facts, edits, *worst.split(", "))
    ]


def test_compactions_of_clients() -> None:
    found = re.search(r"facts (\d+) / (\d+)%, .*?so (\d+) / (\d+)% in all", QUALITY, re.DOTALL)
    assert found
    client, ours = cells(README, "`/compact`*")[1], cells(README, "condense, same size as `/compact`*")[1]
    assert (client, ours) == (f"{found[1]}%, {found[3]}% named", f"{found[2]}%, {found[4]}% named")
