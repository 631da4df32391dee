"""Read a file's bytes as records: JSON lines, one array, or an object that holds them; keep long texts as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from json import JSONDecodeError
from typing import Any, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.lazy_pattern import lazy_pattern
from ...core.transcript import Block, JsonPath, Source
from ...core.values import LONG, Container, LazyText, Text, compact
from ...errors import NotJsonError, UnknownFormatError

BOM = b"\xef\xbb\xbf"
_WHITESPACE = b" \t\r\n"
LARGEST_UNPACKED: Final = 4 << 30
"""Bytes. Most that may come out of a compressed file: a small one can hold more than any memory."""

_MORE: Final = "Extra data"
"""Message of a JSONDecodeError for a value that something follows."""

_NOT_BLANK: Final = lazy_pattern(rb"\S")


class Document(Struct, frozen=True):
    """A file taken apart: its bytes and spans, each record's value in order, and what surrounds them.

    `name` is used in errors. `values` can be iterated once; they are parsed as they are taken, so that a reader never
    has to hold the whole file as objects. `envelope` are the other keys of an object that holds `messages`.
    """

    name: str
    source: Source
    values: Iterator[Any]
    envelope: dict[str, Any]


def open_document(data: bytes, name: str, *, lenient: bool = False) -> Document:
    """Take a file apart. `name` is used in errors.

    Raises NotJsonError with line and column. With `lenient`, lines that are not JSON become records without a value
    (None) that are written back as they were.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    while start < len(data) and data[start] in _WHITESPACE:
        start += 1
    if start == len(data):
        raise UnknownFormatError(f"{name} is empty.", "Name a file that holds a transcript.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise NotJsonError(f"{name} is UTF-16 text.", "Save it as UTF-8; PowerShell: Out-File -Encoding utf8.")
    opener = data[start : start + 1]
    first_line_end = data.find(b"\n", start)
    is_one_line = first_line_end < 0 or not _NOT_BLANK.search(data, first_line_end)
    second = _second_line(data, first_line_end)
    begins_lines = opener == b"{" and not is_one_line and is_json(data[start:first_line_end])
    if opener in (b"[", b"{") and (not begins_lines or second in OPENING):
        try:
            document = _open_value(data, start, name)
        except (ValueError, RecursionError) as error:
            # Either the document is broken, or one line of JSON lines is. Its second line tells which.
            is_document = is_one_line or not is_json(second)
            if is_document and (not (lenient or begins_lines) or _is_followed(data, start, error)):
                raise _not_json(name, data, start, error) from None
        else:
            return document
    return _open_lines(data, start, name, lenient)


OPENING: Final = (b"{", b"[", b"[{")
"""Lines that begin a value of several lines."""


def is_json(raw: bytes) -> bool:
    try:
        json_text.parse(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _is_followed(data: bytes, start: int, error: Exception) -> bool:
    """Return whether the value at byte `start` is whole and another one follows it."""
    if not isinstance(error, JSONDecodeError) or error.msg != _MORE:
        return False
    following = data[start + len(json_text.encode(error.doc)) :]
    try:
        json_text.scan(following.decode("latin-1"), 0)
    except (ValueError, RecursionError):
        return False
    return following[:1] in (b"{", b"[")


def _second_line(data: bytes, first_line_end: int) -> bytes:
    """Return the line behind the first; empty if it cannot be a record."""
    start = first_line_end + 1
    end = data.find(b"\n", start)
    line = (data[start:end] if end >= 0 else data[start:]).strip()
    return line if line[:1] in (b"{", b"[") else b""


def with_records_under(document: Document, key: str, record: int = 0) -> Document:
    """Return the document of the list under a key of one of its records."""
    start, end = document.source.spans[record]
    return _open_value(document.source.data, start, document.name, key, end)


def with_records_at(document: Document, record: int, path: JsonPath, beside: Iterable[JsonPath] = ()) -> Document:
    """Return the document of the list at a path of one of its records.

    The values at the paths `beside`, which have to be there, become records behind it; `values` leaves them out.
    """
    source = document.source
    start, end = source.spans[record]
    text = source.data[start:end].decode("latin-1")
    elements, _ = json_text.whole_list(text, json_text.locate(text, [path])[path][0])
    spans = tuple((start + first, start + last) for first, last in elements)
    inner = Source(source.data, spans, Container.OBJECT)
    return with_beside_of(replace(document, source=inner, envelope={}), (start, end), beside)


def with_beside(document: Document, paths: Iterable[JsonPath]) -> Document:
    """Return the document of one object with the values at these paths as records behind its own."""
    data = document.source.data
    start = data.find(b"{")
    return with_beside_of(document, (start, len(data)), paths)


def with_beside_of(document: Document, root: tuple[int, int], paths: Iterable[JsonPath]) -> Document:
    """Return a document with values of the object between two offsets of its bytes as records behind its own."""
    source, start = document.source, root[0]
    found = json_text.locate(source.data[slice(*root)].decode("latin-1"), paths)
    spans = tuple((start + first, start + last) for first, last in found.values())
    wider = replace(source, spans=source.spans + spans, beside=len(spans))
    return replace(document, source=wider, values=_values(document.name, wider))


def _open_value(data: bytes, start: int, name: str, records_key: str = "messages", end: int | None = None) -> Document:
    """Open the file up to `end` as one JSON value: an array, an object with messages, or else a single record."""
    # In Latin-1 every byte is one character: the structure is the same, and its positions are those of the bytes.
    text = data[start:end].decode("latin-1")
    try:
        elements, others, stop = _structure(text, records_key)
    except JSONDecodeError as error:
        before = json_text.decode(data[start : start + error.pos])
        raise JSONDecodeError(error.msg, before, len(before)) from None
    container = Container.ARRAY if text[0] == "[" else Container.OBJECT
    if elements is None:
        container, elements, others = Container.LINES, [(0, stop)], []
    source = Source(data, tuple((start + first, start + last) for first, last in elements), container)
    envelope = {_parsed(data, start, key): _parsed(data, start, value) for key, value in others}
    return Document(name, source, _values(name, source), envelope)


def _parsed(data: bytes, start: int, span: json_text.Span) -> Any:
    return json_text.parse(data[start + span[0] : start + span[1]])


def _structure(
    text: str, records_key: str
) -> tuple[list[json_text.Span] | None, list[tuple[json_text.Span, json_text.Span]], int]:
    """Return the spans of the records (None if there is no list), of each other key and value, and the end."""
    elements: list[json_text.Span] | None = None
    others: list[tuple[json_text.Span, json_text.Span]] = []
    if text[0] == "[":
        elements, end = json_text.whole_list(text, 0)
    else:
        index = json_text.skip(text, 1)
        while json_text.at(text, index) != "}":
            first = index
            key, last, index = json_text.key_at(text, index)
            if key == records_key and json_text.at(text, index) == "[":
                elements, index = json_text.whole_list(text, index)
            else:
                value, index = index, json_text.scan(text, index)[1]
                others.append(((first, last), (value, index)))
            index = json_text.next_member(text, index, "}")
        end = index + 1
    if json_text.skip(text, end) != len(text):
        raise JSONDecodeError(_MORE, text, json_text.skip(text, end))
    return elements, others, end


def _open_lines(data: bytes, start: int, name: str, lenient: bool) -> Document:
    spans = tuple(_line_spans(data, start))
    unparsed: set[int] = set()
    if lenient:
        unparsed = {record for record, (begin, end) in enumerate(spans) if not is_json(data[begin:end])}
    source = Source(data, spans, Container.LINES, frozenset(unparsed))
    return Document(name, source, _values(name, source), {})


def _values(name: str, source: Source) -> Iterator[Any]:
    """Yield the values of the records, each parsed when it is asked for; None for one that is not JSON."""
    data = source.data
    for record, (start, end) in enumerate(source.spans[: source.listed]):
        if record in source.unparsed:
            yield None
            continue
        try:
            yield json_text.parse(data[start:end])
        except (ValueError, RecursionError) as error:
            is_line = source.container is Container.LINES
            is_last = record == len(source.spans) - 1
            raise _not_json(name, source.data, start, error, is_line=is_line, is_last=is_last) from None


def _line_spans(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield lines that are not blank, without the white space around them. U+2028 does not end a line."""
    while start < len(data):
        end = data.find(b"\n", start)
        stop = len(data) if end < 0 else end
        line = data[start:stop]
        stripped = line.strip(_WHITESPACE)
        if stripped:
            begin = start + len(line) - len(line.lstrip(_WHITESPACE))
            yield begin, begin + len(stripped)
        start = stop + 1


def only_record(document: Document, values: Iterable[Any], several: str, file: str, *, are_rows: bool = False) -> Any:
    """Return the value of the only record, None if there is none.

    Raises UnknownFormatError if the file holds `several`; it advises to extract one to `file`.
    """
    records = list(values)
    if len(records) > 1:
        raise several_conversations(several, document.source, file, are_rows=are_rows)
    return records[0] if records else None


def several_conversations(several: str, source: Source, file: str, *, are_rows: bool = False) -> UnknownFormatError:
    """Return the error for a file of `several`, with the command that extracts one to `file`."""
    # Not jq where it can be helped: it rounds large numbers.
    how = "sed -n 1p" if source.container is Container.LINES else "jq '.[0]'"
    what = f"It holds several {several}, one per record." if len(source.spans) > 1 else f"It is a list of {several}."
    rows = "\ncondense run, restore, estimate, inspect and validate take all of them" if are_rows else ""
    return UnknownFormatError(what, f"Extract one: {how} FILE > {file}{rows}")


def _not_json(
    name: str, data: bytes, start: int, error: Exception, *, is_line: bool = False, is_last: bool = False
) -> NotJsonError:
    """Return the error for a line, or for a document, that starts at byte `start`."""
    line = data.count(b"\n", 0, start) + 1
    if not isinstance(error, JSONDecodeError):
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "holds a number that is too long"
        hint = "--lenient keeps lines that cannot be read as they are." if is_line else ""
        return NotJsonError(f"{name}:{line}: {'the line' if is_line else 'the value'} {reason}.", hint)
    line += error.lineno - 1
    message = f"{name}:{line}:{error.colno}: not JSON ({json_text.reason_of(error)})."
    if not is_line and _is_followed(data, start, error):
        message = f"{name}:{line}:{error.colno}: a second JSON value begins here."
        return NotJsonError(message, "Put each value on its own line: jq -c . FILE > lines.jsonl")
    beginning = data[start : start + 200].lstrip()
    name_another = "Name a transcript: a .json or .jsonl file."
    for pattern, kind, advice in _KNOWN_TEXTS if not data[:start].strip() else ():
        if pattern.match(beginning):
            return NotJsonError(f"{name} is {kind}.", advice)
    if line == 1 and b"\0" in beginning:
        return NotJsonError(f"{name}: not JSON but binary data.", name_another)
    if line == 1 and beginning[:1] not in (b"{", b"["):
        if beginning[:1] == b"<":
            return NotJsonError(message, "This looks like HTML, not a transcript.")
        if not json_text.is_utf8(data):
            return NotJsonError(f"{name}: not JSON but binary data, or text that is not UTF-8.", name_another)
        return NotJsonError(message, "This looks like text, not a transcript.")
    if not is_line:
        return NotJsonError(message, "The file is incomplete: condense repair FILE keeps what is whole of it.")
    if is_last and line > 1:
        return NotJsonError(
            message, "The last line seems cut off. condense repair FILE removes it. --lenient keeps it."
        )
    return NotJsonError(message, "condense repair FILE removes such lines. --lenient keeps them as they are.")


_KNOWN_TEXTS: Final = (
    (
        lazy_pattern(rb"\s*# aider chat started at "),
        "an aider chat history (Markdown for people)",
        "It does not show what was sent to the model.",
    ),
    (
        lazy_pattern(rb"\s*<!-- Generated by SpecStory"),
        "a SpecStory history (Markdown for people)",
        "Name the client's own session file; condense sessions lists those it knows.",
    ),
    (
        lazy_pattern(rb"SQLite format 3\0"),
        "an SQLite database",
        "Export a session from its client, as opencode export ID > session.json does.",
    ),
)
"""Beginnings of files that are known and are not JSON, what they are, and what to do instead."""


def describe(values: list[Any], source: Source) -> str:
    """Describe a file for the error that says it is not known."""
    is_single = source.container is Container.LINES and len(source.spans) == 1
    if not values:
        return "an empty JSON array" if source.container is Container.ARRAY else "a JSON object without messages"
    if source.container is Container.LINES:
        shape = "one JSON value" if is_single else "JSON lines"
    else:
        shape = "a JSON array" if source.container is Container.ARRAY else "a JSON object with messages"
    first = values[0]
    if isinstance(first, dict) and first:
        keys = ", ".join(json.dumps(str(key))[:40] for key in list(first)[:8])
        return f"{shape} {'with' if is_single else 'whose first record has'} the keys {keys}"
    kind = "an empty object" if first == {} else json_kind(first)
    return f"{shape}, {kind}" if is_single else f"{shape} whose first record is {kind}"


def json_kind(value: Any) -> str:
    """Name the kind of a value in JSON's words."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def as_lazy(blocks: Iterable[Block], source: Source) -> list[Block]:
    """Return the blocks of one record in a form that takes less memory: see `LazyText`.

    A reader that passes its blocks through this, record by record, never holds the texts of a whole file.
    """
    found = list(blocks)
    for number, block in enumerate(found):
        text = block.content
        if isinstance(text, str) and len(text) >= LONG:
            found[number] = replace(block, content=compact(text) if block.is_object else _spelled(text, source, block))
    return found


def _spelled(text: str, source: Source, block: Block) -> Text:
    """Return the text as the file spells it, a slice of its bytes; a copy if the record has no such literal."""
    copy = compact(text)
    if not isinstance(copy, LazyText):
        return copy
    data, span = source.data, source.spans[block.place.record]
    literal = bytes(copy.literal)
    at = _find(data, literal, *span)
    if at < 0 and not text.isascii():
        literal = json.dumps(text).encode()
        at = _find(data, literal, *span)
    return copy if at < 0 else LazyText(Raw(memoryview(data)[at : at + len(literal)]))


def _find(data: bytes, literal: bytes, start: int, end: int) -> int:
    """Find a literal by its beginning, as searching for long bytes is slow."""
    at = data.find(literal[:_BEGINNING], start, end)
    return at if at < 0 or data.startswith(literal, at) else data.find(literal, at + 1, end)


_BEGINNING: Final = 64
