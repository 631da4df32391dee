"""The list of sessions for people, and the origin of condensed ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import real
from helpers import condense, condense_on_terminal
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine, dialogue, written
from rich.cells import cell_len

from condense_cli.clients.new_session import SUFFIX, origin_of, origins_of, write_origin
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
    empty = machine.claude_code("empty", {"type": "summary", "summary": "s", "leafUuid": "u"})
    assert "no session has messages; --all lists archived and empty ones" in machine.sessions().message
    assert machine.ids("--all") == [empty.stem]
    machine.claude_code("a")
    here = machine.sessions("--here", cwd=tmp_path).message
    assert f"no session of {tmp_path}; leave out --here to list those of every project, and --all lists" in here
    there = machine.sessions("--project", "/nowhere", "--all").message
    assert there == "condense: no session of /nowhere; leave out --project to list those of every project.\n"


def test_what_was_skipped_is_said(machine: Machine) -> None:
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


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The original and a session that was condensed from it, where Claude Code keeps them."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    original = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    original.write_bytes(real.SESSION.read_bytes())
    done = condense("run", original, "-p", "speed", "--new-session", "-q")
    return original, folder / f"{done.text.strip()}.jsonl"


def test_quietly_the_new_id_is_all_that_is_printed(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    assert new.is_file()
    assert new != original
    again = condense("run", original, "-p", "speed", "--new-session", "-q")
    assert (again.text, again.stderr) == (f"{new.stem}\n", "")
    # A script that takes the id must not take nothing for one.
    unchanged = condense("run", new, "-p", "speed", "--new-session", "-q")
    assert (unchanged.status, unchanged.text) == (ExitStatus.DONE, "")
    assert unchanged.stderr == "condense: nothing changed, so no new session was written.\n"


def test_the_origin_is_noted_beside_the_session(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    assert origin_of(new) == original
    assert origin_of(original) is None
    noted = new.with_name(new.name + SUFFIX)
    assert json.loads(noted.read_text()) == {"version": 1, "origin": original.name}
    original.unlink()
    assert origin_of(new) is None


def test_show_finds_in_the_original_what_a_marker_stands_for(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    marker = re.search(r"#(\d{6})\]", new.read_text())
    assert marker
    of_original, of_new = (condense("show", file, marker[1]) for file in (original, new))
    assert of_new.stdout == of_original.stdout
    assert f"from the original, {original.name}" in of_new.stderr
    assert condense("show", new, "999999").status != ExitStatus.DONE


def test_undo_says_where_the_original_is(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    before = new.read_bytes()
    done = condense("undo", new)
    assert done.status == ExitStatus.DONE
    assert str(original) in done.text
    assert new.read_bytes() == before
    assert condense("undo", new, "--json").json["original"] == str(original)
    assert condense("undo", original).status != ExitStatus.DONE


def test_the_list_of_sessions_names_the_original(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    rows = {row["path"]: row for row in condense("sessions", "--json").json["sessions"]}
    assert rows[str(new)]["origin"] == str(original)
    assert rows[str(original)]["origin"] is None
    assert f"{rows[str(new)]['short']} was condensed from {rows[str(original)]['short']}." in condense("sessions").text


@pytest.mark.slow
def test_latest_and_a_second_run_say_what_they_look_at(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    said = f"this session is already condensed; its original is {original}"
    for arguments in (("run", new), ("run", "--session", new.stem), ("inspect", "--session", "latest")):
        done = condense(*arguments, *(("--dry-run",) if arguments[0] == "run" else ()))
        assert (said in done.stderr) is True, arguments
    assert said not in condense("run", original, "--dry-run").stderr
    assert said not in condense("run", new, "--dry-run", "-q").stderr


def test_the_original_of_the_original(sessions: tuple[Path, Path], tmp_path: Path) -> None:
    original, new = sessions
    third = new.with_name("third.jsonl")
    third.write_bytes(new.read_bytes())
    write_origin(third, new)
    assert [*origins_of(third)] == [new, original]
    write_origin(original, third)  # However they came to name each other.
    assert [*origins_of(third)] == [new, original]


@given(
    st.binary(max_size=300)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(
        lambda value: json.dumps({"origin": value}).encode()
    )
)
def test_whatever_is_noted_is_a_file_of_the_folder_or_nothing(data: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"a.jsonl{SUFFIX}").write_bytes(data)
        assert origin_of(folder / "a.jsonl") is None


ROLLOUT = "019fc8be-3658-7ca3-9e29-00000000000a"
SAMPLE = real.PROJECT / "sample_transcripts" / "bugfix-session.jsonl"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", ["speed", "lossless"])
@pytest.mark.parametrize("place", ["--new-session", "--in-place"])
def test_a_condensed_session_is_told_from_its_original(machine: Machine, place: str, preset: str) -> None:
    file = written(machine.claude / "-home-dev-inventory" / "original.jsonl", SAMPLE.read_bytes(), age=60)
    machine.claude_code(
        "other",
        *dialogue(
            "↓ [condense: 3 lines left out #5f2c91d8] and [… 3 lines #406167] are what stands there. [see below]"
        ),
    )
    assert [row["condensed"] for row in machine.rows()] == [False, False]
    assert "condensed." not in machine.sessions().text
    assert condense("run", file, place, "-p", preset, env=machine.env).status == ExitStatus.DONE
    condensed = {row["id"]: row["condensed"] for row in machine.rows()}
    assert condensed.pop("other") is False
    assert condensed.pop("original") is (place == "--in-place")
    assert list(condensed.values()) == ([True] if place == "--new-session" else [])
    shown = machine.sessions(columns=120).text
    assert shown.count("  ↓ Several tests") == 1
    assert "↓: condensed." in shown


# However a file spells the ellipsis, also in JSON within a string; those of version 0.1.0 have none.
@pytest.mark.parametrize(
    "spelled",
    [
        "a\\n[… 3 lines #406167]",
        "[\\u2026 3 lines #406167]\\nb",
        '{\\"a\\":\\"[\\\\u2026 3 lines #406167]\\"}',
        "[condense: 3 lines left out #5f2c91d8]",
        "[condense: summary of 3 lines #406167]\\nIt works.",
        "[… image #406167]",
    ],
)
def test_each_spelling_of_a_marker_is_seen(machine: Machine, spelled: str) -> None:
    machine.claude_code("it", *dialogue("MARKER"))
    (file,) = (machine.claude).rglob("it.jsonl")
    file.write_bytes(file.read_bytes().replace(b"MARKER", spelled.encode(), 1))
    assert [row["condensed"] for row in machine.rows()] == [True]


def test_a_condensed_rollout_is_told_too(machine: Machine) -> None:
    rollout = (SAMPLE.parent / "bugfix-rollout.jsonl").read_bytes()
    file = written(
        machine.home / ".codex/sessions/2026/05/28" / f"rollout-2026-05-28T10-00-00-{ROLLOUT}.jsonl", rollout
    )
    assert condense("run", file, "--new-session", "-p", "speed", env=machine.env).status == ExitStatus.DONE
    assert {row["id"] == ROLLOUT: row["condensed"] for row in machine.rows()} == {True: False, False: True}
