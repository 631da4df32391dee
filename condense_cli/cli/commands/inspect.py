"""`condense inspect`: what fills a transcript."""

from __future__ import annotations

import sys
from typing import Annotated, ClassVar, NamedTuple

import typer

from ..console import console, exits, print_parts, write_text
from ..grouped import grouped
from ..help_pages import InGroups
from ..options import (
    File,
    FormatOption,
    LenientReading,
    OverheadTokens,
    Session,
)
from ..reading import input_file, name_of, read_transcript
from ..running.counting import CountOptions
from ..running.several import check_rows

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense inspect session.jsonl\n"
    "condense inspect session.jsonl --top 3\n"
    "condense inspect --session latest\n"
    "condense inspect session.jsonl --model claude-opus-4-5 --overhead-tokens 20000\n"
    "condense inspect session.jsonl --count o200k          plain counts\n"
    "condense inspect session.jsonl --count exact --profile claude-opus-5\n"
    "condense inspect session.jsonl --json | jq .repeats.tokens"
)


class Command(InGroups):
    groups: ClassVar = {
        "Common options": ("session", "top", "shows_all", "json"),
        "Counting tokens": (
            "model", "overhead_tokens", "counter", "count_as", "profile", "allow_calls", "redact",
        ),
        "Reading": ("format_name", "lenient"),
    }  # fmt: skip


_TOP = 10
"""Entries of each list."""


class ReaderOptions(NamedTuple):
    """Who reads it, and what beside it."""

    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Model to count for.  [default: the recorded one]"),
    ] = None
    overhead_tokens: OverheadTokens = None


@grouped
def inspect(
    *,
    file: File = None,
    session: Session = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    reader: ReaderOptions,
    counting: CountOptions,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", min=1, help="Entries in each list.  [default: 10]")
    ] = None,
    shows_all: Annotated[bool, typer.Option("--all", help="Show everything, as in a pipe.")] = False,
    format_name: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Show what fills a transcript, in tokens.

    By content type, tool, file and message, with the largest blocks and what repeats. Blocks are named by message and
    position, as in 12.0; condense show prints them.
    """
    with exits():
        from ...config.files import load_user_configuration
        from ...config.models import Configuration
        from ...money.prices import signs_of
        from ...providers.window import window_of
        from ...report.inspection import facts as inspection
        from ...report.run import facts
        from ...rows.reading import rows_in
        from ..running.counting import check_one, counted_transcript
        from ..running.settings import counter_of, settings_if_any

        settings = settings_if_any()
        how, calls = counting.asked(settings)
        file = input_file(file, session)
        model, counter = reader.model, counter_of(counting.counter, settings)
        kind = rows_in(file, format_name)
        if kind is not None:
            from ..rows.inspect import inspect_rows

            check_rows(file, {"--overhead-tokens": reader.overhead_tokens})
            check_one(how, "this is a set of rows")
            inspect_rows(file, kind, model=model, counter=counter, how=how, top=top or _TOP, json=json)
            return
        transcript = read_transcript(file, format_name, lenient)
        if model:
            transcript = transcript.continued_by(model)
        _, count, factor, encoding = counted_transcript(transcript, counter, how, calls)
        window = window_of(transcript.model, Configuration(), load_user_configuration(), signs=signs_of(transcript))
        found = inspection.inspect(
            transcript,
            count,
            factor,
            encoding,
            source=name_of(file),
            top=top or _TOP,
            overhead_tokens=reader.overhead_tokens,
            window=(window.tokens, window.source),
        )
        if json:
            write_text(facts.to_json(found))
            return
        from ...report.inspection.terminal import render, render_answer

        is_answer_enough = sys.stdout.isatty() and not shows_all and top is None
        print_parts((render_answer if is_answer_enough else render)(found, console().width))
