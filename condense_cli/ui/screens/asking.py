"""What the screen of a session asks in small windows: what to keep, which preset, where to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace
from textual.app import App

from ...delivering import Where
from ..choice import ChoiceHistory, UserChoice
from ..configuration_text import configuration_text
from ..help import MARKS, SESSION_KEYS, help_lines
from ..lines import ShownLine, ShownPlace
from ..opened import OpenSession, View
from ..writing import SavedResult, check_new_file, write, write_text
from .dialogs import Ask, Offer, Pick, TextDialog
from .editor import EditorScreen

Found = TypeVar("Found")

_CONFIGURATION: Final = "configuration"
_TO: Final = (
    Offer("n", Where.NEW_SESSION.name, "a new session beside the original, to resume"),
    Offer("i", Where.IN_PLACE.name, "in place, with a backup"),
    Offer("f", Where.FILE.name, "a file"),
    Offer("c", _CONFIGURATION, "the configuration, with your choices and the target"),
)


class OfSession(Protocol):
    """The screen of a session, as far as its questions need it."""

    session: OpenSession
    history: ChoiceHistory
    view: View | None

    @property
    def app(self) -> App[Any]: ...

    @property
    def place(self) -> ShownPlace | None:
        """What is under the cursor."""

    def selector(self) -> str:
        """What names that."""

    def do(self, choice: UserChoice, said: str) -> None:
        """Choose something else."""

    def say(self, text: str) -> None: ...

    def in_background(self, work: Callable[[], Found], then: Callable[[Found], None]) -> None:
        """Do something that takes its time, and pass on what was found."""


def ask_what(screen: OfSession, *, keeps: bool) -> None:
    """Ask what of the place under the cursor is kept or cut."""
    place, view = screen.place, screen.view
    if view is None or place is None or not screen.selector():
        return
    message = view.conversation.messages[place.position]
    found = screen.session.places.meanings(message.number, place.number)
    choice = screen.history.choice
    known = choice.keep if keeps else choice.cut
    verb = "Keep" if keeps else "Cut"

    def picked(selector: str | None) -> None:
        if selector is not None:
            said = f"No longer {verb.lower()} {selector}" if selector in known else f"{verb} {selector}"
            screen.do(choice.keeping(selector) if keeps else choice.cutting(selector), said)

    offers = [
        Offer(each.key, each.selector, f"{each.label}{'  (again: no longer)' if each.selector in known else ''}")
        for each in found
    ]
    screen.app.push_screen(Pick(f"{verb} what?", offers), picked)


def ask_preset(screen: OfSession) -> None:
    """Ask for another preset."""
    configurations, choice = screen.session.configurations, screen.history.choice
    names = configurations.names()
    offers = [Offer("", name, f"{name:<10} {configurations.description_of(name)}") for name in names]

    def picked(name: str | None) -> None:
        if name is not None:
            screen.do(replace(choice, name=name, text=""), f"Preset {name}")

    current = names.index(choice.name) if choice.name in names else 0
    screen.app.push_screen(Pick("Which preset?", offers, current), picked)


def ask_target(screen: OfSession) -> None:
    """Ask for a target."""
    choice = screen.history.choice

    def typed(value: str | None) -> None:
        if value is not None:
            target = choice.with_target(value)
            screen.do(target, f"Target {target.target or 'none'}")

    hint = "60000, 60k or 40%; empty for no target"
    screen.app.push_screen(Ask("Condense to how many tokens?", choice.target, choice.with_target, hint), typed)


def ask_where(screen: OfSession) -> None:
    """Ask where to write, and write there."""

    def picked(value: str | None) -> None:
        source = screen.session.path
        if value == _CONFIGURATION:
            _ask_file(screen, "condense.yaml", lambda path: _write_configuration(screen, path))
        elif value == Where.FILE.name:
            beside = Path(source).with_name(f"{Path(source).stem}-small{Path(source).suffix}")
            _ask_file(screen, str(beside), lambda path: _write(screen, Where.FILE, path))
        elif value is not None:
            _write(screen, Where[value], None)

    screen.app.push_screen(Pick("Write the result as", _TO), picked)


def _ask_file(screen: OfSession, proposed: str, then: Callable[[str], None]) -> None:
    def typed(path: str | None) -> None:
        if path is not None:
            then(path)

    check = lambda path: check_new_file(screen.session.path, path)  # noqa: E731
    screen.app.push_screen(Ask("To which file?", proposed, check), typed)


def _write(screen: OfSession, where: Where, path: str | None) -> None:
    choice = screen.history.choice
    screen.say("Writing…")
    screen.in_background(lambda: write(screen.session, choice, where, path), lambda written: _told(screen, written))


def _write_configuration(screen: OfSession, path: str) -> None:
    def written() -> SavedResult:
        text = configuration_text(screen.session.configurations, screen.history.choice)
        return write_text(path, text)

    screen.in_background(written, lambda found: _told(screen, found))


def _told(screen: OfSession, written: SavedResult) -> None:
    if written.take_back is not None:
        screen.history.wrote(written.said[0], written.take_back)
    screen.say(f"{written.said[0]}. u undoes it." if written.take_back else written.said[0])
    if len(written.said) > 1:
        screen.app.push_screen(TextDialog("Written", [ShownLine(line) for line in written.said]))


def edit(screen: OfSession) -> None:
    """Open the editor of configurations on what is chosen."""

    def edited(choice: UserChoice | None) -> None:
        if choice is not None:
            screen.do(choice, "Edited the configuration")

    session = screen.session
    screen.app.push_screen(EditorScreen(screen.history.choice, session.configurations, session), edited)


def tell_contents(screen: OfSession) -> None:
    """Show what fills the session, as `condense inspect` tells it."""
    from rich.console import Console

    from ...report.inspection.sections import sections
    from ...report.terminal import render

    width = max(40, screen.app.size.width - 8)
    console = Console(width=width, force_terminal=False, color_system=None, highlight=False, markup=False)
    with console.capture() as capture:
        for part in render(sections(screen.session.contents), width):
            console.print(part)
    screen.app.push_screen(
        TextDialog("What fills the session", [ShownLine(line) for line in capture.get().split("\n")])
    )


def tell_help(screen: OfSession) -> None:
    """Show the keys, and what the marks mean."""
    lines = [*help_lines(SESSION_KEYS), "", *help_lines(MARKS)]
    screen.app.push_screen(TextDialog("Keys", [ShownLine(line) for line in lines]))
