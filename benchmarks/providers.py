"""Measure each built-in provider on recorded sessions, with its default settings.

    python benchmarks/providers.py                  prints the figures
    python benchmarks/providers.py --write          and writes them where `condense providers` reads them

Per provider, the range of eight of ten sessions: tokens saved; information lost; cost of its summaries by a model (its
real requests, priced, none made); and the median time for 100,000 tokens without a model. The sessions are those of
`presets.py` with 5,000 to 100,000 tokens.

For the loss each transcript is cut at half and at three quarters of its messages, as by `condense evaluate`. The part
before the cut is condensed, and the facts that the assistant wrote afterwards are looked up. Lost are those on no
verbatim line any more; references are resolved first, since they lose nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime
from statistics import median
from typing import Any, Final, TypeVar

import msgspec
from recorded import PROJECT, readable

import condense_cli
from condense_cli.config.own import UserConfiguration
from condense_cli.config.profiles import Access
from condense_cli.core.transcript import Transcript
from condense_cli.llm.access import Permission, choose
from condense_cli.llm.calls import Caller
from condense_cli.llm.summarizer import Summaries
from condense_cli.lossless.decode import decode
from condense_cli.money import prices
from condense_cli.passes.context import Context
from condense_cli.passes.offline import Offline
from condense_cli.providers.base import Provider
from condense_cli.providers.registry import BUILT_IN
from condense_cli.quality.cases import cases_of
from condense_cli.report.lists.providers import Figures, MeasuredProvider
from condense_cli.rows.many_files import files_in
from condense_cli.tokens.counting import Counter
from presets import SESSIONS

DATA: Final = PROJECT / "condense_cli" / "report" / "lists" / "measured_providers.json"
MODEL: Final = "claude-haiku-4-5"
CUTS: Final = (0.5, 0.75)
TOKENS: Final = range(5_000, 100_000)
PER: Final = 100_000

T = TypeVar("T")


def context(transcript: Transcript) -> Context:
    count = Counter.of(transcript)
    return Context(count=count, summarizer=Offline(count))


def saved_percent(provider: Provider[Any], transcript: Transcript) -> float:
    found = provider.estimate_reduction(transcript, provider.default_configuration(), context(transcript))
    return 100 * (1 - found.tokens_after / found.tokens_before)


def lost_percent(provider: Provider[Any], transcript: Transcript) -> list[float]:
    found = []
    cases, _ = cases_of(transcript, CUTS, Counter.of(transcript))
    for case in cases:
        result = provider.condense(case.before, provider.default_configuration(), context(case.before))
        standing = case.questions(decode(result.transcript.messages).messages).facts.share
        assert standing is not None
        found.append(100 * (1 - standing))
    return found


def cost(provider: Provider[Any], transcript: Transcript) -> str:
    count = Counter.of(transcript)
    user, permission = UserConfiguration(), Permission(MODEL)

    def caller(access: Access) -> Caller:
        return Caller(access, count, datetime.now(UTC), exact=False)

    # The key is never used, because no call is made.
    planner = Summaries(
        count, lambda name: choose(name, None, user, permission, {"ANTHROPIC_API_KEY": "none"}), caller, is_planned=True
    )
    spent = provider.estimate_cost(transcript, provider.default_configuration(), context(transcript), planner)
    return format(spent.cost, "f")


def seconds(provider: Provider[Any], transcript: Transcript, rounds: int) -> float:
    found = []
    for _ in range(rounds):
        means = context(transcript)
        started = time.perf_counter()
        result = provider.condense(transcript, provider.default_configuration(), means)
        found.append((time.perf_counter() - started) * PER / result.tokens_before)
    return median(found)


def figures(provider: Provider[Any], transcripts: list[Transcript], rounds: int) -> Figures:
    saved = [saved_percent(provider, transcript) for transcript in transcripts]
    lost = [percent for transcript in transcripts for percent in lost_percent(provider, transcript)]
    costs = sorted((cost(provider, transcript) for transcript in transcripts), key=float)
    took = [seconds(provider, transcript, rounds) for transcript in transcripts]
    return Figures(
        _most(sorted(round(percent, 1) for percent in saved)),
        _most(sorted(round(percent, 1) for percent in lost)),
        _most(costs),
        round(median(took), 3),
    )


def _most(ordered: Sequence[T]) -> tuple[T, T]:
    """Return the range of eight of ten values."""
    tenth = len(ordered) // 10
    return ordered[tenth], ordered[-1 - tenth]


def recorded() -> list[Transcript]:
    """Return the readable sessions of a suitable length."""
    files = (path for folder in SESSIONS for path in files_in(folder))
    return [each for _, each in readable(files) if Counter.of(each).transcript(each) in TOKENS]


def measure(transcripts: list[Transcript], rounds: int) -> MeasuredProvider:
    today = date.today()
    return MeasuredProvider(
        date=today.isoformat(),
        condense=condense_cli.__version__,
        model=MODEL,
        prices=str(prices.table(today)),
        transcripts=len(transcripts),
        providers={provider.id: figures(provider, transcripts, rounds) for provider in BUILT_IN},
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs whose median time counts")
    parser.add_argument("--write", action="store_true", help=f"write {DATA.relative_to(PROJECT)}")
    options = parser.parse_args(arguments)
    text = msgspec.json.format(msgspec.json.encode(measure(recorded(), options.rounds)), indent=2).decode() + "\n"
    print(text, end="")
    if options.write:
        DATA.write_text(text)


if __name__ == "__main__":
    main()
