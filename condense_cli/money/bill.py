"""Bill requests by the rules of a provider's prompt cache: what is read, written, or neither, and what that costs.

Anthropic: entries end at up to four marks; a look-up goes back 20 blocks from each mark; prefixes below a minimum are
not cached; an entry lives five minutes (or an hour) from its last use. OpenAI: the longest prefix, from 1,024 tokens
on, without marks. https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://platform.openai.com/docs/guides/prompt-caching
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from math import inf
from typing import Final

from msgspec import Struct

from ..tokens.models import bare_name
from .prices import Price, price_of

LOOK_BACK: Final = 20
MINUTES: Final = 300.0
HOUR: Final = 3_600.0
"""Seconds that entries live."""

_LEAST: Final = 1_024
_LEAST_OF: Final = {
    "opus-5": 512, "fable-5": 512, "mythos-5": 512,
    "opus-4-7": 2_048, "haiku-3-5": 2_048,
    "opus-4-6": 4_096, "opus-4-5": 4_096, "haiku-4-5": 4_096,
}  # fmt: skip
"""Tokens of the shortest cached prefix, by a part of the model's name."""

_NOTHING: Final = Decimal(0)


class CacheRules(Struct, frozen=True):
    """Tokens of the shortest cached prefix, whether entries end at marks alone, and the seconds that they live."""

    least: int = _LEAST
    needs_marks: bool = True
    life: float = MINUTES

    @classmethod
    def of(cls, model: str | None, *, for_an_hour: bool = False) -> CacheRules:
        """Return the rules of a model's vendor. Others than Anthropic cache without marks."""
        name = bare_name(model or "")
        least = next((least for part, least in _LEAST_OF.items() if part in name), _LEAST)
        return cls(least, not name or "claude" in name, HOUR if for_an_hour else MINUTES)


class Billed(Struct, frozen=True):
    """Input tokens: read from the cache, written to it (`hour` of these for an hour), and neither."""

    read: int = 0
    written: int = 0
    plain: int = 0
    hour: int = 0

    def __add__(self, other: Billed) -> Billed:
        return Billed(
            self.read + other.read, self.written + other.written, self.plain + other.plain, self.hour + other.hour
        )

    @property
    def tokens(self) -> int:
        return self.read + self.written + self.plain


class InputDollars(Struct, frozen=True):
    """US dollars for input, by kind."""

    read: Decimal = _NOTHING
    written: Decimal = _NOTHING
    plain: Decimal = _NOTHING

    def __add__(self, other: InputDollars) -> InputDollars:
        return InputDollars(self.read + other.read, self.written + other.written, self.plain + other.plain)

    @property
    def total(self) -> Decimal:
        return self.read + self.written + self.plain


def spent(billed: Billed, price: Price) -> InputDollars | None:
    """Return the dollars of input; None if the price of writing is unknown. Without a cache all is plain input."""
    if price.cache_read is None:
        return InputDollars(billed.read * price.input, billed.written * price.input, billed.plain * price.input)
    if price.cache_write_5m is None:
        return None
    hour = price.cache_write_5m if price.cache_write_1h is None else price.cache_write_1h
    written = (billed.written - billed.hour) * price.cache_write_5m + billed.hour * hour
    return InputDollars(billed.read * price.cache_read, written, billed.plain * price.input)


_THOUSAND: Final = 1_000
"""Prices that depend on the size change at whole thousands of tokens."""


def price_at(model: str | None, at: float, tokens: int) -> Price | None:
    """Return a model's price at a time in seconds, for requests of so many tokens; None if it is not known."""
    if model is None:
        return None
    day = datetime.fromtimestamp(max(0.0, at), UTC).strftime("%Y-%m-%d")
    return _price(bare_name(model), day, -(-tokens // _THOUSAND) * _THOUSAND)


@lru_cache(1_024)
def _price(model: str, day: str, tokens: int) -> Price | None:
    return price_of(model, datetime.fromisoformat(day).replace(tzinfo=UTC), tokens)


def dollars(billed: Billed, model: str | None, at: float) -> Decimal | None:
    """Return the dollars for the input of one request; None if no price is known."""
    price = price_at(model, at, billed.tokens)
    found = None if price is None else spent(billed, price)
    return None if found is None else found.total


class BilledPart(Struct, frozen=True):
    """A block of a request: its content or a digest of it, its tokens, and whether it has a mark."""

    content: bytes
    tokens: int
    is_marked: bool = False


class PromptCache:
    """The cache of one provider. `beside` are the tokens of system prompt and tools, which have a mark of their own."""

    def __init__(self, rules: CacheRules, beside: int) -> None:
        self.rules, self.beside = rules, beside
        self._entries: dict[bytes, float] = {}

    def bill(self, pieces: Sequence[BilledPart], now: float, model: str = "") -> Billed:
        """Bill a request at a time in seconds, and update the cache. Models share nothing."""
        rules, entries = self.rules, self._entries
        chain = blake2b(model.encode(), digest_size=16)
        ends, sizes, marks = [chain.digest()], [self.beside], [0]
        for at, piece in enumerate(pieces, start=1):
            chain.update(piece.content)
            ends.append(chain.digest())
            sizes.append(sizes[-1] + piece.tokens)
            if piece.is_marked:
                marks.append(at)
        last = len(ends) - 1
        looked, back = (marks, LOOK_BACK) if rules.needs_marks else ([last], last)
        read = -1
        for mark in looked:
            for at in range(mark, max(-1, mark - back - 1), -1):
                if entries.get(ends[at], -inf) >= now:
                    read = max(read, at)
                    break
        was_read = sizes[read] if read >= 0 else 0
        # What is read lives on; without marks each part of it is an entry.
        kept = {*marks, max(read, 0)} if rules.needs_marks else range(last + 1)
        fresh = [at for at in kept if sizes[at] >= rules.least]
        entries.update({ends[at]: now + rules.life for at in fresh})
        cached = max((sizes[at] for at in fresh), default=was_read)
        written = cached - was_read
        return Billed(was_read, written, sizes[-1] - cached, written if rules.life >= HOUR else 0)


class RebuildCause(StrEnum):
    """Why what was cached is not read."""

    MODEL = "another model"
    EXPIRED = "expired"
    CHANGED = "earlier text changed"


class BilledRequest(Struct, frozen=True):
    """A request as billed: its time in seconds (None if unknown) and its model."""

    billed: Billed
    at: float | None
    model: str | None


class Rebuilding(Struct, frozen=True):
    """Tokens written again although the request before had them cached, and why."""

    tokens: int
    cause: RebuildCause


_WORTH_TELLING: Final = 2_000
"""Tokens. Less is lost where a client moves its marks."""


def rebuilding(before: BilledRequest, after: BilledRequest, rules: CacheRules) -> Rebuilding | None:
    """Return what a request of a conversation wrote again; the rules are those of the one before."""
    billed, cached = after.billed, before.billed
    was_cached = cached.read + cached.written if rules.needs_marks else cached.tokens
    lost = min(was_cached - billed.read, billed.written + billed.plain)
    if lost < _WORTH_TELLING:
        return None
    if before.model and after.model and before.model != after.model:
        return Rebuilding(lost, RebuildCause.MODEL)
    is_late = before.at is not None and after.at is not None and after.at - before.at > rules.life
    return Rebuilding(lost, RebuildCause.EXPIRED if is_late else RebuildCause.CHANGED)


def extra(rebuilt: Rebuilding, billed: Billed, price: Price) -> Decimal | None:
    """Return the dollars that a rebuilding cost on top of reading the same from the cache; None if unknown."""
    whole = billed.written + billed.plain
    share = min(rebuilt.tokens, billed.written)
    hour = billed.hour * share // billed.written if billed.written else 0
    paid = spent(Billed(0, share, min(rebuilt.tokens, whole) - share, hour), price)
    read = spent(Billed(rebuilt.tokens), price)
    return None if paid is None or read is None else paid.total - read.total
