"""Mistakes in configurations: each is said with the shape that would be right, and all of them at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import condense, condense_process
from hypothesis import given
from hypothesis import strategies as st

import condense_cli
from condense_cli.config.base import with_numbers
from condense_cli.config.loading import load_preset, parse_configuration
from condense_cli.core.wording import brief, count_in, percent_in, quoted
from condense_cli.errors import ConfigurationError, ExitStatus, UsageError

PASS = "passes: [{id: a, selection: {type: custom}, individual_config: {defaults: {tool_results: {%s}}}}]"


def refused(text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as raised:
        parse_configuration(text)
    return raised.value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("keepRecent: 10", "Did you mean `keep: [last:10]`?"),
        ("keep_recent: 10", "Did you mean `keep: [last:10]`?"),
        ("pin: TODO", "Did you mean `keep: [/TODO/]`?"),
        ("only_tools: Bash", "Did you mean `keep: [not:tool:Bash]`?"),
        ("keepfirst: 2", "Did you mean keep_first?"),
        (PASS % "operation: truncate, max_lines: 10", "It belongs deeper: `params: {truncate: {max_lines: 10}}`."),
        (
            "max_lines: 10",
            "It belongs deeper: `passes: [{individual_config: {defaults: {tool_results: {params: {truncate: "
            "{max_lines: 10}}}}}}]`.",
        ),
        ("lossless_prelude: {target_tokens: 9}", "It belongs elsewhere: `target_tokens: 9`."),
        ("zebra: 1", "Known keys: "),
        ("target_tokens: 50%", "Percentages: `target_reduction_percent: 50` cuts down to 50%."),
        ("targetTokens: 30 %", "Percentages: `target_reduction_percent: 70` cuts down to 30%."),
    ],
)
def test_a_key_in_the_wrong_place_is_told_the_right_shape(text: str, hint: str) -> None:
    assert refused(text).hint.startswith(hint)


def test_the_shape_that_is_told_is_taken() -> None:
    shape = refused(PASS % "operation: truncate, max_lines: 10").hint.split("`")[1]
    assert parse_configuration(PASS % f"operation: truncate, {shape}").passes
    for text in ("keepRecent: 10", "pin: TODO", "only_tools: Bash", "range: 2:50"):
        assert parse_configuration(refused(text).hint.split("`")[1]).keep


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("target_tokens: 60k", "target_tokens", 60_000),
        ("target_tokens: 1.5M", "target_tokens", 1_500_000),
        ("target_tokens: 60,000", "target_tokens", 60_000),
        ("target_reduction_percent: 50%", "target_reduction_percent", 50),
        ("auto_condense_context_percent: 80 %", "auto_condense_context_percent", 80),
        ("native: {validate: {min_facts: 50%}}", "native.validate.min_facts", 0.5),
        ("native: {max_tokens: 2k}", "native.max_tokens", 2_000),
        (PASS % "min_tokens: 1k", "passes.0.individual_config.defaults.tool_results.min_tokens", 1_000),
        ("name: 60k", "name", "60k"),
        ("description: 50%", "description", "50%"),
    ],
)
def test_counts_and_shares_are_written_as_people_write_them(text: str, path: str, value: Any) -> None:
    found: Any = parse_configuration(text)
    for step in path.split("."):
        found = found[int(step)] if step.isdecimal() else getattr(found, step)
    assert found == value


def test_what_is_no_count_is_an_error() -> None:
    assert "target_tokens" in refused("target_tokens: many").message
    assert "target_tokens" in refused("target_tokens: 50%").message


def test_counts_and_shares_in_python(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "a b c " * 900}]
    transcript = condense_cli.loads(talk, format="anthropic")
    assert condense_cli.condense(transcript, target_tokens="1.5k").shown_target == 1_500
    found = condense_cli.condense(transcript, {"target_tokens": "2k", "preset": "speed"})
    assert found.shown_target == 2_000
    overrides = condense_cli.overrides_from(target_percent="50%", target_tokens=None)
    assert overrides.target_percent == 50
    with pytest.raises(UsageError, match="target_percent cannot be 'half'"):
        condense_cli.overrides_from(target_percent="half")
    with pytest.raises(UsageError, match="target_tokens"):
        condense_cli.condense(transcript, target_tokens="many")


def test_counts_and_shares_of_flags(file: Path) -> None:
    for flags in (("--target-percent", "50%"), ("--target-percent", "50")):
        assert condense("run", file, *flags, "--json").json["tokens"]["target"] > 0
    needed = ("--if-needed", "--threshold", "80%", "--context-window", "2k")
    assert condense("run", file, *needed, "--dry-run").status == ExitStatus.DONE
    assert condense("run", file, "--if-needed", "--threshold", "300%").status == ExitStatus.USAGE


def test_all_mistakes_are_listed_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "keepRecent: 10\ntarget_tokens: many\npasses:\n  - id: a\n    selection: {type: custom, regex: '('}\n"
        "    individual_config:\n      defaults:\n        tool_results: {operation: cut}\n"
    )
    done = condense("config", "validate", file)
    assert done.status == ExitStatus.USAGE
    assert [line for line in range(1, 9) if f"{file}:{line}:" in done.stderr] == [1, 2, 5, 8]
    report = condense("config", "validate", file, "--json").json["files"][0]
    assert len(report["mistakes"]) == 4
    assert report["mistakes"][0]["message"] == report["message"]
    done = condense("run", file, "-c", file)
    assert "There are 3 more mistakes: condense config validate." in done.stderr
    file.write_text("target_tokens: 5\ntarget_reduction_percent: 5\nkeep: [x y]\ncut: ['/(/']\n")
    assert len(condense("config", "validate", file, "--json").json["files"][0]["mistakes"]) == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("profile: nope", 1),
        ("provider: native\nnative: {api_profile: nope}", 2),
        (
            "passes:\n  - id: a\n    selection: {type: custom}\n    mode: batch\n    batch_config:\n"
            "      operation: summarize\n      summarization_config: {api_profile: nope}",
            7,
        ),
    ],
)
def test_an_undefined_profile_is_a_mistake(text: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    done = condense("config", "validate", file)
    assert done.status == ExitStatus.USAGE
    assert f"{file}:{line}:" in done.stderr
    assert "there is no profile 'nope'" in done.stderr
    file.write_text(text.replace("nope", "offline"))
    assert condense("config", "validate", file).status == ExitStatus.DONE


def test_mistakes_of_every_kind_are_told_at_once(tmp_path: Path) -> None:
    """Unknown keys, wrong types, what contradicts itself, and profiles that nobody defines; and nothing that only
    follows from leaving one of them out."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        "keepRecnt: 10\nkeep: [x y]\nprofile: nope\npasses:\n"
        "  - id: a\n    mode: individual\n    selection: {type: preserve_recent, keep_recent_count: many}\n"
        "    individual_config: {defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: x}}}}}\n"
        "  - id: a\n    mode: batch\n    selection: {type: custom}\n"
        "    batch_config: {operation: summarize, summarization_config: {api_profile: nobody}}\n"
    )
    found = condense("config", "validate", file, "--json").json["files"][0]["mistakes"]
    lines = sorted(int(mistake["message"].split(":")[1]) for mistake in found)
    assert lines == [1, 2, 3, 7, 8, 9, 12]


@pytest.mark.parametrize("key", ["preset: {}", "counter: {}", "x{}: 1", "keep: ['{}']", "profile: {}"])
def test_overlong_values_are_shortened(key: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(key.format("y" * 900))
    done = condense("config", "validate", file)
    assert done.status == ExitStatus.USAGE
    assert max(map(len, done.stderr.splitlines())) < 600 + len(str(file))


@given(st.text(), st.integers(1, 80))
def test_a_quoted_value_has_no_more_than_a_message_bears(text: str, most: int) -> None:
    assert len(brief(text, most)) <= most
    assert brief(text, most) == text or brief(text, most).endswith("…")
    assert quoted(text).startswith(("'", '"'))


@pytest.mark.slow
def test_a_file_of_the_current_folder_that_is_not_used_is_said(tmp_path: Path, file: Path) -> None:
    """The reason, and how to use it; nothing of that where it is used, or another is named."""
    (tmp_path / "condense.yaml").write_text("target_tokens: 1k\n")
    (tmp_path / "home").mkdir()
    home = {"HOME": str(tmp_path / "home")}
    run = ("run", file, "--dry-run")
    said = "condense.yaml in this folder is not used: it is outside your home folder and any repository"
    assert said in condense_process(*run, cwd=tmp_path, env=home).stderr
    assert said not in condense_process(*run, "-c", "condense.yaml", cwd=tmp_path, env=home).stderr
    assert said not in condense_process(*run, "--no-config", cwd=tmp_path, env=home).stderr
    (tmp_path / ".git").mkdir()
    assert said not in condense_process(*run, cwd=tmp_path, env=home).stderr


@given(st.integers(0, 10**9 - 1))
def test_a_count_is_read_with_and_without_commas(number: int) -> None:
    assert count_in(str(number)) == count_in(f"{number:,}") == number
    assert percent_in(f"{number}%") == number
    assert count_in(f"{number}%") is None


@pytest.mark.parametrize("preset", ["balanced", "speed", "max"])
def test_plain_values_stay(preset: str) -> None:
    from condense_cli.config.effective import effective
    from condense_cli.config.loading import PACKAGED
    from condense_cli.config.models import Configuration
    from condense_cli.config.options import NO_OVERRIDES

    values = effective(PACKAGED.named(preset), NO_OVERRIDES).values
    assert with_numbers(values, Configuration) == values
    assert parse_configuration(json.dumps(values)) == load_preset(preset)


def test_selectors_in_yaml_are_texts() -> None:
    assert parse_configuration("keep: [34, 12.0, 40:50, -1]\ncut: [0x10:20]".replace("0x10", "10")).keep == (
        "34",
        "12.0",
        "40:50",
        "-1",
    )
