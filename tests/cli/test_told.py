"""Small truths that a run tells: why nothing happened, what it refuses to write over, what it warns of."""

import json
from pathlib import Path

import pytest
import real
from helpers import condense

from condense_cli.errors import ExitStatus

SAMPLE = real.SESSION


# A run reads its configuration too: nothing is written over that.
@pytest.mark.parametrize("option", ["-c", "-p"])
def test_a_configuration_is_not_written_over(option: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("lossless_prelude: {enabled: true}\n")
    for target in ("-o", "--report"):
        done = condense("run", SAMPLE, option, str(file), target, str(file), "-q")
        assert done.status == ExitStatus.USAGE
        assert "configuration file of this run" in done.message
        assert file.read_text() == "lossless_prelude: {enabled: true}\n"


# Whoever pipes the transcript is told why it came out as it was.
def test_a_run_that_changes_nothing_says_why(tmp_path: Path) -> None:
    few = tmp_path / "few.json"
    few.write_text(json.dumps([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]))
    done = condense("run", few, "--provider", "native", "-o", "-")
    assert "there are fewer than" in done.stderr
    assert condense("run", few, "--provider", "native", "--json").json["warnings"]
    done = condense("run", SAMPLE, "--target-tokens", "999999", "-o", "-")
    said = "38,534 tokens are already within the target of 999,999."
    assert said in done.stderr
    written = condense("run", SAMPLE, "--target-tokens", "999999", "-o", str(tmp_path / "out.jsonl"))
    assert (written.text + written.stderr).count(said) == 1
    assert "skipped" not in written.text + written.stderr


# Claude Code shows what the API counted, and that is where a target comes from.
def test_a_target_between_the_two_counts_is_told_that_there_are_two() -> None:
    between, above = (condense("run", SAMPLE, "--target-tokens", target, "-n").text for target in ("40k", "43k"))
    said = "A target covers the messages only; the API counts 42,134 in use"
    assert said in " ".join(between.split())
    assert "API" not in above


def test_a_preset_in_place_of_a_configuration_file_is_told_where_it_goes(tmp_path: Path) -> None:
    done = condense("run", SAMPLE, "--config", "speed", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "It is a preset: --preset speed." in done.stderr
    (tmp_path / "speed").write_text("passes: []\n")
    assert condense("run", SAMPLE, "--config", "speed", "-n", cwd=tmp_path).status == ExitStatus.DONE


def checked(text: str, tmp_path: Path) -> tuple[int, str]:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    done = condense("config", "validate", file)
    return done.status, done.stderr


def test_two_targets_are_refused_with_a_position(tmp_path: Path) -> None:
    status, said = checked("target_tokens: 5000\ntarget_reduction_percent: 20\n", tmp_path)
    assert status == ExitStatus.USAGE
    assert "own.yaml:2:1: target_tokens and target_reduction_percent cannot both be set" in said


def test_a_target_without_passes_is_a_warning(tmp_path: Path) -> None:
    assert "no pass works toward it" in checked("target_tokens: 5000\n", tmp_path)[1]
    assert checked("target_tokens: 5000\npreset: speed\n", tmp_path) == (0, "")
    assert checked("target_tokens: 5000\nlossy_phase: {}\n", tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("profileThresholds", "threshold"),
        ("condensingApiConfigId", "profile: NAME"),
        ("customCondensingPrompt", "custom_prompt"),
    ],
)
def test_settings_of_roo_code_are_pointed_to(key: str, hint: str, tmp_path: Path) -> None:
    status, said = checked(f"{key}: x\n", tmp_path)
    assert status == ExitStatus.USAGE
    assert hint in said


def test_names_that_nothing_has_are_warned_of(tmp_path: Path) -> None:
    own = tmp_path / "condense" / "condense.yaml"
    own.parent.mkdir()
    own.write_text("providers: {truncatoin: {priority: 3}}\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path), "CONDENSE_TARGET_TOKEN": "5"}
    said = " ".join(condense("config", "show", env=env).stderr.split())
    assert "There is no provider 'truncatoin'. Did you mean truncation?" in said
    assert "There is no variable CONDENSE_TARGET_TOKEN. Did you mean CONDENSE_TARGET_TOKENS?" in said


def test_an_override_of_a_message_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    one = {"id": "a", "selection": {"type": "preserve_recent", "keep_recent_count": 1}}
    overrides = [{"message_index": 999, "operations": {"tool_results": {"operation": "suppress"}}}]
    file.write_text(json.dumps({"passes": [one | {"individual_config": {"defaults": {}, "overrides": overrides}}]}))
    assert "an override for message 999" in condense("run", SAMPLE, "-c", file, "-o", "-").stderr


def test_an_estimate_shows_the_calls_that_it_prices() -> None:
    said = " ".join(condense("estimate", SAMPLE, "max", "speed", "--profile", "claude-haiku-4-5").text.split())
    assert "max: 1 summary would be written by claude-haiku-4-5: 1 call, " in said
    assert "speed: " not in said
