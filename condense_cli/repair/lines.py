"""Make a damaged file readable: lines that are not JSON, and a document that was cut off.

A crash leaves zeros where text was not written yet, or half a record that the next one is written behind. Clients read
up to such a line, pass over it, or refuse the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import JSONDecodeError
from typing import Any, Final

from msgspec import Struct

from ..core import json_text
from ..core.wording import plural
from ..errors import NotJsonError, TranscriptError
from ..formats.engine.container import BOM, is_json, open_document
from .draft import Change, Fragment

_TORN: Final = "unreadable_lines"
_BLANKS: Final = b" \t\r\n"
_ENDING: Final = " \t\r\n\0"
_NEAR_END: Final = 6
"""Characters of an escape that may be cut off."""


class Readable(Struct, frozen=True):
    """A file that is JSON: its bytes, and for each record the line where it began before."""

    data: bytes
    lines: tuple[int, ...]
    changes: tuple[Change, ...] = ()
    fragments: tuple[Fragment, ...] = ()


def readable(data: bytes, name: str) -> Readable:
    """Return the file without what is not JSON. Raises TranscriptError for one that is not merely cut off or torn."""
    try:
        return Readable(data, _lines_of(data, name))
    except NotJsonError as error:
        failed = error
    start = len(BOM) if data.startswith(BOM) else 0
    start += len(data[start:]) - len(data[start:].lstrip(_BLANKS))
    is_document = data[start : start + 1] == b"[" or _is_torn_document(data[start:].decode("latin-1"))
    if is_document or not any(_is_record(line) for line in data[start:].split(b"\n")):
        return _closed(data, start, name, failed)
    return _without_torn_lines(data, start)


def _lines_of(data: bytes, name: str) -> tuple[int, ...]:
    document = open_document(data, name)
    for _ in document.values:
        pass
    found = []
    line, position = 1, 0
    for start, _ in document.source.spans:
        line += data.count(b"\n", position, start)
        position = start
        found.append(line)
    return tuple(found)


def _is_record(line: bytes) -> bool:
    line = line.strip(_BLANKS)
    return line[:1] == b"{" and line[-1:] == b"}" and is_json(line)


def _is_torn_document(text: str) -> bool:
    """Check if the first value of a file lacks only its end: a document may have its messages on lines too."""
    try:
        json_text.scan(text, 0)
    except JSONDecodeError as error:
        return _is_cut_off(error, text.rstrip(_ENDING))
    except (ValueError, RecursionError):
        pass
    return False


def _without_torn_lines(data: bytes, start: int) -> Readable:
    """Keep the whole records of JSON lines, some of which are torn."""
    lines = data[start:].split(b"\n")
    first = data.count(b"\n", 0, start) + 1
    shapes, beginnings = _shapes(lines)
    kept: list[bytes] = []
    numbers: list[int] = []
    changes: list[Change] = []
    fragments: list[Fragment] = []
    skipped = False
    last = max(number for number, line in enumerate(lines, first) if line.strip(_BLANKS))
    for number, line in enumerate(lines, first):
        text = line.strip(_BLANKS)
        if skipped:
            skipped = False
        elif not text or is_json(text):
            kept.append(line)
            numbers += [number] if text else []
        else:
            following = lines[number - first + 1].strip(_BLANKS) if number - first + 1 < len(lines) else b""
            mended = _mended(text, following, shapes, beginnings)
            skipped = mended.takes_next
            if mended.torn:
                fragments.append(Fragment(json_text.decode(mended.torn), len(numbers)))
            kept += mended.whole
            numbers += [number] * len(mended.whole)
            changes.append(Change(_TORN, number, mended.said, _why(text, is_last=number == last and not mended.whole)))
    if kept and lines[-1].strip(_BLANKS) and not is_json(lines[-1].strip(_BLANKS)):
        kept.append(b"")  # The client adds its next line behind the last one.
    return Readable(data[:start] + b"\n".join(kept), tuple(numbers), tuple(changes), tuple(fragments))


def _shapes(lines: Sequence[bytes]) -> tuple[set[frozenset[str]], list[bytes]]:
    """Return the sets of keys that whole records have, and how their texts begin, up to the first colon."""
    shapes: set[frozenset[str]] = set()
    beginnings: dict[bytes, None] = {}
    for line in lines:
        if _is_record(line):
            text = line.strip(_BLANKS)
            shapes.add(frozenset(json_text.parse(text)))
            beginnings[text[: text.find(b":") + 1]] = None
    return shapes, list(beginnings)


class _Mended(Struct, frozen=True):
    """A line that was not JSON: its whole records, what was done to it, and the `torn` record that was removed."""

    whole: list[bytes]
    said: str
    torn: bytes = b""
    takes_next: bool = False


def _mended(text: bytes, following: bytes, shapes: set[frozenset[str]], beginnings: Sequence[bytes]) -> _Mended:
    zeros = text.count(b"\0")
    bare = text.replace(b"\0", b"").strip(_BLANKS) if zeros else text
    if zeros and not bare:
        return _Mended([], f"Removed {plural(zeros, 'zero byte')}", text)
    if zeros and is_json(bare):
        return _Mended([bare], f"Removed {plural(zeros, 'zero byte')}")
    decoded = bare.decode("latin-1")
    if glued := _objects(bare, decoded, 0):
        return _Mended(glued, f"Divided into {len(glued)} lines, one for each record")
    for at in sorted(found for beginning in beginnings for found in _positions(bare, beginning)):
        rest = _objects(bare, decoded, at)
        if rest and all(_keys(each) in shapes for each in rest):
            return _Mended(rest, f"Removed {at:,} bytes of a torn record in front of a whole one", bare[:at])
    if following and not is_json(following):
        for between in (b"", b"\\n"):
            if _is_record(joined := bare + between + following):
                return _Mended([joined], "Joined with the next line, which continues it", takes_next=True)
    return _Mended([], f"Removed a line of {len(text):,} bytes", text)


def _keys(text: bytes) -> frozenset[str]:
    value = json_text.parse(text)
    return frozenset(value) if isinstance(value, dict) else frozenset()


def _positions(text: bytes, beginning: bytes) -> Iterator[int]:
    at = text.find(beginning, 1)
    while at >= 0:
        yield at
        at = text.find(beginning, at + 1)


def _objects(line: bytes, text: str, index: int) -> list[bytes]:
    """Return the objects that a line consists of from a position on; none if it is anything else.

    `text` is the line in Latin-1: every byte is one character.
    """
    found: list[bytes] = []
    while index < len(text):
        if text[index] != "{":  # An error would count the lines before it.
            return []
        try:
            _, end = json_text.scan(text, index)
        except (ValueError, RecursionError):
            return []
        found.append(line[index:end])
        index = json_text.skip(text, end)
    return found


def _why(text: bytes, *, is_last: bool) -> str:
    if b"\0" in text:
        return "Zeros stand where a record was not written, as after a crash"
    if is_last:
        return "The last line is cut off, and is not JSON"
    return "The line is not JSON"


def _closed(data: bytes, start: int, name: str, failed: TranscriptError) -> Readable:
    """Keep the whole records of a JSON document that was cut off. Raises `failed` for one broken elsewhere."""
    text = data[start:].decode("latin-1")
    stripped = text.rstrip(_ENDING)
    try:
        value, end = json_text.scan(text, 0)
    except (ValueError, RecursionError) as error:
        if not (isinstance(error, JSONDecodeError) and _is_cut_off(error, stripped)):
            raise failed from None
        kept = _whole_beginning(stripped, 0)
        if kept is None:
            raise failed from None
        end, closers = kept
        lost = len(stripped) - end
        said = f"Removed the last {lost:,} bytes, and closed the document" if lost else "Closed the document"
        why = "The document is cut off"
    else:
        if not isinstance(value, dict | list) or is_json(text[end:].encode("latin-1")):
            raise failed
        said, closers = f"Removed {len(text) - end:,} bytes behind the document", ""
        why = "What follows the end of the document is not JSON"
    line = data.count(b"\n", 0, start + end) + 1
    mended = data[: start + end] + closers.encode() + (b"\n" if data.endswith(b"\n") else b"")
    return Readable(mended, _lines_of(mended, name), (Change(_TORN, line, said, why),))


def _is_cut_off(error: JSONDecodeError, text: str) -> bool:
    """Check if a text is only cut off."""
    return error.pos >= len(text) - _NEAR_END or error.msg.startswith("Unterminated string")


def _whole_beginning(text: str, index: int) -> tuple[int, str] | None:
    """Return where the whole part of a cut-off value ends, and what closes it. None if nothing of it is whole."""
    if text[index : index + 1] == "[":
        end: int | None = None
        try:
            for element in json_text.elements(text, index):
                end = element[1]
        except (ValueError, RecursionError):
            pass
        return None if end is None else (end, "]")
    if text[index : index + 1] != "{":
        return None
    end = None
    try:
        at = json_text.skip(text, index + 1)
        while True:
            _, _, value = json_text.key_at(text, at)
            try:
                end = json_text.scan(text, value)[1]
            except (ValueError, RecursionError):
                inner = _whole_beginning(text, value)
                if inner is not None:
                    return inner[0], inner[1] + "}"
                break
            at = json_text.next_member(text, end, "}")
    except (ValueError, RecursionError, IndexError):
        pass
    return None if end is None else (end, "}")


def parsed_fragment(text: str, key: str) -> Any:
    """Return the string that a torn record has under a key, None if that part is torn off."""
    at = text.find(f'"{key}":')
    if at < 0:
        return None
    try:
        value, _ = json_text.scan(text, json_text.skip(text, at + len(key) + 3))
    except (ValueError, RecursionError):
        return None
    return value
