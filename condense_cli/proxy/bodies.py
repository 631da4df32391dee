"""The body of a request: unpacked, its conversation found and exchanged, and packed as it came.

Only the bytes of that one value change, and in it only those of messages that changed. What cannot be read passes as
it is.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ..core import json_text
from ..errors import UnreadableError
from ..live.requests import CACHE_MARK, as_bytes, decoded
from ..storage.compressed import ZSTD, packed, reading, suffix_of
from .apis import Api

LARGEST: Final = 256 << 20
"""Bytes that are read of a body, and that it may unpack to; of what is larger nothing is condensed."""

_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_elements: Final = msgspec.json.Decoder(list[Raw]).decode
_FILES: Final = {"": "body", "identity": "body", "gzip": "body.gz", "x-gzip": "body.gz", "zstd": "body.zst"}
"""What a file would be called that is packed so."""
_MARK: Final = CACHE_MARK.encode()
_HOUR: Final = b'"1h"'
_ELSEWHERE: Final = ("previous_response_id", "conversation")
"""With these the server holds the conversation, and the request only what is new in it."""
_BEGINNING: Final = 90
"""Bytes of a value by which it is looked for."""


class Body(Struct, frozen=True):
    """A request that holds a conversation.

    `messages` are JSON texts, taken apart where they may hold cache marks, and so are `system` and `tools`. `key` is
    the client's own name of the conversation, if it gives one. `lives_long`: its cache marks ask for an hour.
    """

    data: bytes
    encoding: str
    api: Api
    value: bytes
    messages: list[Any]
    raws: list[Raw]
    model: str | None
    system: Any
    tools: Any
    key: str
    lives_long: bool

    def with_messages(self, messages: Sequence[Any]) -> bytes | None:
        """The body with other messages, packed as this one is; None where they are its own."""
        if len(messages) == len(self.messages) and all(a is b for a, b in zip(messages, self.messages, strict=True)):
            return None
        own = {id(message): raw for message, raw in zip(self.messages, self.raws, strict=True)}
        new = b"[" + b",".join(as_bytes(own.get(id(message), message)) for message in messages) + b"]"
        return packed(self._exchanged(new), _FILES[self.encoding])

    def _exchanged(self, new: bytes) -> bytes:
        start = self.data.find(self.value[:_BEGINNING])
        if self.data.find(self.value[:_BEGINNING], start + 1) < 0:
            return b"".join((self.data[:start], new, self.data[start + len(self.value) :]))
        # It stands there more than once: the text has to be walked through.
        text = json_text.decode(self.data)
        return json_text.encode(json_text.splice(text, {(self.api.key,): json_text.decode(new)}))


def body_of(data: bytes, encoding: str, api: Api) -> Body | None:
    """What a body holds; None where there is no conversation that can be read."""
    encoding = encoding.strip().lower()
    try:
        plain = _plain(data, encoding)
        members = members_of(plain)
        value = bytes(members[api.key])
        raws = elements_of(value)
        messages = [*map(_with_marks, raws)]
        model, key = (_text(members.get(name)) for name in ("model", "prompt_cache_key"))
        beside = [_with_marks(members.get(name)) for name in ("system", "instructions", "tools")]
    except (ValueError, LookupError, RecursionError, UnreadableError):
        return None
    if not raws or any(bytes(members.get(name, b"null")) != b"null" for name in _ELSEWHERE):
        return None
    system, instructions, tools = beside
    lives_long = _HOUR in plain and any(isinstance(each, dict) for each in messages)
    return Body(
        plain, encoding, api, value, messages, raws, model, instructions if system is None else system, tools,
        key or "", lives_long,
    )  # fmt: skip


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
