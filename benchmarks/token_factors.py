"""Fit the table of tokens billed per token of ours, and measure its error.

    python benchmarks/token_factors.py                   the recorded transcripts beside the project
    python benchmarks/token_factors.py SESSION... --all  other sessions, and every one of them by name
    python benchmarks/token_factors.py --write           also writes condense_cli/tokens/factor_table.py

Sessions count if they record the usage of ten or more steps between requests and grew by 10,000 tokens in the predicted
part. Two predictions of the growth in input tokens are measured:

    from usage   as for a model outside the table: the first 60% of the calls are known, the growth from there to the
                 last call is predicted. A factor of 1, a plain count, is shown next to it.
    from table   fitted to all other projects: the growth from the first call to the last. A project is the part of
                 the file's name before `__`, or before the first hyphen.

A step may be billed for content that the file lacks: clients of 2025 sent reminders of changed files without recording
them, and tools are loaded on the way. Steps outside 0.8 to 4 times our count, by more than 300 tokens, count as such.
The figures are given with and without them.
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

from condense_cli.core.transcript import Transcript
from condense_cli.tokens import factor_table
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.tokens.factor import HIGHEST, LOWEST, Known, UsageStep, factor_of, fitted, median_of, steps_of
from condense_cli.tokens.factor_table import FAMILIES
from condense_cli.tokens.models import tokenizer_of

FILE: Final = Path(factor_table.__file__)
KNOWN_SHARE: Final = 0.6
FEWEST_STEPS: Final = 10
LEAST_GROWTH: Final = 10_000
UNRECORDED: Final = 300
"""Tokens by which a step may be off before it counts as holding unrecorded content."""
MOST_OF_ONE: Final = 20_000
"""Tokens above which a session has no more weight in its family."""


class Session(Struct):
    """A session, and the steps between its requests; the fit may use those in `whole`."""

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
    """Relative error of the growth that the file explains; negative if too low."""
    of_all: float
    plain: float
    """Error of a factor of 1."""


def sessions_of(paths: Iterable[Path]) -> list[Session]:
    found = []
    for path, transcript in readable(paths):
        count = Counter.of(transcript)
        steps = all_steps(transcript, count)
        if len(steps) >= FEWEST_STEPS:
            found.append(Session(path, transcript, count, steps, list(steps_of(transcript, count))))
    return found


def all_steps(transcript: Transcript, count: Counter) -> list[UsageStep]:
    """Return every step, whatever it holds."""
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
    """Return the factor's error. None if too little was billed."""

    def error(value: float, steps: Sequence[UsageStep]) -> float:
        billed = sum(step.billed for step in steps)
        return value * sum(step.counted for step in steps) / billed - 1 if billed > 0 else float("inf")

    explained = [step for step in steps if is_explained(step)]
    if sum(step.billed for step in explained) < LEAST_GROWTH:
        return None
    return Prediction(session, value, error(value, explained), error(value, steps), error(1, explained))


def from_usage(session: Session) -> Prediction | None:
    """Predict as for a model outside the table."""
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
    """Fit a family's factor: the median over its sessions, weighted by recorded tokens."""
    found = []
    for session in sessions:
        believed = [step for step in session.whole if step.is_believable]
        if session.family == family and believed:
            found.append(UsageStep(round(1_000_000 * fitted(believed)), 1_000_000))
            found += found[-1:] * min(9, sum(step.counted for step in believed) * 10 // MOST_OF_ONE)
    return median_of(found) if found else None


def is_foreign(session: Session) -> bool:
    """Return whether the model is known and our vocabulary is not its own."""
    return session.family is not None and not encoding_for(session.transcript.model).exact


def error_of(errors: Sequence[float]) -> float:
    """Return the error that four of five stay below."""
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
    """Return the recorded transcripts beside the project."""
    return sorted(path for top in (TRANSCRIPTS, MORE) for path in top.glob("*/*") if path.is_file())


def predictions(sessions: Sequence[Session]) -> tuple[list[Prediction], list[Prediction]]:
    """Predict from the sessions' own usage, and from a table fitted to the other projects."""
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
