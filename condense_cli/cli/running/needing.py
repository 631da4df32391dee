"""The options that `check` and `run` share: what a user says of the model that continues."""

from __future__ import annotations

from math import isnan
from typing import Annotated

import typer

from ...errors import UsageError
from ..options import parse_percent, parse_tokens

ContextWindow = Annotated[
    int | None,
    typer.Option(
        "--context-window",
        metavar="N",
        parser=parse_tokens,
        help="Size of the model's context window in tokens (200000, 200k).  [default: looked up]",
    ),
]


def parse_threshold(text: str) -> float:
    """A percentage from 5 to 100, with or without its sign."""
    percent = parse_percent(text)
    if not (5 <= percent <= 100 or isnan(percent)):
        raise typer.BadParameter(f"{text} is not in the range 5<=x<=100.")
    return percent


Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="P",
        parser=parse_threshold,
        help="Condense from this percentage of the window on (80, 80%).",
    ),
]
Above = Annotated[
    int | None,
    typer.Option(
        "--above",
        metavar="N",
        parser=parse_tokens,
        help="Condense from this many tokens on, whatever the window (150000, 150k).",
    ),
]
IfNeeded = Annotated[
    bool,
    typer.Option("--if-needed", help="Condense only if condense check says yes; otherwise pass the input through."),
]


def check_thresholds(threshold: float | None, above: int | None, *, if_needed: bool) -> None:
    """Raises UsageError for a threshold that is no number, or of a run that does not ask whether it is needed."""
    if threshold is not None and isnan(threshold):
        raise UsageError("--threshold needs a percentage from 5 to 100, not nan.")
    for flag, value in (("--threshold", threshold), ("--above", above)):
        if value is not None and not if_needed:
            raise UsageError(f"{flag} needs --if-needed.", "Without it, a run always condenses.")
