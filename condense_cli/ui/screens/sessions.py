"""The sessions of this machine, to open one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static

from ...report.lists.sessions import SessionList, SessionRow, table_of
from ...report.terminal import table_lines
from ...report.text.visible import visible
from ..lines import ShownLine
from ..rows import Rows


class SessionsScreen(Screen[None]):
    """Sessions, the newest first. `find` lists them, in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "app.quit", "Quit", key_display="q"),
    ]

    class Opened(Message):
        """A session is to be opened."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self, find: Callable[[], SessionList]) -> None:
        super().__init__()
        self._find = find
        self.sessions: list[SessionRow] = []

    def compose(self) -> ComposeResult:
        yield Static("Sessions of this machine", classes="title", id="about")
        yield Static("Looking…", id="head", markup=False)
        yield Rows(id="sessions")
        yield Static(id="said", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(Rows).focus()
        self.run_worker(self._look, thread=True)

    def on_screen_resume(self) -> None:
        self.say("")

    def _look(self) -> None:
        found = self._find()
        self.app.call_from_thread(self._show, found)

    def _show(self, found: SessionList) -> None:
        self.sessions = [session for session in found.sessions if session.problem is None]
        head = self.query_one("#head", Static)
        if not self.sessions:
            places = ", ".join(place.path for place in found.places)
            head.update(f"No sessions found. Looked in {places}. condense ui FILE opens a file.")
            return
        width = self.size.width - 4
        first, *rest = table_lines(table_of(self.sessions, datetime.now(UTC), width), width)
        head.update(f"  {first}")
        self.query_one(Rows).show([ShownLine(line) for line in rest], 0)

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(visible(text))

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        self.say("Opening…")
        self.post_message(self.Opened(self.sessions[event.index].path))
