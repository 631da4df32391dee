"""Measure how much of what later work needs a recap holds per token, next to `max`, the ledger alone, and clients.

    python benchmarks/recaps.py                     sessions of many clients
    python benchmarks/recaps.py ~/.claude/projects  your own

Lines are chosen with weights that a session's project had no part in (`left_out.py`). Sessions are cut at half and at
three quarters of their messages. Each way gets the conversation before the cut and a limit in model tokens; the
questions come from the rest. Where a client compacted, its own summary answers the same questions, next to a recap of
the summary's size. Facts and edit lines count if they are on a line of the original; `named` facts are only said in
other words.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import left_out
from recorded import MORE, readable

from condense_cli.api.evaluating import configured
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Block, Message, Place, Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats.compacted import compactions, stretches
from condense_cli.ledger.collect import collect
from condense_cli.ledger.recap import build_recap
from condense_cli.ledger.text import fit, render
from condense_cli.quality.cases import Case, Way, cases_of
from condense_cli.quality.evaluation import CUTS
from condense_cli.quality.recall import Recall, Score
from condense_cli.quality.recorded import CLIENT, Judged, judge
from condense_cli.quality.witnesses import Condensed
from condense_cli.rows.many_files import files_in
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import Factor, factor_of

SIZES: Final = (2_000, 4_000, 8_000)
MAX: Final = configured("max", load_preset("max"))


def told(text: str) -> list[Message]:
    return [Message(0, Role.USER, (Block(BlockKind.TEXT, Place(0, ()), (), content=text),))]


def recap_to(case: Case, target: int) -> Sequence[Message]:
    return told(build_recap(case.before.messages, target, case.count).text)


def ledger_to(case: Case, target: int) -> Sequence[Message]:
    return told(render(fit(collect(case.before.messages), target, case.count)))


RECAP: Final = Way("recap", recap_to)
LEDGER: Final = Way("ledger alone", ledger_to)


class Left(NamedTuple):
    tokens: int
    recall: Recall


class Row(NamedTuple):
    """Results of one way at each cut. Shares are of everything needed, over all cuts."""

    name: str
    found: list[Left]

    @property
    def tokens(self) -> float:
        return fmean(left.tokens for left in self.found)

    def share(self, of: Callable[[Recall], Score], part: Callable[[Score], int]) -> float:
        scores = [of(left.recall) for left in self.found]
        asked = sum(score.asked for score in scores)
        return 100 * sum(map(part, scores)) / asked if asked else 0.0

    def __str__(self) -> str:
        facts = self.share(lambda recall: recall.facts, lambda score: score.standing)
        named = self.share(lambda recall: recall.facts, lambda score: score.named)
        edits = self.share(lambda recall: recall.edits, lambda score: score.standing)
        files = self.share(lambda recall: recall.files, lambda score: score.standing)
        both = facts + edits
        return (
            f"| {self.name} | {len(self.found)} | {self.tokens:,.0f} | {facts:.1f}% | {named:.1f}% | {edits:.1f}% "
            f"| {files:.1f}% | {1_000 * facts / self.tokens:.1f} | {500 * both / self.tokens:.1f} |"
        )


HEADING: Final = (
    "| way | cuts | tokens | facts | only named | edit lines | files | facts per 1,000 tokens | facts and edits |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def at_cuts(transcript: Transcript, count: Counter, factor: Factor) -> Iterator[tuple[str, Left]]:
    """Yield each way's name and size with its result at each cut."""
    cases, _ = cases_of(transcript, CUTS, count, factor=factor)
    for case in cases:
        for setting, as_is in MAX.as_is:
            yield f"max, {setting}", _left(as_is(case), case, factor)
        for size in SIZES:
            for way in (RECAP, MAX, LEDGER):
                if way.to_target is not None and factor.bare(size) < case.tokens:
                    yield f"{way.name}, {size:,}", _left(way.to_target(case, factor.bare(size)), case, factor)


def _left(messages: Sequence[Message], case: Case, factor: Factor) -> Left:
    return Left(factor.shown(case.size_of(messages)), Condensed(messages, case.questions).recall)


def of_clients(transcript: Transcript, count: Counter, factor: Factor) -> Iterator[tuple[str, Left]]:
    """Yield results of clients' own compactions, and of the ways at the same size."""
    found = compactions(transcript.source, transcript.format) or []
    for stretch in stretches(transcript, found):
        judged = judge(stretch, (RECAP, MAX, LEDGER), count, factor)
        for left in judged.left if isinstance(judged, Judged) else ():
            if left.recall is not None:
                yield ("client" if left.way == CLIENT else f"{left.way}, as large"), Left(left.tokens, left.recall)


def table(found: Iterable[tuple[str, Left]]) -> str:
    rows: dict[str, list[Left]] = defaultdict(list)
    for name, left in found:
        rows[name].append(left)
    return "\n".join([HEADING, *(str(Row(name, lefts)) for name, lefts in rows.items())])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="sessions, or folders of them")
    options = parser.parse_args(arguments)
    cut: list[tuple[str, Left]] = []
    compacted: list[tuple[str, Left]] = []
    for path in options.paths or [MORE]:
        for file, transcript in readable(files_in(path) if path.is_dir() else [path]):
            count = Counter.of(transcript)
            factor = factor_of(transcript, count)
            with left_out.without(file):
                cut += at_cuts(transcript, count, factor)
                compacted += of_clients(transcript, count, factor)
    print(table(cut))
    print("\nAt compactions of clients:\n")
    print(table(compacted))


if __name__ == "__main__":
    main()
