"""The app without a terminal: keys in, screens out."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, Static

from condense_cli.config.loading import PACKAGED
from condense_cli.config.own import UserConfiguration
from condense_cli.providers.registry import Registry
from condense_cli.report.lists.sessions import SessionList
from condense_cli.ui.app import CondenseApp
from condense_cli.ui.choice import Configurations, UserChoice
from condense_cli.ui.editor_screen import EditorScreen
from condense_cli.ui.opened import Desk, OpenSession
from condense_cli.ui.session_screen import SessionScreen

Steps = Callable[[Pilot[None]], Awaitable[None]]
DESK = Desk(Configurations(PACKAGED), UserConfiguration(), Registry())


def opened(path: Path) -> OpenSession:
    return OpenSession.read(str(path), DESK)


def app_of(
    session: OpenSession | None = None,
    preset: str = "speed",
    find: Callable[[], Iterable[SessionList]] = lambda: [SessionList(1, 0, [], [], [])],
    editor: EditorScreen | None = None,
) -> CondenseApp:
    return CondenseApp(DESK, UserChoice(preset), find, None if session is None else session.path, editor)


def run(app: CondenseApp, steps: Steps, size: tuple[int, int] = (80, 24)) -> None:
    """Run the app and take the steps in it."""

    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(pilot)

    asyncio.run(main())


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys and wait until what they ask for is shown."""
    await pilot.press(*keys)
    await settled(pilot)


async def enter(pilot: Pilot[None], text: str) -> None:
    """Type a line into the small window that is open, and press Enter."""
    pilot.app.screen.query_one(Input).value = text
    await press(pilot, "enter")


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(2):  # What one asks for may ask for more.
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    while isinstance(pilot.app.screen, SessionScreen | EditorScreen) and not pilot.app.screen.is_settled:
        await pilot.pause(0.01)
    await pilot.pause()


def session_screen(pilot: Pilot[None]) -> SessionScreen:
    screen = pilot.app.screen
    assert isinstance(screen, SessionScreen), screen
    return screen


def editor_screen(pilot: Pilot[None]) -> EditorScreen:
    screen = pilot.app.screen
    assert isinstance(screen, EditorScreen), screen
    return screen


def said(pilot: Pilot[None], name: str = "said") -> str:
    """The text of one of the lines of the screen."""
    return str(pilot.app.screen.query_one(f"#{name}", Static).render())


def screen_text(pilot: Pilot[None]) -> str:
    """All that the terminal would show, without its colours."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)
