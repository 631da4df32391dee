"""Writing down the plain values of the package's presets: `python -m condense_cli.config.packing`."""

from __future__ import annotations

import json

from ..core.markers import content_hash
from .loading import parse_with_positions, read_text
from .packaged import FILE
from .preset_folders import presets_folder


def written_down() -> str:
    """What the file says when it is up to date."""
    known = {}
    for path in sorted(presets_folder().glob("*.yaml")):
        text = read_text(path)
        # What reads them checks nothing any more.
        values = parse_with_positions(text, path.name, folder=None).value
        known[path.name] = {"hash": content_hash(text), "values": values}
    return json.dumps(known, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(written_down(), encoding="utf-8")
