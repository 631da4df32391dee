"""One session in the app: what it shows, what its keys do, and that every step can be undone."""

import os
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from app_runs import app_of, enter, opened, press, run, said, screen_text, session_screen, settled
from textual.pilot import Pilot

from condense_cli import api
from condense_cli.config.loading import load_preset, parse_configuration
from condense_cli.passes.condensation import Condensation
from condense_cli.ui.opened import OpenSession
from condense_cli.ui.session_screen import SessionScreen
from condense_cli.ui.widgets import Rows


def chosen(pilot: Pilot[None]) -> tuple[list[str], list[str]]:
    """Selectors that are kept and cut."""
    choice = session_screen(pilot).history.choice
    return [*choice.keep], [*choice.cut]


def test_it_shows_what_the_preset_would_cut(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        view = session_screen(pilot).view
        assert view is not None
        expected = api.condense(api.load(file), load_preset("speed"))
        assert view.totals.after == expected.shown_after
        assert f"{expected.shown_before:,} → {expected.shown_after:,} tokens" in said(pilot, "totals")
        await press(pilot, "down", "down")
        shown = screen_text(pilot)
        assert "> ~    2 user" in shown
        assert "- 1: line 7 of the listing" in shown  # Gone, told without a colour.
        assert "tool results" in said(pilot, "about")
        assert shown.count("\n") == 23
        assert max(map(len, shown.split("\n"))) <= 80

    run(app_of(opened(file)), steps)


def test_keys_keep_and_cut(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        screen = session_screen(pilot)
        await press(pilot, "down", "down", "space")
        assert chosen(pilot) == (["2"], [])
        assert screen.view is not None
        kept = screen.view.totals.after
        assert "> K    2 user" in screen_text(pilot)
        await press(pilot, "space")
        assert chosen(pilot) == ([], ["2"])
        assert screen.view.totals.after < kept
        await press(pilot, "u", "u")
        assert chosen(pilot) == ([], [])
        await press(pilot, "r")
        assert chosen(pilot) == (["2"], [])

    run(app_of(opened(file)), steps)


def test_a_provider_is_picked(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "v")
        assert "smart: References, then passes" in screen_text(pilot)
        assert "lossless, lossy, summaries, fast" in screen_text(pilot)
        await press(pilot, "down", "down", "enter")
        screen = session_screen(pilot)
        assert "speed (edited) · provider truncation" in said(pilot, "choice")
        assert screen.view is not None
        own = api.condense(api.load(file), parse_configuration("provider: truncation\n"))
        assert screen.view.totals.after == own.shown_after
        await press(pilot, "v", "enter", "u")
        assert said(pilot, "choice") == "speed · target none"

    run(app_of(opened(file)), steps)


def test_it_says_what_it_computes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on = Event()
    condensed = OpenSession.condensed

    def slow(session: OpenSession, *arguments: Any, **options: Any) -> Condensation:
        may_go_on.wait()
        return condensed(session, *arguments, **options)

    monkeypatch.setattr(OpenSession, "condensed", slow)

    async def steps(pilot: Pilot[None]) -> None:
        while not isinstance(pilot.app.screen, SessionScreen) or session_screen(pilot).view is None:
            await pilot.pause(0.01)
        await pilot.pause()
        shown, about, choice = screen_text(pilot), said(pilot, "about"), said(pilot, "choice")
        await pilot.press("i")
        answer = said(pilot)
        may_go_on.set()  # Before anything may fail: the app waits for its thread.
        assert "Read src/1.p" in shown
        assert "3,420 tokens" in about
        assert choice.endswith("condensing…")
        assert "still being counted" in answer
        await settled(pilot)
        assert "tool results" in said(pilot, "about")
        assert "…" not in said(pilot, "choice")

    run(app_of(opened(file)), steps)


def test_keys_are_shown_in_80_columns(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        shown = screen_text(pilot)
        for key in ("↵ Open", "k Keep", "v Provider", "w Write", "? Help", "q Back"):
            assert key in shown
        await press(pilot, "tab")
        assert "Open" not in screen_text(pilot)  # Enter does nothing in a text.

    run(app_of(opened(file)), steps)


# By its tool, its file, and all that was before.
@pytest.mark.slow
def test_more_than_the_place_itself_can_be_meant(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "down", "down", "k", "t")
        await press(pilot, "x", "f")
        await press(pilot, "x", "h")
        assert chosen(pilot) == (["tool:Read"], ["file:src/1.py", ":2"])
        await press(pilot, "x", "f")
        assert chosen(pilot)[1] == [":2"]
        await press(pilot, "right", "down", "x", "b")
        assert chosen(pilot)[1] == [":2", "2.0"]
        await press(pilot, "x", "escape")
        assert chosen(pilot)[1] == [":2", "2.0"]

    run(app_of(opened(file)), steps)


@pytest.mark.slow
def test_preset_and_target_change_on_the_fly(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        screen = session_screen(pilot)
        await press(pilot, "p", "home", "enter")
        assert screen.history.choice.name == "balanced"
        await press(pilot, "t")
        await enter(pilot, "9k0")
        assert "is not a target" in said(pilot, "fault")
        await enter(pilot, "40%")
        assert screen.history.choice.target_percent == 40
        assert screen.view is not None
        assert screen.view.totals.after <= 0.4 * screen.view.totals.before + 1
        assert "target 40%" in said(pilot, "choice")
        await press(pilot, "u", "u")
        assert screen.history.choice.name == "speed"

    run(app_of(opened(file)), steps)


@pytest.mark.slow
def test_a_file_is_written_and_taken_back(file: Path, tmp_path: Path) -> None:
    small = tmp_path / "session-small.jsonl"

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "w", "f", "enter")
        assert api.load(small).messages
        assert str(small) in said(pilot)
        await press(pilot, "w", "f", "enter")
        assert "exists already" in said(pilot, "fault")
        await press(pilot, "escape", "u")
        assert not small.exists()

    run(app_of(opened(file)), steps)
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


@pytest.mark.slow
def test_it_is_written_in_place_and_taken_back(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for _ in range(2):
            await press(pilot, "w", "i")
            assert file.read_bytes() == api.dump(api.condense(api.loads(before), load_preset("speed")))
            await press(pilot, "escape", "u")
            assert file.read_bytes() == before
            assert "Restored" in said(pilot)

    run(app_of(opened(file)), steps)
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


# Escape is pressed once too often after every window.
@pytest.mark.slow
def test_what_was_chosen_is_not_left_by_one_key(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "space", "escape")
        assert "not written" in said(pilot)
        await press(pilot, "u", "r", "escape")
        assert session_screen(pilot).is_attached
        await press(pilot, "q")
        assert not pilot.app.is_running

    app = app_of(opened(file))
    run(app, steps)

    async def at_once(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "space", "u", "escape")
        assert not pilot.app.is_running

    run(app_of(opened(file)), at_once)


def test_a_format_without_sessions_says_so(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "w", "n")
        assert said(pilot).startswith("! ")

    run(app_of(opened(file)), steps)


@pytest.mark.slow
def test_what_is_chosen_becomes_a_configuration(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, "down", "down", "space", "t")
        await enter(pilot, "50%")
        await press(pilot, "w", "c")
        await enter(pilot, str(path))

    run(app_of(opened(file)), steps)
    assert yaml.safe_load(path.read_text()) == {"preset": "speed", "keep": ["2"], "target_reduction_percent": 50.0}


@pytest.mark.slow
def test_help_contents_and_the_way_from_cut_to_cut(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        messages = pilot.app.screen.query_one("#messages", Rows)
        await press(pilot, "n")
        assert messages.current == 2
        await press(pilot, "n", "N")
        assert messages.current == 2
        await press(pilot, "question_mark")
        assert "kept and cut by you" in screen_text(pilot)
        await press(pilot, "escape", "i")
        assert "tool results" in screen_text(pilot)
        await press(pilot, "escape", "tab")
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "text"
        await press(pilot, "q")
        assert not pilot.app.is_running

    run(app_of(opened(file)), steps, size=(120, 40))


# A summary takes a line of its own in front of the messages that it is of.
@pytest.mark.slow
def test_the_cursor_stays_on_its_message(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        screen = session_screen(pilot)
        await press(pilot, "end", "up", "t")
        await enter(pilot, "20%")
        view, place = screen.view, screen.place
        assert view is not None
        assert place is not None
        messages = view.conversation.messages
        assert any(message.is_new for message in messages)
        assert messages[place.position].number == len(view.result.before.messages) - 2

    run(app_of(opened(file), "balanced"), steps)


SCREENS = Path(__file__).parent / "screens"
SMALL, LARGE = (80, 24), (120, 40)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("session-80", SMALL, ["down", "down", "space", "enter"]),
        ("session-120", LARGE, ["end", "x"]),
        ("editor-80", SMALL, ["e", "down", "down", "tab", "down"]),
        ("editor-120", LARGE, ["e", "down", "space", "a"]),
        ("tiny", (20, 5), ["down"]),
    ],
)
def test_screens_look_as_they_did(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: tuple[int, int], keys: list[str]
) -> None:
    shown: list[str] = []

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for key in keys:
            await press(pilot, key)
        # The last line is Textual's own.
        shown.extend(screen_text(pilot).split("\n")[:-1])

    monkeypatch.chdir(file.parent)
    run(app_of(opened(Path(file.name))), steps, size)
    text = "\n".join([*shown, ""])
    path = SCREENS / f"{name}.txt"
    if os.environ.get("WRITE_SCREENS"):
        path.write_text(text)
    assert text == path.read_text()
