"""`condense sessions`: titles, figures, order, filters; a table that fits; a memory that never harms."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import real
from build import claude_line, text
from helpers import COMMAND, as_lines, condense_on_terminal, environment, snapshot
from hypothesis import given
from hypothesis import strategies as st
from machine import NOW, Machine, dialogue, rollout, said_to_codex, task, written
from rich.cells import cell_len

from condense_cli import formats
from condense_cli.errors import ExitStatus
from condense_cli.report.inspection import inspect
from condense_cli.sessions import claude_code, codex, tasks
from condense_cli.sessions.cache import NAME, FactsCache
from condense_cli.sessions.finding import SessionFile, find
from condense_cli.sessions.listing import iso, short_ids
from condense_cli.sessions.places import places
from condense_cli.sessions.records import last_timestamp
from condense_cli.sessions.requests import command_in, request_in, title_of
from condense_cli.sessions.summary import Facts, facts_of
from condense_cli.tokens import Counter, encoding_for

ROLLOUT = "019fc8be-3658-7ca3-9e29-00000000000a"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home", tmp_path / "cache")


def claude_title(*records: dict[str, Any]) -> str | None:
    return claude_code.title(as_lines(list(records)))


# --- Titles ----------------------------------------------------------------------------------------------------------


def test_a_session_is_called_what_the_user_called_it() -> None:
    """Before what the client thought of, and that before a summary; the newest of each kind counts."""
    summary = {"type": "summary", "summary": "A summary", "leafUuid": "a1"}
    thought = [{"type": "ai-title", "aiTitle": title} for title in ("First thought", "Second thought")]
    named = [{"type": "custom-title", "customTitle": title} for title in ("Old name", "My name")]
    assert claude_title(*dialogue()) == "Fix the login."
    assert claude_title(summary, *dialogue()) == "A summary"
    assert claude_title(summary, *dialogue(), *thought) == "Second thought"
    assert claude_title(summary, *dialogue(), *named, *thought) == "My name"


def test_a_summary_of_another_session_is_not_its_title() -> None:
    """Claude Code writes summaries of older sessions at the head of a new one: their leaf is elsewhere."""
    other = {"type": "summary", "summary": "Of another", "leafUuid": "elsewhere"}
    older = {"type": "summary", "summary": "An older one", "leafUuid": "u1"}
    assert claude_title(other, *dialogue()) == "Fix the login."
    assert claude_title(older, other, *dialogue()) == "An older one"


def test_titles_spelled_inside_a_conversation_are_not_taken() -> None:
    """Neither in a text nor in a value that has the shape of a record."""
    spelled = '{"type":"custom-title","customTitle":"spelled"}'
    nested = {"type": "custom-title", "customTitle": "nested"}
    records = [*dialogue(spelled), claude_line("user", "u2", "a1", "more", toolUseResult=nested)]
    assert claude_title(*records) == spelled


def test_what_a_client_writes_is_not_the_first_request() -> None:
    """Reminders, caveats, commands, summaries of a compaction, and lines of sub-agents."""
    reminder = "<system-reminder>be brief</system-reminder>"
    assert (
        claude_title(
            claude_line("user", "u0", None, "Caveat", isMeta=True),
            claude_line("user", "u1", None, "This session is continued", isCompactSummary=True),
            claude_line("user", "u2", None, "Search for it", isSidechain=True),
            claude_line("user", "u3", None, "<command-name>/clear</command-name>"),
            claude_line("user", "u4", None, [text(reminder), text("The request")]),
            claude_line("user", "u5", None, "A later one"),
        )
        == "The request"
    )
    assert claude_title(claude_line("user", "u2", None, "Search for it", isSidechain=True)) == "Search for it"


def test_a_command_is_a_title_where_nothing_else_was_asked() -> None:
    """With what was typed after it."""
    typed = (
        "<command-name>/review</command-name>\n<command-message>x</command-message>\n<command-args>42</command-args>"
    )
    assert claude_title(claude_line("user", "u1", None, typed)) == "/review 42"
    assert claude_title(claude_line("user", "u1", None, typed), *dialogue()) == "Fix the login."
    assert command_in("no command") is None


def test_codex_is_asked_what_its_user_saw() -> None:
    """The event rather than the message, which may carry instructions; without what an editor puts before it."""
    shown = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nSort the list"
    event = {"type": "event_msg", "payload": {"type": "user_message", "message": shown}}
    sent = [said_to_codex("# AGENTS.md instructions for /srv\nbe brief"), said_to_codex("Sort it please")]
    assert codex.title(as_lines(rollout("x", *sent))) == "Sort it please"
    assert codex.title(as_lines(rollout("x", *sent, event))) == "Sort the list"
    assert codex.project(as_lines(rollout("x"))) == "/srv/app"


def test_a_task_is_called_after_its_request() -> None:
    """Between the tags that Roo Code and Cline put around it; the project stands in the environment details."""
    data = json.dumps(task()).encode()
    assert (tasks.title(data), tasks.project(data)) == ("Rename it.", "/srv/roo")
    assert tasks.last_time(data) == 1_779_999_001
    windows = b'"# Current Workspace Directory (c:\\\\Users\\\\me) Files"'
    assert tasks.project(windows) == "c:\\Users\\me"


def test_what_clients_note_beside_a_session_goes_before_its_text(machine: Machine) -> None:
    """Names of Codex threads, the newest; indexes of Roo Code and Cline, and the note beside a session of Cline."""
    machine.codex(ROLLOUT)
    names = [{"id": ROLLOUT, "thread_name": name} for name in ("old", "Listing")] + [
        {"id": "other", "thread_name": "x"}
    ]
    written(machine.home / ".codex/session_index.jsonl", as_lines(names) + b"broken\n")
    one = machine.task("1", task())
    written(one.with_name("history_item.json"), json.dumps({"id": "1", "task": "Own", "workspace": "/w/1"}).encode())
    machine.task("2", task())
    entries = [{"id": "1", "task": "no"}, {"id": "2", "task": "Indexed", "workspace": "/w/2"}, 7]
    written(one.parents[1] / "_index.json", json.dumps({"version": 1, "entries": entries}).encode())
    three = machine.task("3", task(), extension="saoudrizwan.claude-dev")
    history = [{"id": "3", "task": "Remembered", "cwdOnTaskInitialization": "/w/3"}]
    written(three.parents[2] / "state/taskHistory.json", json.dumps(history).encode())
    folder = machine.home / ".cline/data/sessions/4"
    written(folder / "4.messages.json", json.dumps({"version": 1, "messages": task()}).encode())
    written(folder / "4.json", json.dumps({"metadata": {"title": "Noted"}, "cwd": "/w/4"}).encode())
    rows = {row["id"]: (row["title"], row["project"]) for row in machine.rows()}
    assert rows == {
        ROLLOUT: ("Listing", "/srv/app"),
        "1": ("Own", "/w/1"),
        "2": ("Indexed", "/w/2"),
        "3": ("Remembered", "/w/3"),
        "4": ("Noted", "/w/4"),
    }


def test_a_broken_index_says_nothing(machine: Machine) -> None:
    """The session itself still does."""
    path = machine.task("1", task())
    for broken in (b"{", b"[1, null]", b'{"entries": 3}', b"\xff\xfe", b"[" * 100_000):
        written(path.parents[1] / "_index.json", broken)
        assert [row["title"] for row in machine.rows()] == ["Rename it."]


@given(st.text())
def test_a_title_is_one_short_line(said: str) -> None:
    """Whatever was said; and it can always be written."""
    for title in (title_of(said), request_in(said), claude_title(*dialogue(said))):
        if title is not None:
            assert title.encode()
            assert 0 < len(title) <= 200
            assert len(title.splitlines()) <= 1 or "\n" not in title


# --- Figures ---------------------------------------------------------------------------------------------------------

REAL = {"claude-code": "claude-code", "roo": "roo"}
FILES = [path for format in REAL for path in real.files_of(format)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_figures_of_real_sessions_are_those_of_inspect(path: Path, tmp_path: Path) -> None:
    """Messages, tokens and what every turn carries besides; and each has a title and a time."""
    transcript = formats.parse(path.read_bytes(), name=path.name)
    encoding = encoding_for(transcript.model)
    expected = inspect(transcript, Counter(encoding.name), encoding, source="test")
    kind = "claude-code" if transcript.format == "claude-code" else "roo"
    place = next(place for place in places(tmp_path, {}, "linux") if place.client == kind)
    facts = facts_of(SessionFile(place.client, "id", str(path), path.stat().st_size, 0, place))
    assert facts.problem is None
    if facts.is_empty:
        assert not transcript.messages
        return
    assert (facts.messages, facts.tokens, facts.exact) == (
        expected.messages,
        expected.tokens.total,
        expected.tokens.exact,
    )
    assert facts.overhead == expected.tokens.overhead
    assert facts.title


def test_a_row_says_what_a_session_is(machine: Machine) -> None:
    """Every key of it; the time is that of its last message, not of the file."""
    said = "2026-05-28T20:00:00.000Z"
    records = [{**record, "timestamp": said} for record in dialogue()]
    path = machine.claude_code("aaaa-bbbb-cccc", *records, {"type": "ai-title", "aiTitle": "Login", "sessionId": "x"})
    (row,) = machine.rows()
    count = Counter()
    tokens = 6 + count("Fix the login.") + count("Fixed.")
    assert row == {
        "client": "claude-code",
        "id": "aaaa-bbbb-cccc",
        "short": "aaaa-bbb",
        "title": "Login",
        "project": "/srv/app",
        "updated": "2026-05-28T20:00:00Z",
        "messages": 2,
        "tokens": tokens,
        "exact": False,
        "model": "claude-opus-4-5",
        "window": {"tokens": row["window"]["tokens"], "percent": 0.0},
        "path": str(path),
        "bytes": path.stat().st_size,
        "aside": False,
        "problem": None,
    }
    assert row["window"]["tokens"] >= 200_000


def test_the_window_holds_what_every_turn_carries(machine: Machine) -> None:
    """As `inspect` shows it: the messages and the system prompt that recorded usage tells of."""
    records = dialogue()
    records[1]["message"]["usage"] = {"input_tokens": 50_000}
    machine.claude_code("a", *records)
    (row,) = machine.rows()
    assert row["window"]["percent"] == pytest.approx(100 * 50_000 / row["window"]["tokens"], abs=0.2)


def test_a_last_line_that_is_being_written_is_no_problem(machine: Machine) -> None:
    """The client is running."""
    path = machine.claude_code("a")
    written(path, path.read_bytes() + b'{"type":"assistant","uuid":"a2","mess')
    (row,) = machine.rows()
    assert (row["messages"], row["problem"]) == (2, None)


def test_broken_files_are_listed_with_what_is_wrong(machine: Machine) -> None:
    """And they take nothing from the others."""
    good = machine.claude_code("good", age=50)
    written(good.with_name("binary.jsonl"), b'\x00\x01"type":"user"\xff\n' * 9)
    written(good.with_name("text.jsonl"), b'this is no json "type":"user"\n')
    written(good.with_name("deep.jsonl"), b'{"type":"user","x":' + b"[" * 200_000 + b"\n")
    written(good.with_name("odd.jsonl"), as_lines([{"type": "user", "message": 3}, {"type": "user"}]) + b"7\n[]\n")
    machine.task("array", [])
    machine.task("null", [{"role": "user", "content": None, "ts": None}])
    rows = {row["id"]: row for row in machine.rows("--all")}
    assert rows.keys() == {"good", "binary", "text", "deep", "odd", "array", "null"}
    assert rows["good"]["tokens"]
    assert all(rows[name]["tokens"] is None and rows[name]["problem"] for name in ("binary", "text", "deep"))
    table = machine.sessions().text
    assert re.search(r"^binary +\S+ +\? +\? +\? ", table, re.MULTILINE)
    assert "cannot be counted (--json says why)" in " ".join(table.split())


def test_a_file_that_goes_while_it_is_listed_is_no_crash(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is read again next time, because that may end."""
    from condense_cli import errors
    from condense_cli.sessions import summary

    machine.claude_code("a")
    with monkeypatch.context() as patch:
        patch.setattr(summary, "read_bytes", lambda path: (_ for _ in ()).throw(errors.UnreadableError("It is gone.")))
        assert [row["problem"] for row in machine.rows()] == ["It is gone."]
    assert [row["problem"] for row in machine.rows()] == [None]


def test_codex_is_listed_whether_it_can_be_counted_or_not(machine: Machine) -> None:
    """Its title, project and time do not depend on that."""
    machine.codex(ROLLOUT)
    (row,) = machine.rows("--client", "codex")
    assert (row["id"], row["title"], row["project"]) == (ROLLOUT, "List the files.", "/srv/app")
    assert row["updated"] == "2026-05-28T10:00:01Z"
    assert (row["tokens"] is None) == (row["problem"] is not None)


def test_times_are_read_from_the_last_record_that_has_one() -> None:
    """Times inside a record are of something else; what is no time, or none of this world, is passed over."""
    first: dict[str, Any] = {"timestamp": "2026-05-28T10:00:00Z"}
    inside: dict[str, Any] = {"x": {"timestamp": "2030-01-01T00:00:00Z"}}
    assert last_timestamp(as_lines([first, inside, {"timestamp": "now"}])) == 1_779_962_400
    assert last_timestamp(as_lines([first])) == last_timestamp(as_lines([{"timestamp": "2026-05-28T10:00:00"}]))
    assert last_timestamp(as_lines([inside])) is None
    assert iso(last_timestamp(as_lines([{"timestamp": "0001-01-01T00:00:00+14:00"}])) or 0)
    assert iso(1e300) == "1970-01-01T00:00:00Z"


# --- Order, filters, limits -------------------------------------------------------------------------------------------


def test_the_newest_come_first_and_only_so_many_are_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not shown is not opened."""
    from condense_cli.sessions import listing

    def noted(file: SessionFile) -> Facts:
        read.append(file.id)
        return facts_of(file)

    for number in range(30):
        machine.claude_code(f"{number:02d}", age=60 * number)
    read: list[str] = []
    monkeypatch.setattr(listing, "facts_of", noted)
    assert machine.ids("--limit", "3") == ["00", "01", "02"] == read
    assert machine.ids() == [f"{number:02d}" for number in range(20)]
    assert len(machine.ids("--limit", "0")) == 30
    assert len(read) == 30, "what was read once is remembered"


def test_of_those_shown_the_last_message_decides(machine: Machine) -> None:
    """Files that were copied are all of the same age."""
    for id, hour in (("a", 9), ("b", 11), ("c", 10)):
        machine.claude_code(id, *({**record, "timestamp": f"2026-05-28T{hour:02d}:00:00Z"} for record in dialogue()))
    assert machine.ids() == ["b", "c", "a"]


def test_the_largest_are_those_with_most_tokens(machine: Machine) -> None:
    """Not the largest files; what cannot be counted comes last."""
    padded = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"text": "x" * 50_000}}
    machine.claude_code("file", *dialogue(), padded)
    machine.claude_code("talk", *dialogue("word " * 500))
    written(machine.claude / "-srv-app" / "broken.jsonl", b'no json "type":"user"')
    assert machine.ids("--sort", "largest") == ["talk", "file", "broken"]
    assert machine.ids("--sort", "largest", "--limit", "1") == ["talk"]


def test_sessions_without_messages_are_left_out(machine: Machine) -> None:
    """Claude Code writes files that hold nothing but summaries and snapshots."""
    machine.claude_code("titles", {"type": "summary", "summary": "s", "leafUuid": "u"})
    machine.claude_code("talk", age=10)
    assert machine.ids("--limit", "1") == ["talk"]
    assert machine.ids("--all") == ["titles", "talk"]


def test_a_project_is_a_folder_with_all_that_lies_in_it(machine: Machine, tmp_path: Path) -> None:
    """A folder whose name only begins so is another; links lead to the same project."""
    app = tmp_path / "app"
    for name, project in (("app", app), ("src", app / "src"), ("other", tmp_path / "app-b"), ("x", tmp_path)):
        machine.claude_code(name, *dialogue(project=str(project)), project=str(project))
    machine.codex(ROLLOUT, *rollout(ROLLOUT, said_to_codex("go"), project=str(app))[2:])
    written(next(machine.home.rglob("rollout-*")), as_lines(rollout(ROLLOUT, project=str(app / "docs"))))
    app.mkdir()
    (tmp_path / "link").symlink_to(app)
    assert set(machine.ids("--project", str(app))) == {"app", "src", ROLLOUT}
    assert set(machine.ids("--project", str(tmp_path / "link"))) == {"app", "src", ROLLOUT}
    assert machine.ids("--project", str(app / "src")) == ["src"]
    assert machine.ids("--project", str(tmp_path / "app-b")) == ["other"]


def test_here_is_the_repository_one_is_in(machine: Machine, tmp_path: Path) -> None:
    """From any folder of it; without a repository the folder itself."""
    app = tmp_path / "app"
    (app / "src" / "deep").mkdir(parents=True)
    machine.claude_code("app", *dialogue(project=str(app)), project=str(app))
    assert machine.ids("--here", cwd=app) == ["app"]
    assert machine.ids("--here", cwd=app / "src") == []
    (app / ".git").mkdir()
    assert machine.ids("--here", cwd=app / "src" / "deep") == ["app"]


def test_a_path_of_another_system_is_no_folder_here(machine: Machine, tmp_path: Path) -> None:
    """It would be taken for one in the current folder."""
    details = "<environment_details>\n# Current Workspace Directory (c:/dev) Files\n</environment_details>"
    machine.task("1", [{"role": "user", "content": details, "ts": 1}])
    assert machine.ids("--here", cwd=tmp_path) == []


def test_a_client_alone(machine: Machine) -> None:
    """And a client that is not known is a usage error that names those that are."""
    machine.claude_code("a")
    machine.task("b", task())
    assert machine.ids("--client", "roo") == ["b"]
    outcome = machine.sessions("--client", "aider")
    assert outcome.status == ExitStatus.USAGE
    assert "claude-code" in outcome.stderr


def test_names_of_clients_and_orders_are_those_of_the_search() -> None:
    """They are written twice because a help page must not import the search."""
    from condense_cli.cli.sessions import ClientName, SortOrder
    from condense_cli.sessions.listing import Order
    from condense_cli.sessions.places import Client

    assert [name.value for name in ClientName] == [client.value for client in Client]
    assert [name.value for name in SortOrder] == [order.value for order in Order]


def test_short_ids_name_one_session_each(machine: Machine) -> None:
    """No shorter than eight characters, and no longer than it takes."""
    for id in ("0123456789", "01234567x9", "ab", "abcdefghijkl"):
        machine.claude_code(id)
    short = short_ids(find(places(machine.home, {}, "linux")).files)
    assert short == {
        "0123456789": "012345678",
        "01234567x9": "01234567x",
        "ab": "ab",
        "abcdefghijkl": "abcdefgh",
    }


# --- What is shown ----------------------------------------------------------------------------------------------------

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
    """A program gets what stands in the file, in one line."""
    rows = {row["id"]: row["title"] for row in hostile.rows()}
    assert rows["00000002"] == HOSTILE["hebrew"]
    assert rows["00000001"] == HOSTILE["right to left"]
    assert rows["00000006"] == "first second third fourth fifth"
    assert rows["00000009"] is None
    assert "(no request)" in hostile.sessions().text


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
    assert "no session fits" in machine.sessions("--project", "/nowhere").stderr


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


# --- The memory -------------------------------------------------------------------------------------------------------


def test_listing_changes_nothing_but_its_memory(machine: Machine) -> None:
    """Sessions are only read; the memory is for nobody else to read."""
    machine.claude_code("a")
    machine.codex(ROLLOUT)
    before = snapshot(machine.home)
    machine.rows()
    assert snapshot(machine.home) == before
    assert [path.name for path in machine.cache.rglob("*") if path.is_file()] == [NAME]
    file = machine.cache / "condense" / NAME
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_session_that_changed_is_read_again(machine: Machine) -> None:
    """Size or time of change tell, each alone."""
    path = machine.claude_code("a", *dialogue("one"))
    assert [row["title"] for row in machine.rows()] == ["one"]
    written(path, as_lines(dialogue("two")), age=-1)
    assert [row["title"] for row in machine.rows()] == ["two"]
    written(path, as_lines(dialogue("seven")), age=-1)
    assert [row["title"] for row in machine.rows()] == ["seven"]


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "other program", "garbage rows", "folder"])
def test_a_damaged_memory_is_set_aside(machine: Machine, damage: str) -> None:
    """Listing goes on, and remembers again."""
    machine.claude_code("a", *dialogue("one"))
    machine.rows()
    path = machine.cache / "condense" / NAME
    if damage == "text":
        path.write_bytes(b"this is no database, although it is long enough to be one" * 100)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "other program":
        path.unlink()
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE facts (something TEXT)")
        database.close()
    elif damage == "garbage rows":
        with sqlite3.connect(path) as database:
            database.execute("UPDATE facts SET facts = x'00ff'")
        database.close()
    else:
        path.unlink()
        path.mkdir()
    assert [row["title"] for row in machine.rows()] == ["one"]
    assert [row["title"] for row in machine.rows()] == ["one"]
    assert path.with_suffix(".broken").exists() == (damage in ("text", "cut"))


def test_a_memory_that_breaks_while_it_is_open_is_set_aside(machine: Machine, tmp_path: Path) -> None:
    """What it says afterwards is nothing, and never an error."""
    path = machine.claude_code("a")
    (file,) = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    cache.put([(file, facts_of(file))])
    assert cache.get(file)
    cache.close()
    data = bytearray((machine.cache / NAME).read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (machine.cache / NAME).write_bytes(data)
    cache = FactsCache(machine.cache)
    cache.get(file)
    cache.put([(file, facts_of(file))])
    cache.put([(file, facts_of(file))])
    assert cache.get(file)
    cache.close()
    assert path.exists()


def test_without_a_place_to_write_listing_works(machine: Machine, tmp_path: Path) -> None:
    """The folder is a file, or the database is locked by someone."""
    machine.claude_code("a")
    machine.cache.write_bytes(b"a file where the folder should be")
    assert machine.ids() == ["a"]
    machine.cache.unlink()
    assert machine.ids() == ["a"]
    database = sqlite3.connect(machine.cache / "condense" / NAME, isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    machine.claude_code("b", age=-1)
    from condense_cli.sessions import cache

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_WAIT", 0.01)
        assert machine.ids() == ["b", "a"]
    database.execute("ROLLBACK")
    database.close()


def test_several_processes_share_the_memory(machine: Machine) -> None:
    """Started at once, on a machine where nothing is remembered yet; every one gives the whole list."""
    for number in range(40):
        machine.claude_code(f"{number:08d}", age=number)
    command = [*COMMAND, "sessions", "--json", "--limit", "0"]
    running = [
        subprocess.Popen(command, env=environment(machine.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    outputs = [process.communicate(timeout=60) for process in running]
    assert {process.returncode for process in running} == {0}
    assert {err for _, err in outputs} == {b""}
    assert len({out for out, _ in outputs}) == 1
    assert len(json.loads(outputs[0][0])["sessions"]) == 40
    assert not list(machine.cache.rglob("*.broken"))
    with sqlite3.connect(machine.cache / "condense" / NAME) as database:
        assert database.execute("SELECT count(*) FROM facts").fetchone() == (40,)
    database.close()


def test_the_memory_does_not_grow_for_ever(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest rows are kept."""
    from condense_cli.sessions import cache as module

    monkeypatch.setattr(module, "_ROWS", 5)
    for number in range(12):
        machine.claude_code(f"{number:02d}", age=number)
    files = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    for file in files:
        cache.put([(file, facts_of(file))])
    assert [file.id for file in files if cache.get(file)] == [f"{number:02d}" for number in range(7, 12)]
    cache.close()


def test_what_another_version_remembered_is_not_used(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have counted otherwise, or not have known the format."""
    from condense_cli.sessions import cache as module

    machine.claude_code("a")
    (file,) = find(places(machine.home, {}, "linux")).files
    cache = FactsCache(machine.cache)
    cache.put([(file, facts_of(file))])
    cache.close()
    monkeypatch.setattr(module, "_SHAPE", 0)
    cache = FactsCache(machine.cache)
    assert cache.get(file) is None
    cache.close()


def test_names_of_files_may_be_any_bytes(machine: Machine) -> None:
    """A file name that is not UTF-8 is listed and remembered."""
    path = machine.claude_code("a")
    os.rename(path, path.parent / os.fsdecode(b"caf\xe9.jsonl"))
    for _ in range(2):
        outcome = machine.sessions()
        assert outcome.status == 0
        assert "caf" in outcome.text
    assert machine.rows()[0]["messages"] == 2


def test_thousands_of_sessions_are_listed(machine: Machine) -> None:
    """Files that hold little, in many folders; the newest twenty are read."""
    data = as_lines(dialogue())
    for number in range(2_000):
        path = machine.claude / f"-srv-{number % 50}" / f"{number:08d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (NOW - number, NOW - number))
    report = machine.sessions("--json").json
    assert (report["files"], len(report["sessions"])) == (2_000, 20)
    assert [row["id"] for row in report["sessions"]] == [f"{number:08d}" for number in range(20)]


def test_the_benchmark_runs() -> None:
    """On few sessions; its figures are for people."""
    benchmark = real.PROJECT / "benchmarks" / "sessions.py"
    command = [sys.executable, str(benchmark), "--sessions", "3", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=real.PROJECT, env=with_project())
    assert "3 sessions" in done.stdout
    assert done.stdout.count(" s\n") == 5


def with_project() -> dict[str, str]:
    return environment({"PYTHONPATH": str(real.PROJECT)})


def test_the_readme_shows_the_columns_that_are_printed(machine: Machine) -> None:
    """Its example cannot be run: it would be another one on every machine."""
    readme = (real.PROJECT / "README.md").read_text()
    (example,) = re.findall(r"\$ condense sessions --limit 3\n(.*?)```", readme, re.DOTALL)
    machine.claude_code("a")
    assert machine.sessions().text.splitlines()[0].split() == example.splitlines()[0].split()
    assert max(map(len, example.splitlines())) <= 80
