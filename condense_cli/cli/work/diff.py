"""`condense diff`: compare two transcripts, or a transcript with what a preset or provider makes of it."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ... import api
from ...errors import UsageError
from ...passes import must_keep
from ...passes.explained import explained
from ...quality.losses import MOST, losses
from ...report.difference import between, build, of_run
from ...report.run import terminal
from ...report.run.facts import LostReport
from ...report.run.sections import lost_things
from ...report.sections import to_json
from ...tokens.counting import Counter
from ..commands.look import DiffOptions
from ..console import console, print_parts, say, write_text
from .counting import count_asked, factor_for
from .providing import checked, provider_with, registry_of_user, say_error
from .reading import input_file, read_transcript
from .settings import counter_of, presets_here, settings_if_any

_ALL: Final = 10_000
"""Lost things that are listed where everything is asked for."""
_LINES: Final = 3
"""Removed lines shown at each place."""


def diff(options: DiffOptions) -> None:
    """Print the difference. Raises CondenseError."""
    options = _checked(options)
    before = input_file(options.before, options.session)
    settings = settings_if_any()
    how, calls = count_asked(options, settings)
    old = read_transcript(before, options.format, options.lenient)
    count = Counter.of(old, counter_of(options.counter, settings))
    factor = factor_for(how, old, count, calls)
    if options.after is not None:
        new = read_transcript(options.after, options.format, options.lenient)
        must_keep.check(options.must_keep, old.messages, new.messages)
        difference = api.diff(old, new, count, factor)
        difference = difference if options.stat else between(difference, old, new, count)
    else:
        registry = registry_of_user()
        if options.provider is not None:
            configuration = provider_with(options.provider, options.assignments, registry)
        else:
            configuration = checked(presets_here().named(str(options.preset)), registry)
        configuration = replace(configuration, must_keep=(*configuration.must_keep, *options.must_keep))
        result = api.condense(old, configuration, counter=count, registry=registry, factor=factor, proves=False)
        say_error(result)
        new = result.transcript
        difference = of_run(result if options.stat else explained(result, count), count)
    for warning in must_keep.absent(options.must_keep, must_keep.holders(options.must_keep, old.messages)):
        say(f"condense: warning: {warning}")
    most = _ALL if options.all_lines else MOST
    lost = LostReport.of(losses(old.messages, new.messages, count, most))
    if options.json:
        write_text(to_json(build(difference, lost, with_lines=not options.stat)))
        return
    screen = console()
    screen.print(terminal.render_diff_line(difference), soft_wrap=not screen.is_terminal)
    if not options.stat and difference.blocks:
        print_parts(lost_things(lost))
        screen.print()
        lines = None if options.all_lines else _LINES
        for part in terminal.render_blocks(list(difference.blocks), lines, screen.width):
            screen.print(part)


def _checked(options: DiffOptions) -> DiffOptions:
    """Return the options with the only transcript beside a session as B. Raises UsageError without one counterpart."""
    if options.session is not None and options.after is None:
        options = options.replace(before=None, after=options.before)
    given = [each for each in (options.after, options.preset, options.provider) if each is not None]
    if len(given) > 1:
        raise UsageError("diff compares with one of: a second transcript, --preset, --provider.")
    if not given:
        raise UsageError(
            "diff needs a second transcript, a preset or a provider.", "For example: condense diff A --preset speed"
        )
    if options.assignments and options.provider is None:
        raise UsageError("--set needs --provider.", "For example --provider truncation --set max_tool_result_lines=20.")
    if options.before == options.after == "-":
        raise UsageError("Only one of the two transcripts can come from standard input.")
    return options
