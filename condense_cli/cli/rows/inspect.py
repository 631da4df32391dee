"""`condense inspect` on a set of rows: what fills all of them together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ...core.factor import CountName
from ...core.tokens import CounterName
from ...core.wording import plural
from ...report.inspection.facts import CONTENT_TYPES, MARKUP
from ...report.inspection.terminal import with_bars
from ...report.run import facts
from ...report.text.labels import TokenShare, ToolShare, percent, tool_shares
from ...report.text.tokens import of_several
from ...rows.condensing import Contents, LargeRow, survey, weighing
from ...rows.facts import Problem
from ..console import console, print_lines, write_text
from ..reading import name_of
from .running import bad_rows

if TYPE_CHECKING:
    from ...rows.reading import RowKind


class RowsInspection(Struct, frozen=True):
    """All rows together; `constants` is what messages cost besides their content. Documented in docs/rows.md."""

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
        write_text(facts.to_json(inspection))
    else:
        _show(inspection)


def _inspection(found: Contents, source: str, top: int, counter: CounterName, how: CountName) -> RowsInspection:
    def share(name: str) -> TokenShare:
        tokens = found.content_types[name]
        return TokenShare(name, tokens, percent(tokens, found.tokens_before), found.blocks[name])

    read = found.rows - found.bad
    return RowsInspection(
        version=facts.SHAPE,
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


def _show(found: RowsInspection) -> None:
    screen = console()
    headline = f"{plural(found.tokens, 'token')} in {plural(found.rows, 'row')}, {plural(found.messages, 'message')}"
    screen.print(f"{headline}, {found.tokens_per_row:,} tokens a row", style="bold")
    screen.print()
    rows = [[each.name, f"{each.tokens:,}", f"{each.percent:.1f}%"] for each in found.content_types]
    rows.append([MARKUP, f"{found.constants:,}", f"{percent(found.constants, found.tokens):.1f}%"])
    bars = [*(each.tokens for each in found.content_types), found.constants]
    screen.print(with_bars(("content", "tokens", "share"), rows, (1, 2), bars, screen.width))
    if found.tools:
        columns = ("tool", "tokens", "share", "calls", "parameters", "results")
        tools = [
            [each.name or "(unknown)", f"{each.tokens:,}", f"{each.percent:.1f}%"]
            + [f"{number:,}" for number in (each.calls, each.parameters, each.results)]
            for each in found.tools
        ]
        screen.print()
        screen.print(with_bars(columns, tools, (1, 2, 3, 4, 5), [each.tokens for each in found.tools], screen.width))
    if found.largest_rows:
        largest = [
            [f"line {each.line:,}", f"{each.tokens:,}", f"{percent(each.tokens, found.tokens):.1f}%"]
            for each in found.largest_rows
        ]
        screen.print()
        bars = [each.tokens for each in found.largest_rows]
        screen.print(with_bars(("largest rows", "tokens", "share"), largest, (1, 2), bars, screen.width))
    screen.print()
    print_lines([of_several(found.count)], "dim")
    if found.bad:
        screen.print()
    print_lines(bad_rows(found.problems, found.bad, found.input), "red")
