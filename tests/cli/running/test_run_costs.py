"""Costs in the report of a run: for programs always, for people when asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from helpers import OPUS, condense

from condense_cli.report.costs import dollars


def test_overhead_enters_the_next_turn_of_a_run(file: Path, tmp_path: Path) -> None:
    given = ("--overhead-tokens", "1000000")
    report = condense("run", file, "-p", "speed", *OPUS, *given, "--json").json
    assert (report["tokens"]["overhead"], report["tokens"]["overhead_source"]) == (1_000_000, "option")
    assert report["cost"] == condense("estimate", file, "speed", *OPUS, *given, "--json").json["presets"][0]["cost"]
    assert report["cost"] != condense("run", file, "-p", "speed", *OPUS, "--json").json["cost"]
    condense("run", file, "-p", "speed", *OPUS, *given, "-n", "-q", "--report", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_bytes())["cost"] == report["cost"]
    shown = condense("run", file, "-p", "speed", *OPUS, *given, "--cost", "--dry-run", env={"COLUMNS": "200"}).text
    assert f"Next turn: {dollars(report['cost']['next_turn_before'])} → " in shown
    assert "tools add 1,000,000 tokens to every request (--overhead-tokens)" in " ".join(shown.split())


def asks_for_report(file: Path, tmp_path: Path) -> Any:
    condense("run", file, *OPUS, "-p", "cost", "-n", "-q", "--report", tmp_path / "report.json")
    return json.loads((tmp_path / "report.json").read_bytes())["cost"]


def asks_for_json(file: Path, tmp_path: Path) -> Any:
    return condense("run", file, *OPUS, "-p", "cost", "--json").json["cost"]


@pytest.mark.parametrize("asks", [asks_for_report, asks_for_json])
def test_reports_for_programs_have_costs(file: Path, tmp_path: Path, asks: Callable[[Path, Path], Any]) -> None:
    cost = asks(file, tmp_path)
    assert Decimal(cost["next_turn_after"]) < Decimal(cost["next_turn_before"])
    assert cost["pays_after_turns"] > 0
    assert cost["pays"] is True
    assert cost["prices"].startswith("genai-prices ")


@pytest.mark.parametrize("option", ["--cost", "--verbose"])
def test_reports_for_people_have_costs_when_asked(file: Path, option: str) -> None:
    figures = "Next turn: $"
    assert figures in condense("run", file, *OPUS, "-n", option).text
    assert figures not in condense("run", file, *OPUS, "-n").text


def test_in_a_pipe_costs_are_a_second_line(file: Path) -> None:
    with_costs, without = (
        condense("run", file, *OPUS, "-p", "cost", "--cost"),
        condense("run", file, *OPUS, "-p", "cost"),
    )
    assert with_costs.stdout == without.stdout
    first, second, pipe = with_costs.stderr.splitlines()
    assert [first, pipe] == without.stderr.splitlines()
    assert second.startswith("condense: Next turn: $")


def test_figures_say_only_what_applies(file: Path) -> None:
    """A run that changes nothing has no one-time cost to name; one that does names it and when it pays."""
    nothing = ("--keep", "not:tool:nothing", "--keep", "not:0:0")
    run = ("run", file, *OPUS, "--cost", "-p", "speed")
    changed, unchanged = (condense(*run, *flags).stderr for flags in ((), nothing))
    assert "; one-time $" in changed
    assert "pays for itself after" in changed
    assert "one-time" not in unchanged


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ([], "The model is unknown, so its price is too. Name it with --model."),
        (["-m", "nobodys-model", "--cost"], "The price of nobodys-model is not known (genai-prices "),
    ],
)
def test_a_run_says_why_it_tells_no_cost(file: Path, model: list[str], said: str) -> None:
    shown = " ".join(condense("run", file, "-p", "speed", "-n", *model).text.split())
    assert said in shown
    assert "--model" in shown
