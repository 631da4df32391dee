"""Measure how much preset `balanced` keeps, at each size, and whether that is a conversation or excerpts.

    python benchmarks/kept.py SESSION...
    python benchmarks/kept.py SESSION... --write

Sessions are cut as by `condense evaluate`, and condensed with weights that their project had no part in
(`left_out.py`). The first table is that of docs/quality.md. The figure in brackets is the same choice of lines with
foresight of the facts and lines needed later: roughly the maximum at that size. The second table is of what a model
reads; all its figures are shares, and the higher the better:

- `whole`: of the texts of which anything stays, those without a gap;
- `large gaps`: of the gaps, those of more than three lines;
- `replies`: of the user's short replies that stay, those whose question stays too;
- `calls`: of the calls, those that stay as calls;
- `outside`: of the characters, those outside the largest text;
- `no notes`: of the characters, those outside notes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import figures
import left_out
from msgspec import Struct
from recorded import DOCS, PROJECT, files_in, replace_between

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.markers import gaps_in, parse_gap
from condense_cli.core.transcript import Message
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import CondenseError
from condense_cli.extractive.answers import is_typed
from condense_cli.extractive.likelihood import MODEL
from condense_cli.extractive.parts import parts_of
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.weights import OVERSTATED
from condense_cli.ledger.text import parse
from condense_cli.quality.cases import Case, cases_of
from condense_cli.quality.evaluation import CUTS
from condense_cli.quality.recall import Needs
from condense_cli.quality.witnesses import Condensed
from condense_cli.storage.processes import in_order, usable_processors
from condense_cli.tokens.counting import Counter

PRESET: Final = "balanced"
SIZES: Final = (None, 0.62, 0.47, 0.3)
MEASURES: Final = ("facts", "edits", "bits", "grounding")
OF_WORST: Final = ("facts", "edits")
FIGURES: Final = ("whole", "large gaps", "replies", "calls", "outside", "no notes")
_SMALL_GAP: Final = 3
_SHORT: Final = 60
"""Characters of a reply that says little without its question."""
UNASKED: Final = 0.001
"""Factor for the value of things that are not needed: they come last, in the same order."""

PAGE: Final = DOCS / "quality.md"
BEGIN: Final = "<!-- written by benchmarks/kept.py --write -->"
END: Final = "<!-- end of what is kept -->"


class Kept(Struct):
    """One cut after condensing: its size, shares kept by each measure, also with foresight, and figures of its form.

    A figure is missing where nothing is asked.
    """

    project: str
    size: float | None
    counts: bool
    left: float
    form: dict[str, float]
    shares: dict[str, float | None] = {}
    foreseen: dict[str, float | None] = {}


def kept_of(path: Path, *, only_form: bool = False) -> list[Kept]:
    """Measure all cuts of a session at every size; empty if it cannot be read."""
    try:
        transcript = api.load(path)
    except CondenseError:
        return []
    cases, _ = cases_of(transcript, CUTS, Counter.of(transcript))
    with left_out.without(path):
        return [_kept(left_out.project_of(path), case, size, only_form) for case in cases for size in SIZES]


def _kept(project: str, case: Case, size: float | None, only_form: bool) -> Kept:
    target = None if size is None else case.target(size)
    messages = left_out.condensed(case, load_preset(PRESET), target)
    form = dict(figures_of(case.before.messages, messages))
    counts = target is None or not case.is_crowded(target)
    found = Kept(project, size, counts, case.size_of(messages) / case.tokens, form)
    if not only_form:
        found.shares = _shares(case, messages)
        if target is not None:
            with foresight(case.questions.asked):
                found.foreseen = _shares(case, left_out.condensed(case, load_preset(PRESET), target))
    return found


def _shares(case: Case, messages: Sequence[Message]) -> dict[str, float | None]:
    kept = Condensed(messages, case.questions)
    return {**kept.recall.shares(), **case.witnesses(kept, [one for one in MEASURES if one not in OF_WORST])}


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


def means(found: Sequence[Kept], size: float | None) -> dict[str, float]:
    """Return the mean of each figure at a size."""
    rows = [one.form for one in found if one.size == size]
    asked = {name: [figures[name] for figures in rows if name in figures] for name in FIGURES}
    return {name: fmean(values) for name, values in asked.items() if values}


@contextmanager
def foresight(asked: Needs) -> Iterator[None]:
    """Let the extraction know what will be needed, inside this context."""
    usual = Survey.__init__

    def knowing(survey: Survey, *given: Any, **named: Any) -> None:
        usual(survey, *given, **named)
        for number, fact in enumerate(survey.facts):
            survey.weights[number] = OVERSTATED if fact in asked.facts else UNASKED * survey.weights[number]
        for number, line in enumerate(survey.lines, len(survey.facts)):
            survey.weights[number] = (
                OVERSTATED * MODEL.line if line in asked.lines else UNASKED * survey.weights[number]
            )

    Survey.__init__ = knowing  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Survey.__init__ = usual  # type: ignore[method-assign]


def table(found: Sequence[Kept]) -> Iterator[str]:
    yield f"| | cuts | tokens left | {' | '.join(f'`{one}`' for one in MEASURES)} | worst project: facts, edits |"
    yield f"| --- | {' '.join(['---: |'] * (3 + len(MEASURES)))}"
    for size in SIZES:
        rows = [one for one in found if one.size == size]
        counted = [one for one in rows if one.counts]
        yield _row(size_name(size), rows)
        if 0 < len(counted) < len(rows):
            yield _row("cuts that count", counted)


def form_table(found: Sequence[Kept]) -> Iterator[str]:
    yield f"| | {' | '.join(FIGURES)} |"
    yield f"| --- | {' '.join(['---: |'] * len(FIGURES))}"
    for size in SIZES:
        mean = means(found, size)
        cells = " | ".join(f"{100 * mean[name]:.1f}" if name in mean else "–" for name in FIGURES)
        yield f"| {size_name(size)} | {cells} |"


def size_name(size: float | None) -> str:
    return "as it comes" if size is None else f"to {size:.0%}"


def _row(name: str, rows: Sequence[Kept]) -> str:
    cells = []
    for measure in MEASURES:
        foreseen = _mean([one.foreseen for one in rows], measure)
        cells.append(f"{_mean([one.shares for one in rows], measure)}{f' ({foreseen})' if foreseen else ''}")
    worst = ", ".join(_worst(rows, measure) for measure in OF_WORST)
    return f"| {name} | {len(rows)} | {100 * fmean(one.left for one in rows):.0f} | {' | '.join(cells)} | {worst} |"


def _mean(shares: Sequence[Mapping[str, float | None]], measure: str) -> str:
    asked = [share for one in shares if (share := one.get(measure)) is not None]
    return f"{100 * fmean(asked):.1f}" if asked else ""


def _worst(rows: Sequence[Kept], measure: str) -> str:
    projects: dict[str, list[float]] = {}
    for one in rows:
        if (share := one.shares[measure]) is not None:
            projects.setdefault(one.project, []).append(share)
    return f"{100 * min(map(fmean, projects.values())):.1f}" if projects else "–"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--jobs", type=int, default=usable_processors())
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.relative_to(PROJECT)}")
    given = parser.parse_args(arguments)
    paths = files_in(given.paths)
    found = [one for some in in_order(kept_of, paths, given.jobs) for one in some]
    if not found:
        parser.error("nothing to measure: no session could be read, or none asks for anything behind its cuts")
    text = "\n".join(table(found))
    if given.write:
        replace_between(PAGE, BEGIN, END, text)
        figures.keep("kept", paths)
    else:
        print(text)
    print("", *form_table(found), sep="\n")


if __name__ == "__main__":
    main()
