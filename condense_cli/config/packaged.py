"""The plain values of the package's presets, so that a run with one need not import the parser of YAML.

`python -m condense_cli.config.packaged` writes them down, each with the hash of the file that it was read from: of a
file that changed since, nothing is known.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from ..markers import content_hash
from .presets import presets_folder

FILE: Final = Path(__file__).with_name("packaged.json")


def values_in(path: Path, text: str) -> dict[str, Any] | None:
    """The values of a preset of the package that reads so; None of any other file."""
    if path.parent != presets_folder():
        return None
    known = json.loads(FILE.read_bytes()).get(path.name, {})
    return known.get("values") if known.get("hash") == content_hash(text) else None


def written_down() -> str:
    """What the file says when it is up to date."""
    from .loading import read_text
    from .yaml_reading import read_yaml

    known = {}
    for path in sorted(presets_folder().glob("*.yaml")):
        text = read_text(path)
        values, _ = read_yaml(text, path.name)
        known[path.name] = {"hash": content_hash(text), "values": values}
    return json.dumps(known, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(written_down(), encoding="utf-8")
