"""The list of sessions for people: one line each that fits, whatever a session is called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import real
from helpers import condense_on_terminal
from machine import Machine, dialogue, written
from rich.cells import cell_len

from condense_cli.errors import ExitStatus

HOSTILE = {
    "control": "\x1b[31mred\x1b[0m \x07\x08\r\x9b2J",
    "right to left": "a \u202e txt.exe \u2066b",
    "hebrew": "תקן את ההתחברות בבקשה",
    "emoji": "👩‍👩‍👧‍👦 ship it 🚀" * 20,
    "wide": "修复登录" * 60,
    "long": "word " * 5_000,
    "lines": "first\nsecond\r\nthird\u2028fourth\tfifth",
    "surrogate": "half \ud83d of it",
    "markup": "[bold red]not markup[/] :smile:",
    "nothing": " \n ",
}


@pytest.fixture
def hostile(machine: Machine) -> Machine:
    for number, said in enumerate(HOSTILE.values()):
        records = dialogue(said, project=f"/srv/{said[:40]}")
        machine.claude_code(f"{number:08d}", *records, project=f"/srv/{number}", age=number)
    return machine


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_a_session_takes_one_line_that_fits(hostile: Machine, columns: int) -> None:
    """Whatever it is called; nothing in it steers the terminal."""
    outcome = hostile.sessions(columns=columns)
    assert outcome.status == 0, outcome.stderr
    table = outcome.text.partition("\n\n")[0].split("\n")
    assert len(table) == len(HOSTILE) + 1
    for line in table:
        assert columns < 80 or cell_len(line) <= columns, line
        assert not set(line) & set("\x1b\x07\x08\r\x9b\u202e\u2066\t"), line
    assert ("client" in table[0]) == (columns >= 100)


def test_hostile_titles_come_out_of_json_whole(hostile: Machine) -> None:
    """A program gets the file's content, in one line."""
    rows = {row["id"]: row["title"] for row in hostile.rows()}
    assert rows["00000002"] == HOSTILE["hebrew"]
    assert rows["00000001"] == HOSTILE["right to left"]
    assert rows["00000006"] == "first second third fourth fifth"
    assert rows["00000009"] is None
    assert "(no request)" in hostile.sessions().text


@pytest.mark.slow
def test_colours_are_for_terminals(machine: Machine, tmp_path: Path) -> None:
    """And NO_COLOR turns them off; a session that is nearly full is marked."""
    records = dialogue()
    records[1]["message"]["usage"] = {"input_tokens": 190_000}
    machine.claude_code("full", *records)
    assert not machine.sessions().has_colours
    shown = condense_on_terminal("sessions", env=machine.env)
    assert shown.status == 0
    assert "full" in shown.plain
    assert shown.has_colours
    assert not condense_on_terminal("sessions", env={**machine.env, "NO_COLOR": "1"}).has_colours


def test_an_empty_machine_says_where_it_looked(machine: Machine) -> None:
    """Each folder once; those of editors in one line for each extension."""
    outcome = machine.sessions()
    assert (outcome.status, outcome.text) == (0, "")
    lines = outcome.stderr.splitlines()
    assert lines[0] == "condense: no sessions found. Looked in:"
    assert "  claude-code ~/.claude/projects" in lines
    assert sum("rooveterinaryinc.roo-cline" in line for line in lines) == 1
    report = machine.sessions("--json").json
    assert report["sessions"] == []
    assert {place["exists"] for place in report["places"]} == {False}
    machine.claude_code("a")


def test_where_no_session_fits_it_says_what_else_there_is(machine: Machine, tmp_path: Path) -> None:
    """Not what was asked already."""
    empty = machine.claude_code("empty", {"type": "summary", "summary": "s", "leafUuid": "u"})
    assert "no session has messages; --all lists archived and empty ones" in machine.sessions().message
    assert machine.ids("--all") == [empty.stem]
    machine.claude_code("a")
    here = machine.sessions("--here", cwd=tmp_path).message
    assert f"no session of {tmp_path}; leave out --here to list those of every project, and --all lists" in here
    there = machine.sessions("--project", "/nowhere", "--all").message
    assert there == "condense: no session of /nowhere; leave out --project to list those of every project.\n"


def test_what_was_skipped_is_said(machine: Machine) -> None:
    """With one example, so that it can be found."""
    machine.claude_code("a")
    written(machine.home / ".codex/sessions/2025/01/02/rollout-x.jsonl.zst", b"x")
    outcome = machine.sessions()
    assert "skipped 1 file or folder that are compressed, such as ~/.codex/sessions/2025" in outcome.message
    assert machine.sessions("--json").json["skipped"][0]["count"] == 1


def test_here_and_project_exclude_each_other(machine: Machine) -> None:
    outcome = machine.sessions("--here", "--project", ".")
    assert outcome.status == ExitStatus.USAGE
    assert "--here and --project" in outcome.message


def test_the_page_shows_the_columns_that_are_printed(machine: Machine) -> None:
    """Its example cannot be run: it would be another one on every machine."""
    page = (real.PROJECT / "docs" / "sessions.md").read_text()
    (example,) = re.findall(r"\$ condense sessions --limit 3\n(.*?)```", page, re.DOTALL)
    machine.claude_code("a")
    assert machine.sessions().text.splitlines()[0].split() == example.splitlines()[0].split()
    assert max(map(len, example.splitlines())) <= 80
