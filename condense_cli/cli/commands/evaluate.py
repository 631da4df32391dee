"""`condense evaluate`: how much of what a session later needed still stands after condensing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, NamedTuple

import typer

from ...errors import ExitStatus, UsageError
from ..console import bar, console, exits, print_parts, write_text
from ..evaluating import recorded as evaluate_recorded
from ..evaluating.options import AGAINST, BUDGETS, RECALLS, WITNESSES, Calling, Cutting, MeasuredWays, Printing
from ..evaluating.page import check_page, write_page
from ..evaluating.picture import check_picture, draw_picture
from ..grouped import grouped
from ..help_pages import InGroups
from ..options import CounterOption, FormatOption, LenientReading, Session

if TYPE_CHECKING:
    from ...calling import Calls
    from ...config.models import Configuration
    from ...report.evaluation.facts import Evaluation

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense evaluate session.jsonl                       all presets\n"
    "condense evaluate sessions/ -p cost --provider native\n"
    "condense evaluate sessions/ --config mine.yaml --budgets 0.6,0.4,0.2 -j 4\n"
    "condense evaluate --session latest -p speed --plot curves.svg\n"
    "condense evaluate sessions/ --html page.html          curves and tables\n"
    "condense evaluate session.jsonl --measure bits --measure grounding\n"
    "condense evaluate --recorded --session latest         what /compact kept\n"
    "condense evaluate in/ --profile gpt-4o-mini --profile gpt-5-mini --max-cost 2\n"
    "condense evaluate in/ --profile gpt-4o-mini --prompt mine.txt   two prompts\n"
    "condense evaluate sessions/ --json | jq '.total.at_size'"
)


class Command(InGroups):
    groups: ClassVar = {
        "Common options": ("session", "preset", "provider", "config", "recorded", "everything"),
        "What is measured": ("against", "budgets", "cuts", "measure", "min_tokens"),
        "Output": ("json", "plot", "html"),
        "Model summaries": (
            "profile", "prompt", "allow_calls", "max_cost", "max_cost_per_conversation", "max_cost_per_day",
            "max_summary_tokens", "no_cache", "redact",
        ),
        "Reading and counting": ("format_name", "lenient", "counter", "jobs"),
    }  # fmt: skip


_OF_MODELS: Final = "max"
"""The preset where models write: it has one summary written for each cut."""


class EvaluateReading(NamedTuple):
    """How transcripts are read and counted, and by how many processes."""

    format_name: FormatOption = None
    lenient: LenientReading = False
    counter: CounterOption = None
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="Parallel processes.  [default: one per processor]"),
    ] = None


@grouped
def evaluate(
    *,
    transcripts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TRANSCRIPT]...", help="Transcripts or folders; - reads standard input."),
    ] = None,
    session: Session = None,
    condensing: MeasuredWays,
    cutting: Cutting,
    printing: Printing,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded", help="Measure the compactions a client made, next to condense.  [default: preset balanced]"
        ),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="With --recorded: every session on this machine.")] = False,
    calling: Calling,
    reading: EvaluateReading,
) -> None:
    """Measure how much of what later work needed is still there.

    Each transcript is split in two. The first part is condensed; the second shows what was needed: the facts that the
    assistant wrote, the lines that its edits had to match, the files it touched. Reported is how many of them are still
    in the condensed part. --measure adds other, slower measures. --recorded measures the compactions that a client
    made. With --profile, --prompt or --allow-calls, models write the summaries, and the report says what each keeps,
    uses and costs, and whether they differ by more than chance. Nothing is written. docs/quality.md defines all terms.
    """
    with exits():
        from ..reading import input_files
        from ..running.options import Spending

        calls = Spending(
            allow_calls=calling.allow_calls,
            max_cost=calling.max_cost,
            max_cost_per_conversation=calling.max_cost_per_conversation,
            max_cost_per_day=calling.max_cost_per_day,
            max_summary_tokens=calling.max_summary_tokens,
            no_cache=calling.no_cache,
            redact=calling.redact,
        ).calls()
        with_models = bool(calling.profile or calling.prompt or calling.allow_calls)
        _check_calls(calls, with_models=with_models, recorded=recorded, jobs=reading.jobs)
        if recorded:
            given = {f"--{name.replace('_', '-')}": value for name, value in cutting.given().items()}
            evaluate_recorded.check_without_effect({**given, "--plot": printing.plot is not None})
        elif everything:
            raise UsageError("--all needs --recorded.", "Otherwise name transcripts or folders.")
        check_picture(printing.plot)
        measures = _measures(cutting.measure, (*RECALLS, "bits") if with_models else RECALLS)
        if everything and (transcripts or session):
            raise UsageError("--all cannot be used with a transcript or --session.", "Use one of them.")
        names = evaluate_recorded.sessions_here() if everything else input_files(transcripts, session)
        check_page(printing.html, printing.plot, names)
        from ...api.evaluating import BESIDE, Plan, Unread, evaluate_files
        from ...quality.evaluation import Evaluated
        from ...report.evaluation import facts
        from ...report.run.facts import to_json
        from ...storage.processes import usable_processors
        from ..running.settings import counter_of, settings_if_any

        usual = list(BESIDE) if recorded else [_OF_MODELS] if with_models else []
        configurations = dict(_configurations(condensing, usual))
        models = None
        if with_models:
            from ..evaluating.models import models_of

            models = models_of(configurations, calling.profile, calling.prompt, calls)
        plan = Plan(
            () if models else tuple(configurations.items()),
            () if (recorded or models) and condensing.against is None else _compared(condensing.against),
            () if models and cutting.budgets is None else _shares("--budgets", cutting.budgets or BUDGETS),
            _shares("--cuts", cutting.cuts),
            cutting.min_tokens,
            reading.format_name,
            reading.lenient,
            counter_of(reading.counter, settings_if_any()),
            tuple(name for name in measures if name in WITNESSES),
        )
        # Standard input cannot be read in another process.
        processes = 1 if "-" in names else reading.jobs or usable_processors()
        if recorded:
            raise SystemExit(int(evaluate_recorded.run(names, plan, jobs=processes, printing=printing)))
        ways = [*(models.names if models else ()), *(way.name for way in plan.ways)]
        with bar(len(names), "transcripts") as done:
            measured = (
                models.measure(names, plan, done) if models else evaluate_files(names, plan, jobs=processes, done=done)
            )
        found = facts.build(
            [one for one in measured if isinstance(one, Evaluated)],
            [(one.name, one.reason) for one in measured if isinstance(one, Unread)],
            ways=ways,
            compared=ways[len(ways) - len(plan.against) :],
            budgets=plan.budgets,
            cuts=plan.cuts,
            measures=measures,
            models=models.facts() if models else (),
        )
        if printing.plot is not None:
            draw_picture(found, printing.plot)
        if printing.html is not None:
            from ...report.page.evaluation import evaluation_page

            write_page(printing.html, evaluation_page(found))
        if printing.json:
            write_text(to_json(found))
        else:
            _print(found)
        status = models.status if models else ExitStatus.DONE
        raise SystemExit(int(status if found.transcripts else ExitStatus.INPUT))


def _configurations(condensing: MeasuredWays, usual: list[str]) -> Iterator[tuple[str, Configuration]]:
    """What is to be measured, by the name to show: the `usual` presets, or all, where nothing is named.

    Raises ConfigurationError.
    """
    from ...config.loading import load_with_positions
    from ..running.providing import checked, registry_of_user
    from ..running.settings import presets_here

    here, registry = presets_here(), registry_of_user()
    is_named = condensing.preset or condensing.provider or condensing.config
    for name in condensing.preset or ([] if is_named else usual or here.names()):
        yield name, registry.configured(checked(here.named(name), registry))
    for name in condensing.provider or []:
        yield f"provider {name}", registry.configured(registry.get(name).default_configuration())
    for path in condensing.config or []:
        yield str(path), registry.configured(checked(load_with_positions(path, here), registry))


def _compared(names: list[str] | None) -> tuple[str, ...]:
    if names is None:
        return AGAINST[:4]
    for name in names:
        if name not in (*AGAINST, "none"):
            raise UsageError(f"--against has no {name!r}.", f"Choose from {', '.join(AGAINST)} and none.")
    return tuple(dict.fromkeys(name for name in names if name != "none"))


def _check_calls(calls: Calls, *, with_models: bool, recorded: bool, jobs: int | None) -> None:
    """Raises UsageError for options that go with calls of models and without, or the other way round."""
    if with_models and recorded:
        raise UsageError("--recorded calls no model.", "Leave out --profile, --prompt and --allow-calls.")
    if with_models and jobs is not None:
        raise UsageError("--jobs cannot be used where models are called.", "A single process enforces the budget.")
    if not with_models and (calls.limits.is_any or calls.no_cache):
        raise UsageError(
            "--max-cost…, --max-summary-tokens, --no-cache and --redact apply to model calls only.",
            "No model is called without --profile NAME or --allow-calls.",
        )


def _measures(names: list[str] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    """What is to be shown, in the order of the help page."""
    known = (*RECALLS, *WITNESSES)
    for name in names or ():
        if name not in (*known, "all"):
            raise UsageError(f"--measure has no {name!r}.", f"Choose from {', '.join(known)} and all.")
    if names is None:
        return usual
    return tuple(name for name in known if name in names or "all" in names)


def _shares(option: str, text: str) -> tuple[float, ...]:
    from ...core.arguments import is_share

    try:
        shares = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        shares = []
    if not shares or not all(map(is_share, shares)):
        raise UsageError(f"{option} must be shares between 0 and 1, not {text!r}.", f"For example {option} 0.6,0.4.")
    return tuple(dict.fromkeys(shares))


def _print(found: Evaluation) -> None:
    from ...report.evaluation.terminal import render_evaluation

    print_parts(render_evaluation(found, console().width))
