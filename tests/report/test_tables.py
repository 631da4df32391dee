"""Tables fit the terminal, whatever is in them; sentences are safe to show."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from condense_cli.report.sections import BLANK, Part, Sentence, Table
from condense_cli.report.terminal import render, table_lines

NUMBERS = Table(("name", "tokens", "share"), [["src/prices.py", "1,200", "60.0%"], ["b", "800", "40.0%"]], right=(1, 2))


def printed(parts: list[Part], width: int) -> list[str]:
    screen = Console(width=width, file=io.StringIO(), highlight=False)
    for part in render(parts, width):
        screen.print(part)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in str(text).splitlines()]


def test_columns_are_aligned() -> None:
    assert table_lines(NUMBERS, 80) == [
        "name           tokens  share",
        "src/prices.py   1,200  60.0%",
        "b                 800  40.0%",
    ]


@pytest.mark.parametrize(("is_path", "name"), [(False, "src/pric…"), (True, "…rices.py")])
def test_the_flexible_column_gives_way(is_path: bool, name: str) -> None:
    table = Table(NUMBERS.columns, NUMBERS.rows, NUMBERS.right, is_path=is_path)
    assert table_lines(table, 24)[1] == f"{name}   1,200  60.0%"


def test_columns_that_may_go_are_left_out_in_their_order() -> None:
    table = Table(NUMBERS.columns, NUMBERS.rows, NUMBERS.right, gives_way=(2, 1))
    assert table_lines(table, 24)[0] == "name           tokens"
    assert table_lines(table, 14)[0] == "name"


def test_a_wide_table_is_split_into_several_with_the_same_first_column() -> None:
    table = Table(["", *"abcdef"], [["row", *["12345678"] * 6]], range(1, 7), splits=True)
    lines = table_lines(table, 40)
    assert [line.split() for line in lines if line and "row" not in line] == [["a", "b", "c"], ["d", "e", "f"]]
    assert all(len(line) <= 40 for line in lines)


def test_columns_with_heads_are_side_by_side_or_below_each_other() -> None:
    table = Table(
        ["at the same size", "70%", "50%", "70%", "50%"],
        [["speed", "1.0", "2.0", "3.0", "4.0"]],
        range(1, 5),
        heads=[("facts", 2), ("edits", 2)],
    )
    assert printed([table], 60)[0].split() == ["facts", "edits"]
    below = printed([table], 25)
    assert [line.split()[0] for line in below if line] == ["facts", "speed", "edits", "speed"]
    assert [part.title for part in table.by_head()] == ["facts, at the same size", "edits, at the same size"]
    assert [part.rows for part in table.by_head()] == [[["speed", "1.0", "2.0"]], [["speed", "3.0", "4.0"]]]


def test_bars_fill_the_room_that_is_left() -> None:
    lines = printed([Table(NUMBERS.columns, NUMBERS.rows, NUMBERS.right, bars=(1200, 800))], 50)
    assert [line.count("█") for line in lines] == [0, 20, 13]


def test_long_texts_go_on_behind_the_other_columns() -> None:
    table = Table(("", ""), [["key", "a text of several words"]], flexible=1, wraps=True)
    assert table_lines(table, 20) == ["key  a text of", "     several words"]


def test_sentences_and_cells_cannot_steer_the_terminal() -> None:
    hostile = "a\x1b[31mb"
    lines = printed([Sentence(hostile, "bold"), BLANK, Table(("", "n"), [[hostile, "1"]])], 60)
    assert "\x1b[31m" not in "".join(lines)
    assert lines[0] == "a␛[31mb"
