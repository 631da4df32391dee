"""The usage that an API reports, read from its answer while that passes."""

from __future__ import annotations

import zlib
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..money.economics import Accounting, CallUsage
from ..storage.files import zstd

_LONGEST: Final = 8 << 20
"""Bytes of a line, or of an answer in one piece, that are kept until it ends. What is longer reports nothing."""

_PLAIN: Final = ("", "identity")

_NAMED: Final = b'"usage"'

_WHATEVER_IS_SENT: Final = lazy_pattern(
    r"(?i)prompt is too long|context[ _](?:length|limit|window)|maximum (?:prompt|context)|too many tokens"
    r"|request[ _]too[ _]large|credit balance|insufficient[ _](?:quota|balance|credit|funds)|billing|usage limits?\b"
)
"""Refusals that the longer original would meet as well: its size, and what is left to pay with. Words of Anthropic,
OpenAI and servers that follow them."""


class _Holder(Struct):
    usage: dict[str, Any] | None = None


class _Said(Struct):
    """An answer, or an event of a stream: Anthropic's begin with a message, those of the Responses API end with one."""

    usage: dict[str, Any] | None = None
    message: _Holder | str | None = None
    response: _Holder | None = None


_decode: Final = msgspec.json.Decoder(_Said).decode


def refuses_whatever_is_sent(text: str) -> bool:
    """Whether an error would have come to the conversation as the client sent it, too."""
    return _WHATEVER_IS_SENT.search(text) is not None


def text_of(data: bytes, encoding: str) -> str:
    """The text of the beginning of an answer; "" where it is packed in a way that is not known, or broken."""
    try:
        if encoding.strip().lower() not in _PLAIN:
            data = _unpacker(encoding.strip().lower()).decompress(data, max_length=_LONGEST)
    except Exception:  # As in `UsageReader.feed`.
        return ""
    return data.decode("utf-8", "replace")


class _Unpacker(Protocol):
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


class UsageReader:
    """Takes an answer piece by piece; `usage` is what it has reported so far, None before it did.

    An answer that cannot be read reports nothing; nothing is raised.
    """

    def __init__(self, kind: str, encoding: str) -> None:
        self._is_stream = "event-stream" in kind
        self._reads = self._is_stream or "json" in kind
        self._encoding = encoding.strip().lower()
        self._unpacker: _Unpacker | None = None
        self._waiting = bytearray()
        self._found: dict[str, Any] = {}

    def feed(self, piece: bytes) -> None:
        if not self._reads:
            return
        try:
            self._waiting += self._plain(piece)
        except Exception:  # Broken, or packed in a way that is not known: the client will see.
            self._reads = False
            return
        if self._is_stream:
            *lines, rest = self._waiting.split(b"\n")
            self._waiting = bytearray(rest)
            for line in lines:
                self._read(bytes(line).removeprefix(b"data:"))
        if len(self._waiting) > _LONGEST:
            self._reads = False
            self._waiting.clear()

    def end(self) -> None:
        """There is no more: what came in one piece is whole now."""
        if self._reads:
            self._read(bytes(self._waiting).removeprefix(b"data:"))
        self._waiting.clear()

    def usage(self, accounting: Accounting) -> CallUsage | None:
        """Tokens as they were reported."""
        found = self._found
        places = ("input_tokens_details", "prompt_tokens_details")
        details: dict[str, Any] = next((given for each in places if isinstance(given := found.get(each), dict)), {})
        tokens = _first(found, "input_tokens", "prompt_tokens")
        if tokens is None:
            return None
        if accounting is Accounting.ANTHROPIC:
            written, read = _first(found, "cache_creation_input_tokens"), _first(found, "cache_read_input_tokens")
        else:
            written, read = _first(details, "cache_write_tokens"), _first(details, "cached_tokens")
        lives = found.get("cache_creation")
        hour = _first(lives, "ephemeral_1h_input_tokens") if isinstance(lives, dict) else None
        return CallUsage(
            tokens,
            _first(found, "output_tokens", "completion_tokens") or 0,
            written or 0,
            read or 0,
            hour_write_tokens=min(hour or 0, written or 0),
        )

    def _plain(self, piece: bytes) -> bytes:
        if self._encoding in _PLAIN:
            return piece
        if self._unpacker is None:
            self._unpacker = _unpacker(self._encoding)
        plain = self._unpacker.decompress(piece, max_length=_LONGEST)
        if len(plain) == _LONGEST:
            raise ValueError("a piece of a stream that unpacks to more than any answer")
        return plain

    def _read(self, line: bytes) -> None:
        if _NAMED not in line:
            return
        try:
            said = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        message = said.message.usage if isinstance(said.message, _Holder) else None
        for usage in (message, said.response and said.response.usage, said.usage):
            # A later report counts more than an earlier one, where it says anything.
            self._found.update({key: value for key, value in (usage or {}).items() if value is not None})


def _unpacker(encoding: str) -> _Unpacker:
    """Raises LookupError for what is not known."""
    if encoding == "zstd":
        return zstd().ZstdDecompressor()  # type: ignore[no-any-return]
    return zlib.decompressobj({"gzip": 31, "x-gzip": 31, "deflate": 15}[encoding])


def _first(values: dict[str, Any], *names: str) -> int | None:
    found = (values.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)
