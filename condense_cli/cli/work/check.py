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
from ...report.lists import check as facts
from ...report.sections import to_json
from ...tokens.counting import Counter
from ...window.decision import WindowFlags, signs_of, window_of
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
    found = facts.build(
        transcript,
        configuration,
        count,
        factor,
        window,
        when=datetime.now(UTC),
        source=name_of(file),
        origin=lambda key: (settings and settings.origin((key,))) or "default",
        overhead=options.overhead_tokens,
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
