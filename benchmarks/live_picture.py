"""Draw the input cost of a recorded session, request by request, in several ways: the SVG of docs/live.md.

python benchmarks/live_picture.py SESSION docs/live.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import figures
from live import BESIDE, REGIMES, WAYS
from live_sessions import requests_of, session

from condense_cli.live.conversation import KEEP_RECENT
from condense_cli.live.replaying import BlockSizes, replayed
from condense_cli.money.bill import PromptCache

COLOURS = {
    "untouched": "#8b949e",
    "cleared, keep 10": "#d1242f",
    "renewed at doublings": "#bf8700",
    "live, economic": "#1a7f37",
}
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 340, 56, 40, 16
PLOT = WIDTH - LEFT - 190


def costs(path: Path, name: str) -> list[float]:
    """Return the cumulative input cost after each request, in tokens at the input price."""
    recorded = session(path)
    way = WAYS[name](recorded.model, None, KEEP_RECENT, 300.0)
    regime = REGIMES["anthropic"]
    sent = replayed(requests_of(recorded), way, PromptCache(regime.rules, BESIDE), BlockSizes(recorded.factor))
    return [*accumulate(regime.cost(billed.billed) for _, _, billed in sent)]


def svg(lines: dict[str, Sequence[float]]) -> str:
    highest = max(max(line) for line in lines.values())
    number = max(map(len, lines.values()))
    height = HEIGHT - BOTTOM - TOP

    def at(position: int, value: float) -> str:
        return f"{LEFT + PLOT * position / max(1, number - 1):.1f},{TOP + height * (1 - value / highest):.1f}"

    box = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + height * (1 - share)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + PLOT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e1e4e8"/>')
        label = f"{share * highest / 1_000_000:.1f} M"
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#57606a">{label}</text>')
    for name, line in sorted(lines.items(), key=lambda pair: -pair[1][-1]):
        points = " ".join(at(position, value) for position, value in enumerate(line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        end_x, end_y = map(float, at(len(line) - 1, line[-1]).split(","))
        parts.append(f'<text x="{end_x + 8:.1f}" y="{end_y + 4:.1f}" fill="{COLOURS[name]}">{name}</text>')
    middle = LEFT + PLOT / 2
    said = f"{number} requests; cost of all input so far, in tokens at the input price"
    parts.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle" fill="#57606a">{said}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    options.picture.write_text(svg({name: costs(options.session, name) for name in COLOURS}))
    figures.keep("picture", [options.session])


if __name__ == "__main__":
    main()
