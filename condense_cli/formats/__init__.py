"""Recognise, read and write transcripts of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ..core.transcript import Message, Transcript
from ..core.wording import nearest
from ..errors import CondenseError, UnknownFormatError, UsageError
from .engine.base import Evidence, Format
from .engine.beside import slimmed as _slimmed
from .engine.client_text import recognised, with_escapes
from .engine.container import Document, describe, open_document, several_conversations
from .engine.writing import write as _write
from .table import TABLE, AddedRow, FormatCandidate, FormatRow, keys_of
from .understood import checked, with_unread

if TYPE_CHECKING:
    FORMATS: tuple[Format, ...]

_COLUMNS: Final = ("messages", "conversations", "chat_messages")
"""Keys of the conversation in a record that is none of a format, but a row."""
_ZIP: Final = b"PK\x03\x04"
_ADDED: Final[dict[str, FormatRow]] = {}


def __getattr__(name: str) -> tuple[Format, ...]:
    """Return `FORMATS`, the whole table. This imports every format: ask for one or its name where that does."""
    if name != "FORMATS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(row.format for row in TABLE)


def add(formats: Iterable[Format]) -> None:
    """Add formats to the table for the rest of the process, unless it has their names.

    A transcript carries the name of its format, and its writer has to find that.
    """
    known = {row.name for row in TABLE}
    _ADDED.update({form.name: AddedRow(form) for form in formats if form.name not in known})


def _all() -> tuple[FormatRow, ...]:
    return (*TABLE, *_ADDED.values())


def format_named(name: str) -> Format:
    """Return the format of that name. Raises UsageError if there is none."""
    for row in _all():
        if row.name == name:
            return row.format
    meant = nearest(name, (row.name for row in _all()))
    hint = f"Did you mean {meant}? " if meant else ""
    raise UsageError(f"There is no format named {name!r}.", f"{hint}{_LISTED} lists all formats.")


def known_formats() -> Iterator[Format]:
    """Yield all formats, added ones last."""
    return (row.format for row in _all())


_LISTED: Final = "condense run --format list"
OtherFormats = Callable[[], tuple[list[Format], list[str]]]
"""Find formats outside the table, and sentences on broken ones. Looking takes longer than a small run: it is called
only if no format of the table fits."""


def parse(
    data: bytes,
    *,
    name: str = "input",
    format: str | None = None,
    lenient: bool = False,
    others: OtherFormats | None = None,
    is_own: bool = False,
) -> Transcript:
    """Read the transcript in the bytes of a file; `name` is used in errors.

    Raises NotJsonError and UnknownFormatError. With `lenient`, lines that are not JSON are kept as they are. A file of
    no format of the table is shown to the `others`, which are in it from then on. A file in which too little is
    understood is refused, unless it `is_own`: written here, from one that was read.
    """
    try:
        return _read(data, name, format, lenient=lenient, is_own=is_own)
    except (UnknownFormatError, UsageError) as error:
        if others is None:
            raise
        found, warnings = others()
        if not found:
            error.hint = " ".join(filter(None, [error.hint, *warnings]))
            raise
        hint = error.hint
    add(found)
    try:
        transcript = _read(data, name, format, lenient=lenient)
    except (CondenseError, MemoryError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UnknownFormatError(f"{name} cannot be read: a format of a package failed ({what}).", hint) from error
    return replace(transcript, warnings=(*transcript.warnings, *warnings))


def _read(data: bytes, name: str, format: str | None, *, lenient: bool, is_own: bool = False) -> Transcript:
    if data.startswith(_ZIP):
        from .lists import read_archive

        return read_archive(data, name)
    document = open_document(data, name, lenient=lenient)
    source = document.source
    if source.unparsed and len(source.unparsed) == len(source.spans):
        # Nothing to keep the lines for: read as a transcript it would be an empty one.
        [*open_document(data, name).values]
    if format is not None:
        form, values = format_named(format), document.values
    else:
        form, values = _recognise(document, name)
    try:
        transcript = form.read(document, values)
        # A list of no messages says so by itself, and so does an empty session.
        if not transcript.messages and not transcript.warnings and transcript.source.listed:
            raise UnknownFormatError(
                f"It was read as {form.name}, but holds no message.",
                "Name another file. Another format is named with --format.",
            )
        if any(message.stays_separate for message in transcript.messages):
            transcript = replace(transcript, messages=recognised(transcript.messages))
        transcript = with_unread(transcript)
        return transcript if is_own else checked(transcript)
    except UnknownFormatError as error:
        raise UnknownFormatError(f"{name}: {error.message}", error.hint) from None


def detected_format(data: bytes) -> str | None:
    """Return the name of the format that a file is recognized as; None if it is not."""
    try:
        return _recognise(open_document(data, "output"), "output")[0].name
    except CondenseError:
        return None


def check_writable(transcript: Transcript) -> None:
    """Raise UsageError if the format of the transcript is only read."""
    if not format_named(transcript.format).is_writable:
        raise UsageError(
            f"condense reads {transcript.format} files but cannot write them.",
            "condense run --to anthropic, openai-chat or openai-responses converts it. "
            "To see what condensing would save, use condense run --dry-run, or --json without -o.",
        )


def serialize(transcript: Transcript) -> bytes:
    """Return the bytes of the transcript in its own format. Raises UsageError if it changed and cannot be written."""
    if transcript.is_changed:
        check_writable(transcript)
        if any(message.stays_separate for message in transcript.messages):
            transcript = replace(transcript, messages=tuple(with_escapes(transcript.messages)))
    return _write(transcript, format_named(transcript.format))


def slim(transcript: Transcript, plain: tuple[Message, ...]) -> Transcript:
    """Return the same conversation for a smaller file, in which markers replace what only a client shows.

    `plain` are the messages of the source without references.
    """
    form = format_named(transcript.format)
    return replace(transcript, slimmed=tuple(_slimmed(transcript, plain, form)))


def _recognise(document: Document, name: str) -> tuple[Format, Iterator[Any]]:
    """Return the format of a document, and its values from the start.

    Takes values until one of them proves a format that none before it excluded.
    """
    for row in TABLE:
        if row.claims(document):
            return row.format, document.values
    taken: list[Any] = []
    seen: list[Any] = []
    candidates = [FormatCandidate(row) for row in _all()]
    for record, value in enumerate(document.values):
        taken.append(value)
        if record in document.source.unparsed:
            continue
        seen.append(value)
        keys = keys_of(value)
        for one in candidates:
            is_asked = one.verdict is not None or one.row.may_be_proved(keys)
            if is_asked and one.ask(seen) is Evidence.YES:
                return one.row.format, chain(taken, document.values)
        if not any(one.verdict for one in candidates):
            candidates = [one for one in candidates if one.ask(seen) is not Evidence.NO]
            if not candidates:
                break
    defaults = [one for one in candidates if one.row.format.is_default and one.ask(seen) is not Evidence.NO]
    if defaults and taken:
        likeliest = max(reversed(defaults), key=lambda one: (one.strongest, one.row.fits(document)))
        return likeliest.row.format, chain(taken, document.values)
    from .refusing import foreign, nearest_format

    first = taken[0] if taken else None
    kind = foreign(first)
    if kind:
        raise UnknownFormatError(f"{name} is {kind.what}.", kind.instead)
    if isinstance(first, dict) and any(isinstance(first.get(key), list) for key in _COLUMNS):
        whose = "conversations of Claude" if "chat_messages" in first else "conversations"
        told = several_conversations(whose, document.source, "conversation.json", are_rows=True)
        few = "." if "chat_messages" in first else ". With --format rows also where most records hold none."
        raise UnknownFormatError(f"{name}: {told.message}", told.hint + few)
    raise UnknownFormatError(
        f"{name} is not a transcript that condense knows. It is {describe(taken, document.source)}.",
        f"{nearest_format(seen)} {_LISTED} lists all formats.",
    )
