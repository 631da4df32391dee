"""The body of a request: unpacked, its conversation found and exchanged, and packed as it came.

Only the bytes of that one value change, and in it only those of messages that changed. What cannot be read passes as
it is.
"""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ..core import json_text
from ..errors import UnreadableError
from ..live.requests import CACHE_MARK, as_bytes, decoded, marked_parts
from ..money.economics import Accounting
from ..storage.files import ZSTD, packed, reading, suffix_of
from .apis import Api

LARGEST: Final = 64 << 20
"""Bytes that are read of a body, and that it may unpack to; of what is larger nothing is condensed. APIs take 32 MB."""

_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_elements: Final = msgspec.json.Decoder(list[Raw]).decode
_FILES: Final = {"": "body", "identity": "body", "gzip": "body.gz", "x-gzip": "body.gz", "zstd": "body.zst"}
"""What a file would be called that is packed so."""
_MARK: Final = CACHE_MARK.encode()
_HOUR: Final = "1h"
_ELSEWHERE: Final = ("previous_response_id", "conversation")
"""With these the server holds the conversation, and the request only what is new in it."""
_BEGINNING: Final = 90
"""Bytes of a value by which it is looked for."""


class ListedMessages(Struct, frozen=True):
    """Messages of a body: as JSON texts, and taken apart where they may hold cache marks.

    They begin at `start` in the data, and `ends` is where each of them ends; a start of -1: it is not known where.
    """

    start: int = -1
    ends: list[int] = []
    raws: list[Raw] = []
    messages: list[Any] = []


_NONE: Final = ListedMessages()


class Body(Struct, frozen=True):
    """A request that holds a conversation, in data[listed.start:stop].

    The first `same` messages are those of another body, byte for byte. `system` and `tools` are as messages are. `key`
    is the client's own name of the conversation, if it gives one. `lives_long`: its cache marks ask for an hour.
    `caches`: the API caches without marks, or there are some.
    """

    data: bytes
    encoding: str
    api: Api
    listed: ListedMessages
    stop: int
    same: int
    model: str | None
    system: Any
    tools: Any
    key: str
    lives_long: bool
    caches: bool

    @property
    def messages(self) -> list[Any]:
        return self.listed.messages

    def with_messages(self, messages: Sequence[Any]) -> bytes | None:
        """The body with other messages, packed as this one is; None where they are its own."""
        if len(messages) == len(self.messages) and all(map(is_, messages, self.messages)):
            return None
        pairs = zip(self.messages, self.listed.raws, strict=True)
        own = {id(message): raw for message, raw in pairs if message is not raw}
        new = as_bytes([_text_of(message, own) for message in messages])
        return packed(self._exchanged(new), _FILES[self.encoding])

    def _exchanged(self, new: bytes) -> bytes:
        if self.listed.start >= 0:
            return b"".join((self.data[: self.listed.start], new, self.data[self.stop :]))
        # Its beginning is there more than once: the text has to be walked through.
        text = json_text.decode(self.data)
        return json_text.encode(json_text.splice(text, {(self.api.key,): json_text.decode(new)}))


def _text_of(message: Any, own: Mapping[int, Raw]) -> Raw:
    """A message as JSON: as it came, where it is one that came."""
    if isinstance(message, Raw):
        return message
    return own.get(id(message)) or Raw(as_bytes(message))


def body_of(data: bytes, encoding: str, api: Api, before: Body | None = None) -> Body | None:
    """What a body holds; None where there is no conversation that can be read.

    Of what it has in common with the body `before` nothing is read again.
    """
    encoding = encoding.strip().lower()
    try:
        plain = _plain(data, encoding)
        known = _NONE if before is None or before.api is not api else _common(plain, before)
        # The text without the messages that are known is JSON as well.
        text = plain[: known.start] + b"[" + _rest(plain, known.ends[-1]) if known.ends else plain
        members = members_of(text)
        value = bytes(members[api.key])
        raws = [Raw(bytes(raw)) for raw in elements_of(value)]  # Views would keep the whole body alive.
        messages = [*map(_with_marks, raws)]
        model, key = (_text(members.get(name)) for name in ("model", "prompt_cache_key"))
        system, instructions, tools = (_with_marks(members.get(name)) for name in ("system", "instructions", "tools"))
    except (ValueError, LookupError, RecursionError, UnreadableError):
        return None
    start = known.start if known.ends else _place(text, value)
    if known.ends and not text.startswith(value, start):  # The key is there again, further on.
        return body_of(data, encoding, api)
    if any(bytes(members.get(name, b"null")) != b"null" for name in _ELSEWHERE):
        return None
    raws, messages = known.raws + raws, known.messages + messages
    listed = ListedMessages(start, _ends(plain, raws, known.ends, start), raws, messages)
    automatic = {CACHE_MARK: decoded(bytes(members.get(CACHE_MARK, b"null")))}
    marks = [part[CACHE_MARK] for each in (automatic, *messages) for part in marked_parts(each)]
    lives_long = any(isinstance(mark, dict) and mark.get("ttl") == _HOUR for mark in marks)
    caches = api.accounting is not Accounting.ANTHROPIC or _MARK in plain
    stop = start + len(value) + len(plain) - len(text)
    system = instructions if system is None else system
    return (
        Body(plain, encoding, api, listed, stop, len(known.ends), model, system, tools, key or "", lives_long, caches)
        if raws
        else None
    )


def _common(data: bytes, before: Body) -> ListedMessages:
    """The messages of a body that stand in the data at the same place, in the same bytes."""
    listed = before.listed

    def has(number: int) -> bool:
        return data.startswith(before.data[: listed.ends[number - 1]])

    total = len(listed.ends)
    # Most often all are there, or all but the last ones, whose cache marks moved.
    found = next((number for number in range(total, max(0, total - 4), -1) if has(number)), None)
    if found is None:
        found = bisect_left(range(1, total + 1), True, key=lambda number: not has(number))
    # A number may go on where it ended before.
    while found and data[listed.ends[found - 1] :][:1].strip() not in (b",", b"]", b""):
        found -= 1
    return ListedMessages(listed.start, listed.ends[:found], listed.raws[:found], listed.messages[:found])


def _rest(data: bytes, begins: int) -> bytes:
    """What follows the messages that are known, as the rest of a list. Raises ValueError where it is none."""
    rest = data[begins:].lstrip()
    further = rest.removeprefix(b",").lstrip()
    if rest.startswith(b",") == further.startswith(b"]"):
        raise ValueError("no list")
    return further


def _place(data: bytes, value: bytes) -> int:
    """Where a value stands in the data; -1 where its beginning stands there more than once."""
    start = data.find(value[:_BEGINNING])
    return start if data.find(value[:_BEGINNING], start + 1) < 0 else -1


def _ends(data: bytes, raws: Sequence[Raw], known: list[int], start: int) -> list[int]:
    """Where each message ends, the first ones as they are known."""
    if start < 0:
        return []
    ends = [*known]
    position = ends[-1] if ends else start + 1
    for raw in raws[len(known) :]:
        text = bytes(raw)
        position = data.find(text, position) + len(text)
        ends.append(position)
    return ends


def members_of(data: bytes) -> dict[str, Raw]:
    """The JSON texts of an object's values. Raises ValueError, KeyError, RecursionError."""
    try:
        return _decode_members(data)
    except (msgspec.DecodeError, UnicodeDecodeError):  # Lone surrogates, large numbers.
        return _apart(data)


def elements_of(data: bytes) -> list[Raw]:
    """The JSON texts of a list's values. Raises as `members_of` does."""
    try:
        return _decode_elements(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [*_apart(data, list).values()]


def _apart(data: bytes, kind: type[dict[str, Any]] | type[list[Any]] = dict) -> dict[Any, Raw]:
    value = json_text.parse(data)
    if not isinstance(value, kind):
        raise ValueError("a value of another kind")
    keys: Iterable[Any] = range(len(value)) if isinstance(value, list) else value
    text = json_text.decode(data)
    spans = json_text.locate(text, [(key,) for key in keys])
    return {path[0]: Raw(json_text.encode(text[start:end])) for path, (start, end) in spans.items()}


def _plain(data: bytes, encoding: str) -> bytes:
    """The unpacked bytes. Raises LookupError for what is packed in another way, UnreadableError where it is not."""
    name = _FILES[encoding]
    if not suffix_of(name):
        return data
    with reading(io.BytesIO(data), data[: len(ZSTD)], "The body") as stream:
        plain = stream.read(LARGEST + 1)
    if len(plain) > LARGEST or packed(b"", name)[:2] != data[:2]:
        raise UnreadableError("The body cannot be unpacked here.")
    return plain


def _with_marks(raw: Raw | None) -> Any:
    """A value as its JSON text; taken apart where it may hold cache marks, which have to be seen."""
    return decoded(bytes(raw)) if raw is not None and _MARK in bytes(raw) else raw


def _text(raw: Raw | None) -> str | None:
    value = None if raw is None else decoded(bytes(raw))
    return value if isinstance(value, str) else None
