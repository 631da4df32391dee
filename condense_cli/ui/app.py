"""The app: which screen comes when."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from ..errors import CondenseError
from ..report.lists.sessions import SessionList
from .choice import UserChoice
from .opened import Desk, OpenSession
from .screens.editor import EditorScreen
from .screens.session import SessionScreen
from .screens.sessions import SessionsScreen


class CondenseApp(App[None]):
    """Sessions, one of them, and the editor of configurations."""

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
        """With an `editor`, that is all there is; with a `session`, it begins with that."""
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
