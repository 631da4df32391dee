"""`condense config schema`: what editors are told a configuration may say is what the loader takes."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from configurations import EVERY_KEY, MINE
from helpers import condense_process

from condense_cli.config import models
from condense_cli.config.checks import value_warnings
from condense_cli.config.effective import configuration_schema, own_schema
from condense_cli.config.loading import load_with_positions, parse_configuration
from condense_cli.config.preset_folders import presets_folder
from condense_cli.errors import ConfigurationError
from condense_cli.providers import truncation


def test_the_schema_is_printed() -> None:
    done = condense_process("config", "schema")
    assert json.loads(done.stdout) == json.loads(msgspec.json.encode(configuration_schema()))
    assert json.loads(done.stdout)["$schema"].startswith("https://json-schema.org/")


def test_the_schema_has_every_key_and_no_other() -> None:
    definitions = configuration_schema()["$defs"]
    structs = [kind for kind in vars(models).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    for kind in structs:
        # A file may say all that a configuration is, and name a preset.
        if kind.__name__ not in ("Struct", "Base", "Configuration"):
            definition = definitions[kind.__name__]
            assert set(definition["properties"]) == set(kind.__struct_fields__)
            assert definition["additionalProperties"] is False
            assert definition["title"]
    assert definitions["Selection"]["description"].startswith("Which messages a pass may touch.")


ONE_PASS = "passes: [{id: a, selection: {type: custom}, individual_config: {defaults: "

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def _fits(value: Any, schema: dict[str, Any], definitions: dict[str, Any]) -> bool:
    """As much of JSON Schema as this schema uses."""
    known = {"$schema", "$defs", "$ref", "title", "description", "default", "type", "properties", "required", "items"}
    known |= {"additionalProperties", "anyOf", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    assert schema.keys() <= known, schema.keys() - known
    if "$ref" in schema and not _fits(value, definitions[schema["$ref"].removeprefix("#/$defs/")], definitions):
        return False
    if "anyOf" in schema and not any(_fits(value, each, definitions) for each in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not isinstance(value, _TYPES[schema["type"]]):
        return False
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        if not set(schema["required"]) <= value.keys() <= properties.keys():
            return False
        return all(_fits(item, properties[key], definitions) for key, item in value.items())
    if isinstance(value, list) and "items" in schema:
        return all(_fits(item, schema["items"], definitions) for item in value)
    if isinstance(value, int | float):
        bounds = (
            value >= schema.get("minimum", value),
            value <= schema.get("maximum", value),
            value > schema.get("exclusiveMinimum", value - 1),
            value < schema.get("exclusiveMaximum", value + 1),
        )
        return all(bounds)
    return True


# The schema and the loader agree on what is required and on which values there are.
@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (MINE.replace("keepFirst", "keep_first"), True),
        (json.dumps(EVERY_KEY), True),
        ("keep_first: -1", False),
        ("keep_first: two", False),
        ("target_reduction_percent: 100", False),
        ("thinking: never", False),
        ("passes: [{mode: target}]", False),
        ("passes: [{id: a, mode: target}]", True),
        ("passes: {}", False),
        ("surprise: 1", False),
        ("passes: [{id: a, selection: {type: custom}, mode: batch, batch_config: {operation: summarize}}]", True),
        (
            "passes: [{id: a, selection: {type: custom}, mode: batch, batch_config: {operation: drop_older_half}}]",
            False,
        ),
        ("pins: [{tools: {only: [x]}}]", False),
        (
            ONE_PASS + "{images: {operation: truncate}}}}]",
            False,
        ),
        (
            ONE_PASS + "{images: {operation: suppress}}}}]",
            True,
        ),
    ],
)
def test_schema_and_loader_agree(text: str, valid: bool) -> None:
    schema = configuration_schema()
    assert _fits(yaml.safe_load(text), schema, schema["$defs"]) is valid
    if valid:
        parse_configuration(text)
    else:
        with pytest.raises(ConfigurationError):
            parse_configuration(text)


# Values that work and are probably not wanted: the loader warns, and the schema makes an editor mark them.
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "passes: [{id: a, selection: {type: preserve_recent, keep_recent_count: %s}, mode: extract}]",
            ("passes[0].selection.keep_recent_count", 0, 100),
        ),
        (
            "passes: [{id: a, selection: {type: custom}, mode: extract}, {id: b, selection: {type: custom}, "
            "mode: extract, execution: {type: conditional, condition: {token_threshold: %s}}}]",
            ("passes[1].execution.condition.token_threshold", 1_000, 200_000),
        ),
        (
            ONE_PASS + "{tool_results: {operation: summarize, params: {summarize: {max_tokens: %s}}}}}}]",
            ("passes[0].individual_config.defaults.tool_results.params.summarize.max_tokens", 50, 500),
        ),
        ("truncation: {preserve_recent_count: %s}", ("truncation.preserve_recent_count", 1, 20)),
        ("lossy_phase: {target_reduction_percent: %s}", ("lossy_phase.target_reduction_percent", 10, 90)),
        ("llm_phase: {summary_max_tokens: %s}", ("llm_phase.summary_max_tokens", 50, 500)),
    ],
)
def test_what_the_loader_warns_of_an_editor_marks(text: str, told: tuple[str, int, int]) -> None:
    path, least, most = told
    schema = configuration_schema()
    for value, is_usual in ((least - 1, False), (least, True), (most, True), (most + 1, False)):
        if value < 0:  # No count: that is refused.
            continue
        said = text % value
        assert _fits(yaml.safe_load(said), schema, schema["$defs"]) is is_usual
        what = f"{path} is {value:,}; {least:,} to {most:,} is usual. Change it unless you mean it."
        assert value_warnings(parse_configuration(said)) == ([] if is_usual else [what])


@pytest.mark.parametrize("path", sorted(presets_folder().rglob("*.yaml")), ids=lambda path: str(path.name))
def test_what_is_shipped_is_usual(path: Path) -> None:
    schema = configuration_schema()
    assert _fits(yaml.safe_load(path.read_text()), schema, schema["$defs"])
    assert value_warnings(load_with_positions(path).configuration) == []


def test_the_schema_of_a_provider_has_its_usual_values() -> None:
    of_count = truncation.PROVIDER.schema()["$defs"]["TruncationConfig"]["properties"]["preserve_recent_count"]
    assert (of_count["minimum"], of_count["maximum"]) == (1, 20)
    assert own_schema()["$defs"]["TruncationConfig"]["properties"]["preserve_recent_count"] == of_count
