"""Measure how much each provider saves on real transcripts, next to the expectation, and what remains.

    python benchmarks/reductions.py                      the transcripts in ../shared/transcripts
    python benchmarks/reductions.py session.jsonl more/  these files, and the files in these folders
    python benchmarks/reductions.py --markdown           the tables in benchmarks/reductions.md

Each provider runs with its default settings, smart with its default phases (a target of half the tokens). The offline
summarizer replaces a model, so that anybody can repeat it; both have the same limits, so lengths are similar. Files of
fewer than 5,000 tokens are left out.

Remaining tokens are shares of the tokens before, by kind. No setting gives up the newest turns, the first request and
standing instructions. Percentages are of the context tokens, markers included. "Of its scope" excludes content that the
provider is not meant to touch.
"""

from __future__ import annotations

import argparse
from collections import Counter as Tally
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct
from prelude import GROUPS, group_of
from recorded import TRANSCRIPTS, files_in, readable

from condense_cli import api
from condense_cli.core.transcript import Block, Message, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Kept
from condense_cli.providers.registry import BUILT_IN
from condense_cli.tokens.counting import MESSAGE_TOKENS, Counter

FOLDERS: Final = ("claude-code", "roo-code", "cline", "openhands-completions", "codex", "swe-agent")
LEAST_TOKENS: Final = 5_000
EXPECTED: Final = {"native": (40, 60), "lossless": (20, 40), "truncation": (80, 90), "smart": (50, 80)}
"""Percent of the tokens to save."""

NEWEST: Final = "newest turns, first request, instructions"
THINKING: Final = "thinking"
WORDS: Final = "words"
PARAMETERS: Final = "parameters of calls"
RESULTS: Final = "results"
SUMMARIES: Final = "summaries"
OTHERS: Final = "images and the rest"
TOUCHED: Final = {
    "native": {WORDS, PARAMETERS, RESULTS, SUMMARIES, THINKING},
    "lossless": {RESULTS},
    "truncation": {RESULTS, PARAMETERS},
    "smart": {RESULTS, PARAMETERS},
}
"""Kinds of content that a provider works on, with its default settings."""

PROTECTED: Final = {Kept.RECENT, Kept.FIRST, Kept.FIRST_REQUEST, Kept.BEFORE_REQUEST, Kept.STANDING}
KINDS: Final = {
    BlockKind.TEXT: WORDS,
    BlockKind.THINKING: THINKING,
    BlockKind.TOOL_CALL: PARAMETERS,
    BlockKind.TOOL_RESULT: RESULTS,
}


class Measured(Struct, frozen=True):
    """One provider on one transcript; `left` has tokens by kind."""

    group: str
    before: int
    after: int
    left: dict[str, int]

    @property
    def saved(self) -> float:
        return 100 * (1 - self.after / self.before)


def measured(transcript: Transcript, group: str, count: Counter) -> dict[str, Measured]:
    found = {}
    for provider in BUILT_IN:
        result = api.condense(transcript, provider.default_configuration(), counter=count)
        found[provider.id] = Measured(group, result.tokens_before, result.tokens_after, left(result, count))
    return found


def left(result: Condensation, count: Counter) -> dict[str, int]:
    """Count the result's tokens by kind."""
    protected = {(one.message, one.block) for one in result.receipts if one.kept in PROTECTED}
    found: Tally[str] = Tally()
    for message in result.transcript.messages:
        found[OTHERS] += MESSAGE_TOKENS
        for number, block in enumerate(message.blocks):
            is_protected = (message.index, number) in protected and not message.is_summary
            found[NEWEST if is_protected else what(message, block)] += count.block(block)
    return dict(found)


def what(message: Message, block: Block) -> str:
    return SUMMARIES if message.is_summary else KINDS.get(block.kind, OTHERS)


def saved(rows: Sequence[Measured]) -> float:
    """Return the percentage saved on all rows together."""
    return 100 * (1 - sum(row.after for row in rows) / sum(row.before for row in rows))


def remaining(rows: Sequence[Measured]) -> list[tuple[str, float]]:
    """Return kinds of remaining content in percent of the tokens before, largest first, above two percent."""
    total: Tally[str] = Tally()
    for row in rows:
        total.update(row.left)
    before = sum(row.before for row in rows)
    return [(name, 100 * tokens / before) for name, tokens in total.most_common() if tokens > before / 50]


def saved_of_touched(provider: str, rows: Sequence[Measured]) -> float:
    """Return the percentage saved of the content that the provider works on."""
    saved_tokens = sum(row.before - row.after for row in rows)
    stays = sum(tokens for row in rows for name, tokens in row.left.items() if name in TOUCHED[provider])
    return 100 * saved_tokens / max(1, saved_tokens + stays)


def verdict(provider: str, rows: Sequence[Measured]) -> str:
    least, most = EXPECTED[provider]
    share = saved(rows)
    if share < least:
        points = round(least - share)
        return f"missed by {points} points" if points > 1 else "missed by a point or less"
    return "met" if share <= most else "met, and more"


def by_provider(rows: dict[str, list[Measured]]) -> str:
    lines = [
        "| provider | expected | saved in total | median file | from - to | files that reach it | "
        "| of its scope | what is left |",
        "| --- | --: | --: | --: | --: | --: | --- | --: | --- |",
    ]
    for provider, (least, most) in EXPECTED.items():
        mine = rows[provider]
        shares = sorted(row.saved for row in mine)
        kept = ", ".join(f"{name} {share:.0f}%" for name, share in remaining(mine))
        reached = sum(share >= least for share in shares)
        cells = [
            f"`{provider}`", f"{least}-{most}%", f"{saved(mine):.0f}%", f"{median(shares):.0f}%",
            f"{shares[0]:.0f}-{shares[-1]:.0f}%", f"{reached} of {len(shares)}", verdict(provider, mine),
            f"{saved_of_touched(provider, mine):.0f}%", kept,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_group(rows: dict[str, list[Measured]]) -> str:
    lines = [
        f"| transcripts | files | tokens | {' | '.join(f'`{provider}`' for provider in EXPECTED)} |",
        f"| --- | --: | --: | {' | '.join('--:' for _ in EXPECTED)} |",
    ]
    for group in GROUPS:
        mine = [[row for row in rows[provider] if row.group == group] for provider in EXPECTED]
        if mine[0]:
            shares = [f"{saved(of_one):.0f}%" for of_one in mine]
            cells = [group, str(len(mine[0])), f"{sum(row.before for row in mine[0]):,}", *shares]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure what each provider saves on transcripts.")
    parser.add_argument("paths", type=Path, nargs="*", help="files and folders (default: ../shared/transcripts)")
    parser.add_argument("--markdown", action="store_true", help="only the tables, for the documentation")
    options = parser.parse_args(arguments)
    paths = options.paths or [TRANSCRIPTS / name for name in FOLDERS if (TRANSCRIPTS / name).is_dir()]
    if not paths:
        parser.error("There are no transcripts beside the project: name files or folders.")
    rows: dict[str, list[Measured]] = {provider: [] for provider in EXPECTED}
    files = files_in(paths)
    read = small = 0
    for path, transcript in readable(files):
        read += 1
        count = Counter.of(transcript)
        if count.transcript(transcript) < LEAST_TOKENS:
            small += 1
            continue
        of_file = measured(transcript, group_of(path, transcript), count)
        for provider, row in of_file.items():
            rows[provider].append(row)
        if not options.markdown:
            shares = "".join(f"{of_file[provider].saved:>12.1f}%" for provider in EXPECTED)
            print(f"{path.name[-48:]:<48}{of_file['native'].before:>9,}{shares}", flush=True)
    if not rows["native"]:
        parser.error(f"No transcript there has {LEAST_TOKENS:,} tokens.")
    print(f"\n{by_provider(rows)}\n\n{by_group(rows)}")
    if not options.markdown:
        print(f"\nLeft out: {small} of fewer than {LEAST_TOKENS:,} tokens, {len(files) - read} that cannot be read.")


if __name__ == "__main__":
    main()
