"""A list of lines, and screens with steps that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from ..core.wording import visible
from ..errors import CondenseError
from .choice import ChoiceHistory, UserChoice
from .lines import ShownLine, error_text, fitted
from .opened import Background, Clock, View


class Rows(ScrollView, can_focus=True):
    """A list that draws only the lines on screen. With `has_cursor`, one line is current and Enter chooses it."""

    DEFAULT_CSS = """
    Rows { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "jump(0)", show=False),
        Binding("end", "jump(-1)", show=False),
        Binding("enter", "choose", "Open", key_display="↵"),
    ]

    current: reactive[int] = reactive(0, init=False)

    class Moved(Message):
        """The cursor moved to another line."""

        def __init__(self, rows: Rows, index: int) -> None:
            super().__init__()
            self.rows, self.index = rows, index

        @property
        def control(self) -> Rows:
            return self.rows

    class Chosen(Moved):
        """The user pressed Enter on a line, or clicked it."""

    def __init__(self, *, has_cursor: bool = True, id: str | None = None) -> None:
        super().__init__(id=id)
        self.has_cursor = has_cursor
        self.lines: Sequence[ShownLine] = ()

    def show(self, lines: Sequence[ShownLine], current: int | None = None) -> None:
        """Show other lines, with the cursor on `current`, or where it was."""
        self.lines = lines
        self.virtual_size = Size(self.size.width, len(lines))
        wanted = self._head(min(self.current if current is None else current, len(lines) - 1)) if lines else 0
        if wanted != self.current:
            self.current = wanted
        self.refresh()

    def watch_current(self) -> None:
        if self.has_cursor and self.lines:
            self.scroll_to_region(Region(0, self.current, 1, 1), animate=False, force=True)
            self.post_message(self.Moved(self, self.current))
        self.refresh()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.refresh()

    def action_move(self, by: int) -> None:
        if not self.has_cursor:
            self.scroll_to(y=self.scroll_offset.y + by, animate=False)
        elif self.lines:
            last = len(self.lines) - 1
            to = min(max(0, self.current + by), last)
            while by > 0 and to < last and self.lines[to].continues:
                to += 1
            self.current = self._head(to)

    def _head(self, number: int) -> int:
        """Return the line that a line continues."""
        while number and self.lines[number].continues:
            number -= 1
        return number

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer Enter only where it does something."""
        return self.has_cursor or action != "choose"

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 1))

    def action_jump(self, to: int) -> None:
        last = max(0, len(self.lines) - 1)
        if self.has_cursor:
            self.current = self._head(last) if to and self.lines else 0
        else:
            self.scroll_to(y=last if to else 0, animate=False)

    def action_choose(self) -> None:
        if self.has_cursor and self.lines:
            self.post_message(self.Chosen(self, self.current))

    def on_click(self, event: object) -> None:
        y = getattr(event, "y", 0) + self.scroll_offset.y
        if self.has_cursor and y < len(self.lines):
            y = self._head(y)
            if y == self.current:
                self.action_choose()
            self.current = y

    def render_line(self, y: int) -> Strip:
        number = y + self.scroll_offset.y
        base = self.rich_style
        width = self.size.width
        if number >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[number]
        style = base + Style.parse(line.style)
        if self.has_cursor and number == self.current:
            style += Style(reverse=True, bold=self.has_focus)
        mark = ">" if self.has_focus else "·"  # Shows without colours, too, which list has the focus.
        lead = "" if not self.has_cursor else f"{mark} " if number == self.current else "  "
        return Strip([Segment(fitted(lead + line.text, width), style)], width)


Answer = TypeVar("Answer")
Given = TypeVar("Given")


class SteppingScreen(Screen[Answer]):
    """A screen with a `history` of steps, and a line `#said` for messages."""

    history: ChoiceHistory
    background: Background[UserChoice, View] | None = None

    class Computed(Message):
        """Result of a choice on the open session."""

        def __init__(self, choice: UserChoice, found: View | CondenseError) -> None:
            super().__init__()
            self.choice, self.found = choice, found

    def compute(self, work: Callable[[UserChoice, Clock], Iterable[View]]) -> None:
        """Do `work` in a thread for each choice that the background is asked for; `Computed` brings the results."""
        self.background = Background(work, lambda choice, found: self.post_message(self.Computed(choice, found)))

    def on_unmount(self) -> None:
        if self.background is not None:
            self.background.close()

    def renew(self) -> None:
        """Show the current choice, and start computing its result."""
        raise NotImplementedError

    def step(self, choice: UserChoice, said: str) -> None:
        """Make another choice, unless it is the current one."""
        if self.history.do(choice, said):
            self.say(f"{said} (u undoes it)")
            self.renew()

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(visible(text))

    def ask(self, screen: Screen[Given | None], then: Callable[[Given], None]) -> None:
        """Show a screen, and pass on its answer, if it gives one."""
        self.app.push_screen(screen, lambda answer: None if answer is None else then(answer))

    def action_undo(self) -> None:
        try:
            said = self.history.undo()
        except CondenseError as error:
            self.say(error_text(error))
            return
        self.say(said or "Nothing to undo.")
        self.renew()

    def action_redo(self) -> None:
        self.say(self.history.redo() or "Nothing to do again.")
        self.renew()
