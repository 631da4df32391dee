"""`condense sessions`: figures, order, filters."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import real
from helpers import as_lines, environment
from machine import NOW, Machine, dialogue, rollout, said_to_codex, task, written

from condense_cli import formats
from condense_cli.clients.client import SessionFile, last_timestamp
from condense_cli.clients.listing import Facts, facts_of, iso, short_ids
from condense_cli.clients.table import find, places
from condense_cli.errors import ExitStatus
from condense_cli.report.inspection.facts import inspect
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.tokens.factor import Factor, factor_of, family_of
from condense_cli.window.use import in_use

ROLLOUT = "019fc8be-3658-7ca3-9e29-00000000000a"


FILES = [path for format in ("claude-code", "roo") for path in real.files_of(format)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_figures_of_real_sessions_are_those_of_inspect(path: Path, tmp_path: Path) -> None:
    """Messages, tokens and what is in use; and each has a title and a time."""
    transcript = formats.parse(path.read_bytes(), name=path.name)
    encoding = encoding_for(transcript.model)
    count = Counter(encoding.name)
    factor = factor_of(transcript, count)
    expected = inspect(transcript, count, factor, encoding, source="test")
    place = next(place for place in places(tmp_path, {}, "linux") if place.client == transcript.format)
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
    used = in_use(transcript, count, factor)
    assert (facts.used, facts.used_source) == (used.tokens, used.source)
    assert facts.title


def test_a_row_says_what_a_session_is(machine: Machine) -> None:
    said = "2026-05-28T20:00:00.000Z"
    records = [{**record, "timestamp": said} for record in dialogue()]
    path = machine.claude_code("aaaa-bbbb-cccc", *records, {"type": "ai-title", "aiTitle": "Login", "sessionId": "x"})
    (row,) = machine.rows()
    count = Counter()
    family = family_of("claude-opus-4-5")
    assert family is not None
    tokens = Factor(family.factor).shown(6 + count("Fix the login.") + count("Fixed."))
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
        "window": {
            "tokens": row["window"]["tokens"],
            "percent": 0.0,
            "used": row["tokens"],
            "source": "estimated",
            "tokens_source": "price table",
        },
        "path": str(path),
        "bytes": path.stat().st_size,
        "aside": False,
        "condensed": False,
        "problem": None,
        "origin": None,
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
    assert "could not be counted (--json says why)" in " ".join(table.split())


def test_a_file_that_goes_while_it_is_listed_is_no_crash(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is read again next time, because that may end."""
    from condense_cli import errors
    from condense_cli.clients import listing

    machine.claude_code("a")
    with monkeypatch.context() as patch:
        patch.setattr(listing, "read_bytes", lambda path: (_ for _ in ()).throw(errors.UnreadableError("It is gone.")))
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


def test_the_newest_come_first_and_only_so_many_are_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that are not shown are not opened."""
    from condense_cli.clients import listing

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
    machine.claude_code("a")
    machine.task("b", task())
    assert machine.ids("--client", "roo") == ["b"]
    outcome = machine.sessions("--client", "aider")
    assert outcome.status == ExitStatus.USAGE
    assert "claude-code" in outcome.stderr


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


def test_names_of_files_may_be_any_bytes(machine: Machine) -> None:
    path = machine.claude_code("a")
    os.rename(path, path.parent / os.fsdecode(b"caf\xe9.jsonl"))
    for _ in range(2):
        outcome = machine.sessions()
        assert outcome.status == 0
        assert "caf" in outcome.text
    assert machine.rows()[0]["messages"] == 2


def test_thousands_of_sessions_are_listed(machine: Machine) -> None:
    data = as_lines(dialogue())
    for number in range(2_000):
        path = machine.claude / f"-srv-{number % 50}" / f"{number:08d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (NOW - number, NOW - number))
    report = machine.sessions("--json").json
    assert (report["files"], len(report["sessions"])) == (2_000, 20)
    assert [row["id"] for row in report["sessions"]] == [f"{number:08d}" for number in range(20)]


@pytest.mark.slow
def test_the_benchmark_runs() -> None:
    """On few sessions; its figures are for people."""
    benchmark = real.PROJECT / "benchmarks" / "sessions.py"
    command = [sys.executable, str(benchmark), "--sessions", "9", "--rounds", "1", "--mixed"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=real.PROJECT, env=with_project())
    assert "9 sessions" in done.stdout
    assert done.stdout.count(" s of processor\n") == 4


def with_project() -> dict[str, str]:
    return environment({"PYTHONPATH": str(real.PROJECT)})
