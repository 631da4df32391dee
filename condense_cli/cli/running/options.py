"""The options of `condense run` in groups: what to read, do and write, what may be spent, what to show."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from ...core.wording import quoted
from ...errors import UsageError
from ..options import (
    TARGETS,
    AllowCalls,
    AllowPartial,
    Assignments,
    CountAs,
    CounterOption,
    Cut,
    DropThinking,
    Engine,
    ExceptTools,
    Files,
    FormatOption,
    Jobs,
    Keep,
    KeepRecent,
    Lenient,
    LogJson,
    LosslessOnly,
    MaxCost,
    MaxCostPerConversation,
    MaxCostPerDay,
    MaxSummaryTokens,
    Model,
    NoCache,
    NoConfig,
    OnlyTools,
    OutDir,
    OverheadTokens,
    Pins,
    Preset,
    Profile,
    Provider,
    Range,
    Redact,
    Session,
    TargetPercent,
    TargetTokens,
    ToFormat,
    parse_percent,
    parse_tokens,
)

if TYPE_CHECKING:
    from ...calling import Calls
    from ...config.overrides import Overrides

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


def check(to: str, writing: Writing) -> None:
    """Raises UsageError when --to cannot be meant."""
    if to not in TARGETS:
        raise UsageError(f"--to has no format {quoted(to)}.", f"Name one of {', '.join(TARGETS)}.")
    for option, is_given in (("--in-place", writing.in_place), ("--new-session", writing.new_session)):
        if is_given:
            raise UsageError(
                f"{option} and --to cannot be used together: what is written is no session of the client.",
                "Write it to a file with -o FILE.",
            )


class Reading(NamedTuple):
    """What to read."""

    files: Files = None
    session: Session = None
    format: FormatOption = None
    lenient: Lenient = False


class Configuring(NamedTuple):
    """Which configuration runs."""

    preset: Preset = None
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="Configuration to use instead, YAML or JSON.")
    ] = None
    no_config: NoConfig = False
    provider: Provider = None
    assignments: Assignments = None


class Choosing(NamedTuple):
    """What goes and what stays, on top of what the configuration says."""

    keep: Keep = None
    cut: Cut = None
    keep_recent: KeepRecent = None
    only_tools: OnlyTools = None
    except_tools: ExceptTools = None
    range: Range = None
    pin: Pins = None
    target_tokens: TargetTokens = None
    target_percent: TargetPercent = None
    lossless_only: LosslessOnly = False
    drop_thinking: DropThinking = False

    def overrides(self, *, with_target: bool) -> Overrides:
        """The flags as one checked value, without the target where each conversation has its own. Raises UsageError."""
        from ...config.overrides import overrides_from

        check_targets(self.target_tokens, self.target_percent)
        return overrides_from(
            keep_recent=self.keep_recent,
            only_tools=self.only_tools or (),
            except_tools=self.except_tools or (),
            range=self.range,
            pins=self.pin or (),
            target_tokens=self.target_tokens if with_target else None,
            target_percent=self.target_percent if with_target else None,
            lossless_only=self.lossless_only,
            drop_thinking=self.drop_thinking,
            keep=self.keep or (),
            cut=self.cut or (),
        )


def check_targets(tokens: int | None, percent: float | None) -> None:
    """Raises UsageError for two targets, and for a percentage that is none."""
    if tokens is not None and percent is not None:
        raise UsageError("--target-tokens and --target-percent cannot be used together.", "Use only one.")
    if percent is not None and not 0 < percent < 100:
        raise UsageError(f"--target-percent must be more than 0 and less than 100, not {percent:g}.")


class Doing(NamedTuple):
    """How it is done, and whether it is done at all."""

    slim: Annotated[
        bool,
        typer.Option(
            "--slim",
            help="Also remove what only the client displays and the model never sees; "
            "condense restore cannot bring it back.",
        ),
    ] = False
    split: Annotated[
        bool,
        typer.Option("--split", help="Rows only: split longer conversations into several of at most --target-tokens."),
    ] = False
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with status 4 if the target is missed; the result is still written."),
    ] = False
    if_needed: IfNeeded = False
    threshold: Threshold = None
    above: Above = None
    model: Model = None
    context_window: ContextWindow = None
    overhead_tokens: OverheadTokens = None
    counter: CounterOption = None
    count_as: CountAs = None


class Spending(NamedTuple):
    """Which models may be called, and what for."""

    profile: Profile = None
    allow_calls: AllowCalls = False
    max_cost: MaxCost = None
    max_cost_per_conversation: MaxCostPerConversation = None
    max_cost_per_day: MaxCostPerDay = None
    max_summary_tokens: MaxSummaryTokens = None
    no_cache: NoCache = False
    redact: Redact = False
    allow_partial: AllowPartial = False

    def calls(self, *, is_planned: bool = False, is_count_asked: bool = False) -> Calls:
        """The flags as one checked value. Raises UsageError."""
        from ...calling import Calls, dollars_of
        from ...config.base import Limits

        limits = Limits(
            dollars_of(self.max_cost, "--max-cost"),
            dollars_of(self.max_cost_per_conversation, "--max-cost-per-conversation"),
            dollars_of(self.max_cost_per_day, "--max-cost-per-day"),
            self.max_summary_tokens,
            self.redact,
        )
        return Calls(self.profile, self.allow_calls, limits, self.no_cache, is_planned, is_count_asked)


class Writing(NamedTuple):
    """Where to write."""

    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE|-", help="Write the condensed transcript there.")
    ] = None
    new_session: Annotated[
        bool, typer.Option("--new-session", help="Write a smaller copy that the client can resume, next to FILE.")
    ] = False
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace FILE, keeping a backup next to it.")] = False
    force: Annotated[bool, typer.Option("--force", help="With --in-place: even if a program has FILE open.")] = False
    out_dir: OutDir = None
    to_format: ToFormat = None
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Report only; write nothing.")] = False
    jobs: Jobs = None
    engine: Engine = "local"


class Showing(NamedTuple):
    """What is told of the run, and where. `log_json` is a line on standard error, in place of other messages there."""

    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Also write the JSON report to FILE.")
    ] = None
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with every message, every cut, and why."),
    ] = None
    cost: Annotated[
        bool,
        typer.Option("--cost", help="Show costs and when condensing pays, in pipes too, with the assumptions."),
    ] = False
    diff: Annotated[bool, typer.Option("--diff", help="Show every cut, line by line.")] = False
    explain: Annotated[bool, typer.Option("--explain", help="Say why each block was cut or kept.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no report.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show everything: diff, sizes, passes, timings, costs.")
    ] = False
    log_json: LogJson = False

    @property
    def writes_report(self) -> bool:
        """Whether the report is asked for as JSON, in a file or on standard output."""
        return self.json or self.report is not None

    @property
    def is_silent(self) -> bool:
        """Whether nothing is told of the run."""
        return self.quiet and not (self.writes_report or self.log_json or self.html is not None)


class RunOptions(NamedTuple):
    """All options of one `condense run`."""

    reading: Reading
    configuring: Configuring
    choosing: Choosing
    doing: Doing
    spending: Spending
    writing: Writing
    showing: Showing

    @property
    def are_several(self) -> bool:
        """Whether they name more than one transcript."""
        files = self.reading.files or []
        return self.writing.out_dir is not None or len(files) > 1 or (len(files) == 1 and Path(files[0]).is_dir())


HELP_GROUPS: Final = {
    "Common options": (
        "session",
        "preset",
        "target_tokens",
        "target_percent",
        "keep",
        "cut",
        "output",
        "new_session",
        "in_place",
        "lossless_only",
    ),
    "Output": ("diff", "explain", "html", "cost", "json", "report", "quiet", "verbose", "log_json"),
    "Reading and writing": (
        "format",
        "lenient",
        "to_format",
        "dry_run",
        "force",
        "out_dir",
        "jobs",
        "split",
        "engine",
    ),
    "Removing more": ("slim", "drop_thinking"),
    "Conditions": ("if_needed", "threshold", "above", "strict"),
    "Settings": ("config", "no_config", "provider", "assignments"),
    "Counting tokens": ("model", "context_window", "overhead_tokens", "counter", "count_as"),
    "Model summaries": (
        "profile",
        "allow_calls",
        "max_cost",
        "max_cost_per_conversation",
        "max_cost_per_day",
        "max_summary_tokens",
        "no_cache",
        "redact",
        "allow_partial",
    ),
}
"""The help page of `condense run`: titles, and the options below each."""
