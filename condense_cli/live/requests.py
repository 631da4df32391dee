"""The messages of one request: what each is, told by digests, so that the next request can be compared with it.

A client changes some things without meaning them: where its cache marks are, a text as a string or as the only block
of a list, timestamps. The digest of a message leaves those out. No content is kept, only digests and sizes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..errors import UsageError

CACHE_MARK: Final = "cache_control"
_BILLING: Final = "x-anthropic-billing-header:"
_TIMES: Final = frozenset({"timestamp", "created", "created_at", "ts"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "reasoning"})
_OPAQUE: Final = frozenset({"data", "signature", "encrypted_content", "image_url", "file_data"})
"""Keys of values that are not read as text, however long they are."""
_OPAQUE_CHARACTERS: Final = 4_000
"""What such a value is taken to be worth at most."""

_encode = msgspec.json.Encoder(order="sorted").encode


class KnownMessage(Struct, frozen=True):
    """A message as it was seen last: the digest of its bytes, the one of what it means, and its size in characters.

    `answers`: it is the assistant's, or a call of its.
    """

    raw: bytes
    digest: bytes
    characters: int
    answers: bool


class Request:
    """The messages of a request as they came, with what is known of each.

    `given` may be the objects of an SDK. `before` is what was known of the messages of the request before: a message
    with the same bytes at the same place is not read again, and not even looked at if the caller knows that the first
    `same` of them are those. Raises UsageError for what is no JSON.
    """

    def __init__(self, messages: Sequence[Any], before: Sequence[KnownMessage] = (), same: int = 0) -> None:
        self.given = list(messages)
        self._same = same
        self._bytes = [*map(as_bytes, self.given[same:])]
        old = _padded(before[same:], len(self._bytes))
        self.known = [
            *before[:same],
            *(
                known if known is not None and known.raw == digest else _known(data, digest)
                for data, digest, known in zip(self._bytes, map(_digest, self._bytes), old, strict=True)
            ),
        ]

    def __len__(self) -> int:
        return len(self.given)

    def plain(self, position: int) -> Any:
        """A message as dicts, lists and strings, which the caller may keep."""
        fresh = position - self._same
        return decoded(self._bytes[fresh] if fresh >= 0 else as_bytes(self.given[position]))

    def chain(self, end: int) -> str:
        """The digest of the messages before a position."""
        return blake2b(b"".join(known.digest for known in self.known[:end]), digest_size=16).hexdigest()

    def characters(self, start: int, end: int | None = None) -> int:
        return sum(known.characters for known in self.known[start:end])

    @property
    def answers(self) -> int:
        """How many answers of the assistant it holds: so many requests there were."""
        each = [known.answers for known in self.known]
        return sum(one and not before for before, one in pairwise([False, *each]))

    def shared(self, before: Sequence[KnownMessage]) -> int:
        """How many of its first messages are those of an earlier request."""
        pairs = enumerate(zip(self.known, before, strict=False))
        return next((at for at, (one, other) in pairs if one.digest != other.digest), min(len(self), len(before)))

    @property
    def newest_answer(self) -> int:
        """Where the newest answer of the assistant begins: all before was in the request that it answers, most
        likely. 0 where there is none."""
        ends = next((at + 1 for at in reversed(range(len(self))) if self.known[at].answers), 0)
        return next((at + 1 for at in reversed(range(ends)) if not self.known[at].answers), 0)

    def agrees(self, before: Sequence[KnownMessage]) -> bool:
        """Whether it begins with all messages of an earlier request."""
        return len(before) <= len(self.known) and all(
            one.digest == other.digest for one, other in zip(before, self.known, strict=False)
        )


def digest_of(data: bytes) -> str:
    return _digest(data).hex()


def digest_beside(system: Any, tools: Any) -> str:
    """The digest of what is sent beside the messages, "" where nothing is given.

    It leaves out cache marks, and the line about billing that Claude Code sends as the first block of the system
    prompt: its checksum is another one in each request, and the API's cache does not mind.
    """
    if system is None and tools is None:
        return ""
    parts = [decoded(as_bytes(each)) for each in (system, tools)]
    found = [
        [without_marks(part) for part in each if not _is_billing(part)] if isinstance(each, list) else each
        for each in parts
    ]
    return digest_of(as_bytes(found))


def _is_billing(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("text")).startswith(_BILLING)


def marked_parts(message: Any) -> Iterator[dict[str, Any]]:
    """The blocks of a message, and those of its results, that hold a cache mark."""
    for part in _parts(message):
        if CACHE_MARK in part:
            yield part


def without_marks(message: Any) -> Any:
    """The message without its cache marks; `message` is the caller's own, and is changed."""
    for part in [*marked_parts(message)]:
        del part[CACHE_MARK]
    return message


def is_thinking(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "redacted_thinking")


def _parts(message: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(message, dict):
        return
    yield message
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield part
            inner = part.get("content")
            yield from (each for each in (inner if isinstance(inner, list) else ()) if isinstance(each, dict))


def _known(data: bytes, digest: bytes) -> KnownMessage:
    message = without_marks(decoded(data))
    characters = _characters(message)
    if isinstance(message, dict):
        message = {key: value for key, value in message.items() if key not in _TIMES}
        for part in _parts(message):
            if "content" in part:
                part["content"] = _collapsed(part["content"])
    return KnownMessage(digest, _digest(as_bytes(message, is_sorted=True)), characters, _is_answer(message))


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and (message.get("role") == "assistant" or str(message.get("type")) in _CALLS)


def _collapsed(content: Any) -> Any:
    """A list that holds one text alone, as the string."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        part = content[0]
        if part.keys() == {"type", "text"} and str(part["type"]) in _TEXTS:
            return part["text"]
    return content


def _characters(value: Any) -> int:
    """About how many characters of a value a model reads."""
    total, waiting = 0, [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key in _OPAQUE and isinstance(each, str | dict):
                    total += min(_OPAQUE_CHARACTERS, len(str(each)))
                else:
                    waiting.append(each)
        elif isinstance(value, list):
            waiting += value
    return total


def _padded(before: Sequence[KnownMessage], length: int) -> Iterator[KnownMessage | None]:
    yield from before[:length]
    yield from [None] * (length - len(before))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def as_bytes(value: Any, *, is_sorted: bool = False) -> bytes:
    """A value as JSON; objects of an SDK as they are sent. Raises UsageError for what is no JSON."""
    try:
        return _encode(value) if is_sorted else msgspec.json.encode(value, enc_hook=_as_json)
    except (UnicodeEncodeError, ValueError, OverflowError):  # A lone surrogate, a large number: JSON can spell both.
        return json.dumps(value, default=_as_json, sort_keys=is_sorted).encode()


def decoded(data: bytes) -> Any:
    """The value of JSON, as dicts, lists and strings of its own."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data)


def _as_json(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise UsageError(f"A message holds a {type(value).__name__}, which is not JSON.", "Give dicts, lists and strings.")
