"""The options of `condense evaluate` in groups: what is done, how it is measured, where it is shown, what is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from ..options import (
    AllowCalls,
    MaxCost,
    MaxCostPerConversation,
    MaxCostPerDay,
    MaxSummaryTokens,
    NoCache,
    Profiles,
    Prompts,
    Redact,
    complete_provider,
    preset_option,
)

AGAINST: Final = ("mask", "head", "ends", "oldest", "lines", "summary")
"""The names of `api.evaluating.KNOWN_WAYS`, which is too heavy to import for a help page."""

RECALLS: Final = ("facts", "edits", "files")
WITNESSES: Final = (
    "substrings", "old_strings", "bits", "bits_calls", "bits_words", "grounding", "rereads", "rules"
)  # fmt: skip
"""The names of `quality.recall.RECALLS` and `quality.witnesses.WITNESSES`, likewise."""

BUDGETS: Final = "0.7,0.5,0.3"
_CUTS: Final = "0.5,0.75"
_MIN_TOKENS: Final = 8_000


def complete_against() -> list[str]:
    return [*AGAINST, "none"]


def complete_measure() -> list[str]:
    return [*RECALLS, *WITNESSES, "all"]


class MeasuredWays(NamedTuple):
    """What is done to each transcript at its cuts, and what that is compared with."""

    preset: Annotated[
        list[str] | None,
        preset_option(help="A preset; may be repeated.  [default: all presets, or max with --profile or --prompt]"),
    ] = None
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider",
            metavar="NAME",
            autocompletion=complete_provider,
            help="Provider with its default settings; may be repeated.",
        ),
    ] = None
    config: Annotated[
        list[Path] | None, typer.Option("--config", metavar="PATH", help="Configuration file; may be repeated.")
    ] = None
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="NAME",
            autocompletion=complete_against,
            help=f"Compare with: {', '.join(AGAINST)} or none; may be repeated.  "
            "[default: the first four; none with --profile or --prompt]",
        ),
    ] = None


class Cutting(NamedTuple):
    """Where transcripts are cut, to which sizes, and what is asked for afterwards."""

    budgets: Annotated[
        str | None,
        typer.Option(
            "--budgets",
            metavar="SHARES",
            help=f"Sizes, as shares of the tokens.  [default: {BUDGETS}; none with --profile or --prompt]",
        ),
    ] = None
    cuts: Annotated[
        str, typer.Option("--cuts", metavar="SHARES", help="Where to split, as shares of the messages.")
    ] = _CUTS
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            autocompletion=complete_measure,
            help=f"Measures: {', '.join((*RECALLS, *WITNESSES))} or all; may be repeated.  "
            "[default: the first three; bits as well with --profile or --prompt]",
        ),
    ] = None
    min_tokens: Annotated[
        int, typer.Option("--min-tokens", metavar="N", min=0, help="Skip transcripts smaller than this.")
    ] = _MIN_TOKENS

    def given(self) -> dict[str, bool]:
        """Which of these somebody gave, by their names."""
        return {name: value != self._field_defaults[name] for name, value in self._asdict().items()}


class Printing(NamedTuple):
    """Where the figures go."""

    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curves to FILE, .svg or .png.")
    ] = None
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with curves and tables.")
    ] = None


class Calling(NamedTuple):
    """Which models write summaries, and what they may spend."""

    profile: Profiles = None
    prompt: Prompts = None
    allow_calls: AllowCalls = False
    max_cost: MaxCost = None
    max_cost_per_conversation: MaxCostPerConversation = None
    max_cost_per_day: MaxCostPerDay = None
    max_summary_tokens: MaxSummaryTokens = None
    no_cache: NoCache = False
    redact: Redact = False
