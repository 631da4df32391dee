"""`condense evaluate --recorded`: its tables, its JSON, its sessions, and what it says where there is nothing."""

import json
from decimal import Decimal
from pathlib import Path

import compacted_work as work
import pytest
from build import CHAT
from documented import check_documented
from helpers import as_lines, condense, condense_on_terminal, snapshot
from machine import Machine

from condense_cli import api
from condense_cli.errors import BrokenOutputError, ExitStatus
from condense_cli.money import prices


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "sessions"
    found.mkdir()
    (found / "one.jsonl").write_bytes(work.claude_summary())
    (found / "two.jsonl").write_bytes(work.claude_twice())
    (found / "none.jsonl").write_bytes(as_lines(work.before_in_claude()))
    return found


def test_the_json_has_every_compaction_with_both_ways(folder: Path) -> None:
    before = snapshot(folder)
    done = condense("evaluate", "--recorded", folder, "--json", "-j", "1")
    assert (done.status, done.stderr) == (0, "")
    assert snapshot(folder) == before
    check_documented(done.json, "evaluate --recorded")
    assert done.json["ways"] == ["client", "balanced"]
    assert (done.json["total"]["compactions"], done.json["total"]["measured"]) == (3, 3)
    files = {Path(one["name"]).name: one["compactions"] for one in done.json["files"]}
    assert files["none.jsonl"] == []
    assert [one["kind"] for one in files["two.jsonl"]] == ["cleared", "summary"]
    (one,) = files["one.jsonl"]
    assert (one["client_tokens"], one["is_auto"], one["lines"]) == (900, True, 1)
    client, balanced = one["left"]
    assert (client["way"], client["recall"]["edits"]["kept"]) == ("client", 0)
    assert balanced["way"] == "balanced"


# Who writes a summary reads all that it stands for; nobody is called where results are cleared.
def test_money_counts_the_call_and_the_cache_written_anew(folder: Path) -> None:
    found = condense("evaluate", "--recorded", folder, "--json", "-j", "1").json
    files = {Path(one["name"]).name: one["compactions"] for one in found["files"]}
    client, balanced = (left["cost"] for left in files["one.jsonl"][0]["left"])
    cleared = files["two.jsonl"][0]["left"][0]["cost"]
    assert Decimal(str(client["spent"])) > Decimal(str(client["next_turn_before"]))
    assert Decimal(str(client["one_time"])) > Decimal(str(client["spent"]))
    assert (balanced["spent"], cleared["spent"]) == (0, 0)
    assert cleared["one_time"] > 0
    one = files["one.jsonl"][0]
    each = Decimal(str(client["next_turn_before"])) - Decimal(str(client["next_turn_after"]))
    assert Decimal(str(one["left"][0]["saved"])) == each * one["requests"] - Decimal(str(client["one_time"]))


def test_means_are_those_of_all_that_ask(folder: Path) -> None:
    total = condense("evaluate", "--recorded", folder, "--json", "-j", "1").json["total"]
    client = next(way for way in total["ways"] if way["way"] == "client")
    # Between the two compactions of one file nothing is edited.
    assert client["edits"] == 0
    assert total["lines"] == 2


@pytest.mark.slow
def test_the_tables_fit_the_terminal(folder: Path) -> None:
    done = condense_on_terminal("evaluate", "--recorded", folder, columns=80)
    assert done.status == 0
    lines = done.plain.split("\r")[-1].splitlines()
    assert max(map(len, lines)) <= 80
    assert "3 compactions in 2 files. Looked for:" in done.plain
    for said in ("one.jsonl", "auto summary", "auto cleared", "1 of 2", "client", "balanced", "all 3"):
        assert said in done.plain
    assert "1 file records none." in done.plain


def test_other_ways_than_the_preset_can_stand_beside(folder: Path) -> None:
    arguments = ("evaluate", "--recorded", folder / "one.jsonl", "-p", "speed", "--against", "oldest", "--json")
    assert condense(*arguments).json["ways"] == ["client", "speed", "drop the oldest"]


def test_money_that_is_unknown_and_ways_that_failed_are_explained(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ("evaluate", "--recorded", folder / "one.jsonl", "-j", "1")
    assert "no price" not in condense(*one).text
    monkeypatch.setattr(prices, "price_of", lambda *_, **__: None)

    def fails(*args: object, **options: object) -> None:
        raise BrokenOutputError("It cannot.", "")

    monkeypatch.setattr(api, "condense", fails)
    done = " ".join(condense(*one).text.split())
    assert "– under money: no price of the model, or of its cache writes, is known." in done
    assert "balanced failed at 1 of 1: It cannot." in done


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (as_lines(work.before_in_claude()), "No recorded compaction was found."),
        (json.dumps(CHAT).encode(), "How openai-chat files record a compaction is not known."),
        (work.roo("old"), "Not measured (1): it is no smaller than what the file holds of the original."),
    ],
)
def test_a_file_with_nothing_to_judge_says_so(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(data)
    done = condense("evaluate", "--recorded", path)
    assert done.status == 0
    assert said in done.text


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("{")
    done = condense("evaluate", "--recorded", tmp_path / "broken.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "Not read:" in done.text


def test_all_sessions_of_the_machine(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    machine.claude_code("one", *map(json.loads, work.claude_summary().splitlines()))
    machine.codex("two", *map(json.loads, work.codex().splitlines()))
    machine.task("1779999000000", json.loads(work.roo("user")))
    found = condense("evaluate", "--recorded", "--all", "--json", "-j", "1", env=machine.env).json
    assert {one["format"] for one in found["files"]} == {"claude-code", "codex", "roo"}
    assert found["total"]["measured"] == 3
    latest = condense("evaluate", "--recorded", "--session", "latest", "--json", env=machine.env).json
    assert len(latest["files"]) == 1


def test_a_machine_without_sessions_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    done = condense("evaluate", "--recorded", "--all", env=machine.env)
    assert done.status == ExitStatus.INPUT
    assert "There are no sessions on this machine." in done.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recorded", "--budgets", "0.5", "x.jsonl"], "--budgets cannot be used with --recorded."),
        (["--recorded", "--measure", "bits", "x.jsonl"], "--measure cannot be used with --recorded."),
        (["--recorded", "--plot", "a.svg", "x.jsonl"], "--plot cannot be used with --recorded."),
        (["--all"], "--all needs --recorded."),
        (["--recorded", "--all", "x.jsonl"], "--all cannot be used with a transcript or --session."),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], said: str) -> None:
    done = condense("evaluate", *arguments)
    assert done.status == ExitStatus.USAGE
    assert said in done.message
