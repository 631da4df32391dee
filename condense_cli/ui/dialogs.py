"""Dialogs: pick one of several, type a line, read a text; and the questions of the editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from msgspec import Struct
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ..errors import CondenseError, OutputError, UsageError
from ..storage.files import read_bytes
from .choice import ChoiceHistory
from .editing import TEMPLATES, Edited, EditedPart, Field
from .lines import QUIET, ShownLine, wrapped
from .opened import write_text
from .widgets import Rows

_CLOSES: list[BindingType] = [Binding("escape", "close", "Close")]


class Offer(Struct, frozen=True):
    """An item to pick: its key, if any, its name, and a description, whose `detail` has a line of its own."""

    key: str
    value: str
    label: str
    detail: str = ""


class Pick(ModalScreen[str | None]):
    """Pick one item by Enter or its key; Escape picks none."""

    BINDINGS: ClassVar[list[BindingType]] = _CLOSES

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

    def action_close(self) -> None:
        self.dismiss(None)


class Ask(ModalScreen[str | None]):
    """Type a line. If `check` raises CondenseError, its message is shown and the user goes on typing."""

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
    """Read a text; Escape, Enter and q close it."""

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
        width = int(self.app.size.width * 0.96) - 6  # The width of the window without frame and scroll bar.
        lines = [part for line in self._lines for part in wrapped("", line.text, width, line.style)]
        rows.styles.height = min(len(lines), max(3, self.app.size.height - 6))
        rows.show(lines)
        rows.focus()

    def action_close(self) -> None:
        self.dismiss(None)


_MODES: Final = {
    "extract": "extract: lines that later work needs least go",
    "individual": "individual: each block is truncated, removed or summarized",
    "batch": "batch: the selected messages become one summary",
    "target": "target: down to the target of a run, if it has one",
}


class OfEditor(Protocol):
    """The editor as its questions see it. `saved` holds the bytes of the file at `home`, if known."""

    history: ChoiceHistory
    edited: Edited
    home: Path | None
    saved: bytes | None

    @property
    def app(self) -> App[Any]: ...

    @property
    def part(self) -> EditedPart:
        """The part under the cursor."""

    def do(self, edited: Edited, said: str) -> None:
        """Take a step to an edited configuration."""

    def say(self, text: str) -> None: ...

    def leave(self, *, drops: bool = False) -> None:
        """Close the editor; `drops` discards the edits."""


def ask_field(editor: OfEditor, field: Field) -> None:
    """Change a setting: toggle a switch, pick a choice, type anything else."""
    edited = editor.edited

    def put(value: str | None) -> None:
        if value is not None:
            editor.do(edited.typed(field, value), f"{field.name}: {value or '(empty)'}")

    match field.kind:
        case "section":
            if field.may_be_absent and not field.is_set:
                editor.do(edited.with_value(field.path, {}), f"Added {field.name}")
        case "switch":
            editor.do(edited.with_value(field.path, not field.value), f"{field.name}: {str(not field.value).lower()}")
        case "choice":
            offers = [Offer("", choice, choice) for choice in field.choices]
            current = field.choices.index(field.value) if field.value in field.choices else 0
            editor.app.push_screen(Pick(field.name, offers, current), put)
        case _:
            shown = str(field.value or "") if field.kind == "text" else field.shown
            check = lambda text: edited.typed(field, text)  # noqa: E731
            editor.app.push_screen(Ask(field.name, shown, check, field.expects), put)


def ask_pass(editor: OfEditor) -> None:
    """Ask for a mode and add a pass, below the cursor or before all others."""
    index = editor.part.index
    at = 0 if index is None else index + 1

    def picked(mode: str | None) -> None:
        if mode is not None:
            editor.do(editor.edited.with_pass(at, mode), f"Added a pass: {mode}")

    offers = [Offer(mode[0], mode, _MODES[mode]) for mode in TEMPLATES]
    editor.app.push_screen(Pick("Add which pass?", offers), picked)


def ask_save(editor: OfEditor) -> None:
    """Ask where to save, and save a valid configuration there."""
    if editor.edited.fault is not None:
        editor.say(f"Not saved, because it is not valid: {editor.edited.fault.said}")
        return
    home = editor.home or Path("condense.yaml")

    def check(path: str) -> None:
        file = Path(path).expanduser()
        if not path.strip():
            raise UsageError("A file needs a name.")
        endings = (".json",) if editor.edited.document.is_json else (".yaml", ".yml")
        if file.suffix.lower() not in endings:
            raise UsageError(f"{file} does not end in {endings[0]}.")
        if file.exists() and file != editor.home:
            raise UsageError(f"{file} exists already.", "Name another file.")

    def typed(path: str | None) -> None:
        if path is None:
            return
        try:
            _save(editor, Path(path).expanduser())
        except CondenseError as error:
            editor.say(f"! {error.message}")

    editor.app.push_screen(Ask("Save as", str(home), check), typed)


def _save(editor: OfEditor, file: Path) -> None:
    """Write the text, as a step that can be undone. Raises OutputError."""
    is_own = file == editor.home
    if is_own and file.exists() and read_bytes(file) != editor.saved:
        raise OutputError(f"{file} changed since it was read.", "Save it under another name.")
    before, text = (editor.home, editor.saved), editor.edited.text
    written = write_text(str(file), text)
    editor.home, editor.saved = file, text.encode()

    def take_back() -> str:
        assert written.take_back is not None
        said = written.take_back()
        editor.home, editor.saved = before
        return said

    editor.history.wrote(written.said[0], take_back)
    editor.say(f"{written.said[0]}. u undoes it.")


def ask_leave(editor: OfEditor) -> None:
    """Leave; ask first if invalid edits would be lost."""
    if editor.edited.fault is None:
        editor.leave()
        return

    def picked(value: str | None) -> None:
        if value == "drop":
            editor.leave(drops=True)

    offers = [Offer("s", "stay", "stay and fix it"), Offer("d", "drop", "discard the changes")]
    editor.app.push_screen(Pick(f"Not valid: {editor.edited.fault.said}", offers), picked)
