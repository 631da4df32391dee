"""The plain values of the package's presets, so that a run with one need not import the parser of YAML.

`python -m condense_cli.config.packing` writes them down, each with the hash of the file that it was read from: of a
file that changed since, nothing is known.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..core.markers import content_hash
from .preset_folders import presets_folder

FILE: Final = Path(__file__).with_name("packaged.json")


def values_in(path: Path, text: str) -> dict[str, Any] | None:
    """The values of a preset of the package that reads so; None of any other file."""
    if path.parent != presets_folder():
        return None
    known = _written_down().get(path.name, {})
    return known.get("values") if known.get("hash") == content_hash(text) else None


@cache
def _written_down() -> dict[str, dict[str, Any]]:
    return dict(json.loads(FILE.read_bytes()))
