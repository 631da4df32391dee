"""Measure how much of what later work needs a recap holds per token, next to `max`, the ledger alone, and clients.

    python benchmarks/recaps.py                     sessions of many clients
    python benchmarks/recaps.py ~/.claude/projects  your own
    python benchmarks/recaps.py --compactions       our text of a compaction, next to what clients left at their own

Lines are chosen with weights that a session's project had no part in (`left_out.py`). Sessions are cut at half and at
three quarters of their messages. Each way gets the conversation before the cut and a limit in model tokens; the
questions come from the rest. Where a client compacted, its own summary answers the same questions, next to a recap of
the summary's size. Facts and edit lines count if they are on a line of the original; `named` facts are only said in
other words.

With `--compactions`, asked are the facts that the assistant wrote after a compaction and that came from before it.
Ours is held to the size of what the client left, then also to shares of a window of 200,000 tokens. Compactions after
which less than five facts were asked tell nothing, and are left out.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Final, NamedTuple

import left_out
from recorded import MORE, TRANSCRIPTS, readable

from condense_cli.api.evaluating import configured
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Block, Message, Place, Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats.compacted import CompactionKind, compactions, stretches
from condense_cli.ledger.collect import collect
from condense_cli.ledger.compaction import compaction
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
SHARES: Final = (0.05, 0.1, 0.15)
WINDOW: Final = 200_000
LEAST: Final = 5
OURS: Final = "condense"
BEHIND: Final = 5.0
"""Points by which our text of a compaction may be behind the client's."""
MAX: Final = configured("max", load_preset("max"))


def told(text: str) -> list[Message]:
    return [Message(0, Role.USER, (Block(BlockKind.TEXT, Place(0, ()), (), content=text),))]


def recap_to(case: Case, target: int) -> Sequence[Message]:
    return told(build_recap(case.before.messages, target, case.count).text)


def ledger_to(case: Case, target: int) -> Sequence[Message]:
    return told(render(fit(collect(case.before.messages), target, case.count)))


def text_to(case: Case, target: int) -> Sequence[Message]:
    return told(compaction(case.before.messages, target, case.count).text)


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


class Kept(NamedTuple):
    """Tokens of a text, and the facts that it tells, in percent of those that were asked."""

    tokens: int
    found: float
    named: float

    @property
    def both(self) -> float:
        return self.found + self.named


class OurText(NamedTuple):
    name: str
    tokens: int
    asked: int
    kept: dict[str, Kept]


def ways(factor: Factor) -> list[Way]:
    """Return our text at the client's size, and at each share of the window whatever that is."""

    def to(share: float) -> Way:
        tokens = int(share * WINDOW)
        return Way(f"{OURS}, {share:.0%} of the window", lambda case, _: text_to(case, factor.bare(tokens)))

    return [Way(OURS, text_to), *map(to, SHARES)]


def at_compactions(transcript: Transcript, name: str, count: Counter, factor: Factor) -> Iterator[OurText]:
    found = compactions(transcript.source, transcript.format) or []
    for number, stretch in enumerate(stretches(transcript, found), 1):
        if stretch.compacted.kind is CompactionKind.CLEARED:
            continue
        judged = judge(stretch, ways(factor), count, factor)
        if isinstance(judged, Judged) and judged.facts >= LEAST:
            facts = {left.way: (left.tokens, left.recall.facts) for left in judged.left if left.recall is not None}
            shares = {
                way: Kept(tokens, 100 * of.standing / of.asked, 100 * of.named / of.asked)
                for way, (tokens, of) in facts.items()
            }
            yield OurText(f"{name} {number}", judged.tokens, judged.facts, shares)


def of_each(found: Sequence[OurText]) -> str:
    lines = [
        "| compaction | tokens | left | facts asked | client: found | named | both | ours: found | named | both |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in found:
        client, ours = each.kept[CLIENT], each.kept[OURS]
        figures = " | ".join(f"{of:.0f}%" for kept in (client, ours) for of in (*kept[1:], kept.both))
        lines.append(f"| {each.name} | {each.tokens:,} | {client.tokens:,} | {each.asked} | {figures} |")
    return "\n".join(lines)


def medians(found: Sequence[OurText]) -> str:
    lines = ["| way | compactions | tokens | found | named | both |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for way in found[0].kept:
        all_kept = [each.kept[way] for each in found if way in each.kept]
        figures = " | ".join(
            f"{median(of):.1f}%" for of in zip(*((*kept[1:], kept.both) for kept in all_kept), strict=True)
        )
        tokens = median(kept.tokens for kept in all_kept)
        lines.append(f"| {way or 'client'} | {len(all_kept)} | {tokens:,.0f} | {figures} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="sessions, or folders of them")
    parser.add_argument("--compactions", action="store_true", help="our text of a compaction, next to the client's")
    options = parser.parse_args(arguments)
    cut: list[tuple[str, Left]] = []
    compacted: list[tuple[str, Left]] = []
    texts: list[OurText] = []
    for path in options.paths or ([MORE, TRANSCRIPTS] if options.compactions else [MORE]):
        for file, transcript in readable(files_in(path) if path.is_dir() else [path]):
            count = Counter.of(transcript)
            factor = factor_of(transcript, count)
            with left_out.without(file):
                if options.compactions:
                    texts += at_compactions(transcript, file.stem.split("-")[0], count, factor)
                else:
                    cut += at_cuts(transcript, count, factor)
                    compacted += of_clients(transcript, count, factor)
    if not options.compactions:
        print(table(cut), "\nAt compactions of clients:\n", table(compacted), sep="\n")
    elif not texts:
        print("No compaction was found after which enough was asked.")
    else:
        behind = [each.name for each in texts if each.kept[OURS].both < each.kept[CLIENT].both - BEHIND]
        print(of_each(texts), medians(texts), sep="\n\n")
        print(f"\nMore than {BEHIND:.0f} points behind the client: {', '.join(behind) or 'none'}.")


if __name__ == "__main__":
    main()
