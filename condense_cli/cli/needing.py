"""The options that `check` and `run` share: what a user says of the model that continues."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UsageError
from .options import parse_tokens

ContextWindow = Annotated[
    int | None,
    typer.Option(
        "--context-window",
        metavar="N",
        parser=parse_tokens,
        help="Tokens of the model's context window (200000, 200k).  [default: looked up]",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold", metavar="P", min=5, max=100, help="Percentage of the window from which on to condense."
    ),
]
IfNeeded = Annotated[
    bool,
    typer.Option("--if-needed", help="Do nothing while condense check says no; the transcript is written as it is."),
]


def check_threshold(threshold: float | None, *, if_needed: bool) -> None:
    """Raises UsageError for a threshold of a run that does not ask whether it is needed."""
    if threshold is not None and not if_needed:
        raise UsageError("--threshold needs --if-needed.", "Without it a run condenses in any case.")
