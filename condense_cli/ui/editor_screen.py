"""The editor of a configuration: its parts, a form for each, and its effect on the open session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Footer, Static

from ..core.wording import visible
from ..errors import CondenseError, OutputError, UsageError
from ..passes.receipts import PRELUDE, PassReceipt
from ..storage.files import read_bytes
from .choice import ChoiceHistory, Configurations, UserChoice
from .dialogs import Ask, Offer, Pick, TextDialog
from .editing import TEMPLATES, Edited, EditedPart, Field, fault_at, fault_text, is_enabled, pass_settings
from .lines import EDITOR_KEYS, GONE, LOUD, QUIET, ShownLine, help_lines
from .opened import OpenSession, totals_text, write_text
from .widgets import Rows, SteppingScreen

_MODES: Final = {
    "extract": "extract: lines that later work needs least go",
    "individual": "individual: each block is truncated, removed or summarized",
    "batch": "batch: the selected messages become one summary",
    "target": "target: down to the target of a run, if it has one",
}


class EditorScreen(SteppingScreen[UserChoice | None]):
    """Edit the configuration of a choice; return the choice with another text, or None if nothing changed.

    Without a session no effect is shown. `home` is the file to save to by default.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add"),
        Binding("d", "remove", "Remove"),
        Binding("K", "shift(-1)", "Move", key_display="K/J"),
        Binding("J", "shift(1)", show=False),
        Binding("space", "switch", "Off/on"),
        Binding("delete,backspace", "unset", show=False),
        Binding("u", "undo", "Undo"),
        Binding("r", "redo", show=False),
        Binding("s", "save", "Save"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape,q", "leave", "Back", key_display="q"),
    ]

    def __init__(
        self, choice: UserChoice, configurations: Configurations, session: OpenSession | None, home: Path | None = None
    ) -> None:
        """Raises ConfigurationError if the text cannot be edited."""
        super().__init__()
        self.configurations, self.session, self.home = configurations, session, home
        text = configurations.text_of(choice)
        self._first = choice
        self.saved = home.read_bytes() if home is not None and home.exists() else None
        """Bytes of the file at `home`, if known."""
        self.history = ChoiceHistory(replace(choice, text=text))
        self.edited = Edited(text, configurations)
        self._line_parts: list[EditedPart] = []
        """The part of each line of the list."""
        self.fields: list[Field] = []
        self._receipts: dict[str, PassReceipt] = {}
        self._shown: UserChoice | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="about", markup=False)
        with Horizontal():
            yield Rows(id="parts")
            yield Rows(id="form")
        yield Static(id="field", markup=False)
        yield Static(id="fault", markup=False)
        yield Static(id="totals", markup=False)
        yield Static(id="said", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        session = self.session
        if session is not None:
            self.compute(lambda choice, clock: [session.view(choice, clock)])
        self.query_one("#parts").focus()
        self.renew()

    @property
    def is_settled(self) -> bool:
        """True if the effect shown is that of the edited configuration, as far as it is valid."""
        return self.background is None or self.edited.fault is not None or self._shown == self.history.choice

    def do(self, edited: Edited, said: str) -> None:
        """Take a step to an edited configuration."""
        self.step(replace(self.history.choice, text=edited.text), said)

    def renew(self) -> None:
        choice = self.history.choice
        self.edited = Edited(choice.text, self.configurations)
        state = fault_text(self.edited.fault, len(self.edited.passes))
        self.query_one("#about", Static).update(visible(f"Configuration {choice.name}"))
        self.query_one("#fault", Static).update(visible(state))
        if self.background is not None and self.edited.fault is None:
            self.query_one("#totals").add_class("old")
            self.background.ask(choice)
        self._show_parts()

    def on_stepping_screen_computed(self, event: SteppingScreen.Computed) -> None:
        if event.choice != self.history.choice:
            return
        self._shown = event.choice
        if isinstance(event.found, CondenseError):
            self.say(f"! {event.found.message}")
            return
        self._receipts = {receipt.id: receipt for receipt in event.found.result.passes}
        totals = self.query_one("#totals", Static)
        totals.update(totals_text(event.found.totals))
        totals.remove_class("old")
        self._show_parts()

    # Views.

    @property
    def part(self) -> EditedPart:
        """The part under the cursor."""
        current = self.query_one("#parts", Rows).current
        return self._line_parts[min(current, len(self._line_parts) - 1)]

    @property
    def field(self) -> Field | None:
        """The setting under the cursor of the form."""
        current = self.query_one("#form", Rows).current
        return self.fields[current] if current < len(self.fields) else None

    def _show_parts(self) -> None:
        found = [(part, line) for part in self.edited.parts() for line in self._part_lines(part)]
        self._line_parts = [part for part, _ in found]
        self.query_one("#parts", Rows).show([line for _, line in found])
        self._show_form()

    def _part_lines(self, part: EditedPart) -> Iterator[ShownLine]:
        """Yield the line of a part; a pass has a second one, with its mode and condition."""
        fault = self.edited.fault
        has_fault = fault is not None and bool(part.path) and fault.path[: len(part.path)] == part.path
        lead = "! " if has_fault else "  "
        if part.index is None:
            is_set = not part.path or part.path[0] in self.edited.values
            effect = self._effect(PRELUDE) if part.path == ("lossless_prelude",) else ""
            style = LOUD if not part.path else "" if is_set else QUIET
            yield ShownLine(f"{lead}{part.title}  {effect}".rstrip(), style)
            return
        config = self.edited.passes[part.index]
        effect = "off" if not is_enabled(config) else self._effect(str(config.get("id", "")))
        yield ShownLine(f"{lead}{part.index + 1} {effect:>8} {part.title}", GONE if has_fault else "")
        if isinstance(config, dict):
            yield ShownLine(f"    {pass_settings(config)}", QUIET, continues=True)

    def _effect(self, field_id: str) -> str:
        """Describe the effect of a pass on the open session."""
        receipt = self._receipts.get(field_id)
        if receipt is None or self.session is None:
            return ""
        if receipt.reason:
            return "skipped"
        shown = self.session.factor.shown
        return f"{shown(receipt.tokens_after) - shown(receipt.tokens_before):+,}"

    def _say_skipped(self) -> None:
        """Say why the pass under the cursor did nothing."""
        index = self.part.index
        config = self.edited.passes[index] if index is not None else {}
        receipt = self._receipts.get(str(config.get("id", "")))
        self.say(f"{receipt.name} was skipped: {receipt.reason}" if receipt is not None and receipt.reason else "")

    def _show_form(self) -> None:
        self.fields = self.edited.form(self.part)
        faulty = fault_at(self.edited.fault, self.fields)
        lines = [self._field_line(field, number == faulty) for number, field in enumerate(self.fields)]
        self.query_one("#form", Rows).show(lines)
        self._show_field()

    def _field_line(self, field: Field, is_faulty: bool) -> ShownLine:
        lead = "!" if is_faulty else "*" if field.is_set else " "
        name = f"{'  ' * field.depth}{field.name.replace('_', ' ')}"
        return ShownLine(f"{lead} {name:<20} {field.shown}", GONE if is_faulty else "" if field.is_set else QUIET)

    def _show_field(self) -> None:
        field = self.field
        self.query_one("#field", Static).update("" if field is None else visible(f"{field.name}: {field.expects}"))

    def on_rows_moved(self, event: Rows.Moved) -> None:
        if event.rows.id == "parts":
            self.query_one("#form", Rows).show([], 0)
            self._show_form()
            self._say_skipped()
        else:
            self._show_field()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        if event.rows.id == "parts":
            self.query_one("#form").focus()
        elif self.field is not None:
            self._ask_field(self.field)

    def _ask_field(self, field: Field) -> None:
        """Change a setting: toggle a switch, pick a choice, type anything else."""
        edited = self.edited

        def put(value: str) -> None:
            self.do(edited.typed(field, value), f"{field.name}: {value or '(empty)'}")

        match field.kind:
            case "section":
                if field.may_be_absent and not field.is_set:
                    self.do(edited.with_value(field.path, {}), f"Added {field.name}")
            case "switch":
                self.do(edited.with_value(field.path, not field.value), f"{field.name}: {str(not field.value).lower()}")
            case "choice":
                offers = [Offer("", choice, choice) for choice in field.choices]
                current = field.choices.index(field.value) if field.value in field.choices else 0
                self.ask(Pick(field.name, offers, current), put)
            case _:
                shown = str(field.value or "") if field.kind == "text" else field.shown
                self.ask(Ask(field.name, shown, partial(edited.typed, field), field.expects), put)

    # Keys.

    def action_add(self) -> None:
        """Add a pass below the cursor, or before all others."""
        index = self.part.index
        at = 0 if index is None else index + 1
        offers = [Offer(mode[0], mode, _MODES[mode]) for mode in TEMPLATES]
        self.ask(
            Pick("Add which pass?", offers),
            lambda mode: self.do(self.edited.with_pass(at, mode), f"Added a pass: {mode}"),
        )

    def action_remove(self) -> None:
        """Remove the pass under the cursor."""
        self._of_pass(lambda index: self.do(self.edited.without(("passes", index)), f"Removed {self.part.title}"))

    def action_shift(self, by: int) -> None:
        """Move the pass up or down, and the cursor with it."""

        def shift(index: int) -> None:
            to = index + by
            if 0 <= to < len(self.edited.passes):
                title = self.part.title
                self.query_one("#parts", Rows).action_move(by)
                self.do(self.edited.with_moved(index, to), f"Moved {title} {'up' if by < 0 else 'down'}")

        self._of_pass(shift)

    def action_switch(self) -> None:
        """Switch the pass off or on; in the form, toggle a switch."""
        field = self.field
        if self.focused is not None and self.focused.id == "form" and field is not None and field.kind == "switch":
            self._ask_field(field)
            return
        self._of_pass(lambda index: self.do(self.edited.switched(index), f"Switched {self.part.title}"))

    def _of_pass(self, then: Callable[[int], None]) -> None:
        index = self.part.index
        if index is None:
            self.say("That is not a pass.")
        else:
            then(index)

    def action_unset(self) -> None:
        """Reset the setting under the cursor to its default."""
        field = self.field
        if field is not None and field.is_set:
            self.do(self.edited.without(field.path), f"{field.name} by default")

    def action_save(self) -> None:
        """Ask where to save, and save a valid configuration there."""
        if self.edited.fault is not None:
            self.say(f"Not saved, because it is not valid: {self.edited.fault.said}")
            return

        def check(path: str) -> None:
            file = Path(path).expanduser()
            if not path.strip():
                raise UsageError("A file needs a name.")
            endings = (".json",) if self.edited.document.is_json else (".yaml", ".yml")
            if file.suffix.lower() not in endings:
                raise UsageError(f"{file} does not end in {endings[0]}.")
            if file.exists() and file != self.home:
                raise UsageError(f"{file} exists already.", "Name another file.")

        def typed(path: str) -> None:
            try:
                self._save(Path(path).expanduser())
            except CondenseError as error:
                self.say(f"! {error.message}")

        self.ask(Ask("Save as", str(self.home or "condense.yaml"), check), typed)

    def _save(self, file: Path) -> None:
        """Write the text, as a step that can be undone. Raises OutputError."""
        if file == self.home and file.exists() and read_bytes(file) != self.saved:
            raise OutputError(f"{file} changed since it was read.", "Save it under another name.")
        before, text = (self.home, self.saved), self.edited.text
        written = write_text(str(file), text)
        self.home, self.saved = file, text.encode()

        def take_back() -> str:
            assert written.take_back is not None
            said = written.take_back()
            self.home, self.saved = before
            return said

        self.history.wrote(written.said[0], take_back)
        self.say(f"{written.said[0]}. u undoes it.")

    def action_help(self) -> None:
        self.app.push_screen(TextDialog("Keys", help_lines(EDITOR_KEYS)))

    def action_leave(self) -> None:
        """Leave; ask first if invalid edits would be lost."""
        if self.edited.fault is None:
            is_changed = self.edited.text != self.configurations.text_of(self._first)
            self.dismiss(self.history.choice if is_changed else None)
            return

        def picked(answer: str) -> None:
            if answer == "drop":
                self.dismiss(None)

        offers = [Offer("s", "stay", "stay and fix it"), Offer("d", "drop", "discard the changes")]
        self.ask(Pick(f"Not valid: {self.edited.fault.said}", offers), picked)
