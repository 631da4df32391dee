"""`condense ui`: the terminal app."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...errors import UsageError
from ..console import exits
from ..options import File, Preset, Session
from ..reading import input_file

if TYPE_CHECKING:
    from ...report.lists.sessions import SessionList
    from ...ui.opened import Desk, OpenSession

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense ui                           pick a session of this machine\n"
    "condense ui session.jsonl\n"
    "condense ui --session latest --preset cost"
)


def ui(file: File = None, session: Session = None, preset: Preset = None) -> None:
    """Explore a session in the terminal and choose what is cut.

    See what fills it, and every message with its cuts and their reasons. Keep or cut a message, block, file or tool
    with one key; change preset, target or configuration and see the effect at once. Save the result as a new session,
    in place, as a file, or as a configuration. Every step can be undone; ? lists the keys. No model is called.
    """
    with exits():
        check_terminal()
        from ...ui.app import CondenseApp

        desk = _desk()
        start = desk.configurations.start(preset)
        CondenseApp(desk, start, sessions_here, _opened(file, session, desk)).run()


def edit_configuration(name: str, file: str | None, session: str | None) -> None:
    """Edit a preset or a file, with a transcript to see the effect on. Raises CondenseError."""
    from ...config.preset_folders import user_configuration_path
    from ...ui.app import CondenseApp
    from ...ui.editor_screen import EditorScreen
    from ..running.settings import presets_here

    desk, presets = _desk(), presets_here()
    choice = desk.configurations.start(name)
    is_of_package = name in presets.names() and presets.folder_of(name) is None
    own = user_configuration_path().parent / "presets" / f"{name}.yaml"
    home = own if is_of_package else presets.find(name)
    editor = EditorScreen(choice, desk.configurations, _opened(file, session, desk), home)
    CondenseApp(desk, choice, sessions_here, editor=editor).run()


def _desk() -> Desk:
    """What the app needs to know of this user."""
    from ...config.files import load_user_configuration
    from ...ui.choice import Configurations
    from ...ui.opened import Desk
    from ..memory import give_back_large_blocks
    from ..running.providing import registry_of_user
    from ..running.settings import presets_here

    give_back_large_blocks()  # Any session may be opened.
    user, registry = load_user_configuration(), registry_of_user()
    providers = [entry.provider.id for entry in registry.all()]
    return Desk(Configurations(presets_here(), providers, list(user.profiles)), user, registry)


def _opened(file: str | None, session: str | None, desk: Desk) -> OpenSession | None:
    """The session in a file, or that of an id; None where neither is given. Raises CondenseError."""
    from ...ui.opened import OpenSession

    return OpenSession.read(input_file(file, session), desk) if file or session else None


def check_terminal() -> None:
    """Raises UsageError where there is no terminal to show the app on, or the extra is not installed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("condense ui needs a terminal.", "Use condense run for a report, or --html for a page.")
    try:
        import textual  # noqa: F401
    except ImportError:
        raise UsageError("condense ui needs Textual.", "Install it: pip install 'condense-cli[ui]'") from None


def sessions_here() -> SessionList:
    """The newest sessions of this machine."""
    from ...clients import finding, listing
    from ...clients.choices import cache_folder
    from ...clients.table import session_places
    from ...config.files import load_user_configuration

    found = finding.find(session_places())
    newest = listing.list_sessions(found.files, cache_folder(), limit=_MOST)
    return listing.report(newest, found, load_user_configuration())


_MOST = 100
"""Sessions that are listed; older ones are opened by their file or id."""
