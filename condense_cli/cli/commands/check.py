"""`condense check`: whether a conversation should be condensed."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import typer

from ...errors import ExitStatus, UsageError
from ...report.text.visible import visible
from ..console import between_words, console, exits, write_text
from ..grouped import grouped
from ..help_pages import InGroups
from ..options import (
    AllowCount,
    CountAs,
    CounterOption,
    File,
    FormatOption,
    LenientReading,
    Model,
    NoConfig,
    OverheadTokens,
    Redact,
    Session,
    complete_profile,
)
from ..reading import input_file, name_of, read_transcript
from ..running.options import Above, ContextWindow, Threshold, check_thresholds
from ..running.settings import settings_if_any

if TYPE_CHECKING:
    from ...providers.window import WindowFlags

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense check session.jsonl\n"
    "condense check --session latest --threshold 80\n"
    "condense check session.jsonl --above 150k            whatever the window\n"
    "condense run session.jsonl --if-needed --in-place   only when it should\n"
    "condense check session.jsonl --context-window 1M --overhead-tokens 25k\n"
    "condense check session.jsonl --count exact --profile claude-opus-5\n"
    "condense check session.jsonl --json | jq .percent"
)


class Command(InGroups):
    groups: ClassVar = {
        "Common options": ("session", "threshold", "above", "model", "context_window", "overhead_tokens"),
        "Output": ("json", "quiet"),
        "Counting tokens": ("counter", "count_as", "profile", "allow_calls", "redact"),
        "Reading": ("format_name", "lenient", "no_config"),
    }


class Continuing(NamedTuple):
    """The model that continues, what fills its window besides, and when that is too full."""

    model: Model = None
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            autocompletion=complete_profile,
            help="Profile of the model that continues; --count exact calls it, nothing else does.  "
            "[default: the one with that model]",
        ),
    ] = None
    context_window: ContextWindow = None
    threshold: Threshold = None
    above: Above = None
    overhead_tokens: OverheadTokens = None

    def window_flags(self) -> WindowFlags:
        """Raises UsageError where two of them say the same, or a threshold is no number."""
        check_thresholds(self.threshold, self.above, if_needed=True)
        if self.profile is not None and self.model is not None:
            raise UsageError("--profile and --model both name the model.", "Use one of them.")
        from ...providers.window import WindowFlags

        return WindowFlags(self.profile, self.context_window, self.threshold, self.above)


class CountOfCheck(NamedTuple):
    """In whose tokens it is counted, and whether the call of `exact` is permitted."""

    counter: CounterOption = None
    count_as: CountAs = None
    allow_calls: AllowCount = False
    redact: Redact = False


@grouped
def check(
    *,
    file: File = None,
    session: Session = None,
    continuing: Continuing,
    counting: CountOfCheck,
    no_config: NoConfig = False,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; only the exit status tells.")] = False,
    format_name: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Say whether a conversation should be condensed. Exit status 4 when it should, 0 when not.

    It should when its tokens reach the threshold (a percentage of the model's context window, or --above N), or leave
    too little room in the window for the answer. System prompt and tools are included. Usage recorded by the API takes
    precedence over our own count. Nothing is written.
    """
    with exits():
        asked = continuing.window_flags()
        from datetime import UTC, datetime

        from ...config.files import load_user_configuration
        from ...config.models import Configuration
        from ...core.tokens import Counter, encoding_for
        from ...money.prices import price_of, signs_of
        from ...providers.window import DecisionReason, decide, window_of
        from ...report.costs.usage import beside_messages, overhead_of, remarks_on_usage
        from ...report.lists import check as facts
        from ...report.run.facts import estimated_tokens, to_json
        from ..running.counting import count_asked, factor_for

        settings = settings_if_any(no_config=no_config)
        how, calls = count_asked(
            counting.count_as, settings, continuing.profile, counting.allow_calls, redact=counting.redact
        )
        configuration = settings.configuration if settings else Configuration()
        file = input_file(file, session)
        transcript = read_transcript(file, format_name, lenient)
        transcript = transcript.continued_by(continuing.model or transcript.model)
        window = window_of(transcript.model, configuration, load_user_configuration(), asked, signs_of(transcript))
        transcript = transcript.continued_by(window.model)  # It is the one that counts.
        count = Counter.of(transcript, counting.counter or configuration.counter)
        factor = factor_for(how, transcript, count, calls)
        beside, how_known = beside_messages(transcript, count, factor, continuing.overhead_tokens)
        tokens = factor.shown(count.transcript(transcript))
        decision = decide(window.sizes(tokens, beside, configuration, how_known))
        if decision.reason is DecisionReason.UNKNOWN_WINDOW:
            raise window.unknown
        found = facts.build(
            decision,
            window,
            source=name_of(file),
            overhead=overhead_of(transcript, count, factor, continuing.overhead_tokens),
            origin=lambda key: (settings and settings.origin((key,))) or "default",
            encoding=encoding_for(transcript.model, count.counter),
            factor=factor,
            estimated=estimated_tokens(transcript),
            price=price_of(window.model, datetime.now(UTC), decision.sizes.used, lives_hour=transcript.lives_hour),
            warnings=remarks_on_usage(transcript, count, factor, continuing.overhead_tokens),
        )
        if json:
            write_text(to_json(found))
        elif not quiet:
            _show([visible(line) for line in facts.as_lines(found)])
        raise SystemExit(int(ExitStatus.SHOULD_CONDENSE if found.condense else ExitStatus.DONE))


def _show(lines: list[str]) -> None:
    """The lines, which break between words. Rich, which takes 20 ms, is for a terminal."""
    if sys.stdout.isatty():
        for line in lines:
            console().print(line)
        return
    width = shutil.get_terminal_size().columns
    for line in lines:
        typer.echo(between_words(line, width))
