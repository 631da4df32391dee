"""How much of what a session later needed stands once it is condensed without a model, against simpler ways.

    python benchmarks/quality_probe.py SESSION...
    python benchmarks/quality_probe.py --sizes 0.5 0.2 --worst 5 SESSION...

Each transcript is cut at half and at three quarters of its messages. What came before the cut is condensed to so many
of its tokens; asked are the facts that the assistant wrote after it and the lines that its edits had to match, where
nothing after the cut showed them anew (`condense_cli.quality.probes` has the definitions). Shown are averages over all
cuts, each of which counts the same.

The system prompt and the first request stay as they are for every way, thinking and images are left aside, and texts of
up to two markers stay too. The ways:

- lines: the lines that later work needs, chosen over the whole conversation (`extractive.shorten`),
- summary: the same as one text with headings (`extractive.summary`), next to what the user wrote,
- mask: tool results become markers, the oldest first, then arguments, then texts,
- mask but ten: all tool results but the newest ten become markers, whatever size that gives,
- head, ends: the first lines, or first and last, of every text, as many as fit,
- newest: the oldest texts are dropped.

Transcripts of fewer than 8,000 tokens, cuts after which nothing is asked, and cuts before which more than half of the
tokens may not be touched are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Final

from condense_cli import api
from condense_cli.errors import CondenseError
from condense_cli.exchanges import cut_before
from condense_cli.extractive.parts import Key
from condense_cli.extractive.shorten import shorten_together
from condense_cli.extractive.summary import summarise
from condense_cli.extractive.survey import Survey
from condense_cli.passes import cutting
from condense_cli.quality.probes import Asked, Recall, ask, recall
from condense_cli.tokens import Counter
from condense_cli.transcript import STANDING_ROLES

SIZES: Final = (0.62, 0.47, 0.30)
CUTS: Final = (0.5, 0.75)
SMALLEST: Final = 8_000
MOST_FIXED: Final = 0.5
MARKER: Final = 40
"""Texts of up to so many tokens are not cut by any way."""

COUNT: Final = Counter()


@dataclass(frozen=True)
class Case:
    """The first part of a conversation, and what the second part asks of it."""

    name: str
    survey: Survey
    asked: Asked
    fixed: frozenset[Key]

    @property
    def texts(self) -> dict[Key, str]:
        return {key: part.text for key, part in self.survey.parts.items()}

    @property
    def tokens(self) -> int:
        return sum(map(COUNT, self.texts.values()))

    @property
    def open_keys(self) -> list[Key]:
        return [key for key in self.survey.parts if key not in self.fixed]


Way = Callable[[Case, int], dict[Key, str]]
"""The texts of a case in at most so many tokens."""


def cases_of(path: Path) -> Iterator[Case]:
    """A case for each cut of a transcript."""
    transcript = api.load(path)
    messages = transcript.messages
    if COUNT.transcript(transcript) < SMALLEST:
        return
    for share in CUTS:
        cut = cut_before(messages, int(len(messages) * share))
        asked = ask(messages[:cut], messages[cut:])
        if not asked.facts:
            continue
        survey = Survey(messages[:cut], COUNT)
        first = next((key[0] for key, part in survey.parts.items() if part.is_request), -1)
        standing = {key for key, part in survey.parts.items() if part.role in STANDING_ROLES or key[0] == first}
        case = Case(f"{path.name} at {share:.0%}", survey, asked, frozenset(standing))
        if sum(COUNT(case.texts[key]) for key in standing) <= MOST_FIXED * case.tokens:
            yield case


def lines(case: Case, budget: int) -> dict[Key, str]:
    texts = case.texts
    fixed = sum(COUNT(texts[key]) for key in case.fixed)
    return texts | shorten_together(case.survey, case.open_keys, budget - fixed)


def summary(case: Case, budget: int) -> dict[Key, str]:
    parts = case.survey.parts
    kept = {key: part.text for key, part in parts.items() if key in case.fixed or part.is_request}
    left = budget - sum(map(COUNT, kept.values()))
    return kept | {(-1, 0, ()): summarise(case.survey, 0, len(case.survey.messages), left)}


def _oldest_first(case: Case) -> list[Key]:
    parts = case.survey.parts
    return sorted(case.open_keys, key=lambda key: (not parts[key].is_result, not parts[key].is_argument, key))


def _one_by_one(case: Case, order: Sequence[Key], budget: int, rewrite: Callable[[str], str]) -> dict[Key, str]:
    texts, tokens = case.texts, case.tokens
    done: list[Key] = []
    for key in order:
        if tokens <= budget:
            break
        new = rewrite(texts[key])
        tokens += COUNT(new) - COUNT(texts[key])
        texts[key] = new
        done.append(key)
    # The last of them may have been large: what still fits comes back.
    for key in reversed(done):
        more = COUNT(case.texts[key]) - COUNT(texts[key])
        if tokens + more <= budget:
            texts[key] = case.texts[key]
            tokens += more
    return texts


def _masked(text: str) -> str:
    return cutting.suppress(text) if COUNT(text) > MARKER else text


def mask(case: Case, budget: int) -> dict[Key, str]:
    return _one_by_one(case, _oldest_first(case), budget, _masked)


def mask_but_ten(case: Case, budget: int) -> dict[Key, str]:
    results = [key for key in case.open_keys if case.survey.parts[key].is_result]
    return _one_by_one(case, results[:-10], 0, _masked)


def newest(case: Case, budget: int) -> dict[Key, str]:
    return _one_by_one(case, sorted(case.open_keys), budget, lambda text: "")


def _cut(side: cutting.Side) -> Way:
    def way(case: Case, budget: int) -> dict[Key, str]:
        low, high = 0, 4_000
        best = {**case.texts, **{key: _masked(case.texts[key]) for key in case.open_keys}}
        while low < high:
            limit = (low + high + 1) // 2
            limits = cutting.Limits(limit, limit * 100, side)
            texts = case.texts
            for key in case.open_keys:
                if COUNT(texts[key]) > MARKER:
                    texts[key] = cutting.truncate(texts[key], limits)
            if sum(map(COUNT, texts.values())) <= budget:
                low, best = limit, texts
            else:
                high = limit - 1
        return best

    return way


WAYS: Final[dict[str, Way]] = {
    "lines": lines,
    "summary": summary,
    "mask": mask,
    "mask but ten": mask_but_ten,
    "head": _cut("head"),
    "ends": _cut("both"),
    "newest": newest,
}


def measured(case: Case, way: Way, size: float) -> tuple[Recall, float]:
    """Recall, and the share of the tokens that is left."""
    texts = way(case, int(case.tokens * size))
    found = recall(case.asked, list(case.texts.values()), list(texts.values()))
    return found, sum(map(COUNT, texts.values())) / case.tokens


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--sizes", nargs="+", type=float, default=SIZES, help="shares of the tokens to condense to")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--worst", type=int, default=0, help="name so many cuts with the lowest fact recall")
    options = parser.parse_args(arguments)
    cases: list[Case] = []
    unread = 0
    for path in options.paths:
        try:
            cases += cases_of(path)
        except CondenseError:
            unread += 1
    asked = sum(len(case.asked.facts) for case in cases), sum(len(case.asked.lines) for case in cases)
    print(f"{len(cases)} cuts ask for {asked[0]:,} facts and {asked[1]:,} lines; files that cannot be read: {unread}")
    if not cases:
        return
    print(f"{'size':>5}  {'way':14}{'facts':>8}{'edits':>8}{'tokens':>8}")
    for size in options.sizes:
        for name in options.ways:
            results = [(case.name, *measured(case, WAYS[name], size)) for case in cases]
            facts = mean(found.facts for _, found, _ in results if found.facts is not None)
            edits = [found.edits for _, found, _ in results if found.edits is not None]
            shown = f"{mean(edits):8.3f}" if edits else f"{'-':>8}"
            print(f"{size:5.0%}  {name:14}{facts:8.3f}{shown}{mean(tokens for *_, tokens in results):8.1%}")
            for worst, found, _ in sorted(results, key=lambda result: result[1].facts or 0)[: options.worst]:
                print(f"{'':7}{found.facts:.2f} of {found.facts_asked} facts: {worst}")


if __name__ == "__main__":
    main()
