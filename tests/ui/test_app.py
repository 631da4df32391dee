"""From the list of sessions to one of them, and back; and what the command says where there is no terminal."""

import shutil
import sys
from pathlib import Path
from threading import Event

import pytest
from app_runs import DESK, app_of, press, run, said, screen_text, session_screen, settled
from helpers import condense
from machine import Machine
from textual.pilot import Pilot

from condense_cli import api
from condense_cli.cli.work.ui import check_terminal, sessions_here
from condense_cli.errors import NotJsonError, UsageError
from condense_cli.ui.app import CondenseApp, SessionsScreen
from condense_cli.ui.choice import UserChoice
from condense_cli.ui.opened import Desk, OpenSession
from condense_cli.ui.widgets import Rows

SAMPLE = Path(__file__).resolve().parent.parent.parent / "sample_transcripts" / "bugfix-session.jsonl"
ID = "7d82be95-7681-5272-b0b9-16bb9d49742f"  # As its records have it.


@pytest.fixture
def at_machine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    machine.claude_code("00000000-0000-4000-8000-000000000000", age=50)
    folder = machine.claude_code(ID).parent
    shutil.copy(SAMPLE, folder / f"{ID}.jsonl")
    return machine


def test_a_file_is_read_beside_the_first_screen(at_machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on = Event()
    read = OpenSession.read

    def slow(path: str, desk: Desk) -> OpenSession:
        may_go_on.wait()
        return read(path, desk)

    monkeypatch.setattr(OpenSession, "read", slow)

    async def steps(pilot: Pilot[None]) -> None:
        shown = screen_text(pilot)
        may_go_on.set()  # Before anything may fail: the app waits for its threads.
        assert "Reading" in shown
        await settled(pilot)
        assert session_screen(pilot).view is not None
        await press(pilot, "q")
        assert not pilot.app.is_running

    run(CondenseApp(DESK, UserChoice("balanced"), list, str(SAMPLE)), steps)


def test_a_file_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    app = CondenseApp(DESK, UserChoice("balanced"), list, str(tmp_path / "nothing.jsonl"))

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        assert not pilot.app.is_running

    run(app, steps)
    assert app.fault is not None
    assert "nothing.jsonl" in app.fault.message


def test_no_fault_advises_an_option_that_the_app_lacks(tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(SAMPLE.read_bytes()[:-20])
    with pytest.raises(NotJsonError, match="not JSON") as refused:
        OpenSession.read(str(torn), DESK)
    assert refused.value.hint == "The last line seems cut off. condense repair FILE removes it."


def test_sessions_of_the_project_come_first(at_machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    project = at_machine.home / "mine"
    project.mkdir()
    own = at_machine.claude_code("00000000-0000-4000-8000-000000000009", project=str(project), age=5_000)
    monkeypatch.chdir(project)
    *_, found = sessions_here()
    assert [session.path for session in found.sessions].index(str(own)) == 0
    assert len(found.sessions) == 3


@pytest.mark.slow
def test_a_session_of_this_machine_is_opened_and_condensed_to_a_new_one(at_machine: Machine) -> None:
    started: list[str] = []

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, SessionsScreen)
        listed = [session.id for session in screen.sessions]
        started.extend(listed)
        assert "> 00000000" in screen_text(pilot)
        await press(pilot, "down", "enter")
        assert session_screen(pilot).session.tokens == api.condense(api.load(SAMPLE)).shown_before
        await press(pilot, "w", "n")
        assert "claude --resume" in screen_text(pilot)
        written = {path.stem for path in at_machine.claude.rglob("*.jsonl")}
        assert len(written) == len(listed) + 1
        await press(pilot, "escape", "u")
        assert {path.stem for path in at_machine.claude.rglob("*.jsonl")} == set(listed)
        assert app.written == []
        await press(pilot, "w", "i")
        assert f"claude --resume {ID}" in app.written[-1]
        await press(pilot, "escape", "u")
        assert app.written == []
        await press(pilot, "w", "n", "escape", "q")
        screen = pilot.app.screen
        assert isinstance(screen, SessionsScreen)
        assert len(screen.sessions) == len(listed) + 1
        assert screen.sessions[screen.query_one(Rows).current].id == ID  # The cursor stays on its session.
        assert "↵ Open" in screen_text(pilot)
        await press(pilot, "q")
        assert not pilot.app.is_running

    app = app_of(find=sessions_here, preset="balanced")
    run(app, steps)
    (new,) = {path.stem for path in at_machine.claude.rglob("*.jsonl")} - set(started)
    assert new in app.written[0]
    assert app.written[1].endswith(f"claude --resume {new}")


def test_a_session_that_cannot_be_read_is_told(at_machine: Machine) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for path in at_machine.claude.rglob("*.jsonl"):
            path.write_text("nothing\n")
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, SessionsScreen)
        assert said(pilot).startswith("! ")

    run(app_of(find=sessions_here), steps)


def test_no_sessions_are_said_so() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        assert "condense ui FILE" in said(pilot, "head")

    run(app_of(), steps)


@pytest.mark.parametrize("command", [["ui"], ["presets", "edit", "cost"]])
def test_without_a_terminal_it_says_what_to_do(command: list[str]) -> None:
    outcome = condense(*command)
    assert outcome.status == 2
    assert "needs a terminal" in outcome.stderr


def test_without_textual_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    with pytest.raises(UsageError) as caught:
        check_terminal()
    assert "-m pip install 'textual>=" in caught.value.hint
