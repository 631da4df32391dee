"""`condense inspect`: what fills a transcript."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import console, exits, write_text
from .options import CounterOption, File, FormatOption, LenientReading, OverheadTokens, Session
from .reading import input_file, name_of, read_transcript
from .settings import counter_for
from .several import check_rows

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense inspect session.jsonl\n"
    "condense inspect session.jsonl --top 3\n"
    "condense inspect --session latest\n"
    "condense inspect session.jsonl --model claude-opus-4-5 --overhead-tokens 20000\n"
    "condense inspect session.jsonl --json | jq .repeats.tokens"
)


def inspect(
    file: File = None,
    session: Session = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Model that reads it.  [default: the recorded one]"),
    ] = None,
    overhead_tokens: OverheadTokens = None,
    counter: CounterOption = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Entries of each list.")] = 10,
    format: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Show what fills a transcript, in tokens.

    By content type, tool, file and message; the largest blocks; what is repeated. A block is named by its
    message and its position in it, as in 12:0; condense show prints it.
    """
    with exits():
        from msgspec.structs import replace

        from ..config.models import Configuration
        from ..config.user import load_user_configuration
        from ..factor import factor_of
        from ..providers.window import window_of
        from ..report import facts, inspection
        from ..rows.recognising import rows_in
        from ..tokens import Counter, encoding_for
        from ..windows import signs_of

        file = input_file(file, session)
        counter = counter_for(counter)
        kind = rows_in(file, format)
        if kind is not None:
            from .rows_inspect import inspect_rows

            check_rows(file, {"--overhead-tokens": overhead_tokens})
            inspect_rows(file, kind, model=model, counter=counter, top=top, json=json)
            return
        transcript = read_transcript(file, format, lenient)
        if model:
            transcript = replace(transcript, model=model)
        encoding = encoding_for(transcript.model, counter)
        count = Counter.of(transcript, counter)
        factor = factor_of(transcript, count)
        window = window_of(transcript.model, Configuration(), load_user_configuration(), signs=signs_of(transcript))
        found = inspection.inspect(
            transcript,
            count,
            factor,
            encoding,
            source=name_of(file),
            top=top,
            overhead_tokens=overhead_tokens,
            window=(window.tokens, window.source),
        )
        if json:
            write_text(facts.to_json(found))
            return
        from ..report.inspection_terminal import render

        screen = console()
        for part in render(found, screen.width):
            screen.print(part)
