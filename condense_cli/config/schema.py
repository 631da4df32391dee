"""The JSON Schema of a configuration, by which editors complete and check one while it is written."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .checks import limit_to_usual
from .models import NOT_IN_FILES, FileConfiguration
from .profiles import Profile
from .user import OwnFile

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def configuration_schema() -> dict[str, Any]:
    """Schema of a configuration and of a project's file, keys in snake_case.

    Like the loader it refuses other keys. Unlike the loader, which warns, it refuses unusual values: editors mark them.
    """
    schema = msgspec.json.schema(FileConfiguration)
    limit_to_usual(schema["$defs"])
    schema["$defs"]["BatchConfig"]["properties"]["operation"]["enum"].remove(NOT_IN_FILES)
    return {
        "$schema": DIALECT,
        "title": "Configuration of condense",
        "description": "What `condense run` does with --config FILE or a project's condense.yaml.",
        **schema,
    }


def own_schema() -> dict[str, Any]:
    """Schema of the user's own file, which defines profiles and may permit calls."""
    (own, profile), definitions = msgspec.json.schema_components((OwnFile, Profile), ref_template="#/$defs/{name}")
    limit_to_usual(definitions)
    properties = definitions["OwnFile"]["properties"]
    properties["profiles"] = {"type": "object", "additionalProperties": profile, "default": {}}
    return {
        "$schema": DIALECT,
        "title": "Your own configuration of condense",
        "description": "Your settings for `condense`, your profiles of models, and whether models may be called.",
        **own,
        "$defs": definitions,
    }
