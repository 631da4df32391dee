"""The package's presets as values, so that a run with one need not import the parser of YAML, nor learn all types.

`python -m condense_cli.config.packaged.packing` writes them down, plain ones with the hash of the file that they were
read from, and typed ones as Python: of a file that changed since, nothing is known.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...core.markers import content_hash
from ..models import Configuration
from ..preset_folders import presets_folder

FILE: Final = Path(__file__).with_name("presets.json")
TYPED_FILE: Final = Path(__file__).with_name("presets.py")


def values_in(path: Path, text: str) -> tuple[dict[str, Any], Configuration] | None:
    """Return the plain and the typed values of the package's preset with this text; None for any other file."""
    if path.parent != presets_folder():
        return None
    known = _written_down().get(path.name, {})
    if known.get("hash") != content_hash(text):
        return None
    from .presets import PRESETS  # Here, so that it can be written anew when types have changed.

    return known["values"], PRESETS[path.name]


@cache
def _written_down() -> dict[str, dict[str, Any]]:
    return dict(json.loads(FILE.read_bytes()))
