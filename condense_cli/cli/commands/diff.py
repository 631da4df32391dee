"""`condense diff`: what differs between two transcripts, or what a preset would change."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import typer

from ...errors import UsageError
from ..console import console, exits, write_text
from ..grouped import grouped
from ..help_pages import InGroups
from ..options import (
    Assignments,
    LenientReading,
    Session,
    complete_format,
    complete_provider,
    preset_option,
)
from ..reading import input_file, list_formats, read_transcript
from ..running.counting import CountOptions
from ..running.providing import checked, provider_with, registry_of_user, say_error

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense diff before.jsonl after.jsonl\n"
    "condense diff session.jsonl --preset speed       what the preset would change\n"
    "condense diff session.jsonl --provider lossless --set keep_recent=4\n"
    "condense diff --session latest small.jsonl      the session as A\n"
    "condense diff before.jsonl after.jsonl --stat    only the summary\n"
    "condense diff before.jsonl after.jsonl --count o200k     in plain counts\n"
    "condense diff before.jsonl after.jsonl --json | jq '.blocks[].what'"
)


class Command(InGroups):
    groups: ClassVar = {
        "Common options": ("session", "preset", "provider", "assignments"),
        "Output": ("stat", "lines", "all_lines", "json"),
        "Counting tokens": ("counter", "count_as", "profile", "allow_calls", "redact"),
        "Reading": ("format_name", "lenient"),
    }


_SHOWN_LINES = 3
"""Lines of each run of changed lines that are shown where nobody asks for more."""


class Counterparts(NamedTuple):
    """Transcript A, and what it is compared with."""

    before: Annotated[
        str | None, typer.Argument(metavar="[A]", help="The older transcript; - reads standard input.")
    ] = None
    after: Annotated[str | None, typer.Argument(metavar="[B]", help="The newer transcript.")] = None
    session: Session = None
    preset: Annotated[str | None, preset_option(help="Compare A with the result of this preset.")] = None
    provider: Annotated[
        str | None,
        typer.Option(
            "--provider",
            metavar="NAME",
            autocompletion=complete_provider,
            help="Compare A with the result of this provider.",
        ),
    ] = None
    assignments: Assignments = None

    def settled(self) -> Counterparts:
        """The same, where the only transcript beside a session is B. Raises UsageError unless A has one counterpart."""
        before, after, session, preset, provider, assignments = self
        if session is not None and after is None:
            before, after = None, before
        given = [each for each in (after, preset, provider) if each is not None]
        if len(given) > 1:
            raise UsageError("diff compares with one of: a second transcript, --preset, --provider.")
        if not given:
            raise UsageError(
                "diff needs a second transcript, a preset or a provider.", "For example: condense diff A --preset speed"
            )
        if assignments and provider is None:
            raise UsageError(
                "--set needs --provider.", "For example --provider truncation --set max_tool_result_lines=20."
            )
        if before == after == "-":
            raise UsageError("Only one of the two transcripts can come from standard input.")
        return self._replace(before=before, after=after)


class ShownDifference(NamedTuple):
    """How much of the difference is shown, and how."""

    stat: Annotated[bool, typer.Option("--stat", help="Only the summary.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print the difference as JSON.")] = False
    lines: Annotated[int, typer.Option("--lines", metavar="N", min=0, help="Changed lines to show at each place.")] = (
        _SHOWN_LINES
    )
    all_lines: Annotated[bool, typer.Option("--all-lines", "-v", help="Show every line.")] = False


@grouped
def diff(
    *,
    compared: Counterparts,
    showing: ShownDifference,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="NAME",
            autocompletion=complete_format,
            callback=list_formats,
            is_eager=True,
            help="Format of both.  [default: recognized]",
        ),
    ] = None,
    counting: CountOptions,
    lenient: LenientReading = False,
) -> None:
    """Show what differs between two transcripts, message by message.

    Unchanged lines are grey, removed lines start with -, new lines with +.
    """
    with exits():
        compared = compared.settled()
        before = input_file(compared.before, compared.session)
        from ... import api
        from ...core.tokens import Counter
        from ...passes.explained import explained
        from ...report.difference.facts import of_run
        from ...report.difference.reasons import between
        from ...report.run import facts, terminal
        from ..running.counting import factor_for
        from ..running.settings import counter_of, presets_here, settings_if_any

        settings = settings_if_any()
        how, calls = counting.asked(settings)
        old = read_transcript(before, format_name, lenient)
        count = Counter.of(old, counter_of(counting.counter, settings))
        factor = factor_for(how, old, count, calls)
        result = None
        if compared.after is not None:
            new = read_transcript(compared.after, format_name, lenient)
        else:
            registry = registry_of_user()
            if compared.provider is not None:
                configuration = provider_with(compared.provider, compared.assignments, registry)
            else:
                configuration = checked(presets_here().named(str(compared.preset)), registry)
            result = api.condense(old, configuration, counter=count, registry=registry, factor=factor, proves=False)
            say_error(result)
            new = result.transcript
        if result is not None:
            difference = of_run(result if showing.stat else explained(result, count), count)
        else:
            difference = api.diff(old, new, count, factor)
            difference = difference if showing.stat else between(difference, old, new, count)
        if showing.json:
            from ...report.difference.as_json import as_report

            write_text(facts.to_json(as_report(difference, with_lines=not showing.stat)))
            return
        screen = console()
        screen.print(terminal.render_diff_line(difference), soft_wrap=not screen.is_terminal)
        if not showing.stat and difference.blocks:
            screen.print()
            lines = None if showing.all_lines else showing.lines
            for part in terminal.render_blocks(list(difference.blocks), lines, screen.width):
                screen.print(part)
