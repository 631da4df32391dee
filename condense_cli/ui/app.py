"""The terminal app, and the list of sessions that it begins with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static

from ..errors import CondenseError
from ..report.lists.sessions import SessionList, SessionRow, table_of
from ..report.terminal import table_lines
from ..report.text.visible import visible
from .choice import UserChoice
from .editor_screen import EditorScreen
from .lines import ShownLine
from .opened import Desk, OpenSession
from .session_screen import SessionScreen
from .widgets import Rows


class SessionsScreen(Screen[None]):
    """Sessions, newest first. `find` lists them, in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "app.quit", "Quit", key_display="q"),
    ]

    class Opened(Message):
        """The user opened a session."""

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


class CondenseApp(App[None]):
    """The list of sessions, one session, and the editor of configurations."""

    CSS = """
    Screen { layout: vertical; }
    Static { height: auto; }
    #about, .quiet, #head { color: $text-muted; }
    #said { max-height: 2; }
    #strip { height: 4; color: $primary; }
    #totals { text-style: bold; }
    #totals.old { text-style: dim; }
    #messages { width: 2fr; min-width: 39; }
    #parts { width: 2fr; min-width: 34; }
    #form { width: 3fr; border-left: solid $panel; padding-left: 1; }
    #field { color: $text-muted; max-height: 3; }
    #text { width: 3fr; border-left: solid $panel; padding-left: 1; }
    .title { text-style: bold; }
    ModalScreen { align: center middle; }
    .window { width: 70; max-width: 96%; height: auto; max-height: 96%; border: round $primary; padding: 0 1;
              background: $surface; }
    .wide { width: 96%; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []
    TITLE = "condense"

    def __init__(
        self,
        desk: Desk,
        start: UserChoice,
        find: Callable[[], SessionList],
        session: OpenSession | None = None,
        editor: EditorScreen | None = None,
    ) -> None:
        """Show the `editor` alone if it is given; else begin with the `session`, or with the list."""
        super().__init__()
        self._desk, self._first, self._list = desk, start, find
        self._opened, self._editor = session, editor

    def on_mount(self) -> None:
        if self._editor is not None:
            self.push_screen(self._editor, lambda _: self.exit())
        elif self._opened is not None:
            self.push_screen(SessionScreen(self._opened, self._first))
        else:
            self.push_screen(SessionsScreen(self._list))

    def on_sessions_screen_opened(self, event: SessionsScreen.Opened) -> None:
        self.run_worker(lambda: self._open(event.path), thread=True, exclusive=True)

    def _open(self, path: str) -> None:
        try:
            session = OpenSession.read(path, self._desk)
            _ = session.contents
        except CondenseError as error:
            self.call_from_thread(self._tell, error)
        else:
            self.call_from_thread(self.push_screen, SessionScreen(session, self._first))

    def _tell(self, error: CondenseError) -> None:
        if isinstance(self.screen, SessionsScreen):
            self.screen.say(f"! {error.message} {error.hint}".rstrip())
