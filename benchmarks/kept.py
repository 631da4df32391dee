"""Measure how much preset `balanced` keeps, at each size: the first table of docs/quality.md.

    python benchmarks/kept.py SESSION...
    python benchmarks/kept.py SESSION... --write

Sessions are cut as by `condense evaluate`, and condensed with weights that their project had no part in
(`left_out.py`). The figure in brackets is the same choice of lines with foresight of the facts and lines needed later:
roughly the maximum at that size.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import figures
import left_out
from msgspec import Struct
from recorded import DOCS, PROJECT, files_in, replace_between

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.errors import CondenseError
from condense_cli.extractive.likelihood import MODEL
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.weights import OVERSTATED
from condense_cli.quality.cases import Case, cases_of
from condense_cli.quality.evaluation import CUTS
from condense_cli.quality.recall import Needs
from condense_cli.quality.witnesses import Condensed
from condense_cli.storage.processes import in_order, usable_processors
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

PRESET: Final = "balanced"
SIZES: Final = (None, 0.62, 0.47, 0.3)
MEASURES: Final = ("facts", "edits", "bits", "grounding")
OF_WORST: Final = ("facts", "edits")
UNASKED: Final = 0.001
"""Factor for the value of things that are not needed: they come last, in the same order."""

PAGE: Final = DOCS / "quality.md"
BEGIN: Final = "<!-- written by benchmarks/kept.py --write -->"
END: Final = "<!-- end of what is kept -->"


class Kept(Struct):
    """Size of one cut after condensing, and shares kept by each measure, also with foresight."""

    project: str
    size: float | None
    counts: bool
    left: float
    shares: dict[str, float | None]
    foreseen: dict[str, float | None]


def kept_of(path: Path) -> list[Kept]:
    """Measure all cuts of a session at every size; empty if it cannot be read."""
    try:
        transcript = api.load(path)
    except CondenseError:
        return []
    cases, _ = cases_of(transcript, CUTS, Counter.of(transcript))
    with left_out.without(path):
        return [_kept(left_out.project_of(path), case, size) for case in cases for size in SIZES]


def _kept(project: str, case: Case, size: float | None) -> Kept:
    target = None if size is None else case.target(size)
    left, shares = _shares(case, target)
    foreseen = {} if size is None else _shares(case, target, foresees=True)[1]
    return Kept(project, size, target is None or not case.is_crowded(target), left, shares, foreseen)


def _shares(case: Case, target: int | None, *, foresees: bool = False) -> tuple[float, dict[str, float | None]]:
    with foresight(case.questions.asked) if foresees else nullcontext():
        # Not proved: the file goes on after the cut, so the result would not read back the same.
        done = api.condense(
            case.before,
            load_preset(PRESET),
            target_tokens=target,
            counter=case.count,
            factor=AS_COUNTED,
            proves=False,
        )
    messages = done.transcript.messages
    kept = Condensed(messages, case.questions)
    shares = {**kept.recall.shares(), **case.witnesses(kept, [one for one in MEASURES if one not in OF_WORST])}
    return case.size_of(messages) / case.tokens, shares


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
        yield _row("as it comes" if size is None else f"to {size:.0%}", rows)
        if 0 < len(counted) < len(rows):
            yield _row("cuts that count", counted)


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


if __name__ == "__main__":
    main()
