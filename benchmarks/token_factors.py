"""What providers bill for one token of ours: fits the table of model families, and measures what comes of it.

    python benchmarks/token_factors.py                   the recorded transcripts beside the project
    python benchmarks/token_factors.py SESSION... --all  other sessions, and every one of them by name
    python benchmarks/token_factors.py --write           also writes condense_cli/core/factor_table.py

Sessions count that record the usage of ten steps or more, from one request to the next, and grew by 10,000 tokens in
what is predicted. Two predictions of how much the input tokens grow are measured:

- from the session's own usage, as for a model of which the table says nothing: the first 60% of its calls are known,
  and the growth from there to the last call is predicted. A factor of 1, which is what a plain count says, is given
  beside it;
- from the table alone, fitted to all other projects: the growth from the first call to the last. A project is the part
  of the file's name before `__`, or before the first hyphen.

A step may be billed for what the file does not hold: clients of 2025 sent reminders of changed files that they did not
record, and tools are loaded on the way. Steps outside 0.8 to 4 times our count, by more than 300 tokens, are such. The
figures are given with and without them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from recorded import MORE, TRANSCRIPTS, readable

from condense_cli.core import factor_table
from condense_cli.core.factor import (
    HIGHEST,
    LOWEST,
    Known,
    UsageStep,
    factor_of,
    fitted,
    median_of,
    steps_of,
    tokenizer_of,
)
from condense_cli.core.factor_table import FAMILIES
from condense_cli.core.tokens import Counter, encoding_for
from condense_cli.core.transcript import Transcript

FILE: Final = Path(factor_table.__file__)
KNOWN_SHARE: Final = 0.6
FEWEST_STEPS: Final = 10
LEAST_GROWTH: Final = 10_000
UNRECORDED: Final = 300
"""Tokens by which a step may be off before it is taken to hold what the file does not."""
MOST_OF_ONE: Final = 20_000
"""Tokens beyond which a session says no more about its family than any other."""


class Session(Struct):
    """A session, and the steps between its requests; `whole` are those that the fit may use."""

    path: Path
    transcript: Transcript
    count: Counter
    steps: list[UsageStep]
    whole: list[UsageStep]

    @property
    def project(self) -> str:
        name = self.path.name
        return name.split("__")[0] if "__" in name else name.split("-")[0]

    @property
    def family(self) -> str | None:
        return tokenizer_of(self.transcript.model)


class Prediction(Struct):
    session: Session
    factor: float
    error: float
    """Of the growth that the file explains, as a part of it; below 0 for too little."""
    of_all: float
    plain: float
    """The error of a factor of 1."""


def sessions_of(paths: Iterable[Path]) -> list[Session]:
    found = []
    for path, transcript in readable(paths):
        count = Counter.of(transcript)
        steps = all_steps(transcript, count)
        if len(steps) >= FEWEST_STEPS:
            found.append(Session(path, transcript, count, steps, list(steps_of(transcript, count))))
    return found


def all_steps(transcript: Transcript, count: Counter) -> list[UsageStep]:
    """Every step, whatever it holds."""
    tokens = {message.index: count.message(message) for message in transcript.messages}
    usages = [usage for usage in transcript.usages if not usage.is_older]
    return [
        UsageStep(
            after.input_tokens - before.input_tokens,
            sum(tokens.get(index, 0) for index in range(before.message, after.message)),
        )
        for before, after in pairwise(usages)
        if before.message < after.message
    ]


def is_explained(step: UsageStep) -> bool:
    return LOWEST * step.counted - UNRECORDED <= step.billed <= HIGHEST * step.counted + UNRECORDED


def predicted(session: Session, value: float, steps: Sequence[UsageStep]) -> Prediction | None:
    """How far the factor is off; None where too little was billed to say."""

    def error(value: float, steps: Sequence[UsageStep]) -> float:
        billed = sum(step.billed for step in steps)
        return value * sum(step.counted for step in steps) / billed - 1 if billed > 0 else float("inf")

    explained = [step for step in steps if is_explained(step)]
    if sum(step.billed for step in explained) < LEAST_GROWTH:
        return None
    return Prediction(session, value, error(value, explained), error(value, steps), error(1, explained))


def from_usage(session: Session) -> Prediction | None:
    """As for a model of which the table says nothing."""
    known = int(len(session.steps) * KNOWN_SHARE)
    usages = [usage for usage in session.transcript.usages if not usage.is_older]
    beginning = replace(session.transcript, usages=tuple(usages[: known + 1]))
    written = dict(FAMILIES)
    FAMILIES.clear()
    value = factor_of(beginning, session.count).value
    FAMILIES.update(written)
    return predicted(session, value, session.steps[known:])


def from_table(session: Session, sessions: Sequence[Session]) -> Prediction | None:
    others = [other for other in sessions if other.project != session.project]
    found = fit(session.family, others)
    return predicted(session, found, session.steps) if found is not None else None


def fit(family: str | None, sessions: Iterable[Session]) -> float | None:
    """The factor of a family: the median over its sessions, each as heavy as what it recorded."""
    found = []
    for session in sessions:
        believed = [step for step in session.whole if step.is_believable]
        if session.family == family and believed:
            found.append(UsageStep(round(1_000_000 * fitted(believed)), 1_000_000))
            found += found[-1:] * min(9, sum(step.counted for step in believed) * 10 // MOST_OF_ONE)
    return median_of(found) if found else None


def is_foreign(session: Session) -> bool:
    """Whether our vocabulary is not the model's own, and the model is known."""
    return session.family is not None and not encoding_for(session.transcript.model).exact


def error_of(errors: Sequence[float]) -> float:
    """The error that four of five stay below."""
    ordered = sorted(map(abs, errors))
    return ordered[min(len(ordered) - 1, len(ordered) * 4 // 5)]


def table_text(sessions: Sequence[Session], by_usage: Sequence[Prediction], by_table: Sequence[Prediction]) -> str:
    rows = []
    for family in sorted({session.family for session in sessions if is_foreign(session)} - {None}, key=str):
        of_family = [session for session in sessions if session.family == family]
        value = fit(family, of_family)
        errors = [found.error for found in by_table if found.session.family == family]
        error = max(0.05, error_of(errors or [found.error for found in by_table]))
        rows.append(f'    "{family}": ({value:.2f}, {error:.2f}, {len(of_family)}),')
    recorded = error_of([found.error for found in by_usage])
    today = datetime.now(UTC).date()
    return "\n".join(
        [
            '"""Tokens billed per token of o200k_base, by tokenizer. Written by benchmarks/token_factors.py.',
            "",
            f"Fitted on {today} to {len(sessions)} sessions with recorded usage. Do not edit.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import Final",
            "",
            "FAMILIES: Final[dict[str, tuple[float, float, int]]] = {",
            *rows,
            "}",
            '"""Factor, error (four of five sessions of held-out projects stay below it), and number of sessions."""',
            "",
            f"RECORDED_ERROR: Final = {recorded:.2f}",
            '"""The same error if the factor comes from recorded usage of the session."""',
            "",
        ]
    )


def show(title: str, found: Sequence[Prediction], *, names: bool) -> None:
    print(f"\n{title}: {len(found)} sessions")
    for label, errors in (
        ("what the file explains", [each.error for each in found]),
        ("all that was billed", [each.of_all for each in found]),
        ("factor 1", [each.plain for each in found]),
    ):
        sizes = [abs(error) for error in errors]
        over = sum(size > 0.25 for size in sizes)
        print(
            f"  {label:<23} median {median(sizes):6.1%}   four of five below {error_of(errors):6.1%}   "
            f"most {max(sizes):6.1%}   above 25%: {over}   mean {fmean(errors):+.1%}"
        )
    worst = sorted(found, key=lambda each: -abs(each.error))
    for each in worst if names else worst[:5]:
        print(
            f"    {each.error:+7.1%} {each.of_all:+7.1%}  factor {each.factor:.2f}  "
            f"{each.session.transcript.model}  {each.session.path.name[-60:]}"
        )


def recorded() -> list[Path]:
    """The recorded transcripts beside the project."""
    return sorted(path for top in (TRANSCRIPTS, MORE) for path in top.glob("*/*") if path.is_file())


def predictions(sessions: Sequence[Session]) -> tuple[list[Prediction], list[Prediction]]:
    """From the sessions' own usage, and from the table; each time with the other projects alone."""
    by_table = [found for session in sessions if is_foreign(session) and (found := from_table(session, sessions))]
    by_usage = [found for session in sessions if (found := from_usage(session))]
    return by_usage, by_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--all", action="store_true", help="every session by name, not only the worst five")
    arguments = parser.parse_args()
    sessions = sessions_of(arguments.sessions or recorded())
    by_usage, by_table = predictions(sessions)
    show("From the usage of the first 60% of the calls", by_usage, names=arguments.all)
    show("From the table, each project left out in turn", by_table, names=arguments.all)
    by_exact = [
        found for found in by_usage if factor_of(found.session.transcript, found.session.count).known is Known.EXACT
    ]
    print(f"\nOf the first, {len(by_exact)} are of OpenAI's models, whose factor is 1.")
    text = table_text(sessions, by_usage, by_table)
    print(f"\n{text}")
    if arguments.write:
        FILE.write_text(text)
        print(f"Written: {FILE}")


if __name__ == "__main__":
    main()
