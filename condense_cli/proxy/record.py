"""Record a run of the proxy in memory: savings, decisions, compactions, faults, and the page that shows them.

Money compares the bill with that of the original requests. A request costs what its API reported. Its original would
have had `saved` tokens more, of which those of the original before it are read from the cache while that is warm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import Final

from msgspec import Struct

from ..core.wording import plural
from ..live.deciding import CacheGuess, Decision, DecisionKind
from ..money.bill import Billed, dollars, price_at
from ..money.economics import Accounting, CallUsage, cost_of_call

_NOTHING: Final = Decimal(0)
_CENT: Final = Decimal("0.01")


class Sums(Struct):
    """Sums over requests: input tokens billed (`sent`), read from the cache (`read`), and not sent (`saved`).

    `money` is saved US dollars, None if no price is known.
    """

    requests: int = 0
    sent: int = 0
    read: int = 0
    saved: int = 0
    money: Decimal | None = None

    def add(self, other: Sums) -> None:
        self.requests += other.requests
        self.sent += other.sent
        self.read += other.read
        self.saved += other.saved
        if other.money is not None:
            self.money = (self.money or _NOTHING) + other.money


class SentRequest(Struct, frozen=True):
    """Facts of a request besides its usage.

    `cache` is what may be cached, `caches` and `for_an_hour` whether the client caches and for how long, `saved` the
    tokens not sent, `rewrites` whether a decision came with it.
    """

    model: str | None
    cache: CacheGuess
    saved: int
    caches: bool = True
    for_an_hour: bool = False
    rewrites: bool = False


class Savings:
    """Savings of one conversation. With `watches`, requests went out as they came, and condensed ones are estimated."""

    def __init__(self) -> None:
        self.sums = Sums()
        self._other: int | None = None
        """Tokens of the last request in the form that was not sent."""

    def add(
        self, usage: CallUsage, accounting: Accounting, asked: SentRequest, now: float, *, watches: bool = False
    ) -> Sums:
        """Add a request; return its sums."""
        total = usage.total_tokens(accounting) - usage.output_tokens
        other = max(0, total - asked.saved if watches else total + asked.saved)
        fresh = total - usage.cache_read_tokens - usage.cache_write_tokens
        sent = Billed(usage.cache_read_tokens, usage.cache_write_tokens, fresh, usage.hour_write_tokens)
        if asked.caches:
            read = 0 if watches and asked.rewrites else self._cached(other, asked.cache)
            # Anything behind the client's last cache mark is not cached.
            behind = min(fresh, other - read) if accounting is Accounting.ANTHROPIC else 0
            written = other - read - behind
            if sent.written:
                hour = round(written * sent.hour / sent.written)
            else:
                hour = written if asked.for_an_hour else 0
            unsent = Billed(read, written, behind, hour)
        else:
            unsent = Billed(plain=other)
        self._other = other
        costs = [dollars(each, asked.model, now) for each in (unsent, sent)]
        money = None
        if costs[0] is not None and costs[1] is not None:
            difference = costs[1] - costs[0] if watches else costs[0] - costs[1]
            money = difference if asked.saved or self.sums.saved else _NOTHING
        added = Sums(1, total, usage.cache_read_tokens, asked.saved, money)
        self.sums.add(added)
        return added

    def _cached(self, other: int, cache: CacheGuess) -> int:
        """Return how many of `other` tokens are read from the cache."""
        if cache.is_cold:
            return 0
        if cache.goes_on and self._other is not None:
            return min(other, self._other)
        return max(0, other - cache.fresh)


def cost_of(usage: CallUsage, accounting: Accounting, model: str | None, now: float) -> Decimal | None:
    """Return the US dollars of a call by its usage; None if no price is known."""
    total = usage.total_tokens(accounting) - usage.output_tokens
    price = price_at(model, now, total)
    return cost_of_call(usage, price, accounting) if price else None


def least_cost(tokens: int, model: str | None, now: float) -> Decimal | None:
    """Return the US dollars of input that is read from the cache; None if no price is known."""
    return dollars(Billed(tokens), model, now)


_LAST: Final = 50


class Decided(Struct, frozen=True):
    """A decision with its time, conversation and model."""

    at: float
    conversation: str
    model: str
    decision: Decision

    def __str__(self) -> str:
        decision = self.decision
        words = f"{self.conversation} {self.model}: {decision.reason}"
        if decision.is_change:
            words += f"; {decision.tokens_before:,} → {decision.tokens_after:,} tokens"
        return words


class Fault(Struct, frozen=True):
    """A failure of the proxy itself."""

    at: float
    words: str


class SeenCompaction(Struct):
    """A compaction that a client asked for: from how many tokens to how many, in how many seconds.

    `is_ours` if the client got our answer. Otherwise the model answered, in `model_seconds`. `money` is what the call
    of the model cost in US dollars, or would have cost at least; None if no price is known.
    """

    at: float
    conversation: str
    model: str
    is_ours: bool
    before: int = 0
    after: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0
    money: Decimal | None = None


class SeenClearing(Struct, frozen=True):
    """Results that a client sends as a short text from this request on."""

    at: float
    conversation: str
    model: str
    results: int


class Record:
    """The record of a run. `say` gets a line for each change, compaction and fault."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self.sums = Sums()
        self.decisions: deque[Decided] = deque(maxlen=_LAST)
        self.faults: deque[Fault] = deque(maxlen=_LAST)
        self.fault_count = 0
        self.compactions: list[SeenCompaction] = []
        self.clearings: list[SeenClearing] = []
        self.passed_on: deque[Fault] = deque(maxlen=_LAST)
        """Requests that look like a compaction, but are not certainly one."""
        self._say = say or (lambda _: None)

    def decided(self, decided: Decided) -> None:
        if decided.decision.kind is not DecisionKind.NONE:
            self.decisions.append(decided)
        if decided.decision.is_change:
            self._say(str(decided))

    def failed(self, at: float, words: str) -> None:
        self.faults.append(Fault(at, words))
        self.fault_count += 1
        self._say(words)

    def compacted(self, seen: SeenCompaction) -> None:
        self.compactions.append(seen)
        if seen.is_ours:
            self._say(f"{seen.conversation} {seen.model}: compacted; {seen.before:,} → {seen.after:,} tokens")

    def passed(self, at: float, words: str) -> None:
        self.passed_on.append(Fault(at, words))
        self._say(words)


def summary(record: Record, conversations: int, *, watches: bool) -> str:
    """Return the run in one line."""
    sums = record.sums
    compactions = [*_compactions(record.compactions), *_clearings(record.clearings)]
    if not sums.requests:
        return "; ".join(compactions) or "no request with a conversation has come through"
    came = sums.sent + (0 if watches else sums.saved)
    share = f" ({sums.saved / came:.0%})" if came else ""
    would = "would have saved" if watches else "saved"
    words = (
        f"{plural(sums.requests, 'request')} in {plural(conversations, 'conversation')}; "
        f"{would} {sums.saved:,} of {came:,} input tokens{share}"
    )
    if sums.saved and sums.money is not None:
        words += f", {money_words(sums.money)}"
    faults = [plural(record.fault_count, "fault")] if record.fault_count else []
    return "; ".join([words, *compactions, *faults])


def _compactions(seen: Sequence[SeenCompaction]) -> Iterator[str]:
    """Yield a clause on the compactions answered here, and one on those of the model."""
    for is_ours in (True, False):
        some = [each for each in seen if each.is_ours is is_ours]
        if not some:
            continue
        known = [each for each in some if each.after]
        money = sum((each.money for each in some if each.money is not None), _NOTHING)
        tokens = f"{sum(each.before for each in known):,} → {sum(each.after for each in known):,} tokens"
        seconds = f"{sum(each.seconds for each in known):.1f} s"
        if is_ours:
            at_least = f", saving at least ${money:.2f}" if money >= _CENT else ""
            yield f"answered {plural(len(some), 'compaction')} itself ({tokens} in {seconds}{at_least})"
            continue
        cost = f" and about ${money:.2f}" if money >= _CENT else ""
        took = f"{sum(each.model_seconds for each in some):.0f} s{cost}"
        words = f"the model took {took} for {plural(len(some), 'compaction')}"
        yield words + (f", --compact own would have taken {seconds} ({tokens})" if known else "")


def _clearings(seen: Sequence[SeenClearing]) -> Iterator[str]:
    if seen:
        words = f"the client cleared {plural(sum(each.results for each in seen), 'old result')}"
        yield f"{words} in {plural(len(seen), 'step')}"


def money_words(money: Decimal) -> str:
    """Word the dollars saved, or spent in addition."""
    return f"about ${money:.2f}" if money >= 0 else f"so far at an extra ${-money:.2f}"


PAGE_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""The page loads nothing, and its address, with the token, is sent nowhere."""

_STYLE: Final = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top }
td.n, th.n { text-align: right }
"""


def status_page(record: Record, conversations: Sequence[tuple[str, Sums]], number: int, *, watches: bool) -> str:
    """Build the page, which asks for itself again every few seconds.

    `conversations` are the newest ones, oldest first, with their sums; there were `number` in all.
    """
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5>",
        f"<title>condense proxy</title><style>{_STYLE}</style><h1>condense proxy</h1>",
        f"<p>{escape(summary(record, number, watches=watches)).capitalize()}.</p>",
    ]
    if watches:
        parts.append("<p>Nothing is changed; the figures show what would be saved.</p>")
    rows = [_row(label, sums) for label, sums in reversed(conversations)]
    parts += _table("Conversations", ("conversation", "requests", "sent", "not sent", "cache kept", "money"), rows, 1)
    decisions = [
        (_time(each.at), each.conversation, each.model, each.decision.kind.value, _sizes(each.decision),
         each.decision.reason)
        for each in reversed(record.decisions)
    ]  # fmt: skip
    parts += _table("Decisions", ("time", "conversation", "model", "", "tokens", "why"), decisions)
    compactions = [
        (_time(each.at), each.conversation, each.model, "condense" if each.is_ours else "the model",
         f"{each.before:,} → {each.after:,}" if each.after else "",
         f"{each.seconds if each.is_ours else each.model_seconds:.1f}",
         "" if each.money is None else f"${each.money:.2f}")
        for each in reversed(record.compactions)
    ]  # fmt: skip
    columns = ("time", "conversation", "model", "answered by", "tokens", "seconds", "cost of the call")
    parts += _table("Compactions", columns, compactions) if compactions else []
    clearings = [
        (_time(each.at), each.conversation, each.model, f"{each.results:,}") for each in reversed(record.clearings)
    ]
    fields = ("time", "conversation", "model", "old results")
    parts += _table("Cleared by the client", fields, clearings) if clearings else []
    passed_on = [(_time(each.at), each.words) for each in reversed(record.passed_on)]
    parts += _table("Passed on", ("time", ""), passed_on) if passed_on else []
    faults = [(_time(each.at), each.words) for each in reversed(record.faults)]
    parts += _table("Proxy errors", ("time", ""), faults)
    return "\n".join(parts) + "\n"


def _row(label: str, sums: Sums) -> tuple[str, ...]:
    kept = f"{sums.read / sums.sent:.0%}" if sums.sent else ""
    money = "" if sums.money is None else money_words(sums.money)
    return label, f"{sums.requests:,}", f"{sums.sent:,}", f"{sums.saved:,}", kept, money


def _sizes(decision: Decision) -> str:
    before, after = decision.tokens_before, decision.tokens_after
    return f"{before:,} → {after:,}" if before != after else ""


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Iterable[str]], numbers_from: int | None = None
) -> list[str]:
    """Build a table with its title; columns from `numbers_from` on are aligned to the right."""
    if not rows:
        return [f"<h2>{title}</h2><p>None.</p>"]

    def line(tag: str, cells: Iterable[str]) -> str:
        right = [numbers_from is not None and number >= numbers_from for number in range(len(columns))]
        return "".join(
            f"<{tag}{' class=n' if is_right else ''}>{escape(cell)}</{tag}>"
            for cell, is_right in zip(cells, right, strict=True)
        )

    body = (f"<tr>{line('td', row)}</tr>" for row in rows)
    return [f"<h2>{title}</h2><table><tr>{line('th', columns)}</tr>", *body, "</table>"]
