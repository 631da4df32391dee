"""The table of formats; recognising, reading and writing transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from msgspec.structs import replace

from ..errors import UnknownFormatError, UsageError
from ..transcript import Message, Transcript
from . import (
    anthropic,
    claude_code,
    claude_stream,
    cline,
    codex,
    gemini,
    gemini_log,
    inspect_log,
    kimi,
    mini_swe_agent,
    openai_chat,
    opencode,
    opencode_events,
    openhands,
    openhands_sdk,
    pi,
    request_log,
    roo,
    sharegpt,
    swe_agent,
    tau2,
)
from .base import Evidence, Format
from .container import Document, describe, open_document
from .foreign import foreign
from .slimming import slimmed as _slimmed
from .writing import write as _write

FORMATS: Final[tuple[Format, ...]] = (
    claude_code.FORMAT,
    claude_stream.FORMAT,
    codex.FORMAT,
    cline.FORMAT,
    roo.FORMAT,
    swe_agent.FORMAT,
    opencode.FORMAT,
    opencode_events.FORMAT,
    pi.FORMAT,
    gemini.FORMAT,
    gemini_log.FORMAT,
    kimi.FORMAT,
    mini_swe_agent.FORMAT,
    inspect_log.FORMAT,
    inspect_log.ARCHIVES,
    request_log.FORMAT,
    tau2.FORMAT,
    openhands.FORMAT,
    openhands_sdk.FORMAT,
    sharegpt.FORMAT,
    openai_chat.FORMAT,
    anthropic.FORMAT,
)
"""Asked in this order. Plain text turns that fit both chat formats are taken for the last that fits."""


_ADDED: Final[dict[str, Format]] = {}


def add(formats: Iterable[Format]) -> None:
    """Add formats to the table for the rest of the process, behind those that it has.

    A transcript carries the name of its format, and whoever writes it has to find that. Names in the table stay.
    """
    known = {form.name for form in FORMATS}
    _ADDED.update({form.name: form for form in formats if form.name not in known})


def _all() -> tuple[Format, ...]:
    return (*FORMATS, *_ADDED.values())


def format_named(name: str) -> Format:
    """Raises UsageError when no format has the name."""
    for form in _all():
        if form.name == name:
            return form
    known = ", ".join(form.name for form in _all())
    raise UsageError(f"There is no format named {name!r}.", f"Formats: {known}.")


def parse(data: bytes, *, name: str = "input", format: str | None = None, lenient: bool = False) -> Transcript:
    """Transcript in the bytes of a file; `name` is used in errors.

    Raises NotJsonError and UnknownFormatError. With `lenient`, lines that are not JSON are kept as they are.
    """
    if data.startswith(inspect_log.ZIP):
        return inspect_log.read_archive(data, name)
    document = open_document(data, name, lenient=lenient)
    if format is not None:
        form, values = format_named(format), document.values
    else:
        form, values = _recognise(document, name)
    try:
        return form.read(document, values)
    except UnknownFormatError as error:
        raise UnknownFormatError(f"{name}: {error.message}", error.hint) from None


def check_writable(transcript: Transcript) -> None:
    """Raises UsageError when the format of the transcript is only read."""
    if not format_named(transcript.format).is_writable:
        raise UsageError(
            f"condense reads {transcript.format} files but cannot write them.",
            "condense run --to anthropic, or --to openai-chat, writes it as messages of that API. "
            "To see what condensing would save, use condense run --dry-run, or --json without -o.",
        )


def serialize(transcript: Transcript) -> bytes:
    """Bytes of the transcript in its own format. Raises UsageError when it changed and cannot be written."""
    if transcript.is_changed:
        check_writable(transcript)
    return _write(transcript, format_named(transcript.format))


def slim(transcript: Transcript, plain: tuple[Message, ...]) -> Transcript:
    """The same conversation in a smaller file: what only a client shows is replaced by markers when it is written.

    `plain` are the messages of the source without references.
    """
    form = format_named(transcript.format)
    return replace(transcript, slimmed=tuple(_slimmed(transcript, plain, form)))


def _recognise(document: Document, name: str) -> tuple[Format, Iterator[Any]]:
    """The format of a document, and its values from the start.

    Takes values until one of them proves a format that none before it excluded.
    """
    for form in FORMATS:
        if form.claims(document):
            return form, document.values
    taken: list[Any] = []
    candidates = list(_all())
    for record, value in enumerate(document.values):
        taken.append(value)
        if record in document.source.unparsed:
            continue
        verdicts = {form.name: form.evidence(value) for form in candidates}
        candidates = [form for form in candidates if verdicts[form.name] is not Evidence.NO]
        for form in candidates:
            if verdicts[form.name] is Evidence.YES:
                return form, chain(taken, document.values)
        if not candidates:
            break
    defaults = [form for form in candidates if form.is_default]
    if defaults and taken:
        return defaults[-1], chain(taken, document.values)
    known = ", ".join(form.name for form in _all())
    first = taken[0] if taken else None
    kind = foreign(first)
    if kind:
        raise UnknownFormatError(f"{name} is {kind.what}.", kind.instead)
    if len(taken) and isinstance(first, dict) and isinstance(first.get("messages", first.get("conversations")), list):
        raise UnknownFormatError(
            f"{name} is not a transcript that condense knows. It holds several conversations, each record one.",
            "condense run, restore, estimate, inspect and validate take such rows where their messages are of a known "
            "format. For one row: sed -n 1p FILE | condense … -",
        )
    raise UnknownFormatError(
        f"{name} is not a transcript that condense knows. It is {describe(taken, document.source)}.",
        f"Formats: {known}. If it is one of them, name it with --format.",
    )
