"""Walk JSON text and replace single values without touching a byte around them.

A position is an offset into the text; bytes decoded as Latin-1 have the same offsets. Invalid JSON raises
json.JSONDecodeError with the message and position of Python's own parser.

A changed record is not parsed and dumped again. Only changed literals are replaced in its text, so separators,
indentation, number formats, key order, duplicate keys and unknown keys stay as they were.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from json.decoder import WHITESPACE, JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Final

import msgspec
from msgspec import Struct

from .lazy_pattern import lazy_pattern
from .transcript import JsonPath

Span = tuple[int, int]
"""Start and end offset."""

_scan_once = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def skip(text: str, index: int) -> int:
    """Return the position of the first character at or after `index` that is not white space."""
    if text[index : index + 1] > " ":
        return index
    return WHITESPACE.match(text, index).end()  # type: ignore[no-any-return]


def scan(text: str, index: int) -> tuple[Any, int]:
    """Parse the value that starts at `index`; return it and its end."""
    try:
        value, end = _scan_once(text, index)
    except StopIteration:
        raise JSONDecodeError("Expecting value", text, index) from None
    return value, end


def elements(text: str, index: int) -> Iterator[Span]:
    """Yield the span of each element of the list that opens at `index`."""
    index = skip(text, index + 1)
    while at(text, index) != "]":
        start, index = index, scan(text, index)[1]
        yield start, index
        index = next_member(text, index, "]")


def whole_list(text: str, index: int) -> tuple[list[Span], int]:
    """Return the spans of all elements and the end of the list."""
    found = list(elements(text, index))
    return found, skip(text, found[-1][1] if found else index + 1) + 1


def key_at(text: str, index: int) -> tuple[str, int, int]:
    """Return the key of the member at `index`, the key's end, and the start of its value."""
    if text[index] != '"':
        raise JSONDecodeError("Expecting property name enclosed in double quotes", text, index)
    key, end = scanstring(text, index + 1)
    index = skip(text, end)
    if at(text, index) != ":":
        raise JSONDecodeError("Expecting ':' delimiter", text, index)
    return key, end, skip(text, index + 1)


def at(text: str, index: int) -> str:
    """Return the character at `index`. Raises JSONDecodeError at the end of the text."""
    if index >= len(text):
        raise JSONDecodeError("The text ends in the middle of a value", text, index)
    return text[index]


def next_member(text: str, index: int, closer: str) -> int:
    """Return the position of the next member, or of the closer."""
    index = skip(text, index)
    if at(text, index) == ",":
        index = skip(text, index + 1)
        if at(text, index) == closer:
            raise JSONDecodeError("Trailing comma", text, index)
    elif text[index] != closer:
        raise JSONDecodeError("Expecting ',' delimiter", text, index)
    return index


REMOVE: Final = None
"""Used in place of a literal: remove the value with its key or list element."""

_ESCAPED: Final = lazy_pattern(rb"\\(?:\\|u(?!00[0-7]))")
"""An escape that is needed only if the file escapes all non-ASCII; or an escaped backslash, which may precede any
letter, as in a path to `users`.
"""

DEEPEST: Final = 600
"""Maximum nesting that is read. Parsers may accept more, depending on the Python, than code that recurses per level
then has stack for: 1,000 frames, the callers' included.
"""

_PIECE: Final = 1 << 16
"""Bytes decoded at a time when checking for UTF-8."""
_BEGINNING: Final = 90
"""Number of first bytes of a value to search for before searching for all of it."""
SURROGATE: Final = lazy_pattern("[\ud800-\udfff]")
NO_BYTE: Final = lazy_pattern("[\ud800-\udc7f\udd00-\udfff]")
"""A lone surrogate that represents no invalid byte."""
_BEYOND_ASCII: Final = lazy_pattern("[^\x00-\x7f]+")
_decode = msgspec.json.Decoder().decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


def value_in(holder: Any, *keys: Any) -> Any:
    """Return the value that keys of nested objects lead to; None if there is none."""
    for key in keys:
        holder = holder.get(key) if isinstance(holder, dict) else None
    return holder


def text_in(holder: Any, *keys: Any) -> str | None:
    """Return the text that keys of nested objects lead to; None if there is none, or an empty one."""
    found = value_in(holder, *keys)
    return found if isinstance(found, str) and found else None


def object_in(holder: Any, *keys: Any) -> dict[str, Any]:
    """Return the object that keys of nested objects lead to, or an empty one."""
    found = value_in(holder, *keys)
    return found if isinstance(found, dict) else {}


def parse(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """Parse one JSON text.

    Accepts more than strict JSON, as real files need: lone surrogates, NaN, integers of any size and invalid UTF-8
    (each bad byte becomes a lone surrogate U+DC80..U+DCFF that `encode` turns back). Raises json.JSONDecodeError, or
    RecursionError if nested deeper than DEEPEST.
    """
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = json.loads(decode(bytes(raw)))
    if len(raw) > 2 * DEEPEST:
        _check_depth(value)
    return value


def parse_text(text: str) -> Any:
    """Parse a JSON text that is a string, lone surrogates included. Raises as `parse` does."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        value = json.loads(text)
    if len(text) > 2 * DEEPEST:
        _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    """Raise RecursionError if the value is too deep. Callers skip texts too short for that many brackets."""
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return
    raise RecursionError("nested too deeply")


def reason_of(error: JSONDecodeError) -> str:
    """Word a parse error for use within a sentence."""
    return (error.msg[0].lower() + error.msg[1:]).removesuffix(" starting at").removesuffix(" at")


def decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Encode a JSON text, restoring invalid bytes that were read."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _escape_surrogates(NO_BYTE, text).encode("utf-8", "surrogateescape")


def _escape_surrogates(surrogates: re.Pattern[str], text: str) -> str:
    """Write lone surrogates as escapes, which are valid because only strings can hold them."""
    return surrogates.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


@cache
def _encoder(escapes_non_ascii: bool, separators: tuple[str, str]) -> Callable[[Any], str]:
    """Cache the encoder that `json.dumps` builds anew for each value."""
    return json.JSONEncoder(ensure_ascii=escapes_non_ascii, separators=separators).encode


_dump_compact: Final = _encoder(False, (",", ":"))


class Style(Struct, frozen=True):
    """Spelling of strings in a JSON text."""

    escapes_non_ascii: bool
    is_utf8: bool

    @classmethod
    def of(cls, data: bytes) -> Style:
        is_ascii = data.removeprefix(codecs.BOM_UTF8).isascii()
        escapes = is_ascii and any(match[0] != rb"\\" for match in _ESCAPED.finditer(data))
        return cls(escapes, is_ascii or is_utf8(data))

    def literal(self, value: str) -> str:
        return self.dump(value)

    def dump(self, value: Any, separators: tuple[str, str] = (",", ":")) -> str:
        """Return compact JSON of the value, its strings written in this style."""
        text = _encoder(self.escapes_non_ascii, separators)(value)
        # Valid UTF-8 can only hold a lone surrogate as an escape.
        return _escape_surrogates(SURROGATE, text) if self.is_utf8 else text


def in_ascii(raw: bytes) -> bytes:
    """Escape all non-ASCII characters of a JSON text."""
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], decode(raw)).encode()


def is_utf8(raw: bytes) -> bool:
    # In pieces: one emoji makes the decoded text of a whole file four bytes per character.
    view, start = memoryview(raw), 0
    try:
        while start < len(raw):
            end = start + _PIECE
            start += codecs.utf_8_decode(view[start:end], "strict", end >= len(raw))[1]
    except UnicodeDecodeError:
        return False
    return True


DUMPED: Final = Style(escapes_non_ascii=False, is_utf8=False)
"""Style of `dump_compact`."""


def dump_compact(value: Any) -> str:
    """Return compact JSON for counting and display; equal values have equal texts.

    By msgspec, which is five times faster, only where both write the same: it refuses lone surrogates, and writes
    `1e16` where Python writes `1e+16`.
    """
    if type(value) is dict and _ALIKE.issuperset(map(type, value.values())):
        try:
            return msgspec.json.encode(value).decode()
        except UnicodeEncodeError:
            pass
    return _dump_compact(value)


_ALIKE: Final = frozenset({str, int, bool})
"""Types whose values both write alike."""


def replace_values(text: str, edits: Mapping[JsonPath, Any], style: Style | None = None) -> str:
    """Replace the values at some paths in the text of an object and keep everything else.

    New lists and objects use the object's own spacing.
    """
    style = style or Style.of(text.encode("utf-8", "surrogatepass"))
    separators = (", ", ": ") if _layout(text)[1] == ": " else (",", ":")
    return splice(text, {path: style.dump(value, separators) for path, value in edits.items()})


def splice(text: str, edits: Mapping[JsonPath, str | None]) -> str:
    """Replace the values at the given paths by JSON literals, or remove them.

    The root is the empty path and cannot be removed. Raises KeyError for paths that do not exist: an edit without
    effect would be reported as done.
    """
    if not edits:
        return text
    pieces: list[str] = []
    cuts = _cuts(text, skip(text, 0), _tree(edits))[1]
    position = 0
    for start, end, new in sorted(cuts, key=lambda cut: cut[0]):
        pieces += (text[position:start], new or "")
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def exchange(raw: bytes, edits: Mapping[JsonPath, str | None]) -> bytes | None:
    """Do as `splice` on bytes, without parsing all of them. None if that is impossible.

    Values are found by searching for their bytes, which must occur exactly once.
    """
    cuts: list[tuple[int, int, str]] = []
    for path, new in edits.items():
        start, value = 0, raw
        try:
            for key in path:
                inside = value
                value = bytes(_elements(inside)[key] if isinstance(key, int) else _members(inside)[key])
                # If the beginning occurs once, that suffices and is faster than searching for a long text.
                beginning = value[:_BEGINNING]
                found = inside.find(beginning)
                if inside.find(beginning, found + 1) >= 0:
                    found = inside.find(value)
                    if inside.find(value, found + 1) >= 0:
                        return None
                start += found
        except (msgspec.DecodeError, UnicodeDecodeError, LookupError):
            return None
        if new is None or not path:
            return None
        cuts.append((start, start + len(value), new))
    pieces: list[bytes] = []
    position = 0
    for start, end, new in sorted(cuts):
        if start < position:
            return None
        pieces += (raw[position:start], encode(new))
        position = end
    return b"".join([*pieces, raw[position:]])


_FIRST_KEY: Final = lazy_pattern(r'\{(\s*)"(?:[^"\\]|\\.)*"(\s*:\s*)')


def object_like(text: str, members: Mapping[str, str]) -> str:
    """Build an object from keys and JSON literals, laid out like the object in `text`."""
    lead, colon, closer = _layout(text)
    return "{" + _comma(lead, colon).join(lead + _member(key, new, colon) for key, new in members.items()) + closer


def with_member(text: str, key: str, literal: str) -> str:
    """Append a member to the object in `text`."""
    lead, colon, closer = _layout(text)
    return text.rstrip()[: -len(closer)] + _comma(lead, colon) + lead + _member(key, literal, colon) + closer


def _layout(text: str) -> tuple[str, str, str]:
    """Return what an object puts before a key, between key and value, and at its end."""
    first = _FIRST_KEY.match(text)
    text = text.rstrip()
    closer = text[len(text.removesuffix("}").rstrip()) :]
    return (first[1], first[2], closer) if first else ("", ":", "}")


def _comma(lead: str, colon: str) -> str:
    return ", " if not lead and colon.endswith(" ") else ","


def _member(key: str, literal: str, colon: str) -> str:
    return json.dumps(key) + colon + literal


def locate(text: str, paths: Iterable[JsonPath]) -> dict[JsonPath, tuple[int, int]]:
    """Return the spans of the values at the given paths. Raises KeyError as `splice` does."""
    cuts = _cuts(text, skip(text, 0), _tree({path: path for path in paths}))[1]
    return {path: (start, end) for start, end, path in cuts}


_HERE: Final = object()
_Cut = tuple[int, int, Any]
"""Start, end, and the edit tree's entry for the value between them."""


def _tree(edits: Mapping[JsonPath, Any]) -> dict[Any, Any]:
    """Arrange edits as nested dicts by key."""
    tree: dict[Any, Any] = {}
    for path, new in edits.items():
        node = tree
        for key in path:
            node = node.setdefault(key, {})
        node[_HERE] = new
    return tree


def _cuts(text: str, start: int, tree: dict[Any, Any]) -> tuple[int, list[_Cut]]:
    """Return the end of the value at `start`, and the cuts inside it."""
    if _HERE in tree:
        end = scan(text, start)[1]
        return end, [(start, end, tree[_HERE])]
    opener = text[start]
    if opener not in "{[":
        raise KeyError(next(iter(tree)))
    is_object = opener == "{"
    members: list[tuple[int, int]] = []
    found: dict[Any, tuple[int, list[_Cut]]] = {}
    index = skip(text, start + 1)
    while text[index] not in "}]":
        member = index
        key: str | int = len(members)
        if is_object:
            key, _, index = key_at(text, index)
        if key in tree:
            # The last of duplicate keys counts, as for every JSON parser. An earlier one may have another shape.
            found.pop(key, None)
            try:
                end, cuts = _cuts(text, index, tree[key])
                found[key] = (len(members), cuts)
            except KeyError:
                end = scan(text, index)[1]
        else:
            end = scan(text, index)[1]
        members.append((member, end))
        index = next_member(text, end, "}" if is_object else "]")
    missing = tree.keys() - found.keys()
    if missing:
        raise KeyError(missing.pop())
    gone = {position for position, cuts in found.values() if any(cut[2] is REMOVE for cut in cuts)}
    cuts = [cut for _, inner in found.values() for cut in inner if cut[2] is not REMOVE]
    return index + 1, cuts + remove_members(members, gone)


def remove_members(members: Sequence[tuple[int, int]], gone: Iterable[int]) -> list[_Cut]:
    """Return cuts that remove members of a list or object, each with exactly one comma."""
    gone = set(gone)
    kept = [position for position in range(len(members)) if position not in gone]
    first_kept = kept[0] if kept else len(members)
    cuts: list[_Cut] = []
    for position in gone:
        start, end = members[position]
        if position > first_kept:
            start = members[position - 1][1]
        elif position + 1 < len(members):
            end = members[position + 1][0]
        cuts.append((start, end, ""))
    return cuts
