"""The terminal app, and the list of sessions that it begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.worker import get_current_worker

from ..clients.choices import tilde
from ..core.wording import visible
from ..errors import CondenseError
from ..report.lists.sessions import SessionList, SessionRow, table_of
from ..report.terminal import table_lines
from .choice import UserChoice
from .editor_screen import EditorScreen
from .lines import ShownLine, error_text
from .opened import Desk, OpenSession
from .session_screen import SessionScreen
from .widgets import Rows


class SessionsScreen(Screen[None]):
    """Sessions: those of the project, then the others, newest first. `find` lists some, then more, in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "app.quit", "Quit", key_display="q"),
    ]

    class Opened(Message):
        """The user opened a session."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self, find: Callable[[], Iterable[SessionList]]) -> None:
        super().__init__()
        self._find = find
        self.sessions: list[SessionRow] = []

    def compose(self) -> ComposeResult:
        yield Static(classes="title", id="about", markup=False)
        yield Static(id="head", markup=False)
        yield Rows(id="sessions")
        yield Static(id="said", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(Rows).focus()

    def on_screen_resume(self) -> None:
        """Look anew: a session may have been written."""
        self.say("")
        self._title(" · looking, and counting tokens…")
        self.run_worker(self._look, thread=True, exclusive=True)

    def _look(self) -> None:
        worker = get_current_worker()
        for found in self._find():
            if worker.is_cancelled:
                return
            self.app.call_from_thread(self._show, found)
        self.app.call_from_thread(self._title, "")

    def _title(self, computing: str) -> None:
        self.query_one("#about", Static).update(f"Sessions of this machine, this project's first{computing}")

    def _show(self, found: SessionList) -> None:
        rows = self.query_one(Rows)
        known = self.sessions[rows.current].path if self.sessions else None
        self.sessions = [session for session in found.sessions if session.problem is None]
        head = self.query_one("#head", Static)
        if not self.sessions:
            places = ", ".join(place.path for place in found.places)
            head.update(f"No sessions found. Looked in {places}. condense ui FILE opens a file.")
            return
        width = self.size.width - 4
        first, *rest = table_lines(table_of(self.sessions, datetime.now(UTC), width), width)
        head.update(f"  {first}")
        at = next((number for number, session in enumerate(self.sessions) if session.path == known), 0)
        rows.show([ShownLine(line) for line in rest], at)

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(visible(text))

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        self.say(_reading(self.sessions[event.index].path))
        self.post_message(self.Opened(self.sessions[event.index].path))


class OpeningScreen(Screen[None]):
    """Says that a session is being read."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "app.quit", "Quit", key_display="q")]

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def compose(self) -> ComposeResult:
        yield Static(visible(_reading(self._path)), markup=False)
        yield Footer(compact=True, show_command_palette=False)


def _reading(path: str) -> str:
    return f"Reading {tilde(path)} and counting its tokens…"


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
        find: Callable[[], Iterable[SessionList]],
        file: str | None = None,
        editor: EditorScreen | None = None,
    ) -> None:
        """Show the `editor` alone if it is given; else begin with the session in a file, or with the list."""
        super().__init__()
        self._desk, self._first, self._list = desk, start, find
        self._file, self._editor = file, editor
        self._sessions: list[OpenSession] = []
        self.fault: CondenseError | None = None
        """The reason why the session in the file could not be opened."""

    @property
    def written(self) -> list[str]:
        """Sentences about each file that was written and not taken back, with the commands that resume sessions."""
        return [line for session in self._sessions for said in session.written for line in said]

    def on_mount(self) -> None:
        if self._editor is not None:
            self.push_screen(self._editor, lambda _: self.exit())
        elif self._file is not None:
            self.push_screen(OpeningScreen(self._file))
            self._open_beside(self._file)
        else:
            self.push_screen(SessionsScreen(self._list))

    def on_sessions_screen_opened(self, event: SessionsScreen.Opened) -> None:
        self._open_beside(event.path)

    def _open_beside(self, path: str) -> None:
        self.run_worker(lambda: self._open(path), thread=True, exclusive=True)

    def _open(self, path: str) -> None:
        try:
            session = OpenSession.read(path, self._desk)
        except CondenseError as error:
            self.call_from_thread(self._tell, error)
        else:
            self.call_from_thread(self._show, session)

    def _show(self, session: OpenSession) -> None:
        self._sessions.append(session)
        screen = SessionScreen(session, self._first)
        if isinstance(self.screen, OpeningScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def _tell(self, error: CondenseError) -> None:
        if isinstance(self.screen, SessionsScreen):
            self.screen.say(error_text(error))
        else:
            self.fault = error
            self.exit()
