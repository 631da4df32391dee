"""Model providers' prompt caches: which part of a request is read, written, or neither.

Anthropic: entries end at up to four marks; a look-up goes back 20 blocks from each mark; prefixes below a minimum are
not cached; an entry lives five minutes (or an hour) from its last use. OpenAI: the longest prefix, from 1,024 tokens
on, without marks. https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://platform.openai.com/docs/guides/prompt-caching
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from condense_cli.core.tokens import CALL_TOKENS, count_text
from condense_cli.formats.engine.client_text import encrypted_thinking

LOOK_BACK = 20


class Regime(NamedTuple):
    """Prices per input token, and the cache's rules. `write` and `read` are multiples of the input price."""

    name: str
    write: float
    read: float
    least: int
    needs_marks: bool
    life: float = 300.0


REGIMES = {
    "anthropic": Regime("Anthropic, 5 minutes", 1.25, 0.1, 1_024, True),
    "anthropic-1h": Regime("Anthropic, an hour", 2.0, 0.1, 1_024, True, 3_600.0),
    "openai": Regime("OpenAI, writes free", 1.0, 0.1, 1_024, False),
    "openai-5.6": Regime("OpenAI since GPT-5.6", 1.25, 0.1, 1_024, False),
}

LEAST = {
    "opus-5": 512, "fable-5": 512, "mythos-5": 512,
    "opus-4-7": 2_048, "haiku-3-5": 2_048,
    "opus-4-6": 4_096, "opus-4-5": 4_096, "haiku-4-5": 4_096,
}  # fmt: skip
"""Tokens of the shortest cached prefix, by a part of the model's name; 1,024 for all others."""


def least_of(model: str) -> int:
    return next((least for name, least in LEAST.items() if name in model), 1_024)


class Billed(NamedTuple):
    """Input tokens read from the cache, written to it, and neither; cost in tokens at the input price."""

    read: int = 0
    written: int = 0
    plain: int = 0
    cost: float = 0.0

    def __add__(self, other: Any) -> Billed:
        return Billed(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def tokens(self) -> int:
        return self.read + self.written + self.plain


class Piece(NamedTuple):
    """A block of a request: its content, its tokens, and whether it has a mark."""

    content: bytes
    tokens: int
    is_marked: bool


class Sizes:
    """Tokens of blocks, each counted once; `factor` is model tokens per token of ours."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self._known: dict[bytes, int] = {}

    def pieces(self, messages: Sequence[Any]) -> list[Piece]:
        found = []
        for message in messages:
            content = message.get("content") if message.get("role") else [message]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
            for part in parts:
                is_marked = "cache_control" in part
                bare = {key: value for key, value in part.items() if key != "cache_control"}
                data = json.dumps([message.get("role"), bare], sort_keys=True).encode()
                found.append(Piece(data, self._tokens(data, bare), is_marked))
        return found

    def _tokens(self, data: bytes, part: Any) -> int:
        key = blake2b(data, digest_size=16).digest()
        if key not in self._known:
            tokens = 4 + count_text("\n".join(_texts(part)))
            if isinstance(part, dict) and part.get("type") in ("tool_use", "function_call"):
                tokens += CALL_TOKENS
            if isinstance(part, dict) and part.get("type") == "thinking":  # It is billed in full, whatever is shown.
                tokens += encrypted_thinking(part.get("signature"), str(part.get("thinking") or ""))
            self._known[key] = round(self.factor * tokens)
        return self._known[key]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        if value.get("type") in ("base64", "image", "redacted_thinking"):
            return ["x " * 1_200]
        return [text for key, each in value.items() if key not in ("signature", "id", "type") for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


class Cache:
    """One provider's cache. `beside` are the tokens of system prompt and tools, which have a mark of their own."""

    def __init__(self, regime: Regime, beside: int) -> None:
        self.regime, self.beside = regime, beside
        self._entries: dict[bytes, float] = {}

    def bill(self, pieces: Sequence[Piece], now: float) -> Billed:
        """Bill a request and update the cache."""
        chain = blake2b(b"beside", digest_size=16)
        ends, sizes, marks = [chain.copy().digest()], [self.beside], [True]
        for piece in pieces:
            chain.update(piece.content)
            ends.append(chain.copy().digest())
            sizes.append(sizes[-1] + piece.tokens)
            marks.append(piece.is_marked)
        marked = [at for at, mark in enumerate(marks) if mark] if self.regime.needs_marks else [len(ends) - 1]
        back = LOOK_BACK if self.regime.needs_marks else len(ends)
        read = -1
        for mark in marked:
            for at in range(mark, max(-1, mark - back - 1), -1):
                if self._entries.get(ends[at], 0.0) >= now:
                    read = max(read, at)
                    break
        was_read = sizes[read] if read >= 0 else 0
        cached = was_read
        kept = range(len(ends)) if not self.regime.needs_marks else marked
        for at in kept:
            if sizes[at] >= self.regime.least and (at > read or self.regime.needs_marks):
                self._entries[ends[at]] = now + self.regime.life
                cached = max(cached, sizes[at])
        if read >= 0:
            self._entries[ends[read]] = now + self.regime.life
        if not self.regime.needs_marks:
            self._entries.update(dict.fromkeys(ends[: read + 1], now + self.regime.life))
        plain = sizes[-1] - cached
        cost = self.regime.read * was_read + self.regime.write * (cached - was_read) + plain
        return Billed(was_read, cached - was_read, plain, cost)
