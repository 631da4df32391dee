"""`condense config`: checking configurations, and showing every value in use with where it comes from."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import real
import yaml
from build import compiled
from configurations import EVERY_KEY, MINE
from helpers import condense, condense_on_terminal, condense_process
from known_configurations import LOSSLESS, NATIVE, PHASES, TRUNCATION
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.effective import Effective, effective
from condense_cli.config.loading import load_preset, parse_configuration, parse_with_positions
from condense_cli.config.options import Overrides
from condense_cli.config.overrides import apply, overrides_from
from condense_cli.config.positions import spelled
from condense_cli.config.preset_folders import preset_names
from condense_cli.errors import ExitStatus
from condense_cli.report.lists.settings import as_yaml


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    return path


def test_a_valid_file_is_said_to_be_valid(mine: Path) -> None:
    done = condense_process("config", "validate", mine)
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert done.stdout.decode() == f"{mine}: valid, 2 passes\n"


def test_every_wrong_file_is_named_with_line_and_column(mine: Path, tmp_path: Path) -> None:
    wrong, other = tmp_path / "wrong.yaml", tmp_path / "other.json"
    wrong.write_text("passes:\n  - id: a\n    selecton: {type: custom}\n")
    other.write_text('{"keep_first": "two"}')
    done = condense_process("config", "validate", wrong, mine, other, tmp_path / "missing.yaml")
    assert done.status == ExitStatus.USAGE
    assert done.stdout.decode() == f"{mine}: valid, 2 passes\n"
    assert f"{wrong}:3:5: unknown key 'selecton'" in done.stderr
    assert "Did you mean selection?" in done.stderr
    assert f"{other}:1:2: expected a whole number, got text" in done.stderr
    assert "missing.yaml: No such file" in done.stderr


def test_what_was_found_as_json(mine: Path, tmp_path: Path) -> None:
    wrong, odd = tmp_path / "wrong.yaml", tmp_path / "odd.yaml"
    wrong.write_text("passes:\n  - id: a\n    selecton: {type: custom}\n")
    odd.write_text(MINE.replace("tool_results: {op", "message_text: {op"))
    done = condense("config", "validate", mine, wrong, odd, "--json")
    assert (done.status, done.stderr) == (ExitStatus.USAGE, "")
    nothing: dict[str, Any] = {"own": False, "passes": None, "warnings": [], "message": None, "hint": None}
    nothing["mistakes"] = []
    first, second, third = done.json["files"]
    assert (done.json["version"], done.json["valid"]) == (1, False)
    assert first == {**nothing, "file": str(mine), "valid": True, "passes": 2}
    said = condense("config", "validate", wrong).stderr
    assert second["mistakes"][0] == {key: second[key] for key in ("message", "hint")}
    said = said.split("\ncondense:")[0].rstrip("\n") + "\n"
    second["mistakes"] = []
    assert said == f"condense: {second.pop('message')}\n{second.pop('hint')}\n"
    assert {**nothing, **second} == {**nothing, "file": str(wrong), "valid": False}
    assert third["valid"] is True
    assert any("suppresses message text" in warning for warning in third["warnings"])
    assert condense("config", "validate", mine, "--json").json["valid"] is True


def test_your_own_configuration_as_json(tmp_path: Path) -> None:
    own = tmp_path / "condense" / "condense.yaml"
    own.parent.mkdir()
    own.write_text("allow_calls: true\n")
    (found,) = condense("config", "validate", own, "--json", env={"XDG_CONFIG_HOME": str(tmp_path)}).json["files"]
    assert (found["valid"], found["own"], found["passes"]) == (True, True, None)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", ["message_text", "assistant_reasoning", "user_messages"])
def test_what_is_allowed_and_probably_not_wanted_is_a_warning(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("tool_results: {op", f"{text}: {{op"))
    done = condense_process("config", "validate", path)
    assert done.status == ExitStatus.DONE
    assert "warning" in done.stderr
    assert "suppresses message text" in done.stderr


def test_an_unusual_value_is_a_warning_that_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("keep_percentage: 30", "keep_percentage: 30, keep_recent_count: 200"))
    done = condense("config", "validate", path)
    assert done.status == ExitStatus.DONE
    said = "passes[0].selection.keep_recent_count is 200; 0 to 100 is usual. Change it unless you mean it."
    assert done.stderr == f"condense: warning: {path}: {said}\n"


def shown(text: str, **flags: Any) -> Effective:
    return effective(parse_with_positions(text, "mine.yaml"), overrides_from(**flags))


def origins(text: str, **flags: Any) -> dict[str, str]:
    return {spelled(path): origin for path, origin in shown(text, **flags).origins.items()}


def test_each_value_of_a_file_has_its_line_and_the_others_are_defaults() -> None:
    found = origins(MINE)
    assert found["keep_first"] == "mine.yaml:1"
    assert found["pins[0].regex"] == "mine.yaml:2"
    assert found["passes[0].selection.keep_percentage"] == "mine.yaml:5"
    assert found["passes[0].individual_config.defaults.tool_results.operation"] == "mine.yaml:8"
    assert found["passes[1].selection.tools.include"] == "mine.yaml:10"
    assert found["min_saving"] == found["passes[0].mode"] == found["passes[1].selection.tools.exclude"] == "default"


# Where an alias stands, a value has the line of the alias.
def test_values_behind_an_alias_have_the_line_of_the_alias() -> None:
    assert origins(MINE)["passes[1].individual_config.defaults.tool_results.operation"] == "mine.yaml:11"


def test_flags_are_named() -> None:
    found = origins(
        MINE, keep_recent=3, only_tools=["Bash"], except_tools=["Task"], range="2:-1", pins=["x"], target_tokens=9
    )
    flags = {path: origin for path, origin in found.items() if origin.startswith("--")}
    assert flags == {
        "target_tokens": "--target-tokens",
        "lossless_prelude.keep_recent": "--keep-recent",
        "lossless_prelude.operations.remove_obsolete_state": "--only-tools",
        "pins[1].tools.exclude": "--only-tools",
        "pins[2].tools.include": "--except-tools",
        "keep": "--keep",
        "passes[0].selection.type": "--keep-recent",
        "passes[0].selection.keep_recent_count": "--keep-recent",
        "passes[0].selection.keep_percentage": "--keep-recent",
        "passes[0].selection.tools.include": "--only-tools",
        "passes[0].selection.range.start": "--range",
        "passes[0].selection.range.end": "--range",
        "passes[1].selection.type": "--keep-recent",
        "passes[1].selection.keep_recent_count": "--keep-recent",
        "passes[1].selection.range.start": "--range",
        "passes[1].selection.range.end": "--range",
    }


def test_a_share_as_the_target_is_a_reduction() -> None:
    settings = shown("target_tokens: 60000", target_percent=33.3)
    assert (settings.configuration.target_tokens, settings.configuration.target_reduction_percent) == (None, 66.7)
    flags = {spelled(path) for path, origin in settings.origins.items() if origin == "--target-percent"}
    assert flags == {"target_tokens", "target_reduction_percent"}
    two = condense("config", "show", "--target-percent", "40", "--target-tokens", "60k")
    assert "--target-tokens and --target-percent cannot be used together." in two.message


@pytest.mark.parametrize("text", [MINE, json.dumps(EVERY_KEY), "{}"])
@pytest.mark.parametrize(
    "flags", [{}, {"target_percent": 40}, {"keep_recent": 4, "pins": ["#: x"], "range": ":-3", "only_tools": ["*"]}]
)
def test_what_is_shown_is_a_configuration_that_does_the_same(text: str, flags: dict[str, Any]) -> None:
    settings = shown(text, **flags)
    assert parse_configuration(as_yaml(settings)) == settings.configuration
    assert settings.configuration == apply(parse_configuration(text), overrides_from(**flags))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_shown_whole(name: str) -> None:
    done = condense_process("config", "show", "--preset", name)
    assert done.status == ExitStatus.DONE
    text = done.stdout.decode()
    assert parse_configuration(text) == replace(load_preset(name), provider="smart")
    comments = {line.rpartition("  # ")[2] for line in text.splitlines() if "  # " in line}
    assert comments == {f"preset {name}", "default"}


@pytest.mark.slow
def test_the_default_preset_and_a_file_by_its_path(mine: Path) -> None:
    assert b"# preset balanced" in condense_process("config", "show").stdout
    by_config = condense_process("config", "show", "--config", mine).stdout
    assert condense_process("config", "show", "--preset", mine).stdout == by_config
    assert f"# {mine}:1".encode() in by_config


ODD = [
    "",
    " ",
    "yes",
    "null",
    "1e3",
    "0x1F",
    "~",
    "a: b",
    "a #b",
    "- x",
    "*a",
    "é 日本",
    'say "no" \\',
    "two\nlines\ttab",
    "x ",
]


@pytest.mark.parametrize("value", [*ODD, "\x1b[31mred", "\u202eright", "\u2028", "\x85", "\U000e0041", "2026-01-01"])
def test_odd_strings_are_read_back_and_cannot_steer_a_terminal(value: str) -> None:
    document = json.dumps({"description": value, "pins": [{"tools": {"include": [value, "x"]}}]})
    settings = shown(document.replace("\\udb40\\udc41", "\U000e0041"))
    text = as_yaml(settings)
    assert parse_configuration(text).description == value
    assert parse_configuration(text) == settings.configuration
    assert all(char == "\n" or char.isprintable() for char in text)


def test_a_file_name_cannot_end_the_comment() -> None:
    loaded = parse_with_positions("keep_first: 3", "a\nkeep_first: 9 \x1b[31m.yaml")
    text = as_yaml(effective(loaded, Overrides()))
    assert "\x1b" not in text
    assert parse_configuration(text).keep_first == 3


def test_the_json_has_the_same_values_with_where_they_come_from(mine: Path) -> None:
    done = condense_process("config", "show", "--config", mine, "--json", "--keep-recent", "2")
    report = json.loads(done.stdout)
    assert (report["version"], report["name"]) == (1, str(mine))
    assert report["origins"]["passes[0].selection.keep_recent_count"] == "--keep-recent"
    assert report["origins"]["keep_first"] == f"{mine}:1"
    wanted = replace(apply(parse_configuration(MINE), Overrides(keep_recent=2)), provider="smart")
    assert parse_configuration(json.dumps(report["configuration"])) == wanted


def test_show_on_a_terminal_is_the_same_text(mine: Path) -> None:
    assert (
        condense_on_terminal("config", "show", "-c", mine, "--all").stdout
        == condense_process("config", "show", "-c", mine).stdout
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "arguments",
    [["--preset", "cost", "--config", "x.yaml"], ["--config", "x.yaml"], ["-p", "csot"], ["--range", "x"]],
)
def test_mistakes_are_usage_errors(arguments: list[str], tmp_path: Path) -> None:
    done = condense_process("config", "show", *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert done.stderr.startswith("condense: ")


def test_show_takes_the_flags_of_a_provider() -> None:
    done = condense_process(
        "config", "show", "--provider", "truncation", "--set", "maxToolResultLines=20", "--drop-thinking", "--json"
    )
    report = done.json
    assert report["configuration"]["truncation"]["max_tool_result_lines"] == 20
    origins = {key: origin for key, origin in report["origins"].items() if origin.startswith("--")}
    assert origins == {
        "provider": "--provider",
        "truncation.max_tool_result_lines": "--set",
        "thinking": "--drop-thinking",
    }


def test_show_says_what_lossless_only_does() -> None:
    done = condense_process("config", "show", "--lossless-only", "--preset", "speed", "--json")
    report = done.json
    assert report["configuration"]["passes"] == []
    assert report["origins"]["passes"] == "--lossless-only"


SECTIONS = {
    "truncation": TRUNCATION,
    "suppression": '{"provider": "truncation", "truncation": {"truncationMode": "suppress"}}',
    "native": NATIVE,
    "lossless": LOSSLESS,
    "phases": PHASES,
    "all phases": '{"lossyPhase": {"targetReductionPercent": 85}, "llmPhase": {"enabled": true}}',
    "strict": '{"fallbackPhase": {"strategy": "strict_truncation"}, "target_tokens": 2000}',
    "native fallback": '{"fallbackPhase": {"strategy": "native"}, "target_tokens": 2000, "native": {"maxTokens": 900}}',
    "passes": MINE,
}


def compiled_text(text: str, **flags: Any) -> str:
    """What `config show --compiled` prints."""
    loaded = parse_with_positions(text, "mine.yaml")
    return as_yaml(effective(loaded, overrides_from(**flags), compiled=compiled(loaded.configuration)))


# The passes that a provider or phases become are a configuration that does the same.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "name"), real.spread([*real.SAMPLES, *real.largest()], list(SECTIONS), every_way=False), ids=str
)
def test_compiled_configurations_do_the_same(path: Path, name: str) -> None:
    passes = parse_configuration(compiled_text(SECTIONS[name]))
    assert passes.provider == "smart"
    assert passes.passes or passes.lossless_prelude.enabled
    transcript = real.transcript(path)
    wanted, found = (api.condense(transcript, one) for one in (parse_configuration(SECTIONS[name]), passes))
    assert api.dump(found) == api.dump(wanted)
    assert [receipt for receipt in found.receipts if receipt.is_change] == wanted.changes
    assert found.target == wanted.target


def test_flags_apply_to_compiled_passes() -> None:
    text = compiled_text(PHASES, keep_recent=9)
    assert re.search(r"keep_recent_count: 9 +# --keep-recent", text)
    assert {one.selection.keep_recent_count for one in parse_configuration(text).passes} == {9}


@pytest.mark.slow
def test_compiled_passes_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "native.yaml"
    path.write_text(NATIVE)
    done = condense_process("config", "show", "--config", path, "--compiled")
    assert done.status == ExitStatus.DONE
    assert yaml.safe_load(done.stdout)["passes"][0]["mode"] == "batch"
    assert "Provider native also leaves short conversations alone, which passes cannot express" in done.stderr
    assert condense_process("config", "validate", path).stdout.decode() == f"{path}: valid, 1 pass\n"
    told = condense_process("config", "show", "--config", path, "--compiled", "--json").json
    assert told["origins"]["passes[0].mode"] == "compiled"
