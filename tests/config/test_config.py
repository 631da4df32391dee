"""Configuration files: both spellings, YAML and JSON, and every key there is."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from configurations import EVERY_KEY, EVERY_PHASE

from condense_cli.config import models
from condense_cli.config.loading import load_with_positions, parse_configuration
from condense_cli.config.models import Configuration
from condense_cli.config.preset_folders import presets_folder
from condense_cli.errors import ConfigurationError


def _camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), key)


def _in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(key): _in_camel_case(item) for key, item in value.items()}
    return [_in_camel_case(item) for item in value] if isinstance(value, list) else value


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in _keys(item)}
    return {key for item in value for key in _keys(item)} if isinstance(value, list) else set()


def test_every_key_is_understood_in_snake_case_and_in_camel_case() -> None:
    snake = parse_configuration(json.dumps(EVERY_KEY))
    assert snake == parse_configuration(json.dumps(_in_camel_case(EVERY_KEY)))
    assert snake.passes[0].repeat == models.Repeat(max_passes=2, threshold_reduction_factor=0.25)
    assert snake.lossless_prelude.operations.remove_obsolete_state is False
    phased = parse_configuration(json.dumps(EVERY_PHASE))
    assert phased == parse_configuration(json.dumps(_in_camel_case(EVERY_PHASE)))
    assert phased.lossy_phase
    assert phased.lossy_phase.processing_order == ("user_messages", "tool_params")


def test_the_document_with_every_key_is_complete() -> None:
    kinds = vars(models).values()
    structs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    known = {field.name for kind in structs for field in msgspec.structs.fields(kind)}
    assert _keys(EVERY_KEY) | _keys(EVERY_PHASE) == known


def test_passes_and_phases_cannot_both_be_given() -> None:
    """Phases turn into passes; see which of both would run is not for the program to guess."""
    with pytest.raises(ConfigurationError, match="passes and phases") as error:
        parse_configuration("passes: [{id: a, selection: {type: custom}, individual_config: {}}]\nllmPhase: {}\n")
    assert "--compiled" in error.value.hint


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("{type: preserve_recent}", "{type: preserve_recent, keep_recent_count: 5}"),
        ("{type: preserve_recent, keepRecentCount: null}", "{type: preserve_recent, keep_recent_count: 5}"),
        ("{type: preserve_percent}", "{type: preserve_percent, keep_percentage: 50}"),
        (
            "{type: preserve_percent, keep_recent_count: 3}",
            "{type: preserve_percent, keep_recent_count: 3, keep_percentage: 50}",
        ),
    ],
)
def test_a_selection_that_leaves_out_how_much_stays(said: str, meant: str) -> None:
    one = "passes: [{{id: a, selection: {}, individual_config: {{}}}}]"
    assert parse_configuration(one.format(said)) == parse_configuration(one.format(meant))


@pytest.mark.parametrize(
    "kept",
    [
        "{type: preserve_recent, keep_recent_count: 0}",
        "{type: preserve_percent, keep_percentage: 0}",
        "{type: custom}",
    ],
)
def test_nothing_is_put_in_the_place_of_what_a_selection_says(kept: str) -> None:
    found = parse_configuration(f"passes: [{{id: a, selection: {kept}, individual_config: {{}}}}]").passes[0].selection
    assert not found.keep_recent_count
    assert not found.keep_percentage


_CUT = "passes: [{{id: a, selection: {{type: custom}}, individual_config: {}}}]"


@pytest.mark.parametrize(
    "params", ["", "params: {}", "params: {truncate: {}}", "params: {truncate: {max_lines: null}}"]
)
@pytest.mark.parametrize(
    "where",
    ["{{defaults: {{tool_results: {}}}}}", "{{overrides: [{{message_index: 3, operations: {{tool_results: {}}}}}]}}"],
)
def test_truncate_without_limits_has_the_usual_ones(params: str, where: str) -> None:
    def read(params: str) -> Configuration:
        operation = "{" + ", ".join(filter(None, ["operation: truncate", params])) + "}"
        return parse_configuration(_CUT.format(where.format(operation)))

    assert read(params) == read("params: {truncate: {max_lines: 10, max_chars: 500}}")


@pytest.mark.parametrize("limits", [models.TruncateParams(max_lines=7), models.TruncateParams(max_chars=7)])
def test_truncate_with_one_limit_has_no_other(limits: models.TruncateParams) -> None:
    params = models.OperationParams(truncate=limits)
    assert models.ContentOperation(operation="truncate", params=params).params == params


def test_what_truncate_says_besides_its_limits_holds() -> None:
    params = models.OperationParams(truncate=models.TruncateParams(keep="tail"), summarize=models.SummarizeParams())
    cut = models.ContentOperation(operation="truncate", params=params)
    assert cut.params == models.OperationParams(
        truncate=models.TruncateParams(keep="tail", max_lines=10, max_chars=500), summarize=models.SummarizeParams()
    )
    assert models.ContentOperation(params=params).params is params, "what is kept has no limits"


def test_spellings_can_be_mixed() -> None:
    configuration = parse_configuration("keepFirst: 3\nmin_saving: 4\n")
    assert (configuration.keep_first, configuration.min_saving) == (3, 4)


@pytest.mark.parametrize("name", ["yaml", "json", "json with tabs", "yaml with a BOM", "yaml with CRLF"])
def test_yaml_and_json_say_the_same(name: str, tmp_path: Path) -> None:
    value = {"keep_first": 3, "pins": [{"regex": "TODO\\b"}]}
    texts = {
        "yaml": yaml.safe_dump(value),
        "json": json.dumps(value),
        "json with tabs": json.dumps(value, indent="\t"),
        "yaml with a BOM": "\ufeff" + yaml.safe_dump(value),
        "yaml with CRLF": yaml.safe_dump(value).replace("\n", "\r\n"),
    }
    path = tmp_path / "configuration"
    path.write_bytes(texts[name].encode())
    assert load_with_positions(path).configuration == Configuration(
        keep_first=3, pins=(models.Predicates(regex="TODO\\b"),)
    )


def test_aliases_may_reuse_what_stands_elsewhere_in_the_file() -> None:
    """Anchors are a way not to repeat oneself, and work."""
    text = """\
passes:
  - {id: a, selection: &recent {type: preserve_recent, keep_recent_count: 5}, individual_config: {}}
  - {id: b, selection: *recent, individual_config: {}}
"""
    first, second = parse_configuration(text).passes
    assert first.selection == second.selection == models.Selection(type="preserve_recent", keep_recent_count=5)


def test_json_may_spell_a_character_as_two_escapes() -> None:
    """Beyond U+FFFF JSON needs a pair, and YAML does not know pairs."""
    assert parse_configuration('{"name": "\\ud83d\\ude00 é"}').name == "\U0001f600 é"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    for name in ("missing.yaml", "latin.yaml", "."):
        with pytest.raises(ConfigurationError, match=re.escape(str(tmp_path / name))):
            load_with_positions(tmp_path / name)


@pytest.mark.parametrize(
    "path", sorted(presets_folder().rglob("*.yaml")), ids=lambda path: str(path.relative_to(presets_folder()))
)
def test_every_shipped_configuration_loads_in_both_spellings(path: Path) -> None:
    configuration = load_with_positions(path).configuration
    assert configuration.passes or configuration.lossless_prelude.enabled
    assert parse_configuration(json.dumps(_in_camel_case(yaml.safe_load(path.read_text())))) == configuration
