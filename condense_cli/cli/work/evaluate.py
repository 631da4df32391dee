"""`condense evaluate`: measure how much of what a session later needed is still there after condensing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ...api.comparing import Contender, compare_files
from ...api.evaluating import BESIDE, Plan, Unread, evaluate_files, judge_files
from ...calling import Calls, check_profile
from ...clients.table import find, session_places
from ...config.loading import load_with_positions
from ...config.models import Configuration
from ...core.arguments import is_share
from ...errors import ExitStatus, UnreadableError, UsageError
from ...quality.evaluation import Evaluated
from ...report import evaluation, recorded
from ...report.evaluation import ModelWay
from ...report.page.evaluation import draw, evaluation_page, recorded_page
from ...report.run.sections import one_summarized
from ...rows.many_files import TRANSCRIPTS, files_in
from ...storage.extras import missing
from ...storage.files import check_folder, check_output, read_bytes, write_bytes
from ...storage.processes import usable_processors
from ..commands.decide import AGAINST, BUDGETS, RECALLS, WITNESSES, EvaluateOptions
from ..console import bar, print_report, say
from ..running.job import calls_of, summaries_for
from ..running.workers import may_call
from .providing import checked, registry_of_user
from .reading import check_piped, input_file
from .settings import counter_of, presets_here, settings_if_any

_OF_MODELS: Final = "max"
"""The preset for models: it has one summary written for each cut."""
_OWN_PROMPT: Final = "default"
_OFFLINE: Final = "offline"
_PICTURES: Final = (".svg", ".png")
_CUTTING: Final = ("budgets", "cuts", "measure", "min_tokens")
"""Options that decide how transcripts are cut. Recorded compactions have cut them already."""


def evaluate(options: EvaluateOptions) -> None:
    """Measure, print and exit with the status. Raises CondenseError."""
    calls = calls_of(options, profile=None)
    with_models = bool(options.profile or options.prompt or options.allow_calls)
    _check_options(options, calls, with_models=with_models)
    check_picture(options.plot)
    measures = _measures(options.measure, (*RECALLS, "bits") if with_models else RECALLS)
    if options.everything and (options.transcripts or options.session):
        raise UsageError("--all cannot be used with a transcript or --session.", "Use one of them.")
    names = sessions_here() if options.everything else _input_files(options.transcripts, options.session)
    check_page(options.html, options.plot, names)
    usual = list(BESIDE) if options.recorded else [_OF_MODELS] if with_models else []
    configurations = {
        name: replace(each, must_keep=(*each.must_keep, *options.must_keep))
        for name, each in _configurations(options, usual)
    }
    models = models_of(configurations, options.profile, options.prompt, calls) if with_models else None
    plan = Plan(
        () if models else tuple(configurations.items()),
        () if (options.recorded or models) and options.against is None else _compared(options.against),
        () if models and options.budgets is None else _shares("--budgets", options.budgets or BUDGETS),
        _shares("--cuts", options.cuts),
        options.min_tokens,
        options.format,
        options.lenient,
        counter_of(options.counter, settings_if_any()),
        tuple(name for name in measures if name in WITNESSES),
    )
    # Standard input cannot be read in another process.
    processes = 1 if "-" in names else options.jobs or usable_processors()
    if options.recorded:
        raise SystemExit(int(_judge(names, plan, options, jobs=processes)))
    ways = [*(models.names if models else ()), *(way.name for way in plan.ways)]
    with bar(len(names), "transcripts") as done:
        measured = (
            models.measure(names, plan, done) if models else evaluate_files(names, plan, jobs=processes, done=done)
        )
    found = evaluation.build(
        [one for one in measured if isinstance(one, Evaluated)],
        [(one.name, one.reason) for one in measured if isinstance(one, Unread)],
        ways=ways,
        compared=ways[len(ways) - len(plan.against) :],
        budgets=plan.budgets,
        cuts=plan.cuts,
        measures=measures,
        models=models.facts() if models else (),
    )
    if options.plot is not None:
        draw_picture(found, options.plot)
    if options.html is not None:
        write_page(options.html, evaluation_page(found))
    print_report(found, lambda: evaluation.sections(found), as_json=options.json)
    status = models.status if models else ExitStatus.DONE
    raise SystemExit(int(status if found.transcripts else ExitStatus.INPUT))


def _check_options(options: EvaluateOptions, calls: Calls, *, with_models: bool) -> None:
    """Raise UsageError for options that need calls of models, exclude them, or have no effect."""
    if with_models and options.recorded:
        raise UsageError("--recorded calls no model.", "Leave out --profile, --prompt and --allow-calls.")
    if with_models and options.jobs is not None:
        raise UsageError("--jobs cannot be used where models are called.", "A single process enforces the budget.")
    if not with_models and (calls.limits.is_any or calls.no_cache):
        raise UsageError(
            "--max-cost…, --max-summary-tokens, --no-cache and --redact apply to model calls only.",
            "No model is called without --profile NAME or --allow-calls.",
        )
    if options.recorded:
        usual = EvaluateOptions()
        given = [name for name in (*_CUTTING, "plot") if getattr(options, name) != getattr(usual, name)]
        if given:
            raise UsageError(
                f"--{given[0].replace('_', '-')} cannot be used with --recorded.",
                "The client's compactions decide the cuts and sizes.",
            )
    elif options.everything:
        raise UsageError("--all needs --recorded.", "Otherwise name transcripts or folders.")


def _input_files(transcripts: Sequence[str], session: str | None) -> list[str]:
    """Return the named files, and those in named folders. Raises UsageError and UnreadableError."""
    if session is not None or not transcripts:
        return [input_file(transcripts[0] if transcripts else None, session)]
    names: list[str] = []
    for name in transcripts:
        folder = Path(name)
        if folder.is_dir():
            inside = [str(path) for path in files_in(folder)]
            if not inside:
                raise UsageError(f"There is no transcript in {name}.", f"Looked for {', '.join(sorted(TRANSCRIPTS))}.")
            names += inside
        else:
            check_piped(name)
            names.append(name)
    return list(dict.fromkeys(names))


def _configurations(options: EvaluateOptions, usual: list[str]) -> Iterator[tuple[str, Configuration]]:
    """Yield the configurations to measure by name: the named ones, else the `usual` presets, else all.

    Raises ConfigurationError.
    """
    here, registry = presets_here(), registry_of_user()
    is_named = options.preset or options.provider or options.config
    for name in options.preset or ([] if is_named else usual or here.names()):
        yield name, registry.configured(checked(here.named(name), registry))
    for name in options.provider:
        yield f"provider {name}", registry.configured(registry.get(name).default_configuration())
    for path in options.config:
        yield str(path), registry.configured(checked(load_with_positions(path, here), registry))


def _compared(names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return AGAINST[:4]
    for name in names:
        if name not in (*AGAINST, "none"):
            raise UsageError(f"--against has no {name!r}.", f"Choose from {', '.join(AGAINST)} and none.")
    return tuple(dict.fromkeys(name for name in names if name != "none"))


def _measures(names: Sequence[str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the measures to show, in the order of the help page. Raises UsageError."""
    known = (*RECALLS, *WITNESSES)
    for name in names:
        if name not in (*known, "all"):
            raise UsageError(f"--measure has no {name!r}.", f"Choose from {', '.join(known)} and all.")
    if not names:
        return usual
    return tuple(name for name in known if name in names or "all" in names)


def _shares(option: str, text: str) -> tuple[float, ...]:
    try:
        shares = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        shares = []
    if not shares or not all(map(is_share, shares)):
        raise UsageError(f"{option} must be shares between 0 and 1, not {text!r}.", f"For example {option} 0.6,0.4.")
    return tuple(dict.fromkeys(shares))


def sessions_here() -> list[str]:
    """Return the files of all sessions on this machine, newest first. Raises UnreadableError if there are none."""
    # What a snapshot records its session records as well.
    files = [file for file in find(session_places(), everything=True).files if not file.is_snapshot]
    if not files:
        raise UnreadableError("There are no sessions on this machine.", "condense sessions shows where it looks.")
    return [file.path for file in files]


def _judge(names: list[str], plan: Plan, options: EvaluateOptions, *, jobs: int) -> ExitStatus:
    """Judge the compactions that clients recorded, and print. Raises OutputError if the page cannot be written."""
    with bar(len(names), "transcripts") as done:
        found = judge_files(names, plan, jobs=jobs, done=done)
    report = recorded.build(
        [one for one in found if not isinstance(one, Unread)],
        [(one.name, one.reason) for one in found if isinstance(one, Unread)],
        [way.name for way in plan.ways],
    )
    if options.html is not None:
        write_page(options.html, recorded_page(report))
    print_report(report, lambda: recorded.sections(report), as_json=options.json)
    return ExitStatus.DONE if report.files else ExitStatus.INPUT


def check_page(page: Path | None, plot: Path | None, inputs: Iterable[str]) -> None:
    """Raise UsageError and OutputError before any work if the page cannot be written."""
    if page is None:
        return
    if str(page) == "-":
        raise UsageError("--html writes a file.", "Name one, such as page.html.")
    for file in inputs:
        check_output(file, page, "Write the page to another file.")
    if plot is not None and plot.resolve() == page.resolve():
        raise UsageError("--plot and --html name the same file.", "Name two files.")
    check_folder(page)


def write_page(page: Path, text: str) -> None:
    """Write the page. Raises OutputError."""
    write_bytes(page, text.encode())
    say(f"Written: {page}")


def check_picture(plot: Path | None) -> None:
    """Raise UsageError and OutputError before any work if the picture cannot be drawn."""
    if plot is None:
        return
    if plot.suffix.lower() not in _PICTURES:
        raise UsageError(f"--plot draws .svg or .png, not {plot.name!r}.", "For example --plot curves.svg.")
    check_folder(plot)
    if plot.suffix.lower() == ".png":
        try:
            import resvg_py  # noqa: F401 - it may be there and not load.
        except ImportError:
            raise missing("--plot draws a .png with the package resvg-py (an .svg needs nothing)", "png") from None


def draw_picture(found: evaluation.Evaluation, plot: Path) -> None:
    picture = draw(found)
    if plot.suffix.lower() == ".png":
        import resvg_py

        write_bytes(plot, bytes(resvg_py.svg_to_bytes(svg_string=picture, zoom=2)))
    else:
        write_bytes(plot, picture.encode())
    say(f"Written: {plot}")


class _Named(Struct, frozen=True):
    """The parts of one way; None is the profile that the configuration names, and condense's own prompt."""

    configuration: str
    profile: str | None
    prompt: str | None


class Models:
    """The ways of one evaluation whose summaries models write, by name."""

    def __init__(self, ways: Mapping[str, tuple[_Named, Contender]]) -> None:
        self._ways = ways

    @property
    def names(self) -> list[str]:
        return list(self._ways)

    @property
    def status(self) -> ExitStatus:
        stopped = any(contender.stopped for _, contender in self._ways.values())
        return ExitStatus.CALLS_FAILED if stopped else ExitStatus.DONE

    def measure(self, names: Sequence[str], plan: Plan, done: Callable[[float], None]) -> Sequence[Evaluated | Unread]:
        return compare_files(names, plan, [contender for _, contender in self._ways.values()], done)

    def facts(self) -> list[ModelWay]:
        """Return the outcome of each way; call it after measuring."""
        return [
            ModelWay(
                name,
                named.configuration,
                named.profile,
                named.prompt,
                [*map(one_summarized, contender.used.values())],
                contender.stopped or None,
            )
            for name, (named, contender) in self._ways.items()
        ]


def models_of(
    configurations: Mapping[str, Configuration], profiles: Sequence[str], prompts: Sequence[str], calls: Calls
) -> Models:
    """Combine every configuration, profile and prompt. All calls together have the budget of `calls`.

    Raises CondenseError for a missing profile or file, and without permission for a call.
    """
    if not profiles and not may_call(calls):
        raise UsageError(
            "--prompt needs a model to write summaries, and no call is permitted.",
            "Add --profile NAME or --allow-calls, or `allow_calls: true` to your own configuration.",
        )
    texts = {name: _prompt(name) for name in prompts if name != _OWN_PROMPT}
    budget = calls.budget()
    ways = {}
    for name, named in _named(list(configurations), profiles, prompts).items():
        own = replace(calls, profile=named.profile)
        if named.profile is not None:
            check_profile(named.profile)
        configuration = configurations[named.configuration]
        opening = partial(summaries_for, configuration, calls=own, budget=budget)
        ways[name] = named, Contender(name, configuration, opening, texts.get(named.prompt or ""))
    return Models(ways)


def _named(configurations: Sequence[str], profiles: Sequence[str], prompts: Sequence[str]) -> dict[str, _Named]:
    """Return every combination, by a name of the parts that differ. One alone gets another to compare with."""
    files = [None if prompt == _OWN_PROMPT else prompt for prompt in prompts]
    combined = product(configurations, dict.fromkeys(profiles) or (None,), dict.fromkeys(files) or (None,))
    named = [_Named(*each) for each in combined]
    if len(named) == 1:
        (only,) = named
        if only.prompt is not None:
            named = [replace(only, prompt=None), only]
        elif only.profile != _OFFLINE:
            named = [replace(only, profile=_OFFLINE), only]
    differ = [key for key in _Named.__struct_fields__ if len({getattr(each, key) for each in named}) > 1]
    return {", ".join(_said(each, key) for key in differ) or each.configuration: each for each in named}


def _said(named: _Named, key: str) -> str:
    match key:
        case "profile":
            return named.profile or "as configured"
        case "prompt":
            return f"prompt {named.prompt or _OWN_PROMPT}"
        case _:
            return named.configuration


def _prompt(name: str) -> str:
    """Read a prompt file. Raises UsageError and UnreadableError."""
    try:
        text = read_bytes(name).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise UsageError(f"The prompt {name} is not UTF-8 text.") from None
    if not text:
        raise UsageError(f"The prompt {name} is empty.", f"--prompt {_OWN_PROMPT} is condense's own.")
    return text
