"""`condense recap`: what someone who goes on needs of a conversation."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..console import exits, write_text
from ..options import CounterOption, File, FormatOption, LenientReading, Session, parse_tokens
from ..reading import input_file, name_of, read_transcript

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense recap session.jsonl\n"
    "condense recap --session latest --tokens 8k\n"
    "condense recap --session latest --lost           what the last compaction lost\n"
    "condense recap session.jsonl > recap.md          to begin a new session with\n"
    "condense recap session.jsonl --json | jq -r '.words[].text'"
)


def recap(
    file: File = None,
    session: Session = None,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", "-t", metavar="N", parser=parse_tokens, help="At most so many.  [default: 4000]"),
    ] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="Only what the last compaction of the client lost, and nobody said since.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON, part by part.")] = False,
    counter: CounterOption = None,
    format: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Print what someone who goes on needs of a conversation.

    The user's requests and rules word for word, files and what became of them, the last commands and how they ended,
    open tasks, errors not solved yet, and lines that later work needs, within a budget of tokens. All that the file
    holds counts, also from before compactions. The user's words come as instructions; everything else is fenced, and
    named as data. No model is called.
    """
    with exits():
        file = input_file(file, session)
        from ...core.tokens import BUILT_IN
        from ...recaps.told import TOKENS
        from ...recaps.told import recap as told_of

        transcript = read_transcript(file, format, lenient)
        told = told_of(
            transcript,
            TOKENS if tokens is None else tokens,
            lost=lost,
            counter=counter or BUILT_IN,
        )
        if json:
            from ...report.recaps.facts import build
            from ...report.run.facts import to_json

            write_text(to_json(build(told, transcript, source=name_of(file))))
            return
        text = told.recap.text + "\n"
        if sys.stdout.isatty():
            from ...report.text.visible import visible

            text = visible(text)
        write_text(text)
