"""Fits the weights of the extraction to recorded sessions, and measures them on sessions that they were not fitted to.

    python benchmarks/train_extraction.py SESSION...
    python benchmarks/train_extraction.py SESSION... --write

Needs numpy, which the product does not. Each session is cut at nine places. Two logistic models learn from what is
known before a cut which facts the assistant writes after it, and which lines its edits have to match there
(`condense_cli.quality.asked`). Every cut has the same weight.

Sessions of one project make one fold: its name is the last word before `__` in the name of a file, or the last word of
the name. Each fold is measured with weights that were fitted to all others, at the cuts of `condense evaluate`, with a
preset and a target, and with several values of its `min_worth` in place of a target. With `--write` weights fitted to
all sessions go to `condense_cli/extractive/weights.py`, with the date and these figures.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.models import PassConfig
from condense_cli.config.presets import load_preset
from condense_cli.errors import CondenseError
from condense_cli.extractive import editable, likelihood, mentions, weights
from condense_cli.extractive.likelihood import Model, likelihoods
from condense_cli.extractive.survey import Survey
from condense_cli.factor import AS_COUNTED
from condense_cli.quality.cases import Case, cases_of, fixed_messages
from condense_cli.quality.evaluation import CUTS
from condense_cli.tokens import Counter
from condense_cli.transcript import Message, Transcript

PRESET: Final = "balanced"
SIZES: Final = (0.62, 0.47, 0.30)
WORTHS: Final = (0.2, 0.4, 1.0, 2.0)
TRAINED_AT: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
RIDGE_FACTS: Final = 10.0
RIDGE_LINES: Final = 30.0
"""What keeps weights small: with few sessions large ones are chance."""

FEWEST: Final = 8
"""Cuts that ask for fewer facts or lines count as if they asked for so many."""

FILE: Final = Path(weights.__file__)
Rows = Any
"""An array of numpy, which type checkers need not know."""


class Example(Struct):
    """One cut: what is known of its facts, which of them are needed, and which of them can be lost."""

    project: str
    case: Case
    survey: Survey
    facts: Rows
    needed: Rows
    open: Rows


def project_of(path: Path) -> str:
    words: list[str] = re.findall(r"[A-Za-z0-9]+", path.stem.split("__")[0] if "__" in path.stem else path.stem)
    return words[-1]


def examples_of(path: Path, transcript: Transcript, cuts: Sequence[float]) -> list[Example]:
    cases, _ = cases_of(transcript, cuts, Counter.of(transcript))
    examples = []
    for case in cases:
        survey = Survey(case.before.messages, case.count)
        asked = case.questions.asked.facts
        fixed = {id(message) for message in fixed_messages(survey.messages)}
        stay = survey.said_by(key for key in survey.parts if id(survey.messages[key[0]]) in fixed)
        names = survey.facts
        examples.append(
            Example(
                project_of(path),
                case,
                survey,
                np.array([*survey.fact_features()], float),
                np.array([name in asked for name in names], float),
                np.array([not stay[number] for number in range(len(names))]),
            )
        )
    return examples


def fitted(examples: Sequence[Example]) -> Model:
    facts = _logistic(
        np.concatenate([example.facts[example.open] for example in examples]),
        np.concatenate([example.needed[example.open] for example in examples]),
        np.concatenate([
            np.full(example.open.sum(), FEWEST / max(FEWEST, len(example.case.questions.asked.facts)))
            for example in examples
        ]),
        RIDGE_FACTS,
    )  # fmt: skip
    rows: list[Rows] = []
    needed: list[bool] = []
    counts: list[float] = []
    for example in examples:
        asked, survey = example.case.questions.asked.lines, example.survey
        survey.weights = likelihoods(example.facts.tolist(), facts)
        rows += [*survey.line_features()]
        needed += [line in asked for line in survey.lines]
        counts += [FEWEST / max(FEWEST, len(asked))] * len(survey.lines)
    return Model(facts, _logistic(np.array(rows, float), np.array(needed, float), np.array(counts), RIDGE_LINES))


def _logistic(rows: Rows, needed: Rows, counts: Rows, ridge: float) -> tuple[float, ...]:
    """Weights of a logistic regression by Newton's method; features are scaled, so that `ridge` treats them alike."""
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


def held_out(examples: Sequence[Example], tested: Sequence[Example]) -> list[str]:
    """Fact and edit recall of a preset, of sessions that the weights were not fitted to."""
    ways = _ways()
    found: dict[str, list[tuple[float | None, float | None]]] = {name: [] for name in ways}
    left: dict[str, list[float]] = {name: [] for name in ways}
    for project in sorted({example.project for example in tested}):
        # The product has no setting for this.
        likelihood.MODEL = fitted([example for example in examples if example.project != project])  # type: ignore[misc]
        for case in [example.case for example in tested if example.project == project]:
            for name, condensed in ways.items():
                messages = condensed(case)
                recall = case.questions(messages)
                found[name].append((recall.facts.share, recall.edits.share))
                left[name].append(case.size_of(messages) / case.tokens)
    shown = []
    for name, shares in found.items():
        facts, edits = ([share for share in column if share is not None] for column in zip(*shares, strict=True))
        recalls = f"fact recall {fmean(facts):.3f}, edit recall {fmean(edits):.3f}"
        shown.append(f"{name} ({fmean(left[name]):.1%} of the tokens left): {recalls}")
    return [*shown, f"means over {len(shares)} cuts, of which {len(edits)} ask for lines, with preset {PRESET}"]


def _ways() -> dict[str, Callable[[Case], Sequence[Message]]]:
    """What is measured, by its name: the preset to each size, and with each `min_worth`."""
    preset = load_preset(PRESET)

    def to_size(size: float, case: Case) -> Sequence[Message]:
        target = int(case.tokens * size)
        done = api.condense(case.before, preset, target_tokens=target, counter=case.count, factor=AS_COUNTED)
        return done.transcript.messages

    def with_worth(worth: float, case: Case) -> Sequence[Message]:
        changed = replace(preset, passes=tuple(_with_worth(config, worth) for config in preset.passes))
        return api.condense(case.before, changed, counter=case.count).transcript.messages

    return {
        **{f"target {size:.0%}": partial(to_size, size) for size in SIZES},
        **{f"min_worth {worth:g}": partial(with_worth, worth) for worth in WORTHS},
    }


def _with_worth(config: PassConfig, worth: float) -> PassConfig:
    extraction = config.extract_config
    if extraction is None or extraction.min_worth is None:
        return config
    return replace(config, extract_config=replace(extraction, min_worth=worth))


def written(model: Model, sessions: int, measured: Sequence[str]) -> str:
    tables = []
    for name, features, found in (
        ("FACTS", mentions.FEATURES, model.facts),
        ("LINES", editable.FEATURES, model.lines),
    ):
        rows = [f'    "{feature}": {weight:g},' for feature, weight in zip(features, found, strict=True)]
        tables += [f"{name}: Final = {{", *rows, "}"]
    today = datetime.now(UTC).date()
    head = f'''"""Weights of the features of facts and of lines. Written by benchmarks/train_extraction.py; do not edit.

Fitted on {today} to {sessions} sessions. Measured on projects that were left out:
'''
    figures = "\n".join(f"- {line}" for line in measured)
    return f'{head}\n{figures}\n"""\n\nfrom __future__ import annotations\n\nfrom typing import Final\n\n' + "\n".join(
        [*tables, ""]
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} anew")
    options = parser.parse_args(arguments)
    examples: list[Example] = []
    tested: list[Example] = []
    sessions = unread = 0
    for path in options.paths:
        try:
            transcript = api.load(path)
        except CondenseError:
            unread += 1
            continue
        found = examples_of(path, transcript, TRAINED_AT)
        sessions += bool(found)
        examples += found
        tested += examples_of(path, transcript, CUTS)
    print(f"{sessions} sessions, {len(examples)} cuts; files that cannot be read: {unread}")
    measured = held_out(examples, tested)
    print(*measured, sep="\n")
    if options.write:
        FILE.write_text(written(fitted(examples), sessions, measured))
        print(f"Written: {FILE}")


if __name__ == "__main__":
    main()
