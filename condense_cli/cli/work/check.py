"""`condense check`: decide whether a conversation should be condensed."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime

import typer

from ...config.models import Configuration
from ...config.own import load_user_configuration
from ...core.wording import visible
from ...errors import ExitStatus, UsageError
from ...money.prices import price_of
from ...report.lists import check as facts
from ...report.run.facts import estimated_tokens
from ...report.sections import to_json
from ...tokens.counting import Counter, encoding_for
from ...window.decision import DecisionReason, WindowFlags, decide, window_of
from ...window.size import signs_of
from ...window.use import beside_messages, overhead_of, remarks_on_usage
from ..commands.decide import CheckOptions
from ..console import between_words, console, write_text
from .counting import count_asked, factor_for
from .reading import check_thresholds, input_file, name_of, read_transcript
from .settings import settings_if_any


def check(options: CheckOptions) -> None:
    """Print the decision and exit with its status. Raises CondenseError."""
    check_thresholds(options.threshold, options.above, if_needed=True)
    if options.profile is not None and options.model is not None:
        raise UsageError("--profile and --model both name the model.", "Use one of them.")
    asked = WindowFlags(options.profile, options.context_window, options.threshold, options.above)
    settings = settings_if_any(no_config=options.no_config)
    how, calls = count_asked(options, settings)
    configuration = settings.configuration if settings else Configuration()
    file = input_file(options.file, options.session)
    transcript = read_transcript(file, options.format, options.lenient)
    transcript = transcript.continued_by(options.model or transcript.model)
    window = window_of(transcript.model, configuration, load_user_configuration(), asked, signs_of(transcript))
    transcript = transcript.continued_by(window.model)  # It is the one that counts.
    count = Counter.of(transcript, options.counter or configuration.counter)
    factor = factor_for(how, transcript, count, calls)
    beside, how_known = beside_messages(transcript, count, factor, options.overhead_tokens)
    tokens = factor.shown(count.transcript(transcript))
    decision = decide(window.sizes(tokens, beside, configuration, how_known))
    if decision.reason is DecisionReason.UNKNOWN_WINDOW:
        raise window.unknown
    found = facts.build(
        decision,
        window,
        source=name_of(file),
        overhead=overhead_of(transcript, count, factor, options.overhead_tokens),
        origin=lambda key: (settings and settings.origin((key,))) or "default",
        encoding=encoding_for(transcript.model, count.counter),
        factor=factor,
        estimated=estimated_tokens(transcript),
        price=price_of(window.model, datetime.now(UTC), decision.sizes.used, lives_hour=transcript.lives_hour),
        warnings=remarks_on_usage(transcript, count, factor, options.overhead_tokens),
    )
    if options.json:
        write_text(to_json(found))
    elif not options.quiet:
        _show([visible(line) for line in facts.as_lines(found)])
    raise SystemExit(int(ExitStatus.SHOULD_CONDENSE if found.condense else ExitStatus.DONE))


def _show(lines: list[str]) -> None:
    """Print lines that break between words. Rich, which takes 20 ms, is for a terminal."""
    if sys.stdout.isatty():
        for line in lines:
            console().print(line)
        return
    width = shutil.get_terminal_size().columns
    for line in lines:
        typer.echo(between_words(line, width))
