"""JSON as text: read it leniently, walk it, and replace single values without touching a byte around them.

A position is an offset into the text. Bytes decoded as Latin-1 have the same offsets. What is no JSON raises
json.JSONDecodeError with the words and the place that Python's own parser has.

A changed record is not parsed and dumped again. Only the literals that changed are exchanged in
its text, so separators, indentation, number formats, key order, doubled keys and unknown keys stay
exactly as the file had them.
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
"""Where something begins and ends."""

_scan_once = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def skip(text: str, index: int) -> int:
    """Position of the first character at or after `index` that is not white space."""
    if text[index : index + 1] > " ":
        return index
    return WHITESPACE.match(text, index).end()  # type: ignore[no-any-return]


def scan(text: str, index: int) -> tuple[Any, int]:
    """The value that starts at `index`, and where it ends."""
    try:
        value, end = _scan_once(text, index)
    except StopIteration:
        raise JSONDecodeError("Expecting value", text, index) from None
    return value, end


def elements(text: str, index: int) -> Iterator[Span]:
    """Where the elements of the list stand that opens at `index`, one by one."""
    index = skip(text, index + 1)
    while at(text, index) != "]":
        start, index = index, scan(text, index)[1]
        yield start, index
        index = next_member(text, index, "]")


def whole_list(text: str, index: int) -> tuple[list[Span], int]:
    """All of them, and where the list ends."""
    found = list(elements(text, index))
    return found, skip(text, found[-1][1] if found else index + 1) + 1


def key_at(text: str, index: int) -> tuple[str, int, int]:
    """The key of the member that starts at `index`, where that ends, and where its value begins."""
    if text[index] != '"':
        raise JSONDecodeError("Expecting property name enclosed in double quotes", text, index)
    key, end = scanstring(text, index + 1)
    index = skip(text, end)
    if at(text, index) != ":":
        raise JSONDecodeError("Expecting ':' delimiter", text, index)
    return key, end, skip(text, index + 1)


def at(text: str, index: int) -> str:
    """The character there."""
    if index >= len(text):
        raise JSONDecodeError("The text ends in the middle of a value", text, index)
    return text[index]


def next_member(text: str, index: int, closer: str) -> int:
    """Position of the next member, or of the closer."""
    index = skip(text, index)
    if at(text, index) == ",":
        index = skip(text, index + 1)
        if at(text, index) == closer:
            raise JSONDecodeError("Trailing comma", text, index)
    elif text[index] != closer:
        raise JSONDecodeError("Expecting ',' delimiter", text, index)
    return index


REMOVE: Final = None
"""In place of a literal: the value goes, with its key or list element."""

_ESCAPED: Final = lazy_pattern(rb"\\(?:\\|u(?!00[0-7]))")
"""An escape that a file needs only when it escapes all that is not ASCII; or an escaped backslash, which stands before
any letter, as in a path to `users`."""

DEEPEST: Final = 600
"""Levels of lists and objects that are read. How many a parser takes depends on the Python, and can be more than what
walks a value level by level then has room for: 1,000 calls within one another, those around it included."""

_PIECE: Final = 1 << 16
"""Bytes that are decoded at a time to see whether a file is UTF-8."""
_BEGINNING: Final = 90
"""Bytes of a value by which it is looked for first."""
_SURROGATE: Final = lazy_pattern("[\ud800-\udfff]")
_NO_BYTE: Final = lazy_pattern("[\ud800-\udc7f\udd00-\udfff]")
"""A lone surrogate that stands for no bad byte."""
_BEYOND_ASCII: Final = lazy_pattern("[^\x00-\x7f]+")
_decode = msgspec.json.Decoder().decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


def parse(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """Value of one JSON text.

    Accepts what real files hold besides strict JSON: lone surrogates, NaN, integers of any size and
    invalid UTF-8 (each bad byte becomes a lone surrogate U+DC80..U+DCFF that `encode` turns back).
    Raises json.JSONDecodeError, or RecursionError when nested deeper than DEEPEST levels.
    """
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = json.loads(decode(bytes(raw)))
    if len(raw) > 2 * DEEPEST:
        _check_depth(value)
    return value


def parse_text(text: str) -> Any:
    """Value of a JSON text that is a string already, lone surrogates included. Raises as `parse` does."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        value = json.loads(text)
    if len(text) > 2 * DEEPEST:
        _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    """Raises RecursionError. What is shorter than the brackets of so many levels need not be looked at."""
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
    """What is wrong with a JSON text, as it is said within a sentence."""
    return (error.msg[0].lower() + error.msg[1:]).removesuffix(" starting at").removesuffix(" at")


def decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes of a JSON text, bad ones as they were read."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _spelled(_NO_BYTE, text).encode("utf-8", "surrogateescape")


def _spelled(surrogates: re.Pattern[str], text: str) -> str:
    """The JSON text with lone surrogates as escapes: only a string can hold one."""
    return surrogates.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


@cache
def _encoder(escapes_non_ascii: bool, separators: tuple[str, str]) -> Callable[[Any], str]:
    """What `json.dumps` makes anew for each value."""
    return json.JSONEncoder(ensure_ascii=escapes_non_ascii, separators=separators).encode


_dump_compact: Final = _encoder(False, (",", ":"))


class Style(Struct, frozen=True):
    """How a JSON text spells its strings."""

    escapes_non_ascii: bool
    is_utf8: bool

    @classmethod
    def of(cls, data: bytes) -> Style:
        is_ascii = data.removeprefix(codecs.BOM_UTF8).isascii()
        escapes = is_ascii and any(match[0] != rb"\\" for match in _ESCAPED.finditer(data))
        return cls(escapes, is_ascii or is_utf8(data))

    def literal(self, value: str) -> str:
        """JSON literal of a string."""
        return self.dump(value)

    def dump(self, value: Any, separators: tuple[str, str] = (",", ":")) -> str:
        """JSON text of a value, the shortest unless told otherwise, its strings spelled as the file spells them."""
        text = _encoder(self.escapes_non_ascii, separators)(value)
        # A text in UTF-8 can only have spelled a lone surrogate as an escape.
        return _spelled(_SURROGATE, text) if self.is_utf8 else text


def in_ascii(raw: bytes) -> bytes:
    """The same JSON text with escapes for what is not ASCII, which only its strings can hold."""
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], decode(raw)).encode()


def is_utf8(raw: bytes) -> bool:
    # Piece by piece: one emoji makes the text of a whole file four bytes a character.
    if len(raw) <= _PIECE:
        try:
            raw.decode()
        except UnicodeDecodeError:
            return False
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    try:
        for start in range(0, len(raw), _PIECE):
            decoder.decode(view[start : start + _PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


DUMPED: Final = Style(escapes_non_ascii=False, is_utf8=False)
"""How `dump_compact` spells strings."""


def dump_compact(value: Any) -> str:
    """Shortest JSON text of a value, for counting and for showing; equal values have equal texts.

    Not by msgspec: it refuses lone surrogates, and a second encoder for those spells numbers differently.
    """
    return _dump_compact(value)


def replace_values(text: str, edits: Mapping[JsonPath, Any], style: Style | None = None) -> str:
    """The text of an object with the values at some paths exchanged; everything around them stays.

    Lists and objects are spaced as the object is.
    """
    style = style or Style.of(text.encode("utf-8", "surrogatepass"))
    separators = (", ", ": ") if _layout(text)[1] == ": " else (",", ":")
    return splice(text, {path: style.dump(value, separators) for path, value in edits.items()})


def splice(text: str, edits: Mapping[JsonPath, str | None]) -> str:
    """Exchange the values at the given paths of a JSON text for JSON literals, or remove them.

    The root is the empty path and cannot be removed. Paths that do not exist raise KeyError: an edit that silently
    changes nothing would be reported as done.
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
    """What `splice` makes of a JSON text, in its bytes and without taking all of it apart; None where that cannot be.

    A value is found by its bytes, which have to stand there once: then they are the value.
    """
    cuts: list[tuple[int, int, str]] = []
    for path, new in edits.items():
        start, value = 0, raw
        try:
            for key in path:
                inside = value
                value = bytes(_elements(inside)[key] if isinstance(key, int) else _members(inside)[key])
                # A beginning that stands there once is enough, and found sooner than a long text.
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
    """An object of the given members (keys and JSON literals), laid out as the object in `text` is."""
    lead, colon, closer = _layout(text)
    return "{" + _comma(lead, colon).join(lead + _member(key, new, colon) for key, new in members.items()) + closer


def with_member(text: str, key: str, literal: str) -> str:
    """The object in `text` with one more member at its end."""
    lead, colon, closer = _layout(text)
    return text.rstrip()[: -len(closer)] + _comma(lead, colon) + lead + _member(key, literal, colon) + closer


def _layout(text: str) -> tuple[str, str, str]:
    """What an object puts in front of a key, between key and value, and at its end."""
    first = _FIRST_KEY.match(text)
    text = text.rstrip()
    closer = text[len(text.removesuffix("}").rstrip()) :]
    return (first[1], first[2], closer) if first else ("", ":", "}")


def _comma(lead: str, colon: str) -> str:
    return ", " if not lead and colon.endswith(" ") else ","


def _member(key: str, literal: str, colon: str) -> str:
    return json.dumps(key) + colon + literal


def locate(text: str, paths: Iterable[JsonPath]) -> dict[JsonPath, tuple[int, int]]:
    """Where the values at the given paths stand in a JSON text, as offsets. Raises KeyError as `splice` does."""
    cuts = _cuts(text, skip(text, 0), _tree({path: path for path in paths}))[1]
    return {path: (start, end) for start, end, path in cuts}


_HERE: Final = object()
_Cut = tuple[int, int, Any]
"""Start, end and what the edit tree has for the value between them."""


def _tree(edits: Mapping[JsonPath, Any]) -> dict[Any, Any]:
    """The edits by key, level by level."""
    tree: dict[Any, Any] = {}
    for path, new in edits.items():
        node = tree
        for key in path:
            node = node.setdefault(key, {})
        node[_HERE] = new
    return tree


def _cuts(text: str, start: int, tree: dict[Any, Any]) -> tuple[int, list[_Cut]]:
    """End of the value that starts at `start`, and the cuts that the edit tree asks for inside it."""
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
            # Of doubled keys the last counts, as for every reader of JSON; an earlier one may look different.
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
    """Cuts that take members out of a list or object together with exactly one comma each."""
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
