"""From the list of sessions to one of them, and back; and what the command says where there is no terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from app_runs import app_of, press, run, said, screen_text, session_screen, settled
from helpers import condense
from machine import Machine
from textual.pilot import Pilot

from condense_cli import api
from condense_cli.cli.work.ui import check_terminal, sessions_here
from condense_cli.errors import UsageError
from condense_cli.ui.app import SessionsScreen

SAMPLE = Path(__file__).resolve().parent.parent.parent / "sample_transcripts" / "bugfix-session.jsonl"
ID = "5f2c91d8-0000-4000-8000-000000000001"


@pytest.fixture
def at_machine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    machine.claude_code("00000000-0000-4000-8000-000000000000", age=50)
    folder = machine.claude_code(ID).parent
    shutil.copy(SAMPLE, folder / f"{ID}.jsonl")
    return machine


@pytest.mark.slow
def test_a_session_of_this_machine_is_opened_and_condensed_to_a_new_one(at_machine: Machine) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, SessionsScreen)
        listed = [session.id for session in screen.sessions]
        assert "> 00000000" in screen_text(pilot)
        await press(pilot, "down", "enter")
        assert session_screen(pilot).session.tokens == api.condense(api.load(SAMPLE)).shown_before
        await press(pilot, "w", "n")
        assert "claude --resume" in screen_text(pilot)
        written = {path.stem for path in at_machine.claude.rglob("*.jsonl")}
        assert len(written) == len(listed) + 1
        await press(pilot, "escape", "u")
        assert {path.stem for path in at_machine.claude.rglob("*.jsonl")} == set(listed)
        await press(pilot, "q")
        assert isinstance(pilot.app.screen, SessionsScreen)
        await press(pilot, "q")
        assert not pilot.app.is_running

    run(app_of(find=sessions_here, preset="balanced"), steps)


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
