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

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense ui                           pick one of the sessions of this machine\n"
    "condense ui session.jsonl\n"
    "condense ui --session latest --preset cost"
)


def ui(file: File = None, session: Session = None, preset: Preset = None) -> None:
    """Look at a session in the terminal and steer what is cut.

    What fills it, each message with its cuts and why; keep or cut a message, a block, a file or a tool by a key;
    change preset, target and configuration, and see what comes of it at once. Written as a new session, in place, to
    a file, or as a configuration; every step can be undone. ? shows the keys. No model is called.
    """
    with exits():
        check_terminal()
        from ...config.user import load_user_configuration
        from ...ui.app import CondenseApp
        from ...ui.configurations import Configurations
        from ...ui.opened import OpenSession
        from ..running.providing import registry_of_user
        from ..running.settings import presets_here

        path = input_file(file, session) if file is not None or session is not None else None
        configurations = Configurations(presets_here())
        start = configurations.start(preset)
        user, registry = load_user_configuration(), registry_of_user()
        opened = OpenSession.read(path, configurations, user, registry) if path is not None else None
        CondenseApp(start, configurations, user, registry, sessions_here, opened).run()


def check_terminal() -> None:
    """Raises UsageError where there is no terminal to show the app on, or the extra is not installed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("condense ui needs a terminal.", "condense run prints a report, and --html writes a page.")
    try:
        import textual  # noqa: F401
    except ImportError:
        raise UsageError("condense ui needs Textual.", "Install it: pip install 'condense-cli[ui]'") from None


def sessions_here() -> SessionList:
    """The newest sessions of this machine."""
    from ...config.user import load_user_configuration
    from ...sessions import finding, listing
    from ..machine import cache_folder, session_places

    found = finding.find(session_places())
    newest = listing.listed(found.files, cache_folder(), limit=_MOST)
    return listing.report(newest, found, load_user_configuration())


_MOST = 100
"""Sessions that are listed; older ones are opened by their file or id."""
