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
    "condense recap session.jsonl > recap.md          to start a new session with\n"
    "condense recap session.jsonl --json | jq -r '.words[].text'"
)


def recap(
    file: File = None,
    session: Session = None,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", "-t", metavar="N", parser=parse_tokens, help="Limit in tokens.  [default: 4000]"),
    ] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="Only what the client's last compaction lost and nobody has repeated since.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON, in parts.")] = False,
    counter: CounterOption = None,
    format_name: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Print what is needed to continue a conversation.

    Contains, within a token budget: the user's requests and rules word for word, the files and what became of them, the
    last commands and their results, open tasks, unsolved errors, and the lines that later work needs. Draws on the
    whole file, including what came before compactions. The user's words are given as instructions; everything else is
    fenced off as data. No model is called.
    """
    with exits():
        file = input_file(file, session)
        from ...core.tokens import BUILT_IN
        from ...ledger.recap import TOKENS
        from ...ledger.recap import recap as told_of

        transcript = read_transcript(file, format_name, lenient)
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
