"""Compute what a recorded session would have cost request by request: untouched, with other tools' methods, with Live.

    python benchmarks/live.py SESSION... --ways untouched "live, economic" --regime anthropic
    python benchmarks/live.py --write
    python benchmarks/live.py SESSION --picture docs/live.svg    draws the cost, request by request

Without sessions, one of each project beside the checkout, of 40,000 to 200,000 tokens. The weights that choose lines
had no part in a session's project (`left_out.py`).

Each request holds the messages before an answer, with a usual client's cache marks: one after the system prompt, one on
the newest message. Prints per session and way: input tokens, those written to and read from the cache, the cost of
input relative to sending everything, the share of the next turn's needs that was still there (facts it wrote, lines its
edits had to match), and processor seconds. Output costs the same in every way and is left out.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import figures
import left_out
from live_sessions import LEAST, MOST, Needs, Session, requests_of, sample, session
from msgspec.structs import replace
from recorded import DOCS, PROJECT, replace_between

from condense_cli import Live, api
from condense_cli.live.conversation import KEEP_RECENT
from condense_cli.live.policies import Moment, Outcome, Policy
from condense_cli.live.replaying import MARK, BlockSizes, Way, answers_in, replayed, untouched
from condense_cli.money.bill import HOUR, Billed, CacheRules, PromptCache, spent
from condense_cli.money.prices import Price

BESIDE = 12_000
"""Tokens of system prompt and tools."""
CLEARED = "[cleared]"
PAGE = DOCS / "live.md"
END = "<!-- end of what Live saves -->"
SHORT = 15_000
"""Tokens of the shortest sessions that are measured."""
ROWS = {
    "untouched": "untouched",
    "cleared, keep 3": "old results cleared at each turn, 3 stay",
    "cleared, keep 10": "old results cleared at each turn, 10 stay",
    "renewed at doublings": "all condensed anew at doublings",
    "live, economic": "**`Live`, `economic`**",
    "live, economic:20": "`Live`, `economic:20`",
    "live, tokens:60000": "`Live`, `tokens:60000`",
}
"""Rows of the page."""


class Regime(NamedTuple):
    """A provider's cache, and its prices relative to input."""

    name: str
    rules: CacheRules
    write: Decimal = Decimal("1.25")
    read: Decimal = Decimal("0.1")

    def cost(self, billed: Billed) -> float:
        """Return the cost in tokens at the input price."""
        price = Price("", "", Decimal(1), None, self.read, self.write)
        found = spent(billed, price)
        assert found is not None
        return float(found.total)


REGIMES = {
    "anthropic": Regime("Anthropic, 5 minutes", CacheRules()),
    "anthropic-1h": Regime("Anthropic, an hour", CacheRules(life=HOUR), write=Decimal(2)),
    "openai": Regime("OpenAI, writes free", CacheRules(needs_marks=False), write=Decimal(1)),
    "openai-5.6": Regime("OpenAI since GPT-5.6", CacheRules(needs_marks=False)),
}


class Doublings:
    """A policy that condenses again whenever new messages are as large as the condensed part."""

    renews = True

    def due(self, moment: Moment) -> str:
        rest = moment.used - BESIDE
        return "doubled" if moment.older > 8_000 and moment.suffix * 2 >= rest else ""

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool:
        return outcome.is_enough


def cleared(keep: int, above: int = 0) -> Way:
    """Clear all results but the newest at each turn, as context editing does."""

    def clear(messages: list[Any], now: float, used: int) -> list[Any]:
        results = [part for message in messages for part in _parts(message) if part.get("type") == "tool_result"]
        if used >= above:
            for part in results[: max(0, len(results) - keep)]:
                part["content"] = CLEARED
        return messages

    return clear


def rewritten(preset: str | None) -> Way:
    """Condense everything at each turn."""

    def rewrite(messages: list[Any], now: float, used: int) -> list[Any]:
        result = api.condense(api.loads(messages, format="anthropic"), preset=preset)
        return api.dump_messages(result)

    return rewrite


def live(policy: str | Policy, model: str | None, preset: str | None, keep_recent: int, life: float = 300.0) -> Way:
    fitting = Live(
        preset=preset, model=model, policy=policy, format="anthropic", keep_recent=keep_recent, cache_life=life
    )
    system = [{"type": "text", "text": "system", **MARK}]

    def fit(messages: list[Any], now: float, used: int) -> list[Any]:
        fitted = fitting.fit(messages, usage=used or None, now=now, system=system)
        if "-v" in sys.argv and fitted.decision.kind != "none":
            print("   ", len(messages), fitted.decision, file=sys.stderr)
        return fitted.messages

    return fit


WAYS: dict[str, Callable[[str | None, str | None, int, float], Way]] = {
    "untouched": lambda model, preset, keep, life: untouched,
    "cleared, keep 3": lambda model, preset, keep, life: cleared(3),
    "cleared, keep 10": lambda model, preset, keep, life: cleared(10),
    "rewritten each turn": lambda model, preset, keep, life: rewritten(preset),
    "renewed at doublings": lambda model, preset, keep, life: live(Doublings(), model, preset, keep, life),
    "live, economic": lambda model, preset, keep, life: live("economic", model, preset, keep, life),
    "live, economic:20": lambda model, preset, keep, life: live("economic:20", model, preset, keep, life),
    "live, share:0.5": lambda model, preset, keep, life: live("share:0.5", model, preset, keep, life),
    "live, tokens:60000": lambda model, preset, keep, life: live("tokens:60000", model, preset, keep, life),
}


class Kept:
    """Counts each next turn's needs, and how many of them the request before it still held."""

    def __init__(self, messages: Sequence[Any], every: int) -> None:
        self.needs, self.last, self.every = Needs(messages), len(messages) - 1, every
        self.start()

    def start(self) -> None:
        self.facts = self.facts_there = self.lines = self.lines_there = 0

    def ask(self, position: int, sent: list[Any], number: int) -> None:
        if number % self.every or position > self.last:
            return
        questions, _ = self.needs.of(position)
        if not (questions.asked.facts or questions.asked.lines):
            return
        standing = questions.standing(api.loads(sent, format="anthropic").messages)
        self.facts += len(questions.asked.facts)
        self.facts_there += len(standing.facts)
        self.lines += len(questions.asked.lines)
        self.lines_there += len(standing.lines)

    def shares(self) -> tuple[float | None, float | None]:
        return (
            self.facts_there / self.facts if self.facts else None,
            self.lines_there / self.lines if self.lines else None,
        )


def _parts(message: Any) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    yield from (part for part in content if isinstance(part, dict)) if isinstance(content, list) else ()


def compacted(recorded: Session) -> Way:
    """Send what the client sent: after its compaction, the result. The request for the summary is not counted."""

    def client(messages: list[Any], now: float, used: int) -> list[Any]:
        if recorded.compacted is None or recorded.left is None or len(messages) <= recorded.compacted:
            return messages
        return [*copy.deepcopy(recorded.left), *messages[recorded.compacted :]]

    return client


def replay(
    recorded: Session, way: Way, rules: CacheRules, sizes: BlockSizes, kept: Kept, *, as_recorded: bool = False
) -> tuple[Billed, float]:
    """Return what is billed for all requests, and the way's processor seconds."""
    seconds = 0.0

    def timed(messages: list[Any], now: float, used: int) -> list[Any]:
        nonlocal seconds
        started = time.process_time()
        sent = way(messages, now, used)
        seconds += time.process_time() - started
        return sent

    whole = Billed()
    kept.start()
    requests = requests_of(recorded, as_recorded=as_recorded)
    for number, (request, sent, billed) in enumerate(replayed(requests, timed, PromptCache(rules, BESIDE), sizes)):
        whole += billed.billed
        kept.ask(request.position, sent, number)
    return whole, seconds


Found = dict[str, list[tuple[float, float | None, float | None]]]
"""Cost, and shares of needs and edit lines that were still there, by way and session."""


class Part(NamedTuple):
    """A table of the page: its mark, what was sent how, and in which ways."""

    mark: str
    regime: str
    least: int
    most: int
    ways: Sequence[str]


PARTS = {
    "long": Part("<!-- written by benchmarks/live.py --write -->", "anthropic", LEAST, MOST, [*ROWS]),
    "hour": Part(
        "<!-- an hour: written by benchmarks/live.py --write -->", "anthropic-1h", LEAST, MOST, ["live, economic"]
    ),
    "short": Part(
        "<!-- short: written by benchmarks/live.py --write -->", "anthropic", SHORT, LEAST, ["live, economic"]
    ),
}


COLOURS = {
    "untouched": "#8b949e",
    "cleared, keep 10": "#d1242f",
    "renewed at doublings": "#bf8700",
    "live, economic": "#1a7f37",
}
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 340, 56, 40, 16
PLOT = WIDTH - LEFT - 190


def costs(path: Path, name: str) -> list[float]:
    """Return the cumulative input cost after each request, in tokens at the input price."""
    recorded = session(path)
    way = WAYS[name](recorded.model, None, KEEP_RECENT, 300.0)
    regime = REGIMES["anthropic"]
    sent = replayed(requests_of(recorded), way, PromptCache(regime.rules, BESIDE), BlockSizes(recorded.factor))
    return [*accumulate(regime.cost(billed.billed) for _, _, billed in sent)]


def svg(lines: dict[str, Sequence[float]]) -> str:
    highest = max(max(line) for line in lines.values())
    number = max(map(len, lines.values()))
    height = HEIGHT - BOTTOM - TOP

    def at(position: int, value: float) -> str:
        return f"{LEFT + PLOT * position / max(1, number - 1):.1f},{TOP + height * (1 - value / highest):.1f}"

    box = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + height * (1 - share)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + PLOT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e1e4e8"/>')
        label = f"{share * highest / 1_000_000:.1f} M"
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#57606a">{label}</text>')
    for name, line in sorted(lines.items(), key=lambda pair: -pair[1][-1]):
        points = " ".join(at(position, value) for position, value in enumerate(line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        end_x, end_y = map(float, at(len(line) - 1, line[-1]).split(","))
        parts.append(f'<text x="{end_x + 8:.1f}" y="{end_y + 4:.1f}" fill="{COLOURS[name]}">{name}</text>')
    middle = LEFT + PLOT / 2
    said = f"{number} requests; cost of all input so far, in tokens at the input price"
    parts.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle" fill="#57606a">{said}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="*", type=Path)
    parser.add_argument("--ways", nargs="*", default=[name for name in WAYS if "rewritten" not in name])
    parser.add_argument("--regime", choices=REGIMES, default="anthropic")
    parser.add_argument("--model", help="whose prices Live reckons with, in place of the recorded model's")
    parser.add_argument("--preset", help="in place of what Live uses by itself")
    parser.add_argument("--keep-recent", type=int, default=KEEP_RECENT)
    parser.add_argument("--recorded-times", action="store_true", help="as the file tells them, not 20 seconds apart")
    parser.add_argument("--every", type=int, default=1, help="ask what is needed at each so manieth request")
    parser.add_argument("-v", action="store_true", help="print each decision")
    parser.add_argument(
        "--write", nargs="*", choices=PARTS, metavar="PART",
        help=f"write these tables ({', '.join(PARTS)}; without a name all) into {PAGE.relative_to(PROJECT)}",
    )  # fmt: skip
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the cost of a session into an SVG file")
    options = parser.parse_args()
    if options.picture:
        if len(options.sessions) != 1:
            parser.error("--picture takes one session")
        path = options.sessions[0]
        options.picture.write_text(svg({name: costs(path, name) for name in COLOURS}))
        figures.keep("picture", [path])
        return
    if options.write is None:
        medians(measured(options.sessions or sample(), options.regime, options.ways, options))
        return
    for name in options.write or PARTS:
        part = PARTS[name]
        paths = sample(least=part.least, most=part.most)
        found = measured(paths, part.regime, part.ways, options)
        medians(found)
        text = f"{len(paths)} recorded sessions:\n\n" + "\n".join(table(found))
        replace_between(PAGE, part.mark, END, text)
        figures.keep("live" if name == "long" else f"live, {name}", paths)


def measured(paths: Sequence[Path], regime_name: str, names: Sequence[str], options: argparse.Namespace) -> Found:
    """Send the requests of sessions in each way, and print what each came to."""
    regime = REGIMES[regime_name]
    found: Found = {}
    print(f"{regime.name}; {options.preset or 'as Live comes'}; keep recent {options.keep_recent}")
    for path in paths:
        recorded = session(path)
        messages, model = recorded.messages, recorded.model
        rules = replace(regime.rules, least=CacheRules.of(options.model or model).least)
        sizes, kept = BlockSizes(recorded.factor), Kept(messages, options.every)
        send = partial(replay, recorded, rules=rules, sizes=sizes, as_recorded=options.recorded_times)
        whole, _ = send(untouched, kept=Kept(messages, 10**9))
        size = sum(piece.tokens for piece in sizes.pieces(messages))
        number = sum(1 for _ in answers_in(messages))
        print(f"\n{path.name[-50:]}: {number} requests, {size:,} tokens, {model}")
        ways = {name: WAYS[name](options.model or model, options.preset, options.keep_recent, rules.life)
                for name in names}  # fmt: skip
        if recorded.compacted is not None:
            ways["the client's own compaction"] = compacted(recorded)
        for name, way in ways.items():
            with left_out.without(path):
                billed, seconds = send(way, kept=kept)
            share, (facts, lines) = regime.cost(billed) / regime.cost(whole), kept.shares()
            found.setdefault(name, []).append((share, facts, lines))
            print(
                f"  {name:27} {billed.tokens:>12,} {billed.written:>11,} {billed.read:>12,} {share:6.2f}"
                f" {_shown(facts)} {_shown(lines)} {seconds:7.1f} s",
                flush=True,
            )
    return found


def medians(found: Found) -> None:
    print("\nMedians: cost, needs there, edit lines there; worst of each")
    for name, rows in found.items():
        costs = [row[0] for row in rows]
        known = [[each for row in rows if (each := row[at]) is not None] for at in (1, 2)]
        print(
            f"  {name:27} {statistics.median(costs):5.2f} {_median(known[0])} {_median(known[1])}"
            f"   {max(costs):5.2f} {_shown(min(known[0], default=None))} {_shown(min(known[1], default=None))}"
        )


def table(found: Found) -> Iterator[str]:
    yield "| way | cost | needs | edit lines | worst cost | worst needs | worst edit lines |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for way, name in ROWS.items():
        if way in found:
            costs, *shares = ([each for row in found[way] if (each := row[at]) is not None] for at in range(3))
            values = [statistics.median(costs), *map(statistics.median, shares), max(costs), *map(min, shares)]
            yield f"| {name} | {' | '.join(f'{value:.2f}'.removeprefix('0') for value in values)} |"


def _shown(share: float | None) -> str:
    return "    –" if share is None else f"{share:5.3f}"


def _median(values: Sequence[float]) -> str:
    return _shown(statistics.median(values) if values else None)


if __name__ == "__main__":
    main()
