"""Dialogs: pick one of several, type a line, read a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ..errors import CondenseError
from .lines import QUIET, ShownLine, error_text, wrapped
from .widgets import Rows


class Offer(Struct, frozen=True):
    """An item to pick: its key, if any, its name, and a description, whose `detail` has a line of its own."""

    key: str
    value: str
    label: str
    detail: str = ""


class Dialog(ModalScreen[str | None]):
    """A dialog that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def action_close(self) -> None:
        self.dismiss(None)


class Pick(Dialog):
    """Pick one item by Enter or its key."""

    def __init__(self, title: str, offers: Sequence[Offer], current: int = 0) -> None:
        super().__init__()
        self._title, self._offers, self._current = title, offers, current
        self._lines: list[tuple[Offer, ShownLine]] = []
        for offer in offers:
            self._lines.append((offer, ShownLine(f"{offer.key or ' '}  {offer.label}")))
            if offer.detail:
                self._lines.append((offer, ShownLine(f"   {offer.detail}", QUIET, continues=True)))

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(self._title, classes="title", markup=False)
            yield Rows()
            yield Static("Enter or a letter selects, Escape cancels", classes="quiet")

    def on_mount(self) -> None:
        rows = self.query_one(Rows)
        rows.styles.height = min(len(self._lines), max(3, self.app.size.height - 8))
        offers = [offer for offer, _ in self._lines]
        rows.show([line for _, line in self._lines], offers.index(self._offers[self._current]) if offers else 0)
        rows.focus()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(self._lines[event.index][0].value)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()

    def on_key(self, event: Key) -> None:
        found = next((offer for offer in self._offers if offer.key and offer.key == event.character), None)
        if found is not None:
            event.stop()
            self.dismiss(found.value)


class Ask(Dialog):
    """Type a line. If `check` raises CondenseError, its message is shown and the user goes on typing."""

    def __init__(self, title: str, value: str, check: Callable[[str], object], hint: str = "") -> None:
        super().__init__()
        self._title, self._value, self._check, self._hint = title, value, check, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(self._title, classes="title", markup=False)
            yield Input(self._value, compact=True)
            yield Static(self._hint or "Enter accepts, Escape cancels", id="fault", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._check(event.value)
        except CondenseError as error:
            self.query_one("#fault", Static).update(error_text(error))
        else:
            self.dismiss(event.value)


class TextDialog(Dialog):
    """Read a text; Enter and q close it, too."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,q", "close", show=False)]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        with Vertical(classes="window wide"):
            yield Static(self._title, classes="title", markup=False)
            yield Rows(has_cursor=False)
            yield Static("Escape closes", classes="quiet")

    def on_mount(self) -> None:
        rows = self.query_one(Rows)
        width = int(self.app.size.width * 0.96) - 6  # The width of the window without frame and scroll bar.
        lines = [part for line in self._lines for part in wrapped("", line, width, "")]
        rows.styles.height = min(len(lines), max(3, self.app.size.height - 6))
        rows.show(lines)
        rows.focus()
