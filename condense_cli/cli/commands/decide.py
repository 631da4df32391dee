"""Commands that help to decide: estimate, check, evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from ...config.options import COMMON, OUTPUT, Flag, TargetPercent, TargetTokens
from ..options import (
    COUNTING,
    READING,
    SUMMARIES,
    Above,
    Assignments,
    ContextWindow,
    CounterOption,
    CountOptions,
    File,
    FormatOption,
    Lenient,
    Model,
    MustKeepMeasured,
    OverheadTokens,
    Profile,
    ReadOptions,
    Redact,
    Session,
    Spending,
    Threshold,
    preset,
    profile,
    provider,
)

AGAINST: Final = ("mask", "head", "ends", "oldest", "lines", "summary")
"""The names of `api.evaluating.KNOWN_WAYS`, which is too heavy to import for a help page."""

RECALLS: Final = ("facts", "edits", "files")
WITNESSES: Final = (
    "substrings", "old_strings", "bits", "bits_calls", "bits_words", "grounding", "rereads", "rules"
)  # fmt: skip
"""The names of `quality.recall.RECALLS` and `quality.witnesses.WITNESSES`, likewise."""

BUDGETS: Final = "0.7,0.5,0.3"
CALLS: Final = "Model calls"
MEASURED: Final = "What is measured"
READING_AND_COUNTING: Final = "Reading and counting"


class EstimateOptions(CountOptions, group=COMMON, work="estimate.estimate"):
    """Compare what presets would save and cost. Nothing is written.

    Condensing saves tokens on every turn, at a one-time cost: everything after the first change has to be cached again.
    The table shows that cost, after how many turns it has paid for itself, and how much of what later work needs each
    preset is expected to keep (--quality measures it). With --profile or --allow-calls it includes the
    price of summaries, without calling a model; only --count exact makes a call.

    Examples:

    \b
    condense estimate session.jsonl                       all presets
    condense estimate session.jsonl speed mine.yaml       these two
    condense estimate session.jsonl --target-tokens 60k   which reach it
    condense estimate session.jsonl --quality             measured on this one
    condense estimate session.jsonl --provider truncation --provider native
    condense estimate --session latest speed
    condense estimate session.jsonl -m claude-opus-4-5 --overhead-tokens 20000
    condense estimate session.jsonl --count o200k         plain counts
    condense estimate session.jsonl --json | jq '.presets[].saved_percent'
    """

    file: File = None
    presets: Annotated[
        tuple[str, ...],
        Flag("Presets, by name or path.  [default: all]", metavar="[PRESET]...", is_argument=True),
    ] = ()
    session: Session = None
    preset: Annotated[tuple[str, ...], preset("Preset to compare; may be repeated.")] = ()
    provider: Annotated[tuple[str, ...], provider("Provider to compare; may be repeated.")] = ()
    assignments: Assignments = ()
    target_tokens: TargetTokens = None
    target_percent: TargetPercent = None
    quality: Annotated[
        bool, Flag("Measure on this transcript how much of what later work needs each preset keeps.")
    ] = False
    json: Annotated[bool, Flag("Print the estimate as JSON.", group=OUTPUT)] = False
    model: Annotated[Model, COUNTING] = None
    overhead_tokens: Annotated[OverheadTokens, COUNTING] = None
    profile: Annotated[Profile, CALLS] = None
    allow_calls: Annotated[bool, Flag("Permit calls to the profiles named in the configuration.", group=CALLS)] = False
    redact: Annotated[Redact, CALLS] = False
    format: Annotated[FormatOption, READING] = None
    lenient: Annotated[Lenient, READING] = False


class CheckOptions(CountOptions, ReadOptions, group=COMMON, work="check.check"):
    """Say whether a conversation should be condensed. Exit status 4 when it should, 0 when not.

    It should when its tokens reach the threshold (a percentage of the model's context window, or --above N), or leave
    too little room in the window for the answer. System prompt and tools are included. Usage recorded by the API takes
    precedence over our own count. Nothing is written.

    Examples:

    \b
    condense check session.jsonl
    condense check --session latest --threshold 80
    condense check session.jsonl --above 150k            whatever the window
    condense run session.jsonl --if-needed --in-place   only when it should
    condense check session.jsonl --context-window 1M --overhead-tokens 25k
    condense check session.jsonl --count exact --profile claude-opus-5
    condense check session.jsonl --json | jq .percent
    """

    file: File = None
    session: Session = None
    threshold: Threshold = None
    above: Above = None
    model: Model = None
    context_window: ContextWindow = None
    overhead_tokens: OverheadTokens = None
    json: Annotated[bool, Flag("Print the figures as JSON.", group=OUTPUT)] = False
    quiet: Annotated[bool, Flag("Print nothing; only the exit status tells.", short="-q", group=OUTPUT)] = False
    profile: Annotated[
        str | None,
        profile(
            "Profile of the model that continues; --count exact calls it, nothing else does.  "
            "[default: the one with that model]",
            group=COUNTING,
        ),
    ] = None
    no_config: Annotated[bool, Flag("Ignore the project's condense.yaml and your own settings.", group=READING)] = False


class EvaluateOptions(Spending, group=COMMON, work="evaluate.evaluate"):
    """Measure how much of what later work needed is still there.

    Each transcript is split in two. The first part is condensed; the second shows what was needed: the facts that the
    assistant wrote, the lines that its edits had to match, the files it touched. Reported is how many of them are still
    in the condensed part. --measure adds other, slower measures. --recorded measures the compactions that a client
    made. With --profile, --prompt or --allow-calls, models write the summaries, and the report says what each keeps,
    uses and costs, and whether they differ by more than chance. Nothing is written. docs/quality.md defines all terms.

    Examples:

    \b
    condense evaluate session.jsonl                       all presets
    condense evaluate sessions/ -p cost --provider native
    condense evaluate sessions/ --config mine.yaml --budgets 0.6,0.4,0.2 -j 4
    condense evaluate --session latest -p speed --plot curves.svg
    condense evaluate sessions/ --html page.html          curves and tables
    condense evaluate session.jsonl --measure bits --measure grounding
    condense evaluate --recorded --session latest         what /compact kept
    condense evaluate in/ --profile gpt-4o-mini --profile gpt-5-mini --max-cost 2
    condense evaluate in/ --profile gpt-4o-mini --prompt mine.txt   two prompts
    condense evaluate sessions/ --json | jq '.total.at_size'
    """

    transcripts: Annotated[
        tuple[str, ...],
        Flag("Transcripts or folders; - reads standard input.", metavar="[TRANSCRIPT]...", is_argument=True),
    ] = ()
    session: Session = None
    preset: Annotated[
        tuple[str, ...],
        preset("A preset; may be repeated.  [default: all presets, or max with --profile or --prompt]"),
    ] = ()
    provider: Annotated[tuple[str, ...], provider("Provider with its default settings; may be repeated.")] = ()
    config: Annotated[tuple[Path, ...], Flag("Configuration file; may be repeated.", metavar="PATH")] = ()
    must_keep: MustKeepMeasured = ()
    recorded: Annotated[
        bool, Flag("Measure the compactions a client made, next to condense.  [default: preset balanced]")
    ] = False
    everything: Annotated[bool, Flag("With --recorded: every session on this machine.", name="--all")] = False
    json: Annotated[bool, Flag("Print everything as JSON.", group=OUTPUT)] = False
    plot: Annotated[Path | None, Flag("Draw the curves to FILE, .svg or .png.", metavar="FILE", group=OUTPUT)] = None
    html: Annotated[Path | None, Flag("Write a page with curves and tables.", metavar="FILE", group=OUTPUT)] = None
    against: Annotated[
        tuple[str, ...] | None,
        Flag(
            f"Compare with: {', '.join(AGAINST)} or none; may be repeated.  "
            "[default: the first four; none with --profile or --prompt]",
            metavar="NAME",
            complete=(*AGAINST, "none"),
            group=MEASURED,
        ),
    ] = None
    budgets: Annotated[
        str | None,
        Flag(
            f"Sizes, as shares of the tokens.  [default: {BUDGETS}; none with --profile or --prompt]",
            metavar="SHARES",
            group=MEASURED,
        ),
    ] = None
    cuts: Annotated[str, Flag("Where to split, as shares of the messages.", metavar="SHARES", group=MEASURED)] = (
        "0.5,0.75"
    )
    measure: Annotated[
        tuple[str, ...],
        Flag(
            f"Measures: {', '.join((*RECALLS, *WITNESSES))} or all; may be repeated.  "
            "[default: the first three; bits as well with --profile or --prompt]",
            metavar="NAME",
            complete=(*RECALLS, *WITNESSES, "all"),
            group=MEASURED,
        ),
    ] = ()
    min_tokens: Annotated[int, Flag("Skip transcripts smaller than this.", metavar="N", least=0, group=MEASURED)] = (
        8_000
    )
    profile: Annotated[
        tuple[str, ...],
        profile(
            "Profile whose model writes summaries; permits its calls; repeat it to compare models.", group=SUMMARIES
        ),
    ] = ()
    prompt: Annotated[
        tuple[str, ...],
        Flag("Prompt file for summaries, or `default`; repeat it to compare prompts.", metavar="FILE", group=SUMMARIES),
    ] = ()
    format: Annotated[FormatOption, READING_AND_COUNTING] = None
    lenient: Annotated[Lenient, READING_AND_COUNTING] = False
    counter: Annotated[CounterOption, READING_AND_COUNTING] = None
    jobs: Annotated[
        int | None,
        Flag(
            "Parallel processes.  [default: one per processor]",
            metavar="N",
            short="-j",
            least=1,
            group=READING_AND_COUNTING,
        ),
    ] = None


COMMANDS: Final = {
    "estimate": EstimateOptions,
    "check": CheckOptions,
    "evaluate": EvaluateOptions,
}
