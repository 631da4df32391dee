"""Fit the weights of the extraction to recorded sessions, and measure them on held-out sessions.

    python benchmarks/train_extraction.py SESSION...
    python benchmarks/train_extraction.py SESSION... --also OTHER... --write
    python benchmarks/train_extraction.py SESSION... --as-fitted --write     keep the weights, update their figures

Needs numpy, which the product does not. Each session is cut at four places. Two logistic models learn, from the part
before a cut, which facts the assistant writes after it and which lines its edits have to match there
(`condense_cli.quality.recall`). Every cut has the same weight; needs of the next calls count more than later ones.

All projects (see `left_out.py`) are divided into four folds. Each fold is measured with weights fitted to the others,
at the cuts of `condense evaluate`, with a preset and a target, and with several values of its `min_worth` instead of a
target. Sessions after `--also`, of other clients, are fitted to and not measured. `--write` writes weights fitted to
all sessions to `condense_cli/extractive/weights.py`, with date and figures, and those of each fold to `folds.json`.
"""

from __future__ import annotations

import argparse
import collections
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import left_out
import numpy as np
from left_out import Fold, condensed, project_of
from msgspec import Struct
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import PassConfig
from condense_cli.core.transcript import Message, Transcript
from condense_cli.errors import CondenseError
from condense_cli.extractive import likelihood, versions, weights
from condense_cli.extractive.likelihood import MODEL, Model, likelihoods
from condense_cli.extractive.survey import Survey
from condense_cli.quality.cases import Case, cases_of, fixed_messages
from condense_cli.quality.evaluation import CUTS
from condense_cli.tokens.counting import Counter

PRESET: Final = "balanced"
SIZES: Final = (0.62, 0.47, 0.30)
WORTHS: Final = (0.2, 0.3, 0.4)
TRAINED_AT: Final = (0.3, 0.5, 0.75, 0.9)
FOLDS: Final = 4
RIDGE_FACTS: Final = 10.0
RIDGE_LINES: Final = 30.0
"""Regularization: with few sessions, large weights are chance."""

FEWEST: Final = 8
"""Cuts that need fewer facts or lines count as if they needed this many."""

SOON: Final = 8.0
"""Weight of needs of the next calls. Between 5 and 10 it makes little difference; at 1 fewer lines that edits match
stay, and fewer calls find all they need.
"""

FILE: Final = Path(weights.__file__)
Rows = Any
"""A numpy array, which type checkers need not know."""


class Example(Struct):
    """One cut: features of its facts, the needed ones, the weight of each, and those that can be lost."""

    project: str
    case: Case
    survey: Survey
    facts: Rows
    needed: Rows
    counts: Rows
    open: Rows


def folds_of(projects: Sequence[str]) -> list[set[str]]:
    """Divide projects into folds with about equally many cuts. Names that may be one project stay together."""
    names = sorted(set(projects))
    first = {name: next(filter(name.startswith, names)) for name in names}
    cuts = collections.Counter(first[project] for project in projects)
    folds: list[set[str]] = [set() for _ in range(FOLDS)]
    for one, _ in cuts.most_common():
        smallest = min(folds, key=lambda fold: sum(cuts[name] for name in fold))
        smallest |= {name for name in names if first[name] == one}
    return folds


def examples_of(path: Path, transcript: Transcript, cuts: Sequence[float]) -> list[Example]:
    cases, _ = cases_of(transcript, cuts, Counter.of(transcript))
    examples = []
    for case in cases:
        survey = Survey(case.before.messages, case.count)
        asked = case.questions.asked
        fixed = {id(message) for message in fixed_messages(survey.messages)}
        stay = survey.said_by(key for key in survey.parts if id(survey.messages[key[0]]) in fixed).said
        names = survey.facts
        examples.append(
            Example(
                project_of(path),
                case,
                survey,
                np.array([*survey.fact_features()], float),
                np.array([name in asked.facts for name in names], float),
                _counts(names, asked.facts, (call.facts for call in asked.calls)),
                np.array([not stay[number] for number in range(len(names))]),
            )
        )
    return examples


def _counts(names: Iterable[str], asked: Collection[str], of_calls: Iterable[Collection[str]]) -> Rows:
    """Return weights of facts or lines in a cut, higher for those that its next calls need."""
    share = FEWEST / max(FEWEST, len(asked))
    soon = set(chain.from_iterable(of_calls))
    return np.array([share * (SOON if name in soon else 1) for name in names])


def fitted(examples: Sequence[Example]) -> Model:
    facts = _logistic(
        np.concatenate([example.facts[example.open] for example in examples]),
        np.concatenate([example.needed[example.open] for example in examples]),
        np.concatenate([example.counts[example.open] for example in examples]),
        RIDGE_FACTS,
    )
    rows: list[Rows] = []
    needed: list[bool] = []
    counts: list[Rows] = []
    for example in examples:
        asked, survey = example.case.questions.asked, example.survey
        survey.weights = likelihoods(example.facts.tolist(), facts)
        rows += [*survey.line_features()]
        needed += [line in asked.lines for line in survey.lines]
        counts.append(_counts(survey.lines, asked.lines, (call.lines for call in asked.calls)))
    return Model(facts, _logistic(np.array(rows, float), np.array(needed, float), np.concatenate(counts), RIDGE_LINES))


def overstated(model: Model, examples: Sequence[Example]) -> float:
    """Return the number of facts the model expects to be needed per fact that is."""
    expected = needed = 0.0
    for example in examples:
        share = FEWEST / max(FEWEST, len(example.case.questions.asked.facts))
        expected += share * sum(likelihoods(example.facts[example.open].tolist(), model.facts))
        needed += share * example.needed[example.open].sum()
    return expected / needed


def _logistic(rows: Rows, needed: Rows, counts: Rows, ridge: float) -> tuple[float, ...]:
    """Fit a logistic regression by Newton's method; features are scaled, so that `ridge` treats them alike."""
    mean, spread = rows.mean(0), rows.std(0)
    spread[spread == 0] = 1
    mean[0], spread[0] = 0, 1
    scaled = (rows - mean) / spread
    penalty = np.eye(rows.shape[1]) * ridge
    penalty[0, 0] = 1e-6
    found = np.zeros(rows.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-np.clip(scaled @ found, -30, 30)))
        slope = scaled.T @ (counts * (needed - likely)) - penalty @ found
        step = np.linalg.solve((scaled * (counts * likely * (1 - likely))[:, None]).T @ scaled + penalty, slope)
        found += step
        if np.abs(step).max() < 1e-6:
            break
    found /= spread
    found[0] -= (found * mean)[1:].sum()
    return tuple(float(f"{weight:.4g}") for weight in found)


class Measured(Struct):
    """Result of a way at one cut: recall of facts and of edits, and size. None if nothing was needed."""

    project: str
    facts: float | None
    edits: float | None
    left: float


def fitted_folds(examples: Sequence[Example]) -> list[Fold]:
    """Return each fold of projects with weights fitted to all others."""
    return [
        Fold.of([*fold], fitted([example for example in examples if example.project not in fold]))
        for fold in folds_of([example.project for example in examples])
    ]


class Means(Struct):
    """Mean recall over all cuts with needs, and the worst project's."""

    mean: float
    worst: float
    project: str
    projects: int

    @classmethod
    def of(cls, measured: Sequence[Measured], share: Callable[[Measured], float | None]) -> Means:
        of_projects: dict[str, list[float]] = {}
        for one in measured:
            if (found := share(one)) is not None:
                of_projects.setdefault(one.project, []).append(found)
        worst, project = min((fmean(found), project) for project, found in of_projects.items())
        return cls(fmean(found for some in of_projects.values() for found in some), worst, project, len(of_projects))


class Held(Struct):
    """Results of a way on held-out sessions."""

    left: float
    facts: Means
    edits: Means
    cuts: int

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> Held:
        facts, edits = Means.of(measured, lambda one: one.facts), Means.of(measured, lambda one: one.edits)
        return cls(fmean(one.left for one in measured), facts, edits, len(measured))

    def __str__(self) -> str:
        facts, edits = self.facts, self.edits
        recalls = f"fact recall {facts.mean:.3f}, edit recall {edits.mean:.3f}"
        worst = f"worst {facts.worst:.3f} ({facts.project}), {edits.worst:.3f} ({edits.project})"
        return f"({self.left:.1%} of the tokens left): {recalls}; {worst}"


def held_out(folds: Sequence[Fold], tested: Sequence[Example]) -> dict[str, Held]:
    """Measure fact and edit recall of every way."""
    ways = _ways()
    found: dict[str, list[Measured]] = {name: [] for name in ways}
    for fold in folds:
        with left_out.using(fold.model):
            for example in (example for example in tested if example.project in fold.projects):
                case = example.case
                for name, way in ways.items():
                    messages = way(case)
                    recall = case.questions(messages)
                    left = case.size_of(messages) / case.tokens
                    found[name].append(Measured(example.project, recall.facts.share, recall.edits.share, left))
    return {name: Held.of(measured) for name, measured in found.items()}


def _ways() -> dict[str, Callable[[Case], Sequence[Message]]]:
    """Return ways by name: the preset at each size, and with each `min_worth`."""
    preset = load_preset(PRESET)

    def to_size(size: float, case: Case) -> Sequence[Message]:
        return condensed(case, preset, int(case.tokens * size))

    def with_worth(worth: float, case: Case) -> Sequence[Message]:
        changed = replace(preset, passes=tuple(_with_worth(config, worth) for config in preset.passes))
        return condensed(case, changed)

    return {
        **{f"target {size:.0%}": partial(to_size, size) for size in SIZES},
        **{_worth_name(worth): partial(with_worth, worth) for worth in WORTHS},
    }


def _worth_name(worth: float) -> str:
    return f"min_worth {worth:g}"


def _with_worth(config: PassConfig, worth: float) -> PassConfig:
    extraction = config.extract_config
    if extraction is None or extraction.min_worth is None:
        return config
    return replace(config, extract_config=replace(extraction, min_worth=worth))


def written(model: Model, times: float, sessions: int, held: dict[str, Held]) -> str:
    tables = []
    for name, features, found in (
        ("FACTS", likelihood.FEATURES, model.facts),
        ("LINES", versions.FEATURES, model.lines),
    ):
        rows = [f'    "{feature}": {weight:g},' for feature, weight in zip(features, found, strict=True)]
        tables += [f"{name}: Final = {{", *rows, "}"]
    tables += [
        f"OVERSTATED: Final = {times:.3g}",
        '"""So many facts are expected to be needed for each that is: what is needed soon counts more."""',
    ]
    today = datetime.now(UTC).date()
    head = f'''"""Weights of the features of facts and of lines. Written by benchmarks/train_extraction.py; do not edit.

Fitted on {today} to {sessions} sessions. Measured on projects that were left out:
'''
    figures = "\n".join(textwrap.fill(f"- {line}", 118, subsequent_indent="  ") for line in lines_of(held))
    return f'{head}\n{figures}\n"""\n\nfrom __future__ import annotations\n\nfrom typing import Final\n\n' + "\n".join(
        [*tables, ""]
    )


def lines_of(held: dict[str, Held]) -> list[str]:
    one = next(iter(held.values()))
    cuts = f"{one.cuts} cuts of {one.facts.projects} projects, of which {one.edits.projects} ask for lines"
    return [
        *(f"{name} {found}" for name, found in held.items()),
        f"means over {cuts}, and of the worst project, with preset {PRESET}",
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--also", nargs="+", type=Path, default=[], metavar="SESSION", help="fitted to, not measured")
    parser.add_argument("--as-fitted", action="store_true", help="measure the weights that are there")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} anew")
    options = parser.parse_args(arguments)
    examples: list[Example] = []
    tested: list[Example] = []
    sessions = unread = 0
    for path in (*options.paths, *options.also):
        try:
            transcript = api.load(path)
        except CondenseError:
            unread += 1
            continue
        found = examples_of(path, transcript, TRAINED_AT)
        sessions += bool(found)
        examples += found
        if path in options.paths:
            tested += [example for example in found if example.case.at in CUTS]
    print(f"{sessions} sessions, {len(examples)} cuts; files that cannot be read: {unread}")
    folds = left_out.folds() if options.as_fitted else fitted_folds(examples)
    held = held_out(folds, tested)
    print(*lines_of(held), sep="\n")
    if options.write:
        left_out.write(folds)
        model = MODEL if options.as_fitted else fitted(examples)
        FILE.write_text(written(model, overstated(model, examples), sessions, held))
        print(f"Written: {FILE}")


if __name__ == "__main__":
    main()
