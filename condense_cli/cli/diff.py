"""`condense diff`: what differs between two transcripts, or what a preset would change."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UsageError
from .console import console, exits, write_text
from .options import Session, complete_format, complete_preset
from .providing import checked, registry_of_user, say_error
from .reading import input_file, read_transcript

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense diff before.jsonl after.jsonl\n"
    "condense diff session.jsonl --preset speed       what the preset would change\n"
    "condense diff --session latest small.jsonl      the session in place of A\n"
    "condense diff before.jsonl after.jsonl --stat    the summary alone\n"
    "condense diff before.jsonl after.jsonl --json | jq '.blocks[].what'"
)

_SHOWN_LINES = 3


def diff(
    before: Annotated[
        str | None, typer.Argument(metavar="[A]", help="The older transcript; - reads standard input.")
    ] = None,
    after: Annotated[str | None, typer.Argument(metavar="[B]", help="The newer transcript.")] = None,
    session: Session = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            "-p",
            metavar="NAME|PATH",
            autocompletion=complete_preset,
            help="Compare with what this preset makes of A.",
        ),
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="The summary alone.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the difference as JSON.")] = False,
    lines: Annotated[
        int, typer.Option("--lines", metavar="N", min=0, help="Lines to show of each run of changed lines.")
    ] = _SHOWN_LINES,
    all_lines: Annotated[bool, typer.Option("--all-lines", "-v", help="Show every line.")] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="NAME",
            autocompletion=complete_format,
            help="Format of both.  [default: recognised]",
        ),
    ] = None,
) -> None:
    """Show what differs between two transcripts, message by message.

    Lines that stay are shown grey, lines that are gone with -, new ones with +.
    """
    with exits():
        if session is not None and after is None:
            before, after = None, before
        if after is not None and preset is not None:
            raise UsageError("diff takes a second transcript or --preset, not both.")
        if after is None and preset is None:
            raise UsageError(
                "diff needs a second transcript or a preset.", "For example: condense diff A --preset speed"
            )
        if before == after == "-":
            raise UsageError("Only one of the two transcripts can come from standard input.")

        before = input_file(before, session)
        from .. import api
        from ..report import facts, terminal
        from ..tokens import Counter
        from .settings import presets_here

        old = read_transcript(before, format)
        counter = Counter.of(old)
        if preset is not None:
            registry = registry_of_user()
            result = api.condense(
                old, checked(presets_here().named(preset), registry), counter=counter, registry=registry
            )
            say_error(result)
            new = result.transcript
        else:
            new = read_transcript(str(after), format)
        difference = api.diff(old, new, counter)
        if json:
            from ..report.diff_json import as_report

            write_text(facts.to_json(as_report(difference, with_lines=not stat)))
            return
        screen = console()
        screen.print(terminal.render_diff_line(difference), soft_wrap=not screen.is_terminal)
        if not stat and difference.blocks:
            screen.print()
            for part in terminal.render_blocks(list(difference.blocks), None if all_lines else lines, screen.width):
                screen.print(part)


diff.__doc__ = (diff.__doc__ or "") + "\n\n    " + EXAMPLES.replace("\n", "\n    ")
