"""`condense config schema`: what editors are told a configuration may say is what the loader takes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml
from configurations import EVERY_KEY, MINE
from helpers import condense_process

from condense_cli.config import models
from condense_cli.config.loading import parse_configuration
from condense_cli.config.schema import configuration_schema
from condense_cli.errors import ConfigurationError


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
