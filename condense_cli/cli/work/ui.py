"""`condense ui` and `condense presets edit`: the terminal app."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from ...clients import listing
from ...clients.table import find, session_places
from ...config.own import load_user_configuration
from ...config.preset_folders import user_configuration_path
from ...errors import UsageError
from ...report.lists.sessions import SessionList
from ...storage.extras import missing
from ...ui.choice import Configurations
from ...ui.opened import Desk, OpenSession
from ..commands.session import UiOptions
from ..commands.settings import EditPreset
from .providing import registry_of_user
from .reading import give_back_large_blocks, input_file
from .settings import presets_here

if TYPE_CHECKING:
    from ...ui.app import CondenseApp
    from ...ui.editor_screen import EditorScreen

_LISTED: Final = (5, 25, 100)
"""Sessions that are listed at first, and then; older ones are opened by their file or id."""


def ui(options: UiOptions) -> None:
    """Run the app. Raises CondenseError."""
    check_terminal()
    app, _ = _with_textual()
    desk = _desk()
    start = desk.configurations.start(options.preset)
    is_named = options.file or options.session
    shown = app(desk, start, sessions_here, input_file(options.file, options.session) if is_named else None)
    shown.run()
    if shown.fault is not None:
        raise shown.fault
    for line in shown.written:
        typer.echo(line)


def edit_preset(options: EditPreset) -> None:
    """Edit a preset or a file, with a transcript to see the effect on. Raises CondenseError."""
    check_terminal()
    app, editor_screen = _with_textual()
    name = options.name
    desk, presets = _desk(), presets_here()
    choice = desk.configurations.start(name)
    is_of_package = name in presets.names() and presets.folder_of(name) is None
    own = user_configuration_path().parent / "presets" / f"{name}.yaml"
    home = own if is_of_package else presets.find(name)
    editor = editor_screen(choice, desk.configurations, _opened(options.file, options.session, desk), home)
    app(desk, choice, sessions_here, editor=editor).run()


def _desk() -> Desk:
    """Return the user's settings for the app."""
    give_back_large_blocks()  # Any session may be opened.
    user, registry = load_user_configuration(), registry_of_user()
    providers = [entry.provider.id for entry in registry.all()]
    return Desk(Configurations(presets_here(), providers, list(user.profiles)), user, registry)


def _opened(file: str | None, session: str | None, desk: Desk) -> OpenSession | None:
    """Read the session in a file or of an id, or None without either. Raises CondenseError."""
    return OpenSession.read(input_file(file, session), desk) if file or session else None


def check_terminal() -> None:
    """Raise UsageError if there is no terminal to show the app on, or the extra is not installed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("condense ui needs a terminal.", "Use condense run for a report, or --html for a page.")
    if find_spec("textual") is None:
        raise missing("condense ui needs Textual", "ui")


def _with_textual() -> tuple[type[CondenseApp], type[EditorScreen]]:
    """Import the app with Textual, and the screen of its editor."""
    from ...ui.app import CondenseApp
    from ...ui.editor_screen import EditorScreen

    return CondenseApp, EditorScreen


def sessions_here() -> Iterator[SessionList]:
    """List the newest sessions of the current project, then those of the rest of this machine; then more of them.

    Counting the tokens of all of them takes long where nobody has yet.
    """
    found = find(session_places())
    own = list(listing.of_project(found.files, listing.project_root(Path.cwd())))
    known = set(own)
    others = [file for file in found.files if file not in known]
    user = load_user_configuration()
    for limit in _LISTED:
        newest = listing.list_sessions(own, limit=limit)
        newest += listing.list_sessions(others, limit=limit - len(newest))
        yield listing.report(newest, found, user)
        if len(newest) < limit:
            return
