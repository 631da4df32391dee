"""The tables of docs/quality.md, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median_low
from typing import Final

from msgspec import Struct

from condense_cli.quality.curves import Mean, Setting, recall_at, settings_of
from condense_cli.quality.evaluation import Evaluated
from condense_cli.quality.recall import RECALLS

PAGE: Final = Path(__file__).resolve().parent.parent.parent / "docs" / "quality.md"
WITNESSES: Final = ("bits", "grounding", "rereads", "old_strings")
"""Those that need no further condensing: other tools cannot go on with what they left."""

BEGIN: Final = "<!-- tables: written by benchmarks/quality/compare.py --write -->"
END: Final = "<!-- end of the tables -->"

CLAUDE: Final = "Sessions of Claude Code"
CALLS: Final = "Other formats with calls as such"
REST: Final = "Formats with calls inside texts"
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    CLAUDE: ("claude-code",),
    CALLS: ("anthropic", "openai-chat", "codex"),
    REST: (),
}
"""Groups of formats; the last takes all others."""


class Found(Struct, frozen=True):
    """When and with which versions it was measured, at which budgets, and what came of it by group."""

    date: str
    versions: dict[str, str]
    budgets: list[float]
    groups: dict[str, list[Evaluated]]


def written(page: str, text: str) -> str:
    """The page with other tables."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def tables(found: Found) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    lines = [f"Measured on {found.date} with {versions}.", ""]
    for group, evaluated in found.groups.items():
        if evaluated:
            lines += _group(group, evaluated, found.budgets)
    return "\n".join(lines)


def _group(group: str, evaluated: Sequence[Evaluated], budgets: Sequence[float]) -> Iterator[str]:
    cuts = [cut for one in evaluated for cut in one.cuts]
    settings = settings_of(cuts)
    yield f"### {group}"
    yield ""
    yield (
        f"{len(evaluated)} transcripts, {len(cuts)} cuts, {sum(cut.tokens for cut in cuts):,} tokens before them. "
        f"Asked are {sum(cut.facts for cut in cuts):,} facts, {sum(cut.lines for cut in cuts):,} lines and "
        f"{sum(cut.files for cut in cuts):,} files. Before half of the cuts there are at most "
        f"{median_low(cut.messages for cut in cuts)} messages."
    )
    yield ""
    yield "Fact, edit and ledger recall in percent at the same size:"
    yield ""
    yield from _table(["way", *(f"{100 * size:.4g} %" for size in budgets)], _at_size(settings, budgets))
    yield ""
    yield "Settings that have a size of their own, at that size:"
    yield ""
    columns = ["way, setting", "size %", "tokens", *RECALLS, "named", *WITNESSES, "seconds", "failed"]
    yield from _table(columns, (_row(setting) for setting in settings if setting.budget is None))
    yield ""


def _at_size(settings: Sequence[Setting], budgets: Sequence[float]) -> Iterator[list[str]]:
    for way in dict.fromkeys(setting.way for setting in settings):
        cells = []
        for size in budgets:
            recalls = [recall_at(settings, way, measure, size) for measure in RECALLS]
            cells.append(" · ".join(map(_percent, recalls)) if any(found is not None for found in recalls) else "–")
        if any(cell != "–" for cell in cells):
            yield [way, *cells]


def _row(setting: Setting) -> list[str]:
    return [
        f"{setting.way}, {setting.setting}",
        _percent(setting.size),
        f"{setting.tokens:,}",
        *(_mean(setting.mean(measure)) for measure in RECALLS),
        _percent(setting.named),
        *(_mean(setting.mean(measure)) for measure in WITNESSES),
        f"{setting.seconds:.1f}",
        str(setting.failed or ""),
    ]


def _mean(mean: Mean | None) -> str:
    return _percent(mean.recall if mean else None)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join(['---', *('---:' for _ in columns[1:])])} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
