"""Small windows over a screen: pick one of a few, type a line, read something."""

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

from ...errors import CondenseError
from ..lines import ShownLine, wrapped
from ..rows import Rows

_CLOSES: list[BindingType] = [Binding("escape", "close", "Close")]


class Offer(Struct, frozen=True):
    """One of several things to pick: the key that picks it, if any, what it is, and what to tell of it."""

    key: str
    value: str
    label: str


class Pick(ModalScreen[str | None]):
    """Pick one by Enter or by its key; Escape picks none."""

    BINDINGS: ClassVar[list[BindingType]] = _CLOSES

    def __init__(self, title: str, offers: Sequence[Offer], current: int = 0) -> None:
        super().__init__()
        self._title, self._offers, self._current = title, offers, current

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(self._title, classes="title", markup=False)
            yield Rows()
            yield Static("Enter or a letter selects, Escape cancels", classes="quiet")

    def on_mount(self) -> None:
        rows = self.query_one(Rows)
        rows.styles.height = min(len(self._offers), max(3, self.app.size.height - 8))
        rows.show([ShownLine(f"{offer.key or ' '}  {offer.label}") for offer in self._offers], self._current)
        rows.focus()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(self._offers[event.index].value)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()

    def on_key(self, event: Key) -> None:
        found = next((offer for offer in self._offers if offer.key and offer.key == event.character), None)
        if found is not None:
            event.stop()
            self.dismiss(found.value)

    def action_close(self) -> None:
        self.dismiss(None)


class Ask(ModalScreen[str | None]):
    """Type a line. `check` raises CondenseError for one that will not do; what it says is shown, and one goes on."""

    BINDINGS: ClassVar[list[BindingType]] = _CLOSES

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
            self.query_one("#fault", Static).update(f"! {error.message} {error.hint}".rstrip())
        else:
            self.dismiss(event.value)

    def action_close(self) -> None:
        self.dismiss(None)


class TextDialog(ModalScreen[None]):
    """Something to read; any of Escape, Enter and q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [*_CLOSES, Binding("enter,q", "close", show=False)]

    def __init__(self, title: str, lines: Sequence[ShownLine]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        with Vertical(classes="window wide"):
            yield Static(self._title, classes="title", markup=False)
            yield Rows(has_cursor=False)
            yield Static("Escape closes", classes="quiet")

    def on_mount(self) -> None:
        rows = self.query_one(Rows)
        width = int(self.app.size.width * 0.96) - 6  # That of the window, less its frame and the bar.
        lines = [part for line in self._lines for part in wrapped("", line.text, width, line.style)]
        rows.styles.height = min(len(lines), max(3, self.app.size.height - 6))
        rows.show(lines)
        rows.focus()

    def action_close(self) -> None:
        self.dismiss(None)
