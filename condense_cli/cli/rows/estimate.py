"""`condense estimate` on a set of rows: what presets make of all rows together."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ...core.wording import plural
from ...report.costs.facts import dollars
from ...report.run import facts as report_facts
from ...report.text.tokens import of_several
from ...report.text.visible import visible
from ...rows import facts
from ...rows.reading import opened
from ...storage.files import STDIO
from ...storage.processes import usable_processors
from ..console import console, print_lines, print_parts, write_text
from ..reading import name_of
from ..running.work import Treatment, Work
from .condensing import RowsTask, condense_rows
from .running import bad_rows, report_of

if TYPE_CHECKING:
    from ...calling import Calls
    from ...config.base import ProviderSettings
    from ...config.models import Configuration
    from ...core.factor import CountName
    from ...rows.reading import RowKind


class RowsEstimate(Struct, frozen=True):
    """A report for every preset, as `condense run --json` gives it; the one that leaves the least first."""

    version: int
    input: str
    format: str
    presets: list[facts.SetReport]


def estimate_rows(
    file: str,
    kind: RowKind,
    presets: Sequence[tuple[str, Configuration]],
    providers: dict[str, ProviderSettings],
    *,
    model: str | None,
    how: CountName,
    calls: Calls,
    json: bool,
) -> None:
    """Show what each preset makes of the rows. The file is read once for each. Raises CondenseError."""
    reports = []
    with _readable_again(file) as path:
        for name, configuration in presets:
            treatment = Treatment(Work(configuration, providers, model=model, count=how), calls, name)
            task = RowsTask(path, kind, treatment, is_written=False)
            outcome = condense_rows(task, None, usable_processors())
            reports.append(report_of(name_of(path), None, treatment, outcome, is_written=False))
    reports.sort(key=lambda report: (report.tokens.after, report.configuration))
    if json:
        write_text(report_facts.to_json(RowsEstimate(report_facts.SHAPE, name_of(file), "rows", reports)))
    else:
        _show(name_of(file), reports)


@contextmanager
def _readable_again(file: str) -> Iterator[str]:
    """The file, or a copy of standard input on disk."""
    if file != STDIO:
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="condense-") as folder:
        path = Path(folder, "stdin.jsonl")
        with opened(STDIO) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
        yield str(path)


def _show(name: str, reports: Sequence[facts.SetReport]) -> None:
    from rich.text import Text

    from ...report.text.fitted_table import fitted_table

    screen = console()
    first = reports[0]
    screen.print(visible(f"{name}: {plural(first.rows.total, 'row')}, {first.tokens.before:,} tokens"), style="bold")
    screen.print()
    rows = [
        [
            each.configuration,
            f"{each.tokens.after:,}",
            f"{each.tokens.saved_percent:.1f}%",
            f"{each.rows.changed:,}",
            *([_reading(each)] if _has_prices(reports) else []),
        ]
        for each in reports
    ]
    columns = ("preset", "tokens after", "saved", "rows changed", *(("read once",) if _has_prices(reports) else ()))
    screen.print(fitted_table(columns, rows, tuple(range(1, len(columns))), screen.width, flexible=0))
    screen.print()
    print_lines(bad_rows(first.problems, first.rows.bad, name), "red")
    if first.tokens.count == "o200k":
        print_lines([of_several("o200k")], "dim")
    elif not first.tokens.exact:
        print_lines([f"Counted with {first.tokens.encoding}, an estimate."], "dim")
    if not _has_prices(reports):
        print_lines(["The cost of reading is unknown; name the model with --model."], "dim")
    warnings = dict.fromkeys(line for each in reports for line in each.warnings)
    print_parts(Text(visible(f"Warning: {line}"), style="yellow") for line in warnings)


def _has_prices(reports: Sequence[facts.SetReport]) -> bool:
    return any(entry.before is not None for entry in reports[0].reading)


def _reading(report: facts.SetReport) -> str:
    before, after = facts.paid(report)
    return f"{dollars(before)} → {dollars(after)}"
