"""Which provider runs and with which settings, how far a run goes, and how it ends short of the target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import real
from helpers import CUT, DATA, SMALLER, as_lines, condense, condense_process, session
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from condense_cli.cli.options import PROVIDER_IDS
from condense_cli.config.effective import assigned
from condense_cli.config.models import NativeConfig, TruncationConfig
from condense_cli.errors import ConfigurationError, ExitStatus, UsageError
from condense_cli.providers.registry import BUILT_IN
from condense_cli.providers.smart import SmartConfig

SAMPLE = real.SESSION


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    share: float = 0.5
    names: tuple[str, ...] = ("a", "b")


class Values(Struct, frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=0)] = 1
    text: str = ""
    maybe: str | None = "x"
    choice: Literal["off", "on"] = "on"
    flag: bool = False
    part: Part | None = None
    parts: tuple[Part, ...] = (Part(), Part())


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("count=7", Values(count=7)),
        (" count = 7 ", Values(count=7)),
        ("text=plain words, and: more", Values(text="plain words, and: more")),
        ("text=7", Values(text="7")),
        ("text=", Values(text="")),
        ("text=a=b", Values(text="a=b")),
        ("text=[a, b]", Values(text="[a, b]")),
        ("text=true", Values(text="true")),
        ("maybe=null", Values(maybe=None)),
        ("maybe=nul", Values(maybe="nul")),
        ("choice=off", Values(choice="off")),
        ("flag=true", Values(flag=True)),
        ("flag=yes", Values(flag=True)),
        ("part.share=1", Values(part=Part(share=1.0))),
        ("part.names=[c]", Values(part=Part(names=("c",)))),
        ("part={share: 0.25}", Values(part=Part(share=0.25))),
        ("part=null", Values()),
        ("parts.1.share=0.1", Values(parts=(Part(), Part(share=0.1)))),
        ("parts.0.names.1=z", Values(parts=(Part(names=("a", "z")), Part()))),
    ],
)
def test_values_are_typed_by_the_settings(assignment: str, expected: Values) -> None:
    assert assigned(Values(), [assignment]) == expected


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs"))))
def test_any_text_can_be_given(text: str) -> None:
    assert assigned(Values(), [f"text={text}"]).text in (text.strip(), _quoted(text))


def _quoted(text: str) -> Any:
    from condense_cli.config.yaml_reading import read_yaml

    try:
        return read_yaml(text.strip(), "value")[0]
    except ConfigurationError:
        return text


@pytest.mark.parametrize(
    ("assignment", "what", "hint"),
    [
        ("cuont=7", "unknown key 'cuont'", "Did you mean count?"),
        ("zzz=7", "unknown key 'zzz'", "Known keys: choice, count"),
        ("count=many", "expected a whole number, got text.", ""),
        ("count=-1", "expected a whole number of at least 0", ""),
        ("choice=of", "'of' is not one of off, on", "Did you mean off?"),
        ("part.shear=1", "unknown key 'shear'.", "Did you mean share?"),
        ("count.x=1", "expected a whole number", ""),
        ("parts.2.share=1", "there is no number 2 in a list of 2.", ""),
        ("parts.share=1", "there is no number share in a list of 2", ""),
    ],
)
def test_errors_name_the_key_and_what_was_expected(assignment: str, what: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        assigned(Values(), [assignment])
    assert caught.value.message.startswith(f"--set {assignment}: {what}")
    assert hint in caught.value.hint


@pytest.mark.parametrize("assignment", ["count", "=7", " =7", ""])
def test_an_assignment_needs_a_key_and_a_value(assignment: str) -> None:
    with pytest.raises(UsageError, match="--set needs KEY=VALUE"):
        assigned(Values(), [assignment])


def test_later_values_hold_and_camel_case_is_understood() -> None:
    assert assigned(TruncationConfig(), ["maxToolResultLines=3", "max_tool_result_lines=9"]).max_tool_result_lines == 9
    assert assigned(NativeConfig(), ["maxTokens=5"]) == NativeConfig(max_tokens=5)
    phases = assigned(SmartConfig(), ["lossyPhase.toolResults.strategy=suppress"])
    assert phases.lossy_phase
    assert phases.lossy_phase.tool_results.strategy == "suppress"


def report(*arguments: str | Path) -> Any:
    done = condense("run", SAMPLE, *arguments, "--json", "--no-config")
    assert done.status == ExitStatus.DONE, done.stderr
    return json.loads(done.stdout)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("id", [provider.id for provider in BUILT_IN])
def test_each_provider_runs_with_its_own_defaults(id: str) -> None:
    found = report("--provider", id)
    assert found["configuration"] == f"provider {id}"
    assert found["tokens"]["saved"] > 0
    assert [warning for warning in found["warnings"] if not warning.startswith("The file grows")] == []


def test_settings_of_the_command_line_hold() -> None:
    few, many = (
        report("--provider", "truncation", "--set", f"max_tool_result_lines={lines}")["tokens"]["after"]
        for lines in (3, 30)
    )
    assert few < many


def test_a_provider_beside_a_preset_takes_its_place() -> None:
    found = report("--preset", "cost", "--provider", "native")
    assert found["configuration"] == "cost, provider native"
    assert found["warnings"][0] == "The passes in the configuration are not used by provider native."
    assert found["tokens"]["after"] == report("--provider", "native")["tokens"]["after"]


# Flags bind every provider: what the flag leaves alone stays.
@pytest.mark.sampled(1)
@pytest.mark.parametrize("id", ["truncation", "native", "smart", "lossless"])
def test_flags_bind_each_provider(id: str, tmp_path: Path) -> None:
    kept = report("--provider", id, "--keep-recent", "1000", "--except-tools", "*")
    assert kept["tokens"]["saved"] == 0
    narrow = report("--provider", id, "--range", "0:40")
    assert narrow["tokens"]["after"] > report("--provider", id)["tokens"]["after"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--provider", "nativ"], "There is no provider named 'nativ'.\nDid you mean native?"),
        (["--provider", "truncation", "--set", "lines=3"], "--set lines=3: unknown key 'lines'"),
        (["--preset", "cost", "--set", "lossy_phase.enabled=true"], "passes and phases cannot both be set"),
        (["--set", "x"], "--set needs KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], said: str) -> None:
    for command in (["run", str(SAMPLE), "--no-config"], ["run", str(SAMPLE), "--no-config", "-o", "-"]):
        done = condense(*command, *arguments)
        assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
        assert said in done.message


@pytest.mark.slow
def test_estimate_compares_providers() -> None:
    done = condense("estimate", SAMPLE, "speed", "--provider", "truncation", "--provider", "native", "--json")
    rows = json.loads(done.stdout)["presets"]
    assert {row["preset"] for row in rows} == {"speed", "truncation", "native"}
    (truncation,) = (row for row in rows if row["preset"] == "truncation")
    assert truncation["tokens_after"] == report("--provider", "truncation")["tokens"]["after"]
    wide = condense("estimate", SAMPLE, "--provider", "truncation", "--set", "max_tool_result_lines=30", "--json")
    (row,) = json.loads(wide.stdout)["presets"]
    assert row["tokens_after"] > rows[1]["tokens_after"]
    wrong = condense("estimate", SAMPLE, "--set", "max_tool_result_lines=30")
    assert wrong.status == ExitStatus.USAGE
    assert "--set needs one --provider" in wrong.message


def test_completed_providers_are_the_providers() -> None:
    assert sorted(provider.id for provider in BUILT_IN) == list(PROVIDER_IDS)


def test_the_second_transcript_can_be_what_a_provider_makes(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()))
    few = condense("diff", file, "--provider", "truncation", "--set", "max_tool_result_lines=1", "--stat", "--json")
    more = condense("diff", file, "--provider", "truncation", "--set", "max_tool_result_lines=20", "--stat", "--json")
    assert few.json["tokens"]["after"] < more.json["tokens"]["after"] < more.json["tokens"]["before"]
    assert condense("diff", file, "--provider", "native", "--preset", "speed").status == ExitStatus.USAGE
    assert "--set needs --provider" in condense("diff", file, "--preset", "speed", "--set", "a=1").message


# Key by key: the command line, then a file of the run, then the user's own file, then the defaults.
def test_own_settings_of_a_provider_give_way_key_by_key(tmp_path: Path) -> None:
    own = tmp_path / "own" / "condense" / "condense.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(
        "providers:\n  truncation:\n    config:\n      max_tool_result_lines: 20\n      maxToolParamChars: 70\n"
    )
    file = tmp_path / "run.yaml"
    file.write_text("provider: truncation\ntruncation: {max_tool_result_lines: 5}\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "own")}

    def shown(*arguments: str) -> tuple[Any, Any]:
        found = condense("config", "show", "--json", *arguments, env=env).json
        of = {key: value for key, value in found["origins"].items() if key.startswith("truncation.max")}
        return found["configuration"]["truncation"], of

    lines, chars = "truncation.max_tool_result_lines", "truncation.max_tool_param_chars"
    settings, origins = shown("--provider", "truncation")
    assert (settings["max_tool_result_lines"], settings["max_tool_param_chars"]) == (20, 70)
    assert origins == {lines: f"{own}:4", chars: f"{own}:5"}
    settings, origins = shown("--provider", "truncation", "--set", "max_tool_result_lines=5")
    assert (settings["max_tool_result_lines"], settings["max_tool_param_chars"]) == (5, 70)
    assert origins == {lines: "--set", chars: f"{own}:5"}
    settings, origins = shown("-c", str(file))
    assert (settings["max_tool_result_lines"], settings["max_tool_param_chars"]) == (5, 70)
    assert origins == {lines: f"{file}:2", chars: f"{own}:5"}

    flags = ("--provider", "truncation", "--set", "max_tool_result_lines=5", "-o", "-")
    without = condense("run", SAMPLE, *flags, "--set", "max_tool_param_chars=70")
    assert condense("run", SAMPLE, *flags, env=env).stdout == without.stdout


def test_defaults_of_the_provider_are_shown() -> None:
    found = condense("config", "show", "--json", "--provider", "truncation").json
    assert found["configuration"]["truncation"]["max_tool_result_lines"] == 5
    assert found["origins"]["truncation.max_tool_result_lines"] == "default"


def _tokens(file: Path, *arguments: str) -> dict[str, Any]:
    tokens: dict[str, Any] = condense("run", file, "-p", "speed", "--json", *arguments).json["tokens"]
    return tokens


def test_a_target_is_reached_and_not_overshot_by_more_than_a_block(file: Path) -> None:
    """The passes stop as soon as the target is reached: giving back the last cut would miss it."""
    everything = _tokens(file)
    target = (everything["before"] + everything["after"]) // 2
    tokens = _tokens(file, "--target-tokens", str(target))
    largest = everything["saved"] / len(CUT) * 1.2
    assert target - largest < tokens["after"] <= target == tokens["target"]


def test_a_target_in_percent_is_a_share_of_the_tokens_before(file: Path) -> None:
    tokens = _tokens(file, "--target-percent", "60")
    assert tokens["target"] == tokens["before"] * 60 // 100
    assert tokens["after"] <= tokens["target"]


def test_a_target_that_is_met_already_changes_no_byte(file: Path) -> None:
    done = condense("run", file, "-p", "speed", "--target-tokens", "1000000", "--strict")
    assert (done.status, done.stdout) == (ExitStatus.DONE, DATA)


@pytest.mark.slow
def test_strict_turns_a_missed_target_into_a_status(file: Path, tmp_path: Path) -> None:
    strict = condense_process(
        "run", file, "-p", "speed", "--target-tokens", "1", "--strict", "-o", tmp_path / "small.jsonl"
    )
    assert strict.status == ExitStatus.TARGET_MISSED
    assert "target of 1 token was not reached" in strict.stderr
    assert 0 < len((tmp_path / "small.jsonl").read_bytes()) < len(SMALLER)
    assert condense_process("run", file, "-p", "speed", "--target-tokens", "1").status == ExitStatus.DONE


def test_a_missed_target_is_said_in_a_pipe_too(file: Path) -> None:
    """Who writes to a pipe sees standard error alone, and has to learn there why the status is 4."""
    done = condense("run", file, "-p", "speed", "--target-tokens", "1", "--strict")
    assert done.status == ExitStatus.TARGET_MISSED
    assert "target of 1 token was not reached" in done.stderr
    assert done.stdout.startswith(b'{"role": "user"')
