"""The app: which screen comes when."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from ..config.user import UserConfiguration
from ..errors import CondenseError
from ..providers.registry import Registry
from ..report.lists.sessions import SessionList
from .choice import Choice
from .configurations import Configurations
from .opened import OpenSession
from .screens.session import SessionScreen
from .screens.sessions import SessionsScreen


class CondenseApp(App[None]):
    """Sessions, one of them, and the editor of configurations."""

    CSS = """
    Screen { layout: vertical; }
    Static { height: auto; }
    #about, .quiet, #head { color: $text-muted; }
    #strip { height: 4; color: $primary; }
    #totals { text-style: bold; }
    #totals.old { text-style: dim; }
    #messages { width: 2fr; min-width: 34; }
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
        start: Choice,
        configurations: Configurations,
        user: UserConfiguration,
        registry: Registry,
        find: Callable[[], SessionList],
        session: OpenSession | None = None,
    ) -> None:
        super().__init__()
        self._first, self._configurations = start, configurations
        self._settings, self._providers = user, registry
        self._list, self._opened = find, session

    def on_mount(self) -> None:
        if self._opened is not None:
            self.push_screen(SessionScreen(self._opened, self._first))
        else:
            self.push_screen(SessionsScreen(self._list))

    def on_sessions_screen_opened(self, event: SessionsScreen.Opened) -> None:
        self.run_worker(lambda: self._open(event.path), thread=True, exclusive=True)

    def _open(self, path: str) -> None:
        try:
            session = OpenSession.read(path, self._configurations, self._settings, self._providers)
            _ = session.contents
        except CondenseError as error:
            self.call_from_thread(self.notify, error.message, severity="error", markup=False)
        else:
            self.call_from_thread(self.push_screen, SessionScreen(session, self._first))
