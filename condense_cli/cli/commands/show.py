"""`condense show`: the content of a block or message, or what a marker stands for."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from ...errors import CondenseError, UsageError
from ..console import exits, say, write_out, write_text
from ..options import File, FormatOption, LenientReading, Session
from ..reading import input_file, name_of, read_transcript

if TYPE_CHECKING:
    from ...core.transcript import Block, Transcript
    from ...report.inspection.lookup import Hit

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense show session.jsonl 12              all of message 12\n"
    "condense show session.jsonl 12.0            its first block\n"
    "condense show session.jsonl -1              the last message\n"
    "condense show session.jsonl 406167          what the marker replaced\n"
    "condense show session.jsonl 13.0 --raw | jq .message.usage\n"
    "condense show --session latest 12"
)

_NO_TEXT = "(no text; --raw prints the record)"
_FROM_END: Final = re.compile(r"-\d[\d:.]*", re.ASCII)


class Command(TyperCommand):
    """A position that counts from the end begins like an option and is none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        positions = [each for each in args[:end] if _FROM_END.fullmatch(each)]
        if positions:
            others = [each for each in args[:end] if each not in positions]
            args = [*others, "--", *positions, *args[end + 1 :]]
        return super().parse_args(ctx, args)


def show(
    file: File = None,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="HASH|MESSAGE[.BLOCK]",
            help="Hash from a marker, or a position: 12, 12.0, or -1 for the last message.",
        ),
    ] = None,
    session: Session = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the records exactly as in the file.")] = False,
    format_name: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Print a message, a block, or what a marker replaced.

    For the hash in a marker, FILE is the original: this prints what was cut, along with what was kept of it, or all
    messages that a summary replaced. Six digits are taken as a hash first, and as a position only if no hash matches.
    """
    with exits():
        if json and raw:
            raise UsageError("--json and --raw cannot be used together.", "Use one of them.")
        if session is not None and what is None:
            file, what = None, file
        if what is None:
            raise UsageError("show needs a hash or a position.", "For example: condense show session.jsonl 12.0")
        file = input_file(file, session)
        transcript = read_transcript(file, format_name, lenient)
        file, transcript, hits = _found(file, transcript, what, format_name, lenient=lenient)
        if json:
            from ...report.inspection.lookup_json import as_report
            from ...report.run import facts

            write_text(facts.to_json(as_report(transcript, hits, source=name_of(file), query=what)))
        elif raw:
            _print_records(transcript, hits)
        else:
            _print(transcript, hits)


def _found(
    file: str, transcript: Transcript, what: str, format_name: str | None, *, lenient: bool
) -> tuple[str, Transcript, Sequence[Hit]]:
    """What is meant, in the file or in the one that it was condensed from; and where that is. Raises CondenseError."""
    from ...clients.new_session import origins_of
    from ...report.inspection.lookup import HitKind, find

    hits: Sequence[Hit] = ()
    error: CondenseError | None = None
    try:
        hits = find(transcript, what)
        if hits and hits[0].found is not HitKind.MARKER:
            return file, transcript, hits
    except UsageError:
        raise
    except CondenseError as nothing:
        error = nothing
    for original in origins_of(file):
        older = read_transcript(str(original), format_name, lenient)
        with suppress(CondenseError):
            found = find(older, what)
            if found and found[0].found is not HitKind.MARKER:
                say(f"condense: from the original, {original.name}")
                return str(original), older, found
    if error is not None:
        raise error
    return file, transcript, hits


def _print(transcript: Transcript, hits: Sequence[Hit]) -> None:
    from ...core.transcript import calls_by_id
    from ...report.inspection.lookup import HitKind

    calls = calls_by_id([*transcript.messages, *(hit.message for hit in hits if hit.message and hit.is_before)])
    if not hits:
        say("condense: the message has no content.")
    elif hits[0].found is HitKind.SUMMARIZED or (hits[0].found is HitKind.POSITION and len(hits) > 1):
        _print_lines(f"--- {_heading(hit, calls)}\n{hit.text or _NO_TEXT}" for hit in hits)
    elif len({hit.text for hit in hits}) > 1:
        say("condense: several blocks match; choose one by its position:")
        _print_lines(_heading(hit, calls) for hit in hits)
    else:
        if hits[0].found is HitKind.MARKER:
            say("condense: the original text is not in this file; this block holds its marker.")
        if len(hits) > 1:
            say(f"condense: the same text occurs {len(hits)} times: {', '.join(hit.position for hit in hits)}")
        if not hits[0].text:
            say(f"condense: {_NO_TEXT[1:-1]}.")
        _print_text(hits[0].text)


def _heading(hit: Hit, calls: Mapping[str, Block]) -> str:
    from ...report.text.labels import call_label, kind_label

    label = " ".join(call_label(hit.block, calls).split())
    kind = kind_label(hit.block, hit.message.role if hit.message else None)
    return f"{hit.position}  {kind}  {label}".rstrip()


def _print_lines(pieces: Iterable[str]) -> None:
    _print_text("".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces))


def _print_text(text: str) -> None:
    """A pipe gets the text as it is; on a terminal nothing in it may steer, and the prompt gets its own line."""
    if sys.stdout.isatty():
        from ...report.text.visible import visible

        write_text(visible(text) + ("\n" if text and not text.endswith("\n") else ""))
        return
    try:
        write_out(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        write_text(text)


def _print_records(transcript: Transcript, hits: Sequence[Hit]) -> None:
    from ...core import json_text

    records = dict.fromkeys(hit.block.place.record for hit in hits)
    _print_lines(json_text.decode(transcript.source.raw(record)) for record in records)
