"""The facts and the report of `condense inspect --history`: what sessions cost by source and by rebuilt cache.

A source is in every request from the one that it came with on. What that cost is its share of what each of them was
billed: the beginning of a request is what was read from the cache, then comes what was written, then the rest.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from operator import add
from typing import Final

from msgspec import Struct, field
from msgspec.structs import astuple

from ..core.transcript import Block, Message, Transcript, calls_by_id
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..core.wording import plural
from ..formats.requests import RecordedRequest, recorded_requests
from ..money.bill import (
    Billed,
    BilledPart,
    BilledRequest,
    CacheRules,
    InputDollars,
    PromptCache,
    extra,
    price_at,
    rebuilding,
    spent,
)
from ..tokens.counting import Counter
from ..tokens.factor import Factor
from ..toolcalls.tools import path_argument
from ..window.use import overhead_of
from .costs import dollars
from .sections import BLANK, SHAPE, Part, Sentence, Table, as_warnings
from .text import percent_text

BESIDE: Final = "system prompt and tools"
_SECONDS: Final = 20.0
"""Between requests if the file has no times."""
_MOST_OFF: Final = 1.5
"""Factor between what is counted and what was billed for it that is taken for a mistake of counting."""
_LABEL: Final = 80
"""Characters of a prompt that name it."""


class SourceCost(Struct):
    """Cost of a file, a tool, a prompt, and so on: `tokens` at most, in so many requests, and both multiplied.

    `dollars` is a part of what these requests cost; those without a known price are left out.
    """

    kind: str
    name: str
    tokens: int = 0
    requests: int = 0
    token_requests: int = 0
    dollars: float = 0.0


class RebuiltCache(Struct, frozen=True):
    """A request that wrote again what the one before it had cached: how many tokens, why, and the dollars more that
    this cost than reading them; None if no price is known. `pause` are the seconds since the request before."""

    input: str
    request: int
    time: str | None
    cause: str
    tokens: int
    dollars: Decimal | None
    pause: float | None


class RebuildsByCause(Struct, frozen=True):
    """All rebuildings of one cause: how often, how many tokens, and the dollars more, as far as prices are known."""

    cause: str
    times: int
    tokens: int
    dollars: Decimal


class DollarsByKind(Struct, frozen=True):
    """US dollars for input: read from the cache, written to it, and neither."""

    read: Decimal
    written: Decimal
    plain: Decimal
    total: Decimal

    @classmethod
    def of(cls, found: InputDollars) -> DollarsByKind:
        return cls(found.read, found.written, found.plain, found.total)


class WhatIf(Struct, frozen=True):
    """The requests sent again as they were, and with the proxy, both billed by the cache's rules.

    `decisions` condensed something.
    """

    policy: str
    requests: int
    decisions: int
    tokens: int
    tokens_with: int
    dollars: Decimal
    dollars_with: Decimal

    def __add__(self, other: WhatIf) -> WhatIf:
        sums = [one + two for one, two in zip(astuple(self)[1:], astuple(other)[1:], strict=True)]
        return WhatIf(self.policy, *sums)


class SpentHistory(Struct, frozen=True):
    """Of `requests`, `recorded` are billed as the file says, the others by the cache's rules; `unpriced` have no
    known price and no dollars. `repeated` ones are recorded in an earlier file, too, and `unbilled`
    ones have no usage in a file that has it of others, as where they were interrupted: neither is among `requests`."""

    version: int
    inputs: list[str]
    unread: list[str]
    requests: int
    recorded: int
    unpriced: int
    repeated: int
    unbilled: int
    tokens: Billed
    dollars: DollarsByKind
    sources: list[SourceCost]
    more_sources: int
    causes: list[RebuildsByCause]
    rebuildings: list[RebuiltCache]
    what_if: WhatIf | None = None


class FileHistory(Struct):
    """Figures of one file, which a history adds up."""

    name: str
    requests: int = 0
    recorded: int = 0
    unpriced: int = 0
    repeated: int = 0
    unbilled: int = 0
    tokens: Billed = Billed()
    dollars: InputDollars = InputDollars()
    sources: dict[tuple[str, str], SourceCost] = field(default_factory=dict)
    rebuildings: list[RebuiltCache] = field(default_factory=list)
    what_if: WhatIf | None = None


def build(found: Sequence[FileHistory], unread: Sequence[str], *, top: int | None) -> SpentHistory:
    """Add the histories of files up. The `top` dearest sources and rebuildings are listed, or all of them."""
    sources: dict[tuple[str, str], SourceCost] = {}
    for one in found:
        for key, source in one.sources.items():
            into = sources.setdefault(key, SourceCost(*key))
            into.tokens = max(into.tokens, source.tokens)
            into.requests += source.requests
            into.token_requests += source.token_requests
            into.dollars += source.dollars
    rebuildings = [each for one in found for each in one.rebuildings]
    sent_again = [one.what_if for one in found if one.what_if is not None]
    dearest = sorted(sources.values(), key=lambda each: (-each.dollars, -each.token_requests))
    return SpentHistory(
        SHAPE,
        [one.name for one in found],
        list(unread),
        sum(one.requests for one in found),
        sum(one.recorded for one in found),
        sum(one.unpriced for one in found),
        sum(one.repeated for one in found),
        sum(one.unbilled for one in found),
        sum((one.tokens for one in found), Billed()),
        DollarsByKind.of(sum((one.dollars for one in found), InputDollars())),
        dearest[:top],
        len(dearest[top:]) if top else 0,
        sorted(_by_cause(rebuildings), key=lambda each: (-each.dollars, -each.tokens)),
        sorted(rebuildings, key=lambda each: (-(each.dollars or 0), -each.tokens))[:top],
        reduce(add, sent_again) if sent_again else None,
    )


def _by_cause(rebuildings: Sequence[RebuiltCache]) -> Iterator[RebuildsByCause]:
    for cause in dict.fromkeys(each.cause for each in rebuildings):
        some = [each for each in rebuildings if each.cause == cause]
        dollars = sum((each.dollars for each in some if each.dollars is not None), Decimal(0))
        yield RebuildsByCause(cause, len(some), sum(each.tokens for each in some), dollars)


def history_of(
    transcript: Transcript, count: Counter, factor: Factor, name: str, seen: set[BilledRequest]
) -> FileHistory:
    """Bill the requests of one file, but for those `seen` in another: a copy or fork has them, too."""
    found = FileHistory(name)
    overhead, _ = overhead_of(transcript, count, factor)
    cache: PromptCache | None = None
    before: BilledRequest | None = None
    hour, now = transcript.lives_hour, 0.0
    parts: list[list[_Part]] = []
    messages: Sequence[Message] = ()
    requests = [*recorded_requests(transcript)]
    has_usage = any(request.billed is not None for request in requests)
    for request in requests:
        if has_usage and request.billed is None:
            found.unbilled += 1
            continue
        if request.messages is not messages:
            messages = request.messages
            calls = calls_by_id(messages)
            parts = [[*_parts(message, transcript, calls, count, factor)] for message in messages]
        sent = [part for some in parts[: request.sent] for part in some]
        now = now + _SECONDS if request.at is None else request.at
        billed = request.billed
        hour = hour if billed is None or not billed.written else 2 * billed.hour > billed.written
        rules = CacheRules.of(request.model, for_an_hour=hour)
        if billed is None:
            cache = cache or PromptCache(rules, overhead)
            marked = [BilledPart(part.content, part.tokens, part is sent[-1]) for part in sent]
            billed = cache.bill(marked, now, request.model or "")
        after = BilledRequest(billed, request.at, request.model)
        if request.billed is not None and request.at is not None:
            if after in seen:
                found.repeated += 1
                before = after
                continue
            seen.add(after)
        found.recorded += request.billed is not None
        _add(found, sent, after, now, overhead)
        if before is not None:
            found.rebuildings += _rebuilt(found, request, before, after, rules, now)
        before = after
    return found


class _Part(Struct, frozen=True):
    """A block: its source, its tokens, and what tells it from others."""

    source: tuple[str, str]
    tokens: int
    content: bytes


def _parts(
    message: Message, transcript: Transcript, calls: Mapping[str, Block], count: Counter, factor: Factor
) -> Iterator[_Part]:
    for number, block in enumerate(message.blocks):
        content = f"{message.role}{block.kind}{block.call_id}{block.text}{block.digest}".encode("utf-8", "replace")
        yield _Part(_source(message, number, block, transcript, calls), factor.shown(count.block(block)), content)


def _source(
    message: Message, number: int, block: Block, transcript: Transcript, calls: Mapping[str, Block]
) -> tuple[str, str]:
    call = block if block.kind is BlockKind.TOOL_CALL else calls.get(block.answers or block.call_id or "")
    if call is not None:
        path = path_argument(call)
        return ("tool", call.tool or "") if path is None else ("file", path)
    if block.kind is BlockKind.THINKING:
        return "thinking", ""
    if message.role in STANDING_ROLES:
        return "system prompt", ""
    if message.role is Role.ASSISTANT:
        return "answers", ""
    if message.is_summary or block.summarizes:
        return "summary", ""
    if block.injected:
        first = block.text.partition("\n")[0]
        return ("instructions", first) if first.endswith(".md") and len(first) < _LABEL else ("client text", "")
    if block.kind is BlockKind.IMAGE:
        return "image", ""
    return "prompt", " ".join(block.text[: 2 * _LABEL].split())[:_LABEL]


def _add(found: FileHistory, sent: Sequence[_Part], after: BilledRequest, now: float, overhead: int) -> None:
    """Divide what a request was billed among what was in it."""
    billed = after.billed
    price = price_at(after.model, now, billed.tokens)
    paid = None if price is None else spent(billed, price)
    found.requests += 1
    found.unpriced += paid is None
    found.tokens += billed
    found.dollars += paid or InputDollars()
    counted = sum(part.tokens for part in sent)
    scale = (billed.tokens - overhead) / counted if counted else 1.0
    if not 1 / _MOST_OFF < scale < _MOST_OFF:  # The file lacks something, or holds what was not sent.
        scale = min(1.0, billed.tokens / counted) if counted else 1.0
    beside = max(0.0, billed.tokens - scale * counted)
    sums: dict[tuple[str, str], float] = {}
    costs: dict[tuple[str, str], float] = {}
    zones = [*_zones(billed, paid or InputDollars())]
    position = 0.0
    for source, tokens in ((("", BESIDE), beside), *((part.source, part.tokens * scale) for part in sent)):
        end = position + tokens
        sums[source] = sums.get(source, 0.0) + tokens
        for start, stop, rate in zones:
            inside = min(end, stop) - max(position, start)
            if inside > 0:
                costs[source] = costs.get(source, 0.0) + inside * rate
        position = end
    for source, tokens in sums.items():
        into = found.sources.setdefault(source, SourceCost(*source))
        into.tokens = max(into.tokens, round(tokens))
        into.requests += 1
        into.token_requests += round(tokens)
        into.dollars += costs.get(source, 0.0)


def _zones(billed: Billed, paid: InputDollars) -> Iterator[tuple[float, float, float]]:
    """Yield where in a request what was read, written, and neither lies, and the dollars for a token there."""
    start = 0
    kinds = ((billed.read, paid.read), (billed.written, paid.written), (billed.plain, paid.plain))
    for tokens, cost in kinds:
        if tokens:
            yield start, start + tokens, float(cost) / tokens
        start += tokens


def _rebuilt(
    found: FileHistory,
    request: RecordedRequest,
    before: BilledRequest,
    after: BilledRequest,
    rules: CacheRules,
    now: float,
) -> Iterable[RebuiltCache]:
    rebuilt = rebuilding(before, after, rules)
    if rebuilt is None:
        return
    price = price_at(after.model, now, after.billed.tokens)
    yield RebuiltCache(
        found.name,
        found.requests,
        None if after.at is None else datetime.fromtimestamp(after.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "compacted" if request.is_first else rebuilt.cause.value,
        rebuilt.tokens,
        None if price is None else extra(rebuilt, after.billed, price),
        None if after.at is None or before.at is None else max(0.0, after.at - before.at),
    )


_NAMED = 3
"""Files that could not be read, by name."""


def sections(found: SpentHistory) -> Iterator[Part]:
    yield from _headline(found)
    if found.sources:
        yield BLANK
        yield _sources(found)
    if found.more_sources:
        yield Sentence(f"{plural(found.more_sources, 'more source')}: --all shows them.", "dim")
    yield BLANK
    yield from _rebuildings(found)
    if found.what_if is not None:
        yield BLANK
        yield from _what_if(found.what_if, found)
    if found.unread:
        names = ", ".join(found.unread[:_NAMED]) + (", …" if len(found.unread) > _NAMED else "")
        yield from as_warnings([f"{plural(len(found.unread), 'file')} could not be read: {names}"])


def _headline(found: SpentHistory) -> Iterator[Sentence]:
    spent, tokens = found.dollars, found.tokens
    cost = "" if found.requests == found.unpriced else f": {dollars(spent.total)} for input"
    where = "" if len(found.inputs) == 1 else f" in {len(found.inputs)} sessions"
    yield Sentence(f"{plural(found.requests, 'request')}{where}{cost}", "bold")
    if not found.requests:
        return
    parts = (
        ("read from the cache", tokens.read, spent.read),
        ("written to it", tokens.written, spent.written),
        ("neither", tokens.plain, spent.plain),
    )
    priced = found.requests > found.unpriced
    yield Sentence(
        "; ".join(
            f"{number:,} tokens {name}" + (f" ({dollars(cost)})" if priced else "")
            for name, number, cost in parts
            if number
        )
    )
    computed = found.requests - found.recorded
    if computed:
        yield Sentence(f"{plural(computed, 'request')} without recorded usage: computed by the cache's rules.", "dim")
    if found.repeated:
        yield Sentence(f"{plural(found.repeated, 'more request')} in copies of these sessions: counted once.", "dim")
    if found.unbilled:
        yield Sentence(f"{plural(found.unbilled, 'more request')} without recorded usage: not billed.", "dim")
    if found.unpriced:
        yield Sentence(
            f"{plural(found.unpriced, 'request')} of models without a known price: not in dollars.", "yellow"
        )


def _sources(found: SpentHistory) -> Table:
    total = float(found.dollars.total)
    rows = [
        [
            f"{each.kind} {each.name}".strip(),
            f"{each.tokens:,}",
            f"{each.requests:,}",
            f"{each.token_requests:,}",
            dollars(Decimal(each.dollars)) if total else "",
            percent_text(100 * each.dollars / total) if total else "",
        ]
        for each in found.sources
    ]
    columns = ("source", "tokens", "requests", "tokens × requests", "cost", "share")
    bars = [round(1_000_000 * each.dollars) for each in found.sources]
    return Table(columns, rows, (1, 2, 3, 4, 5), is_path=False, bars=bars if total else ())


def _rebuildings(found: SpentHistory) -> Iterator[Part]:
    if not found.rebuildings:
        yield Sentence("The cache was never rebuilt.")
        return
    several = len(found.inputs) > 1
    rows = [
        [
            each.time[:16].replace("T", " ") if each.time else "",
            f"{each.request:,}",
            (
                f"{each.cause}, after {each.pause / 60:,.0f} min"
                if each.cause == "expired" and each.pause
                else each.cause
            ),
            f"{each.tokens:,}",
            "" if each.dollars is None else dollars(each.dollars),
            each.input if several else "",
        ]
        for each in found.rebuildings
    ]
    columns = ("cache rebuilt", "request", "why", "tokens", "extra cost", "session" if several else "")
    yield Table(columns, rows, (1, 3, 4), flexible=5, is_path=True)
    told = "; ".join(
        f"{each.cause} {plural(each.times, 'time')}: {each.tokens:,} tokens"
        + (f", {dollars(each.dollars)} extra" if each.dollars else "")
        for each in found.causes
    )
    yield Sentence(f"In all: {told}", "dim")


def _what_if(found: WhatIf, whole: SpentHistory) -> Iterator[Sentence]:
    saved, before = found.dollars - found.dollars_with, found.dollars
    if before:
        share = percent_text(100 * float(abs(saved) / before))
        words = f"saves {dollars(saved)} ({share})" if saved >= 0 else f"costs {dollars(-saved)} more ({share})"
        words += f": {dollars(before)} → {dollars(found.dollars_with)}"
    else:
        words = f"{percent_text(100 * (1 - found.tokens_with / max(1, found.tokens)))} fewer tokens"
    of = f"{found.requests:,} of " if found.requests < whole.requests else ""
    yield Sentence(
        f"With condense proxy ({found.policy}): {words} for {of}{plural(whole.requests, 'request')}, "
        f"{plural(found.decisions, 'decision')}",
        "bold",
    )
    is_billed = before and whole.recorded == whole.requests
    billed = f" (the API billed {dollars(whole.dollars.total)}: compare the shares)" if is_billed else ""
    yield Sentence(
        f"{found.tokens:,} → {found.tokens_with:,} tokens of input; both computed by the cache's rules, at the "
        f"recorded times{billed}. What would be read again because it was cut is not counted.",
        "dim",
    )
