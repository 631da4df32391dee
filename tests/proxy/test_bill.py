"""A day's work through proxies that come and go: the closing lines against a bill that is computed apart from them.

The API here keeps a cache as `money/bill.py` models it, and reports what that comes to. The bill is the
difference between that and a sum over the requests as the client made them, by prices and rules that are repeated here.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import Any

import pytest
from build import assistant, call, result, user
from live_conversations import lines
from msgspec.structs import replace
from real import PROJECT, more_of

from condense_cli.live.deciding import CacheGuess
from condense_cli.live.replaying import BlockSizes
from condense_cli.live.state import StateFile
from condense_cli.money.bill import Billed, CacheRules, PromptCache
from condense_cli.money.economics import Accounting, CallUsage
from condense_cli.proxy.forwarding import UsageReader
from condense_cli.proxy.record import Savings, SentRequest, cost_of, money_words, summary
from condense_cli.tokens.factor import typical_of

from .talks import EAGER
from .upstream import Answer, Asked, api, ask, proxied, said

sys.path.insert(0, str(PROJECT / "benchmarks"))

from live_sessions import requests_of, session

DOLLARS = 5 / 1_000_000
"""For a token of input of claude-opus-4-6: https://platform.claude.com/docs/en/about-claude/pricing"""
MODEL = "claude-opus-4-6"
READ, WRITTEN, HOUR = 0.1, 1.25, 2.0
"""Of the price of input."""
SYSTEM = "You write programs. " * 2_000


@dataclass
class Clock:
    """The time, in place of the module."""

    now: float = 1_790_000_000.0

    def time(self) -> float:
        return self.now


@dataclass
class Till:
    """An API with a cache; what it bills, and what the requests of the client would have come to."""

    clock: Clock
    life: str
    sizes: BlockSizes = field(default_factory=lambda: BlockSizes(typical_of(MODEL)))
    refuses: Callable[[Asked], str | None] = lambda _: None
    sent: Billed = field(default_factory=Billed)
    came: Billed = field(default_factory=Billed)

    def __post_init__(self) -> None:
        rules = CacheRules(life=3_600 if self.life == "1h" else 300)
        self._beside = self.sizes.pieces([{"role": "system", "content": SYSTEM}])[0].tokens
        self._cache = PromptCache(rules, self._beside)
        self._before: list[tuple[bytes, int]] = []
        self._last = -inf

    def respond(self, asked: Asked) -> Answer:
        words = self.refuses(asked)
        if words is not None:
            return said({"type": "error", "error": {"type": "invalid_request_error", "message": words}}, 400)
        billed = self._cache.bill(self.sizes.pieces(asked.json["messages"]), self.clock.now)
        self.sent += billed
        usage = {
            "input_tokens": billed.plain,
            "cache_read_input_tokens": billed.read,
            "cache_creation_input_tokens": billed.written,
            "cache_creation": {f"ephemeral_{self.life}_input_tokens": billed.written},
            "output_tokens": 9,
        }
        return said({"usage": usage})

    def as_it_came(self, messages: Sequence[Any]) -> None:
        """Add a request as the client made it: what is as in the request before is read, unless that was long ago."""
        pieces = [(piece.content, piece.tokens) for piece in self.sizes.pieces(messages)]
        is_warm = self.clock.now - self._last <= (3_600 if self.life == "1h" else 300)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(pieces, self._before, strict=False))
        read = self._beside + sum(piece[1] for piece, _ in same) if is_warm else 0
        self.came += Billed(read, self._beside + sum(tokens for _, tokens in pieces) - read)
        self._before, self._last = pieces, self.clock.now

    @property
    def saved(self) -> float:
        return (self.cost(self.came) - self.cost(self.sent)) * DOLLARS

    def cost(self, billed: Billed) -> float:
        write = HOUR if self.life == "1h" else WRITTEN
        return billed.read * READ + billed.written * write + billed.plain


def day(turns: int) -> list[list[Any]]:
    """The requests of a client: results that nobody needs any more, one after another."""
    messages: list[Any] = [user("Please find the bug.")]
    found = []
    for n in range(turns):
        found.append([*messages])
        use = [{"type": "text", "text": f"I look at {n}."}, call(f"t{n}", "Bash", command=f"cat src/{n}.py")]
        messages += [assistant(use), user([result(f"t{n}", lines(f"file{n}", 150))])]
    return found


def marked(messages: Sequence[Any], life: str) -> list[Any]:
    """As a client marks them: the newest message, and the one before that is the user's."""
    mark = {"cache_control": {"type": "ephemeral", **({"ttl": "1h"} if life == "1h" else {})}}
    found = [*messages]
    for at in [at for at in range(len(found)) if found[at]["role"] == "user"][-2:]:
        content = found[at]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        found[at] = {**found[at], "content": [*parts[:-1], {**parts[-1], **mark}]}
    return found


def work_through(
    days: Sequence[Sequence[list[Any]]], till: Till, state: Path, monkeypatch: pytest.MonkeyPatch,
    pauses: Sequence[int], **settings: Any,
) -> list[str]:  # fmt: skip
    """Each day in a process of its own, after a pause of some seconds; the closing lines."""
    for module in ("condense_cli.live.conversation.time", "condense_cli.proxy.app.time"):
        monkeypatch.setattr(module, till.clock)
    mark = {"cache_control": {"type": "ephemeral", **({"ttl": "1h"} if till.life == "1h" else {})}}
    told, money = [], 0.0
    with api(till.respond) as service:
        for requests, pause in zip(days, pauses, strict=True):
            till.clock.now += pause
            with proxied(service.url, StateFile(state), **{**EAGER, **settings}) as running:
                for messages in requests:
                    body: dict[str, Any] = {"model": MODEL, "max_tokens": 9, "messages": marked(messages, till.life)}
                    body["system"] = [{"type": "text", "text": SYSTEM, **mark}] * 2
                    while ask(f"{running.url}/v1/messages", json=body).status_code != 200:
                        till.clock.now += 1
                    till.as_it_came(body["messages"])
                    till.clock.now += 20
                record = running.proxy.record
                told.append(summary(record, running.proxy.conversations.number, watches=False))
                assert record.sums.money is not None
                money += float(record.sums.money)
    # What was taken away is an estimate, in tokens of the model.
    assert money == pytest.approx(till.saved, rel=0.1, abs=0.01 * till.cost(till.came) * DOLLARS)
    return told


ODD = "messages.7: something is wrong"


def wrong(kinds: Sequence[str]) -> Callable[[Asked], str | None]:
    """Refuses every sixth request and the next ones, for one reason after another."""
    waiting = [*kinds]
    number = 0

    def refuses(_: Asked) -> str | None:
        nonlocal number
        number += 1
        return waiting.pop(0) if number % 6 == 0 and waiting else None

    return refuses


GUESSES = {
    "cold": CacheGuess(is_cold=True, fresh=1_000),
    "known": CacheGuess(fresh=1_000),
    "next": CacheGuess(False, 9, True),
}


# A request of 50,000 tokens, 40,000 of them read, that would have had 20,000 more: by hand.
@pytest.mark.parametrize(
    ("cache", "hour", "as_it_came"),
    [
        ("cold", 0, 70_000 * WRITTEN),
        ("cold", 10_000, 70_000 * HOUR),
        ("known", 0, 69_000 * READ + 1_000 * WRITTEN),
        ("next", 0, 60_000 * READ + 10_000 * WRITTEN),
        ("next", 10_000, 60_000 * READ + 10_000 * HOUR),
    ],
)
def test_what_one_request_saves(cache: str, hour: int, as_it_came: float) -> None:
    savings = Savings()
    asked = SentRequest(MODEL, GUESSES["cold"], 20_000)
    savings.add(CallUsage(0, 5, 40_000), Accounting.ANTHROPIC, asked, 1_790_000_000.0)
    usage = CallUsage(0, 5, 10_000, 40_000, hour_write_tokens=hour)
    added = savings.add(usage, Accounting.ANTHROPIC, replace(asked, cache=GUESSES[cache]), 1_790_000_020.0)
    sent = 40_000 * READ + (10_000 - hour) * WRITTEN + hour * HOUR
    assert float(added.money or 0) == pytest.approx((as_it_came - sent) * DOLLARS)


def test_what_is_kept_for_an_hour_is_read() -> None:
    reader = UsageReader("application/json", "")
    lives = {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 90}
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 97, "cache_creation": lives}
    reader.feed(json.dumps({"usage": usage}).encode())
    reader.end()
    assert reader.usage(Accounting.ANTHROPIC) == CallUsage(1, 2, 97, 0, hour_write_tokens=90)


def test_no_call_costs_less_than_nothing() -> None:
    usage = CallUsage(100, 0, cache_read_tokens=1_000)
    assert (cost_of(usage, Accounting.OPENAI, "gpt-5", 1_790_000_000.0) or -1) > 0


def test_what_was_saved_in_dollars() -> None:
    said = [money_words(Decimal(cents) / 100) for cents in (150, 0, -150)]
    assert said == ["about $1.50", "about $0.00", "so far at an extra $1.50"]


# A client that caches nothing would have paid for all of it as input; so would one of a model without a cache.
def test_what_a_request_saves_without_a_cache() -> None:
    asked = SentRequest(MODEL, GUESSES["next"], 20_000, caches=False)
    added = Savings().add(CallUsage(0, 5, 10_000, 40_000), Accounting.ANTHROPIC, asked, 1_790_000_000.0)
    assert float(added.money or 0) == pytest.approx((70_000 - 40_000 * READ - 10_000 * WRITTEN) * DOLLARS)


@pytest.mark.slow
@pytest.mark.parametrize("life", ["5m", "1h"])
@pytest.mark.parametrize("pauses", [(0, 60, 60), (0, 4_000, 1_000)])
def test_the_closing_lines_are_the_bill(
    life: str, pauses: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    till = Till(Clock(), life, refuses=wrong(["prompt is too long", ODD, "Your credit balance is too low", ODD]))
    requests = day(36)
    days = [requests[:12], requests[12:24], requests[24:]]
    settings = {"policy": "tokens:60000", "keep_recent": 2}
    told = work_through(days, till, tmp_path / "live.db", monkeypatch, pauses, **settings)
    assert all("about $" in line or "extra" in line for line in told[1:])


RECORDED = [path for path in more_of("claude-code") if 700_000 < path.stat().st_size < 770_000]
"""Long enough for decisions, and no longer."""


# Recorded sessions as their clients sent them, with a proxy of its own for each third of the requests.
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name[:20])
def test_recorded_days(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = session(path)
    requests = [request.messages for request in requests_of(found)]
    third = len(requests) // 3
    days = [requests[:third], requests[third : 2 * third], requests[2 * third :]]
    till = Till(Clock(), "1h", refuses=wrong([ODD, "prompt is too long", ODD, ODD]))
    work_through(days, till, tmp_path / "live.db", monkeypatch, (0, 600, 20_000), policy="economic", preset=None)
