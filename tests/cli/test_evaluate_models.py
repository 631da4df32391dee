"""`condense evaluate` with models that write the summaries: which of them is better, and whether that is chance."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import model_server as played
import pytest
from build import one_batch
from desk import CALL, KEYS
from helpers import Outcome, condense
from looked_up import READS, work
from model_server import Exchange, ModelServer, model_server
from pages import data_of

from condense_cli.errors import ExitStatus

SESSIONS: Final = 7
SLOW: Final = 0.03
"""Seconds before the twin of another model answers."""

SMALL: Final = ("--min-tokens", "0", "--cuts", "0.5")
QUICK: Final = ("--against", "none", "--budgets", "0.5", "-j", "1")


def keeps(exchange: Exchange) -> None:
    """A summary that says what later work needs."""
    names = re.findall(r"\b(?:first|middle)_\d+|\bf\d+", exchange.prompt)
    played.good(f"Read: {', '.join(dict.fromkeys(names))}.")(exchange)


def play(exchange: Exchange) -> None:
    """What each of the models does."""
    match exchange.body["model"]:
        case "keeper":
            keeps(exchange)
        case "twin":
            exchange.server.over.wait(SLOW)
            keeps(exchange)
        case "banana":
            played.good("banana banana")(exchange)
        case "broken":
            played.status(500)(exchange)
        case "prompted":  # It does what its instruction says.
            system = str(exchange.body["messages"][0]["content"])
            (keeps if "Name every name" in system else played.good("Files were read."))(exchange)
        case other:
            raise AssertionError(other)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(play) as server:
        yield server


class Bench:
    """A folder of sessions, a profile for each model, and a configuration with one summary of what was read."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.sessions = folder / "sessions"
        self.sessions.mkdir()
        for number in range(SESSIONS):
            (self.sessions / f"{number}.json").write_bytes(work(READS * number).source.data)
        self.server = server
        self.configuration(min_facts=0.2)
        common = {"api": "openai", "base_url": f"{server.url}/v1", "context_window": 100_000, "max_retries": 0}
        profiles = {
            name: {**common, "model": name, "price": {"input": 1, "output": 10}}
            for name in ("keeper", "twin", "banana", "broken", "prompted")
        }
        (folder / "condense").mkdir()
        self.own = folder / "condense" / "condense.yaml"
        self.own.write_text(json.dumps({"profiles": profiles}))
        self.folder = folder

    def configuration(self, min_facts: float, profile: str | None = None) -> None:
        config = one_batch(keep_first=1, max_tokens=300, validate={"min_facts": min_facts})
        named = {} if profile is None else {"profile": profile}
        (self.sessions.parent / "one.yaml").write_text(json.dumps({"passes": [config], **named}))

    def run(self, *arguments: str | Path) -> Outcome:
        configuration = ("--config", "one.yaml")
        return condense("evaluate", self.sessions, *SMALL, *configuration, *arguments, env=KEYS, cwd=self.folder)

    def report(self, *arguments: str | Path, status: ExitStatus = ExitStatus.DONE) -> Any:
        done = self.run(*arguments, "--json")
        assert done.status == status, (done.status, done.stderr)
        return done.json


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> Bench:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Bench(tmp_path, server)


def against(*names: str) -> list[str]:
    return [part for name in names for part in ("--profile", name)]


def differences(report: Any) -> dict[str, Any]:
    return {one["measure"]: one for one in report["differences"]}


@pytest.mark.slow
def test_the_model_that_keeps_what_matters_is_said_to_be_better(bench: Bench) -> None:
    bench.configuration(min_facts=0)
    report = bench.report(*against("banana", "keeper"))
    assert report["ways"] == ["banana", "keeper"]
    found = differences(report)
    # No line was edited afterwards, and the few words that were said tell no bits.
    assert list(found) == ["condensed", "size", "facts", "facts_or_named", "files"]
    better = found["facts_or_named"]
    assert (better["way"], better["against"], better["verdict"]) == ("keeper", "banana", "more")
    assert 0 < better["low"] <= better["mean"] <= better["high"] <= 1
    assert (better["pairs"], better["units"], better["unit"]) == (SESSIONS, SESSIONS, "transcripts")
    assert found["condensed"]["verdict"] == "chance"
    said = bench.run(*against("banana", "keeper"), "--html", "page.html").text
    page = data_of((bench.folder / "page.html").read_text())
    tables = {table["title"]: table["rows"] for table in page["tables"]}
    assert [row[0] for row in tables["What the summaries cost"]] == report["ways"]
    (compared,) = (rows for title, rows in tables.items() if title.startswith("keeper less banana"))
    assert [row[0] for row in compared] == ["condensed", "size", "facts", "facts or named", "files"]
    assert compared[3][4] == "more than chance"
    assert any(note.startswith("keeper keeps more than banana") for note in page["notes"])
    assert re.search(r"keeper keeps more than banana; significant: .*facts or named \(\+\d+\.\d points\)", said)


@pytest.mark.slow
def test_two_equal_models_are_no_more_different_than_chance(bench: Bench) -> None:
    report = bench.report(*against("keeper", "twin"))
    assert {one["verdict"] for one in report["differences"]} == {"chance"}
    assert all(one["low"] <= 0 <= one["high"] for one in report["differences"])
    seconds = {setting["way"]: setting["seconds"] for setting in report["total"]["settings"]}
    assert seconds["twin"] >= SESSIONS * SLOW, "waiting for a model counts"
    said = " ".join(bench.run(*against("keeper", "twin")).text.split())
    assert "twin and keeper do not differ significantly in condensed, size, facts," in said
    assert "; significant" not in said


@pytest.mark.slow
def test_a_model_whose_summaries_are_refused_fails_and_keeps_nothing_by_it(bench: Bench) -> None:
    report = bench.report(*against("keeper", "banana"))
    (failed,) = report["differences"]
    assert (failed["measure"], failed["mean"], failed["verdict"]) == ("condensed", -1, "less")
    settings = {setting["way"]: setting for setting in report["total"]["settings"]}
    assert (settings["keeper"]["failed"], settings["banana"]["failed"]) == (0, SESSIONS)
    assert settings["banana"]["facts"] is None
    assert report["models"][1]["summaries"][0]["refused"] == SESSIONS
    assert report["models"][1]["stopped"] is None
    said = " ".join(bench.run(*against("keeper", "banana"), "--html", "page.html").text.split())
    assert "banana condenses less often than keeper; significant (−100.0 points)." in said
    why = "banana failed in 7 of 7 runs: The summary by banana lacks facts that later work needs."
    assert why in said
    assert "keeper failed" not in said
    assert any(note.startswith(why) for note in data_of((bench.folder / "page.html").read_text())["notes"])


@pytest.mark.slow
def test_a_model_that_cannot_be_reached_is_given_up_and_says_so(bench: Bench) -> None:
    report = bench.report(*against("keeper", "broken"), status=ExitStatus.CALLS_FAILED)
    keeper, broken = report["models"]
    assert (keeper["stopped"], keeper["summaries"][0]["written"]) == (None, SESSIONS)
    assert "127.0.0.1 failed." in broken["stopped"]
    assert bench.server.calls == SESSIONS + 3
    assert {one["verdict"] for one in report["differences"]} == {"too few"}
    done = bench.run(*against("keeper", "broken"))
    assert "broken was stopped after 3 cuts of 7: 127.0.0.1 failed." in done.text
    assert "broken and keeper: 3 transcripts are too few to tell" in " ".join(done.text.split())


def test_one_transcript_is_too_few(bench: Bench) -> None:
    done = condense(
        "evaluate", bench.sessions / "0.json", *SMALL, "--config", "one.yaml", *against("keeper", "twin"),
        env=KEYS, cwd=bench.folder,
    )  # fmt: skip
    assert "twin and keeper: 1 cut is too few to tell" in " ".join(done.text.split())


def test_spending_stops_at_max_cost_and_says_so(bench: Bench) -> None:
    report = bench.report(*against("keeper", "twin"), "--max-cost", "0.01", status=ExitStatus.CALLS_FAILED)
    spent = sum(float(model["summaries"][0]["cost"]) for model in report["models"])
    assert spent == bench.server.calls * float(CALL)
    assert 0 < spent <= 0.01
    assert 0 < bench.server.calls < 2 * SESSIONS
    for model in report["models"]:
        assert "budget does not cover" in model["stopped"]
    # They take turns, so that what is paid for can be compared.
    cuts = {setting["way"]: setting["cuts"] for setting in report["total"]["settings"]}
    assert abs(cuts["keeper"] - cuts["twin"]) <= 1
    assert all(point["error"] == "" for one in report["transcripts"] for point in one["cuts"][0]["points"])
    said = bench.run(*against("keeper", "twin"), "--no-cache", "--max-cost", "0.01").text
    assert re.search(r"keeper was stopped after \d cuts? of 7: The budget does not cover another call\.", said)


@pytest.mark.parametrize("limit", ["--max-cost-per-day", "--max-cost-per-conversation"])
def test_limits_over_all_runs_bind_too(bench: Bench, limit: str) -> None:
    bench.report(*against("keeper", "twin"), limit, "0", status=ExitStatus.CALLS_FAILED)
    assert bench.server.calls == 0


@pytest.mark.slow
def test_prompts_are_compared_and_one_alone_with_the_usual_one(bench: Bench, tmp_path: Path) -> None:
    bench.configuration(min_facts=0)
    (tmp_path / "mine.txt").write_text("Name every name.\n")
    report = bench.report(*against("prompted"), "--prompt", "mine.txt")
    assert report["ways"] == ["prompt default", "prompt mine.txt"]
    assert [model["prompt"] for model in report["models"]] == [None, "mine.txt"]
    assert differences(report)["facts_or_named"]["verdict"] == "more"
    systems = {str(body["messages"][0]["content"]) for body in bench.server.bodies}
    assert sum(system.startswith("Name every name.\n\n") for system in systems) == 1
    assert "Spell paths, identifiers" in next(system for system in systems if not system.startswith("Name every"))


def test_one_profile_alone_is_compared_with_none(bench: Bench) -> None:
    report = bench.report(*against("keeper"))
    assert report["ways"] == ["offline", "keeper"]
    offline, keeper = report["models"]
    assert offline["summaries"][0]["cost"] == 0
    assert keeper["summaries"][0]["calls"] == bench.server.calls == SESSIONS
    assert {one["way"] for one in report["differences"]} == {"keeper"}


def test_the_profiles_of_configurations_are_called_where_that_is_allowed(bench: Bench) -> None:
    bench.configuration(min_facts=0.2, profile="keeper")
    report = bench.report("--allow-calls")
    assert report["ways"] == ["offline", "as configured"]
    assert report["models"][1]["summaries"][0]["profile"] == "keeper"
    assert bench.server.calls == SESSIONS


@pytest.mark.slow
def test_without_consent_nothing_is_called(bench: Bench, tmp_path: Path) -> None:
    bench.configuration(min_facts=0.2, profile="keeper")
    (tmp_path / "mine.txt").write_text("Name every name.")
    done = bench.run("--prompt", "mine.txt")
    assert done.status == ExitStatus.USAGE
    assert "--profile NAME or --allow-calls" in done.message
    assert bench.run(*QUICK).status == ExitStatus.DONE
    assert bench.server.calls == 0
    bench.own.write_text(bench.own.read_text()[:-1] + ', "allow_calls": true}')
    assert bench.run(*QUICK).status == ExitStatus.DONE, "whoever names no model measures without one"
    assert bench.server.calls == 0
    bench.report("--prompt", "mine.txt")
    assert bench.server.calls > 0


# Whatever is paid for once comes from the cache, and says the same.
@pytest.mark.slow
def test_a_second_run_calls_nothing_and_finds_the_same(bench: Bench) -> None:
    once = bench.report(*against("banana", "keeper"))
    calls = bench.server.calls
    again = bench.report(*against("banana", "keeper"))
    assert bench.server.calls == calls
    assert again["differences"] == once["differences"]
    (used,) = again["models"][1]["summaries"]
    assert (used["cached"], used["calls"], used["cost"]) == (SESSIONS, 0, 0)
    said = bench.run(*against("banana", "keeper")).text
    assert "--no-cache measures without the cache" in " ".join(said.split())


@pytest.mark.slow
def test_budgets_and_other_ways_are_measured_beside_the_models(bench: Bench) -> None:
    report = bench.report(*against("keeper", "twin"), "--budgets", "0.5", "--against", "mask", "--measure", "facts")
    assert report["ways"] == ["keeper", "twin", "mask old results"]
    assert report["compared"] == ["mask old results"]
    compared = {(one["way"], one["setting"]) for one in report["differences"]}
    assert compared == {("twin", "as it is"), ("twin", "to 50%"), ("mask old results", "to 50%")}


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_tables_fit(bench: Bench, columns: str) -> None:
    bench.configuration(min_facts=0)
    done = condense(
        "evaluate", bench.sessions, *SMALL, "--config", "one.yaml", *against("banana", "keeper"),
        env={**KEYS, "COLUMNS": columns}, cwd=bench.folder,
    )  # fmt: skip
    assert re.search(r"^summaries +written +cached +refused +calls +tokens +cost +seconds$", done.text, re.MULTILINE)
    assert re.search(rf"^keeper +7 +0 +0 +7 +{7 * 1020:,} +\$0\.0084 +\d+\.\d$", done.text, re.MULTILINE)
    assert re.search(r"^keeper less banana, as it is\nmeasure +points +95% interval +transcripts$", done.text, re.M)
    assert re.search(r"^size +\+\d\.\d +\+\d\.\d to \+\d\.\d +7 +more than chance$", done.text, re.MULTILINE)
    assert re.search(r"^files +0\.0 +0\.0 to 0\.0 +7 +chance$", done.text, re.MULTILINE)
    tables = [line for line in done.text.splitlines() if "  " in line]
    assert max(map(len, tables)) <= int(columns)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--profile", "keper"], "Did you mean keeper?"),
        (["--profile", "keeper", "--jobs", "2"], "--jobs cannot be used"),
        (["--profile", "keeper", "--recorded"], "--recorded calls no model"),
        (["--profile", "keeper", "--prompt", "none.txt"], "none.txt"),
        (["--profile", "keeper", "--prompt", "empty.txt"], "The prompt empty.txt is empty"),
        (["--max-cost", "1"], "No model is called without --profile NAME"),
        (["--max-cost-per-day", "1"], "No model is called without --profile NAME"),
        (["--no-cache"], "No model is called without --profile NAME"),
    ],
)
def test_what_cannot_be_is_refused_before_any_call(
    bench: Bench, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "empty.txt").touch()
    done = bench.run(*arguments)
    assert done.status in (ExitStatus.USAGE, ExitStatus.INPUT)
    assert said in done.message
    assert bench.server.calls == 0
