"""Measure what a model reads after condensing: a conversation, or excerpts.

    python benchmarks/structure.py SESSION...

Sessions are cut as by `condense evaluate`, and condensed with weights that their project had no part in
(`left_out.py`). All figures are shares, and the higher the better:

- `whole`: of the texts of which anything stays, those without a gap;
- `large gaps`: of the gaps, those of more than three lines;
- `replies`: of the user's short replies that stay, those whose question stays too;
- `calls`: of the calls, those that stay as calls;
- `outside`: of the characters, those outside the largest text;
- `no notes`: of the characters, those outside notes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import left_out
from msgspec import Struct

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.markers import gaps_in, parse_gap
from condense_cli.core.transcript import Message
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import CondenseError
from condense_cli.extractive.answers import is_typed
from condense_cli.extractive.parts import parts_of
from condense_cli.ledger.text import parse
from condense_cli.quality.cases import cases_of
from condense_cli.quality.evaluation import CUTS
from condense_cli.storage.processes import in_order, usable_processors
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

SIZES: Final = (None, 0.62, 0.47, 0.3)
FIGURES: Final = ("whole", "large gaps", "replies", "calls", "outside", "no notes")
_SMALL_GAP: Final = 3
_SHORT: Final = 60
"""Characters of a reply that says little without its question."""


class Shape(Struct):
    """Size of one cut after condensing, and its figures; a figure is missing where nothing is asked."""

    project: str
    size: float | None
    left: float
    figures: dict[str, float]


def shapes_of(path: Path) -> list[Shape]:
    """Measure all cuts of a session at every size; empty if it cannot be read."""
    try:
        transcript = api.load(path)
    except CondenseError:
        return []
    cases, _ = cases_of(transcript, CUTS, Counter.of(transcript))
    found = []
    with left_out.without(path):
        for case in cases:
            for size in SIZES:
                done = api.condense(
                    case.before,
                    load_preset("balanced"),
                    target_tokens=None if size is None else case.target(size),
                    counter=case.count,
                    factor=AS_COUNTED,
                    proves=False,
                )
                messages = done.transcript.messages
                figures = dict(figures_of(case.before.messages, messages))
                found.append(Shape(left_out.project_of(path), size, case.size_of(messages) / case.tokens, figures))
    return found


def figures_of(before: Sequence[Message], after: Sequence[Message]) -> Iterator[tuple[str, float]]:
    texts = [part.text for part in parts_of(after) if not part.block.summarizes or part.heading]
    stay = [text for text in texts if any(not parse_gap(line) for line in text.split("\n") if line.strip())]
    torn = [text for text in stay if gaps_in(text)]
    if stay:
        yield "whole", 1 - len(torn) / len(stay)
    if lines := [gap.lines for text in torn for gap in gaps_in(text) if gap.lines]:
        yield "large gaps", sum(number > _SMALL_GAP for number in lines) / len(lines)
    if replies := [*_replies(before, after)]:
        yield "replies", sum(replies) / len(replies)
    calls, left = (
        sum(block.kind is BlockKind.TOOL_CALL for message in some for block in message.blocks)
        for some in (before, after)
    )
    if calls:
        yield "calls", left / calls
    sizes = [(len(block.text), message.is_note) for message in after for block in message.blocks]
    if total := sum(size for size, _ in sizes):
        yield "outside", 1 - max(sizes)[0] / total
        yield "no notes", sum(size for size, is_note in sizes if not is_note) / total


def _replies(before: Sequence[Message], after: Sequence[Message]) -> Iterator[bool]:
    """Tell of each short reply that stays whether the end of the question before it stays as well."""
    text = "\n".join(block.text for message in after for block in message.blocks)
    said = {block.text for message in after for block in message.blocks}
    ledgers = [ledger for one in said if (ledger := parse(one))]
    quoted = {request.text for ledger in ledgers for request in ledger.requests}
    question = ""
    for message in before:
        for block in message.blocks:
            if message.role is Role.ASSISTANT and block.kind is BlockKind.TEXT:
                question = next((line.strip() for line in block.text.split("\n")[::-1] if "?" in line), "")
            elif is_typed(message, block):
                if question and len(block.text) <= _SHORT and (block.text in said or block.text in quoted):
                    yield question[-_SHORT:] in text
                question = ""


def means(found: Sequence[Shape], size: float | None) -> dict[str, float]:
    """Return the mean of each figure at a size."""
    rows = [one.figures for one in found if one.size == size]
    asked = {name: [figures[name] for figures in rows if name in figures] for name in FIGURES}
    return {name: fmean(values) for name, values in asked.items() if values}


def table(found: Sequence[Shape]) -> Iterator[str]:
    yield f"| | cuts | tokens left | {' | '.join(FIGURES)} |"
    yield f"| --- | {' '.join(['---: |'] * (2 + len(FIGURES)))}"
    for size in SIZES:
        rows, mean = [one for one in found if one.size == size], means(found, size)
        cells = " | ".join(f"{100 * mean[name]:.1f}" if name in mean else "–" for name in FIGURES)
        name = "as it comes" if size is None else f"to {size:.0%}"
        yield f"| {name} | {len(rows)} | {100 * fmean(one.left for one in rows):.0f} | {cells} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--jobs", type=int, default=usable_processors())
    given = parser.parse_args(arguments)
    found = [one for some in in_order(shapes_of, given.paths, given.jobs) for one in some]
    if not found:
        parser.error("nothing to measure: no session could be read")
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
