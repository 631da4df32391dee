"""A run says how much of what later work on its own transcript needs it is expected to keep."""

import re
from typing import Any

import model_server as played
import pytest
from desk import BY_MODEL, KEYS, Desk
from helpers import condense
from model_server import model_server
from real import PROJECT, SESSION

from condense_cli import api
from condense_cli.quality.losses import losses
from condense_cli.report.run.expected import expected_by_name
from condense_cli.tokens.counting import Counter

SAMPLE = str(PROJECT / "sample_transcripts" / "bugfix-session.jsonl")
CHAT = str(PROJECT / "sample_transcripts" / "bugfix-chat.jsonl")


def _expected(*arguments: str) -> Any:
    return condense("run", CHAT, "--json", "--dry-run", *arguments).json["expected"]


def test_what_is_expected_is_that_of_an_estimate_and_falls_with_the_size() -> None:
    (estimated,) = condense("estimate", CHAT, "balanced", "--json").json["presets"]
    whole, half = (_expected("--preset", "balanced", *more) for more in ((), ("--target-percent", "30")))
    assert whole == estimated["kept"]
    assert half["percent"] < whole["percent"] <= 100


@pytest.mark.parametrize("preset", ["balanced", "max"])
def test_what_a_run_has_read_changes_nothing(preset: str) -> None:
    """Lines of the result alone, such as those of its summary, are not lines of the original."""
    transcript = api.load(SESSION)

    def told(count: Counter) -> tuple[object, ...]:
        result = api.condense(transcript, preset=preset, counter=count)
        after = result.transcript.messages
        return expected_by_name([("", result, ())], count), losses(transcript.messages, after, count)

    alone, common = Counter.of(transcript), Counter.of(transcript)
    with common.sharing():
        assert told(common) == told(alone)


def test_nothing_is_said_where_references_restore_all() -> None:
    assert _expected("--preset", "lossless") is None


# A model says it in its own words, or has not said it yet.
def test_nothing_is_expected_of_what_a_model_summarizes(desk: Desk) -> None:
    def found(*flags: str) -> tuple[Any, Any]:
        run = ["run", str(desk.input), "-c", str(desk.configuration("batch")), "-n", "--json", *flags]
        (preset,) = condense("estimate", desk.input, "quality", "--json", *flags, env=KEYS).json["presets"]
        return condense(*run, env=KEYS).json["expected"], preset["kept"]

    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        assert None not in found()
        assert found("--profile", "openai") == (None, None)


@pytest.mark.slow
def test_people_read_it_in_one_line() -> None:
    said = r"Expected to keep \d+% of what later work needs \(in 8 of 10 cases \d+–\d+%\)"
    assert re.search(f"{said}\\. ", " ".join(condense("run", SAMPLE, "--dry-run").plain.split()))
    more = " ".join(condense("run", SAMPLE, "--dry-run", "--cost").plain.split())
    assert re.search(f"{said}: \\d+% of the facts and \\d+% of the edit lines\\. ", more)
