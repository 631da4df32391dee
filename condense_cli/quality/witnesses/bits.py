"""Continuation bits: how much of what really came next a context explains.

The assistant's words and calls after the cut are compressed with a context in front of them, each piece after all that
came before it. What the tools and the user said in between is in front of it as well, and costs nothing. The full
context saves bytes against none but the standing instructions; the measure is the share of these bytes that a condensed
context saves.

It sees whatever repeats, names and phrasing alike, wherever it stands, and needs no idea of what a fact is. It does not
see what is said in other words, and a context that repeats the right words in the wrong order is worth as much.
Bytes are those of the zstd at hand: another version of it may give slightly other shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Literal

from msgspec import Struct

from ...core.transcript import Message
from ...core.values import BlockKind, Role
from ..needs import texts_of

_LEAST: Final = 64
"""Where the full context saves fewer bytes, what a condensed one saves of them is chance."""

_SMALLEST_WINDOW: Final = 17
_LARGEST_WINDOW: Final = 27
_LARGEST_TABLE: Final = 24
"""Logarithms: windows of 128 KiB to 128 MiB, tables of 64 MiB at most."""

_SMALLEST_PREFIX: Final = 8
"""zstd takes no shorter one."""

_SEARCH: Final = 7
_SHORTEST_MATCH: Final = 3
"""Shares differ from those of the longest search by .003, with `btlazy2` by .02, with the fast strategies by .04."""

Kind = Literal["calls", "words"]


class Lengths(Struct, frozen=True):
    """Bytes that the assistant's calls and words take after a context."""

    calls: int
    words: int

    @property
    def both(self) -> int:
        return self.calls + self.words


class Bits(Struct, frozen=True):
    """Shares from 0 to 1 of what the full context explains; None where that is next to nothing."""

    both: float | None
    calls: float | None
    words: float | None


class Continuation:
    """What came after a cut, put behind as many contexts as wanted.

    `before` are all texts of the full context, `always` those of them that are sent with every request.
    """

    def __init__(self, before: Iterable[str], after: Sequence[Message], always: Iterable[str] = ()) -> None:
        self._before = before
        self._always = always
        self._pieces = [(kind, _encoded(text)) for kind, text in _pieces(after)]
        self._size = sum(len(piece) for _, piece in self._pieces)

    def __call__(self, texts: Iterable[str]) -> Bits:
        texts = tuple(texts)
        least, most = self._with_all, self._with_nothing
        # Without what is always sent, a few bytes fewer may come out by chance.
        found = self._lengths(texts) if texts else most
        return Bits(
            _share(most.both, found.both, least.both),
            _share(most.calls, found.calls, least.calls),
            _share(most.words, found.words, least.words),
        )

    @cached_property
    def _with_nothing(self) -> Lengths:
        return self._lengths(self._always)

    @cached_property
    def _with_all(self) -> Lengths:
        return self._lengths(self._before)

    def _lengths(self, texts: Iterable[str]) -> Lengths:
        context = b"".join(map(_encoded, texts))
        packer = _packer(context, self._size)
        lengths: dict[Kind | None, int] = {"calls": 0, "words": 0, None: 0}
        for kind, piece in self._pieces:
            lengths[kind] += len(packer.compress(piece, packer.FLUSH_BLOCK))
        return Lengths(lengths["calls"], lengths["words"])


def _pieces(after: Sequence[Message]) -> Iterator[tuple[Kind | None, str]]:
    """Calls and words of the assistant, and what it was shown in between, in order."""
    for message in after:
        is_said = message.role is Role.ASSISTANT
        for block in message.blocks:
            text = "\n".join(texts_of(block))
            if text and is_said and block.kind is BlockKind.TOOL_CALL:
                yield "calls", text
            elif text and is_said and block.kind is BlockKind.TEXT:
                yield "words", text
            elif text:
                yield None, text


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _packer(context: bytes, size: int) -> Any:
    """A compressor with a context in front of what it will get, `size` bytes in all."""
    zstd = _zstd()
    window = min(_LARGEST_WINDOW, max(_SMALLEST_WINDOW, (len(context) + size).bit_length()))
    # The tables of a level are made for windows of a few hundred KB: beyond, they forget most of the context.
    table = min(_LARGEST_TABLE, window)
    names = zstd.CompressionParameter
    options = {
        names.strategy: zstd.Strategy.btultra,
        names.window_log: window,
        names.hash_log: table,
        names.chain_log: table,
        names.search_log: _SEARCH,
        names.min_match: _SHORTEST_MATCH,
        names.content_size_flag: 0,
    }
    prefix = zstd.ZstdDict(context, is_raw=True).as_prefix if len(context) >= _SMALLEST_PREFIX else None
    return zstd.ZstdCompressor(options=options, zstd_dict=prefix)


def _share(most: int, found: int, least: int) -> float | None:
    """Of the bytes that can be saved those that are: a shorter context may save a few more than the full one."""
    if most - least < _LEAST:
        return None
    return min(1.0, max(0.0, (most - found) / (most - least)))


def _zstd() -> ModuleType:
    """Python's own module since 3.14, and the same one for older Pythons from a package."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")
