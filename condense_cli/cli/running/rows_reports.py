"""Reports on sets of rows: estimate, inspect, validate and restore for all rows of a file together.

Documented in docs/json-report.md.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from msgspec import Struct
from rich.text import Text

from ...calling import Calls
from ...config.base import ProviderSettings
from ...config.models import Configuration
from ...core.factor import CountName
from ...core.tokens import CounterName
from ...core.wording import plural, visible
from ...errors import ExitStatus
from ...report.as_json import SHAPE, to_json
from ...report.costs.money import dollars
from ...report.counted import of_several
from ...report.inspection.facts import CONTENT_TYPES, MARKUP
from ...report.sections import BLANK, Part, Sentence, Table, as_warnings
from ...report.text import TokenShare, ToolShare, percent, tool_shares
from ...rows import facts
from ...rows.condensing import CheckedRows, Contents, LargeRow, Restored, checking, restoring, survey, weighing
from ...rows.facts import Problem
from ...rows.reading import RowKind, opened
from ...storage.files import STDIO
from ...storage.processes import usable_processors
from ..console import console, print_lines, print_parts, write_text
from ..work.reading import name_of
from .job import Treatment, Work
from .rows import RowsTask, StandardOutput, bad_rows, condense_rows, report_of


class RowsEstimate(Struct, frozen=True):
    """A report for every preset, like that of `condense run --json`, the smallest result first."""

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
    """Compare the presets on all rows. The file is read once for each. Raises CondenseError."""
    reports = []
    with _readable_again(file) as path:
        for name, configuration in presets:
            treatment = Treatment(Work(configuration, providers, model=model, count=how), calls, name)
            task = RowsTask(path, kind, treatment, is_written=False)
            outcome = condense_rows(task, None, usable_processors())
            reports.append(report_of(name_of(path), None, treatment, outcome, is_written=False))
    reports.sort(key=lambda report: (report.tokens.after, report.configuration))
    if json:
        write_text(to_json(RowsEstimate(SHAPE, name_of(file), "rows", reports)))
    else:
        _show_estimate(name_of(file), reports)


@contextmanager
def _readable_again(file: str) -> Iterator[str]:
    """Yield the file, or a copy of standard input on disk."""
    if file != STDIO:
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="condense-") as folder:
        path = Path(folder, "stdin.jsonl")
        with opened(STDIO) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
        yield str(path)


def _show_estimate(name: str, reports: Sequence[facts.SetReport]) -> None:
    first, has_prices = reports[0], any(entry.before is not None for entry in reports[0].reading)
    columns = ["preset", "tokens after", "saved", "rows changed", *(["read once"] if has_prices else [])]
    rows = [
        [
            each.configuration,
            f"{each.tokens.after:,}",
            f"{each.tokens.saved_percent:.1f}%",
            f"{each.rows.changed:,}",
            *([_reading(each)] if has_prices else []),
        ]
        for each in reports
    ]
    size = f"{name}: {plural(first.rows.total, 'row')}, {first.tokens.before:,} tokens"
    print_parts([Sentence(size, "bold"), BLANK, Table(columns, rows, range(1, len(columns))), BLANK])
    print_lines(bad_rows(first.problems, first.rows.bad, name), "red")
    if first.tokens.count == "o200k":
        print_lines([of_several("o200k")], "dim")
    elif not first.tokens.exact:
        print_lines([f"Counted with {first.tokens.encoding}, an estimate."], "dim")
    if not has_prices:
        print_lines(["The cost of reading is unknown; name the model with --model."], "dim")
    print_parts(as_warnings([*dict.fromkeys(line for each in reports for line in each.warnings)]))


def _reading(report: facts.SetReport) -> str:
    before, after = facts.paid(report)
    return f"{dollars(before)} → {dollars(after)}"


class RowsInspection(Struct, frozen=True):
    """All rows together; `constants` is what messages cost besides their content. Documented in docs/json-report.md."""

    version: int
    input: str
    format: str
    formats: dict[str, int]
    rows: int
    bad: int
    messages: int
    tokens: int
    constants: int
    estimated: int
    bytes: int
    tokens_per_row: int
    content_types: list[TokenShare]
    tools: list[ToolShare]
    largest_rows: list[LargeRow]
    problems: list[Problem]
    counter: CounterName
    count: CountName


def inspect_rows(
    file: str, kind: RowKind, *, model: str | None, counter: CounterName, how: CountName, top: int, json: bool
) -> None:
    """Show what fills the rows. Raises CondenseError."""
    found = survey(file, name_of(file), kind, Contents, partial(weighing, model, counter, how))
    inspection = _inspection(found, name_of(file), top, counter, how)
    if json:
        write_text(to_json(inspection))
    else:
        print_parts(_inspection_parts(inspection))
        print_lines([of_several(inspection.count)], "dim")
        if inspection.bad:
            print_lines([""])
        print_lines(bad_rows(inspection.problems, inspection.bad, inspection.input), "red")


def _inspection(found: Contents, source: str, top: int, counter: CounterName, how: CountName) -> RowsInspection:
    def share(name: str) -> TokenShare:
        tokens = found.content_types[name]
        return TokenShare(name, tokens, percent(tokens, found.tokens_before), found.blocks[name])

    read = found.rows - found.bad
    return RowsInspection(
        version=SHAPE,
        input=source,
        format="rows",
        formats=dict(sorted(found.formats.items())),
        rows=found.rows,
        bad=found.bad,
        messages=found.messages_before,
        tokens=found.tokens_before,
        constants=found.constants,
        estimated=found.estimated,
        bytes=found.bytes_before,
        tokens_per_row=round(found.tokens_before / read) if read else 0,
        content_types=[share(name) for name in CONTENT_TYPES if found.blocks[name]],
        tools=tool_shares(found.calls, found.parameters, found.results, found.tokens_before)[:top],
        largest_rows=found.largest[:top],
        problems=found.problems,
        counter=counter,
        count=how,
    )


def _inspection_parts(found: RowsInspection) -> Iterator[Part]:
    headline = f"{plural(found.tokens, 'token')} in {plural(found.rows, 'row')}, {plural(found.messages, 'message')}"
    yield Sentence(f"{headline}, {found.tokens_per_row:,} tokens a row", "bold")
    yield BLANK
    rows = [[each.name, f"{each.tokens:,}", f"{each.percent:.1f}%"] for each in found.content_types]
    rows.append([MARKUP, f"{found.constants:,}", f"{percent(found.constants, found.tokens):.1f}%"])
    bars = [*(each.tokens for each in found.content_types), found.constants]
    yield Table(("content", "tokens", "share"), rows, (1, 2), bars=bars)
    if found.tools:
        yield BLANK
        columns = ("tool", "tokens", "share", "calls", "parameters", "results")
        tools = [
            [each.name or "(unknown)", f"{each.tokens:,}", f"{each.percent:.1f}%"]
            + [f"{number:,}" for number in (each.calls, each.parameters, each.results)]
            for each in found.tools
        ]
        yield Table(columns, tools, range(1, 6), bars=[each.tokens for each in found.tools])
    if found.largest_rows:
        yield BLANK
        largest = [
            [f"line {each.line:,}", f"{each.tokens:,}", f"{percent(each.tokens, found.tokens):.1f}%"]
            for each in found.largest_rows
        ]
        bars = [each.tokens for each in found.largest_rows]
        yield Table(("largest rows", "tokens", "share"), largest, (1, 2), bars=bars)
    yield BLANK


def validate_rows(file: str, kind: RowKind, *, json: bool, lenient: bool) -> ExitStatus:
    """Check every row against the rules of its API and print the faults. Raises CondenseError."""
    found = survey(file, name_of(file), kind, CheckedRows, checking)
    is_valid = not found.faulty and (lenient or not found.bad)
    if json:
        write_text(to_json(_checked_as_json(found, name_of(file), is_valid=is_valid)))
    else:
        _show_faults(found, name_of(file), is_valid=is_valid)
    return ExitStatus.DONE if is_valid else ExitStatus.INPUT


def _checked_as_json(found: CheckedRows, source: str, *, is_valid: bool) -> dict[str, object]:
    return {
        "version": SHAPE,
        "input": source,
        "format": "rows",
        "formats": dict(sorted(found.formats.items())),
        "rows": {"total": found.rows, "faulty": found.faulty, "bad": found.bad},
        "messages": found.messages_before,
        "valid": is_valid,
        "rules": dict(found.rules.most_common()),
        "faults": found.listed,
        "problems": found.problems,
    }


def _show_faults(found: CheckedRows, name: str, *, is_valid: bool) -> None:
    screen = console()
    for fault in found.listed:
        message = f" #{fault.message}:" if fault.message is not None else ""
        text = Text(visible(f"{name}:{fault.line}:{message} "), style="bold")
        print_lines([text.append(visible(" ".join(fault.said.split())), style="not bold")])
    more = found.faults - len(found.listed)
    if more > 0:
        print_lines([f"… and {plural(more, 'more fault')}"], "dim")
    print_lines(bad_rows(found.problems, found.bad, name), "red")
    rows = plural(found.rows, "row")
    if is_valid:
        screen.print(Text(f"valid: {rows}, {plural(found.messages_before, 'message')}", style="green"))
        return
    bad = f", {found.bad:,} bad" if found.bad else ""
    screen.print(Text(f"not valid: {plural(found.faults, 'fault')} in {found.faulty:,} of {rows}{bad}", style="red"))


def restore_rows(file: str, kind: RowKind, output: str | None) -> Restored:
    """Undo the references of every row; written to a file, to standard output for "-", or nowhere."""
    target: Path | IO[bytes] | None = None
    if output is not None:
        target = StandardOutput() if output == "-" else Path(output)
    return survey(file, name_of(file), kind, Restored, restoring, target)


def restored_as_json(found: Restored, source: str) -> dict[str, object]:
    return {
        "version": SHAPE,
        "input": source,
        "rows": {"total": found.rows, "changed": found.changed, "bad": found.bad},
        "resolved": found.resolved,
        "unresolved": found.unresolved,
        "elsewhere": found.elsewhere,
        "left_out": found.gaps,
        "look_alikes": found.look_alikes,
        "problems": found.problems,
    }


def said_of_restored(found: Restored, name: str) -> list[str]:
    """Return the lines before the counts of references."""
    rows = f"{plural(found.rows, 'row')}, {found.changed:,} restored"
    return [rows + (f", {found.bad:,} bad" if found.bad else "") + ".", *bad_rows(found.problems, found.bad, name)]


def status_of_restored(found: Restored, *, lenient: bool) -> ExitStatus:
    has_bad = found.bad and not lenient
    return ExitStatus.INPUT if found.unresolved or found.elsewhere or has_bad else ExitStatus.DONE
