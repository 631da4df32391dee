"""How much of what later work needed our text of a compaction tells, next to what clients left at their own.

    python benchmarks/compactions.py                     recorded sessions of many clients
    python benchmarks/compactions.py ~/.claude/projects  your own

Lines are chosen with weights that a session's project had no part in (`left_out.py`). Asked are the facts that the
assistant wrote after the compaction and that came from before it. `found` stand on a line of the original, `named` are
said in other words. Both sides are held to the size of what the client left; our text then also to shares of a
window of 200,000 tokens. Compactions after which less than five facts were asked tell nothing, and are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import left_out
from recorded import MORE, TRANSCRIPTS, readable

from condense_cli.core.transcript import Block, Message, Place, Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats.compacted import CompactionKind, compactions, stretches
from condense_cli.ledger.compaction import compaction
from condense_cli.quality.cases import Case, Way
from condense_cli.quality.recorded import CLIENT, Judged, Left, judge
from condense_cli.rows.many_files import files_in
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import Factor, factor_of

SHARES: Final = (0.05, 0.1, 0.15)
LEAST: Final = 5
WINDOW: Final = 200_000
OURS: Final = "condense"
BEHIND: Final = 5.0
"""Points by which ours may be behind the client's."""


class Kept(NamedTuple):
    """Tokens of a text, and the facts that it tells, in percent of those that were asked."""

    tokens: int
    found: float
    named: float

    @property
    def both(self) -> float:
        return self.found + self.named


class Measured(NamedTuple):
    name: str
    tokens: int
    asked: int
    kept: dict[str, Kept]


def written(case: Case, target: int) -> Sequence[Message]:
    text = compaction(case.before.messages, target, case.count).text
    return [Message(0, Role.USER, (Block(BlockKind.TEXT, Place(0, ()), (), content=text),))]


def ways(factor: Factor) -> list[Way]:
    """Return our text at the client's size, and at each share of the window whatever that is."""

    def to(share: float) -> Way:
        tokens = int(share * WINDOW)
        return Way(f"{OURS}, {share:.0%} of the window", lambda case, _: written(case, factor.bare(tokens)))

    return [Way(OURS, written), *map(to, SHARES)]


def measured(transcript: Transcript, name: str) -> Iterator[Measured]:
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    found = compactions(transcript.source, transcript.format) or []
    for number, stretch in enumerate(stretches(transcript, found), 1):
        if stretch.compacted.kind is CompactionKind.CLEARED:
            continue
        judged = judge(stretch, ways(factor), count, factor)
        if isinstance(judged, Judged) and judged.facts >= LEAST:
            yield Measured(f"{name} {number}", judged.tokens, judged.facts, dict(_kept(judged.left)))


def _kept(left: Iterable[Left]) -> Iterator[tuple[str, Kept]]:
    for each in left:
        if each.recall is not None:
            facts = each.recall.facts
            yield each.way, Kept(each.tokens, 100 * facts.standing / facts.asked, 100 * facts.named / facts.asked)


def table(found: Sequence[Measured]) -> str:
    lines = [
        "| compaction | tokens | left | facts asked | client: found | named | both | ours: found | named | both |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in found:
        client, ours = each.kept[CLIENT], each.kept[OURS]
        figures = " | ".join(f"{of:.0f}%" for kept in (client, ours) for of in (*kept[1:], kept.both))
        lines.append(f"| {each.name} | {each.tokens:,} | {client.tokens:,} | {each.asked} | {figures} |")
    return "\n".join(lines)


def medians(found: Sequence[Measured]) -> str:
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
    options = parser.parse_args(arguments)
    found: list[Measured] = []
    for path in options.paths or [MORE, TRANSCRIPTS]:
        for file, transcript in readable(files_in(path) if path.is_dir() else [path]):
            with left_out.without(file):
                found += measured(transcript, file.stem.split("-")[0])
    if not found:
        print("No compaction was found after which enough was asked.")
        return
    behind = [each.name for each in found if each.kept[OURS].both < each.kept[CLIENT].both - BEHIND]
    print(table(found), medians(found), sep="\n\n")
    print(f"\nMore than {BEHIND:.0f} points behind the client: {', '.join(behind) or 'none'}.")


if __name__ == "__main__":
    main()
