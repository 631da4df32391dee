"""The model that continues, as `check` and `run` are told of it, and what a run needs to know of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..config.models import Configuration
    from ..providers.manager import Sizing
    from ..providers.window import Asked
    from ..tokens import Counter
    from ..transcript import Transcript

ContextWindow = Annotated[
    int | None,
    typer.Option(
        "--context-window", metavar="N", min=1, help="Tokens of the model's context window.  [default: looked up]"
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


def sizing_for(
    transcript: Transcript,
    configuration: Configuration,
    count: Counter,
    asked: Asked,
    overhead_tokens: int | None,
    *,
    if_needed: bool,
    may_fall_back: Callable[[], bool],
) -> Sizing:
    """How a run decides. Prices are loaded, and the user's file is read, when something asks for the window."""
    from ..providers.manager import Sizing
    from ..providers.window import Window

    @cache
    def window() -> Window:
        from ..config.user import load_user_configuration
        from ..providers.window import window_of

        return window_of(transcript.model, configuration, load_user_configuration(), asked)

    def beside() -> tuple[int, str]:
        from ..report.usage import beside_messages

        return beside_messages(transcript, count, overhead_tokens)

    return Sizing(window, beside, if_needed, may_fall_back)
