"""What a run is at: said to a person who waits, on standard error, and never in a pipe."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path

import build
import pytest
from helpers import condense, condense_on_terminal

from condense_cli import api
from condense_cli.cli.running import ran as progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error of a terminal, and nobody who has patience."""
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    return screen


def wait_for_timers() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def test_who_waits_is_told_the_bytes_and_then_the_passes(
    file: Path, shown: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", shown)  # Not in the fixture: pytest puts its own there afterwards.
    with progress.progress_of(str(file), is_wanted=True):
        wait_for_timers()
    assert f"Reading {file.stat().st_size:,} bytes" in shown.getvalue()
    with progress.progress_of(str(file), is_wanted=True) as tell:
        tell("Cut old results")
        wait_for_timers()
        tell("Cut older results")
    assert "Cut older results" in shown.getvalue()


def test_who_does_not_wait_is_told_nothing(file: Path, shown: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", 3_600)
    with progress.progress_of(str(file), is_wanted=True) as tell:
        tell("Cut old results")
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    with progress.progress_of(str(file), is_wanted=False) as tell:
        tell("Cut old results")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress_of("no-such-file", is_wanted=True) as tell:
        wait_for_timers()
        tell("Cut old results")
    assert shown.getvalue() == ""


# References are written where they stand: behind passes that do not depend on them.
def test_a_run_tells_each_pass_by_its_name() -> None:
    names: list[str] = []
    passes = (build.one_pass(name="Cut old results"), build.one_pass(id="again"))
    configuration = build.configuration(*passes, lossless_prelude={"enabled": True})
    api.condense(build.anthropic(*build.conversation()), configuration, on_pass=names.append)
    assert names[:3] == ["Cut old results", "again", "Lossless prelude"]


def test_a_short_run_says_nothing_of_itself(file: Path) -> None:
    assert "Reading" not in condense_on_terminal("run", file, "-q").plain
    assert "Reading" not in condense("run", file).stderr
