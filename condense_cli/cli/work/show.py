"""`condense show`: print a block or message, or what a marker replaced."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from ...core import json_text
from ...core.transcript import Block, Transcript, calls_by_id
from ...core.wording import visible
from ...errors import CondenseError, UsageError
from ...report.inspection.lookup import Hit, HitKind, build, find, is_query
from ...report.sections import to_json
from ...report.text import call_label, kind_label
from ..commands.look import ShowOptions
from ..console import say, write_out, write_text
from .reading import input_file, name_of, read_transcript

_NO_TEXT: Final = "(no text; --raw prints the record)"


def show(options: ShowOptions) -> None:
    """Print the content that is named. Raises CondenseError."""
    file, what = options.file, options.what
    if options.json and options.raw:
        raise UsageError("--json and --raw cannot be used together.", "Use one of them.")
    if options.session is not None and what is None:
        file, what = None, file
    if what is None:
        if file is not None and is_query(file) and not os.path.lexists(file):
            raise UsageError(f"show needs the transcript that has {file}.", f"Name it: condense show FILE {file}")
        raise UsageError("show needs a hash or a position.", "For example: condense show session.jsonl 12.0")
    file = input_file(file, options.session)
    transcript = read_transcript(file, options.format, options.lenient)
    file, transcript, hits = _found(file, transcript, what, options.format, lenient=options.lenient)
    if options.json:
        write_text(to_json(build(transcript, hits, source=name_of(file), query=what)))
    elif options.raw:
        records = dict.fromkeys(hit.block.place.record for hit in hits)
        _print_lines(json_text.decode(transcript.source.raw(record)) for record in records)
    else:
        _print(transcript, hits)


def _found(
    file: str, transcript: Transcript, what: str, format_name: str | None, *, lenient: bool
) -> tuple[str, Transcript, Sequence[Hit]]:
    """Find the content in the file or in the one it was condensed from; return that file too. Raises CondenseError."""
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
    from ...clients.new_session import origins_of  # With all clients.

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
    label = " ".join(call_label(hit.block, calls).split())
    kind = kind_label(hit.block, hit.message.role if hit.message else None)
    return f"{hit.position}  {kind}  {label}".rstrip()


def _print_lines(pieces: Iterable[str]) -> None:
    _print_text("".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces))


def _print_text(text: str) -> None:
    """Print a text: as it is in a pipe, made safe on a terminal."""
    if sys.stdout.isatty():
        write_text(visible(text) + ("\n" if text and not text.endswith("\n") else ""))
        return
    try:
        write_out(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        write_text(text)
