"""Measure every figure of README.md and docs that one command can, and keep what it was measured on.

    python benchmarks/figures.py                  all, one after another: an hour and a half
    python benchmarks/figures.py bill kept        these
    python benchmarks/figures.py --copies         none: figures that are told twice are copied again

Each script writes the tables between its marks, and the transcripts that it read, with their hashes, into figures.json.
A figure that is told on two pages is written on the second by `copied`. What cannot be measured beside a checkout, such
as work with a live model, is on no page: see `live_run/`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from recorded import DOCS, MORE, PROJECT, TRANSCRIPTS

FILE: Final = Path(__file__).with_name("figures.json")
README: Final = PROJECT / "README.md"
SCRIPTS: Final[dict[str, Sequence[str]]] = {
    "kept": ("kept.py", "--write", *map(str, (TRANSCRIPTS / "claude-code", MORE / "claude-code"))),
    "quality": ("quality/compare.py", "--write", "--sample", "8"),
    "bill": ("bill.py", "--write"),
    "live": ("live.py", "--write"),
    "picture": (
        "live.py",
        str(MORE / "claude-code" / "packmind-sonnet46-ts-edits-image.jsonl"),
        "--picture",
        str(DOCS / "live.svg"),
    ),
    "speed": ("speed.py", "--write"),
    "providers": ("providers.py", "--write"),
}
"""Scripts that write tables. `token_factors.py` and `train_extraction.py` write those of the package."""

TOOLS: Final = {"condense, half the size": "balanced"}
"""Rows of the README, and the rows of docs/quality.md whose figures at half of the size they repeat."""

SIZES: Final = {
    "without a target": "as it comes",
    "with a target of 62%": "to 62%",
    "with a target of 47%": "to 47%",
    "with a target of 30%": "to 30%",
}


def keep(name: str, sources: Iterable[Path], tools: Sequence[str] = ()) -> None:
    """Note what a table was measured on."""
    known = kept()
    told = {path.name: digest(path) for path in sorted(sources)}
    known[name] = {"sources": told, **({"tools": sorted(tools)} if tools else {})}
    FILE.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n")


def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]


def copied(readme: str, quality: str) -> str:
    """Return the README with the figures of docs/quality.md where it repeats them."""
    tools = quality.partition("<!-- tables")[2].partition("All cuts that count")[0]
    for row, source in TOOLS.items():
        values = [f"{cell.partition(' / ')[0].strip('*')}%" for cell in cells(tools, source)[:3]]
        readme = _with_cells(readme, row, [*values, *cells(readme, row)[3:]])
    for row, source in SIZES.items():
        measured = cells(quality, source)
        figures = [measured[1], measured[2], measured[3], *measured[6].split(", ")]
        left, facts, edits, *worst = (f"{float(each.split()[0]) // 1:.0f}%" for each in figures)
        readme = _with_cells(readme, row, [left, facts, edits, ", ".join(worst)])
    told = re.search(r"facts (\d+) / (\d+)%, .*?so (\d+) / (\d+)% in all", quality, re.DOTALL)
    if told is not None:
        for row, place in (("`/compact`*", 1), ("condense, same size as `/compact`*", 2)):
            size, _, *rest = cells(readme, row)
            readme = _with_cells(readme, row, [size, f"{told[place]}%, {told[place + 2]}% named", *rest])
    return readme


def cells(page: str, row: str) -> list[str]:
    (found,) = re.findall(rf"(?m)^\| {re.escape(row)} \| (.*) \|$", page)
    return [cell.strip() for cell in found.split(" | ")]


def _with_cells(page: str, row: str, values: Sequence[str]) -> str:
    line = f"| {row} | {' | '.join(values)} |"
    return re.sub(rf"(?m)^\| {re.escape(row)} \| .* \|$", lambda _: line, page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCRIPTS))
    parser.add_argument("--copies", action="store_true")
    options = parser.parse_args()
    unknown = set(options.names) - {*SCRIPTS}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    for name in () if options.copies else options.names or SCRIPTS:
        script, *arguments = SCRIPTS[name]
        subprocess.run([sys.executable, str(Path(__file__).parent / script), *arguments], check=True)
    README.write_text(copied(README.read_text(), (DOCS / "quality.md").read_text()))


if __name__ == "__main__":
    main()
