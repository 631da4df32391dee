"""The JSON Schema of a configuration, by which editors complete and check one while it is written."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .models import Configuration

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def configuration_schema() -> dict[str, Any]:
    """Schema of the keys in snake_case. Like the loader it refuses keys that it does not know."""
    schema = msgspec.json.schema(Configuration)
    return {
        "$schema": DIALECT,
        "title": "Configuration of condense",
        "description": "What `condense run --config FILE` does to a transcript.",
        **schema,
    }
