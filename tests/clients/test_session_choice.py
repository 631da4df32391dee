"""`--session`: commands take a session of this machine in place of a file, and say which one it is."""

import json
from pathlib import Path

import pytest
from build import claude_line
from helpers import Outcome, as_lines, condense, condense_on_terminal
from helpers import session as long_session
from machine import Machine, dialogue, rollout, said_to_codex, task, written

from condense_cli.cli.options import session_ids
from condense_cli.clients.listing import choose
from condense_cli.clients.table import places
from condense_cli.errors import ExitStatus

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaab-0000-4000-8000-000000000002"
TASK = "1779999000000"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Two sessions of Claude Code whose ids begin alike, the first the newer; an older task of Roo Code."""
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    machine.claude_code(ONE, *dialogue("The first"), project="/srv/one", age=10)
    machine.claude_code(TWO, *dialogue("The second"), project="/srv/two", age=20)
    machine.task(TASK, task(), age=30)
    return machine


def run(machine: Machine, *arguments: str, cwd: Path | None = None) -> Outcome:
    return condense(*arguments, env=machine.env, cwd=cwd)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "-o", "-", "-q"],
        ["inspect"],
        ["validate"],
        ["estimate"],
        ["restore", "--json"],
        ["diff", "--preset", "speed"],
    ],
    ids=" ".join,
)
def test_a_session_stands_in_for_a_file(machine: Machine, command: list[str]) -> None:
    (path,) = machine.claude.rglob(f"{ONE}.jsonl")
    named = run(machine, command[0], str(path), *command[1:])
    chosen = run(machine, *command, "--session", ONE)
    assert (named.status, named.stderr) == (0, "")
    assert (chosen.status, chosen.stdout, chosen.stderr) == (0, named.stdout, "")


def test_the_arguments_after_the_file_stay(machine: Machine, tmp_path: Path) -> None:
    (path,) = machine.claude.rglob(f"{ONE}.jsonl")
    other = written(tmp_path / "other.jsonl", as_lines(dialogue("Another")))
    for command, rest in (("diff", [str(other)]), ("estimate", ["speed", "cost"]), ("show", ["0:0"])):
        named = run(machine, command, str(path), *rest)
        chosen = run(machine, command, "--session", ONE, *rest)
        assert named.status == chosen.status == 0, chosen.stderr
        assert named.stdout == chosen.stdout
    assert run(machine, "show", "--session", ONE, "0:0").text == "The first"


@pytest.mark.parametrize("command", ["run", "inspect", "validate", "estimate", "restore", "diff", "show", "undo"])
def test_without_a_transcript_both_ways_are_said(machine: Machine, command: str) -> None:
    rest = {"diff": ["--preset", "speed"]}.get(command, [])
    outcome = run(machine, command, *rest)
    assert outcome.status == ExitStatus.USAGE
    if command != "show":
        assert "FILE" in outcome.message
        assert "--session" in outcome.message


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "f.jsonl"],
        ["inspect", "f.jsonl"],
        ["validate", "f.jsonl"],
        ["restore", "f.jsonl"],
        ["show", "f.jsonl", "1"],
        ["diff", "f.jsonl", "g.jsonl"],
    ],
    ids=" ".join,
)
def test_a_file_and_a_session_are_one_too_many(machine: Machine, arguments: list[str]) -> None:
    outcome = run(machine, *arguments, "--session", ONE)
    assert outcome.status == ExitStatus.USAGE
    assert "cannot be used together" in outcome.message


@pytest.mark.parametrize("name", ["latest", "aaaaaaaa", ONE])
def test_a_session_in_place_of_a_file_is_told_where_it_goes(machine: Machine, tmp_path: Path, name: str) -> None:
    refused = run(machine, "run", name, cwd=tmp_path)
    assert refused.status == ExitStatus.INPUT
    assert refused.stderr.endswith(f"There is no file {name}.\nTo name a session: --session {name}.\n")
    (tmp_path / name).write_bytes(b"")
    assert "is empty" in run(machine, "run", name, cwd=tmp_path).stderr


def test_enough_of_an_id_is_enough(machine: Machine) -> None:
    short = {row["id"]: row["short"] for row in machine.rows()}
    for id, said in ((ONE, "The first"), (TWO, "The second"), (TASK, "Rename it.")):
        assert said in run(machine, "show", "--session", short[id], "0").text
    assert run(machine, "validate", "--session", "1").status == 0


def test_an_ambiguous_beginning_names_the_candidates(machine: Machine) -> None:
    outcome = run(machine, "inspect", "--session", "aaaaaaa")
    assert outcome.status == ExitStatus.USAGE
    assert ONE in outcome.message
    assert TWO in outcome.message
    for number in range(10):
        machine.claude_code(f"aaaaaaac-{number}")
    assert "and 7 more" in run(machine, "inspect", "--session", "aaaaaaa").message


def test_one_id_in_two_places_is_told_by_the_files(machine: Machine) -> None:
    """A copy of a session has its id; so does the session itself."""
    copy = machine.claude_code(ONE, project="/srv/copy")
    outcome = run(machine, "inspect", "--session", ONE)
    assert outcome.status == ExitStatus.USAGE
    assert str(copy) in outcome.message


@pytest.mark.parametrize("wanted", ["nothing-like-it", "", "*", "../x", "\x1b[31m"])
def test_an_unknown_session_is_refused(machine: Machine, wanted: str) -> None:
    outcome = run(machine, "inspect", "--session", wanted)
    assert outcome.status == ExitStatus.INPUT
    assert "condense sessions lists them" in outcome.message


def test_sessions_aside_are_found_by_name(machine: Machine) -> None:
    """Sub-agents and archived sessions; but one that is shown goes before them."""
    machine.claude_code("", path="-srv-one/agent-1234.jsonl")
    archived = "aaaaaaaa-ffff-4000-8000-000000000003"
    machine.codex(archived, *rollout(archived, said_to_codex("go")), folder="archived_sessions")
    assert run(machine, "validate", "--session", "agent-1").status == 0
    assert "The first" in run(machine, "show", "--session", "aaaaaaaa", "0").text
    assert run(machine, "show", "--session", "aaaaaaaa", "-1").status == 0
    chosen = choose("aaaaaaaa-f", places(machine.home, {}, "linux"), machine.home)
    assert (chosen.file.id, chosen.file.is_side) == (archived, True)


def test_latest_is_the_newest_of_the_project_one_is_in(machine: Machine, tmp_path: Path) -> None:
    """Of any folder of its repository; one line says which it is."""
    app = tmp_path / "app"
    (app / ".git").mkdir(parents=True)
    (app / "src").mkdir()
    machine.claude_code("older", *dialogue("Mine", project=str(app)), project=str(app), age=500)
    machine.claude_code("empty", {"type": "summary", "summary": "s", "leafUuid": "u"}, project=str(app))
    machine.claude_code("", path=f"{str(app).replace('/', '-').replace('_', '-')}/agent-1.jsonl")
    outcome = run(machine, "show", "--session", "latest", "0", cwd=app / "src")
    assert "Mine" in outcome.text
    assert "the newest session is 'Mine' (claude-code): ~/.claude/projects/" in outcome.message
    assert machine.ids("--here", cwd=app)[0] == "older"


def test_latest_is_the_newest_of_all_where_the_project_has_none(machine: Machine, tmp_path: Path) -> None:
    outcome = run(machine, "show", "--session", "latest", "0", cwd=tmp_path)
    assert "The first" in outcome.text
    assert "(this project has none)" in outcome.message


def test_a_log_for_programs_has_no_word_of_it(machine: Machine, tmp_path: Path) -> None:
    (path,) = machine.claude.rglob(f"{ONE}.jsonl")
    outcome = run(machine, "run", "--session", "latest", "--log-json", cwd=tmp_path)
    assert json.loads(outcome.stderr)["input"] == str(path)


def test_latest_is_what_the_list_begins_with(machine: Machine, tmp_path: Path) -> None:
    """For copied files the last message decides, for both."""
    records = [{**record, "timestamp": "2027-05-28T10:00:00Z"} for record in dialogue("Said last")]
    machine.claude_code("said-last", *records, age=15)
    assert machine.rows()[0]["title"] == "Said last"
    assert "Said last" in run(machine, "show", "--session", "latest", "0", cwd=tmp_path).text


def test_a_machine_without_sessions_has_no_latest(tmp_path: Path) -> None:
    outcome = run(Machine(tmp_path / "home", tmp_path / "cache"), "run", "--session", "latest")
    assert outcome.status == ExitStatus.INPUT
    assert "no sessions on this machine" in outcome.message


def test_the_session_itself_is_never_written_over(machine: Machine) -> None:
    path = machine.claude_code("long", *dialogue())
    outcome = run(machine, "run", "--session", "long", "-o", str(path))
    assert outcome.status == ExitStatus.USAGE
    assert "is the input file" in outcome.message


def test_a_session_is_condensed_in_place_and_taken_back(machine: Machine) -> None:
    said = enumerate(long_session())
    path = machine.claude_code(
        "long",
        *(claude_line(turn["role"], f"u{at}", f"u{at - 1}" if at else None, turn["content"]) for at, turn in said),
    )
    before, ids = path.read_bytes(), machine.ids()
    assert run(machine, "run", "--session", "long", "--in-place", "-p", "speed").status == 0
    assert path.read_bytes() != before
    assert sorted(machine.ids()) == sorted(ids)
    assert run(machine, "undo", "--session", "long").status == 0
    assert path.read_bytes() == before


def test_shells_complete_ids(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    known = [*session_ids()]
    assert [id for id, _ in known] == ["latest", ONE, TWO, TASK]
    assert known[-1] == (TASK, "roo")


@pytest.mark.slow
def test_a_long_search_shows_that_it_goes_on(machine: Machine, tmp_path: Path) -> None:
    """On a terminal, while nothing is remembered; afterwards there is nothing to wait for."""
    machine.claude_code("large", *dialogue("word " * 200_000))
    first = condense_on_terminal("sessions", env=machine.env)
    assert first.status == 0
    assert "Reading sessions" in first.text
    assert "large" in first.plain
