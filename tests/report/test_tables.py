"""Tables fit the terminal and texts are safe to show; the table of compactions and clearings."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from compacted_work import claude_clearing, claude_cut, claude_summary, claude_twice, codex, kimi, opencode, pi, roo
from helpers import as_lines, condense, session
from rich.console import Console

from condense_cli import api
from condense_cli.core.wording import visible
from condense_cli.ledger.compaction import compaction
from condense_cli.report.sections import BLANK, Part, Sentence, Table
from condense_cli.report.terminal import render, table_lines
from condense_cli.tokens.counting import Counter

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


@pytest.mark.parametrize(
    "code", [0, 8, 0x0B, 0x1B, 0x7F, 0x80, 0x9F, 0x200E, 0x202A, 0x202E, 0x2066, 0x2069, 0xD800, 0xDFFF]
)
def test_what_steers_is_a_sign(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert len(shown) == 3
    assert chr(code) not in shown


@pytest.mark.parametrize("code", [0x09, 0x0A, 0x20, 0x7E, 0xA0, 0x200D, 0x202F, 0x206A, 0xE000, 0x1F600])
def test_what_does_not_steer_stays(code: int) -> None:
    assert visible(f"a{chr(code)}b") == f"a{chr(code)}b"


def listed(path: Path, data: bytes) -> list[dict[str, Any]]:
    path.write_bytes(data)
    found: list[dict[str, Any]] = json.loads(condense("inspect", path, "--json").stdout)["compactions"]
    return found


@pytest.mark.parametrize(
    ("data", "before", "is_auto"),
    [
        (claude_summary(trigger="manual"), 900, False),
        (claude_summary(trigger="auto"), 900, True),
        (codex(), None, None),
        (kimi(), None, None),
        (opencode(), None, True),
        (pi(), 900, None),
    ],
)
def test_a_compaction_by_the_client(tmp_path: Path, data: bytes, before: int | None, is_auto: bool | None) -> None:
    (found,) = listed(tmp_path / "session.jsonl", data)
    assert (found["kind"], found["by"], found["is_auto"]) == ("summary", "client", is_auto)
    assert found["before"] == before or (before is None and found["before"] > 500)
    assert 0 < found["after"] < 100
    assert found["messages"] == 5
    assert found["files"] == ["src/app.py", "src/other.py"]
    assert not found["is_undone"]


def test_clearings_and_dropped_messages(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    (one,) = listed(file, claude_clearing("a", "b"))
    assert (one["kind"], one["results"], one["before"], one["after"]) == ("cleared", 2, 900, None)
    (cut,) = listed(file, claude_cut("a"))
    assert (cut["kind"], cut["results"], cut["before"]) == ("cleared", None, None)
    assert [each["kind"] for each in listed(file, claude_twice())] == ["cleared", "summary"]
    (dropped,) = listed(tmp_path / "session.json", roo("truncation"))
    assert (dropped["kind"], dropped["is_auto"]) == ("dropped", True)
    assert listed(file, as_lines(session())) == []


def test_the_table_has_a_row_for_each(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(claude_twice())
    lines = condense("inspect", file).stdout.decode().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("compaction "))
    rows = [line.split() for line in lines[start : start + 3]]
    assert rows[0] == ["compaction", "when", "by", "before", "after", "lost"]
    assert " ".join(rows[1]) == "cleared 2026-03-02 09:00 client, auto 1 result"
    assert " ".join(rows[2]).endswith("7 messages, 2 files")
    file.write_bytes(as_lines(session()))
    assert b"\ncompaction " not in condense("inspect", file).stdout


# Our own text says so.
def test_a_compaction_by_condense(tmp_path: Path) -> None:
    text = compaction(api.loads(claude_summary()).messages, 600, Counter()).text
    data = claude_summary(trigger="manual").replace(
        json.dumps("We have read both files; connect_timeout_ms has to stay.").encode(), json.dumps(text).encode()
    )
    (found,) = listed(tmp_path / "session.jsonl", data)
    assert found["by"] == "condense"
