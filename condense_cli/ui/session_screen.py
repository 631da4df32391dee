"""The screen of one session: what a choice cuts, block by block, and its questions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from msgspec.structs import replace
from rich.console import Console
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.widgets import Footer, Static

from ..clients.choices import tilde
from ..config.yaml_editing import ConfigurationDocument
from ..core.wording import plural, visible
from ..delivering import Where
from ..errors import CondenseError, ConfigurationError
from ..report.inspection.sections import sections
from ..report.page.conversation import UNCHANGED
from ..report.terminal import render
from . import opened
from .choice import ChoiceHistory, UserChoice, configuration_text
from .dialogs import Ask, Offer, Pick, TextDialog
from .editor_screen import EditorScreen
from .lines import (
    MARKS,
    SESSION_KEYS,
    ShownPlace,
    columns,
    error_text,
    help_lines,
    message_lines,
    place_lines,
    strip_lines,
)
from .widgets import Rows, SteppingScreen

_CONFIGURATION: Final = "configuration"
_TO: Final = (
    Offer("n", Where.NEW_SESSION.name, "a new session beside the original, to resume"),
    Offer("i", Where.IN_PLACE.name, "in place, with a backup"),
    Offer("f", Where.FILE.name, "a file"),
    Offer("c", _CONFIGURATION, "the configuration, with your choices and the target"),
)
_SHORTEST_PATH: Final = 20
_STRIP: Final = 3
"""Rows of the strip, without the one for the cursor."""


class SessionScreen(SteppingScreen[None]):
    """An open session. `view` is what is shown, `history` what was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "keep", "Keep"),
        Binding("x", "cut", "Cut"),
        Binding("space", "cycle", "Keep/cut", show=False),
        Binding("p", "preset", "Preset"),
        Binding("v", "provider", "Provider"),
        Binding("t", "target", "Target"),
        Binding("e", "edit", "Edit"),
        Binding("w", "write", "Write"),
        Binding("u", "undo", "Undo", show=False),  # Each step names it; the footer fits into 80 columns.
        Binding("r", "redo", "Redo", show=False),
        Binding("n", "next_cut(1)", show=False),
        Binding("N", "next_cut(-1)", show=False),
        Binding("i", "contents", show=False),
        Binding("right", "expand(True)", show=False),
        Binding("left", "expand(False)", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape,q", "leave", "Back", key_display="q"),
    ]

    def __init__(self, session: opened.OpenSession, choice: UserChoice) -> None:
        super().__init__()
        self.session = session
        self.history = ChoiceHistory(choice)
        self.view: opened.View | None = None
        self._places: list[ShownPlace] = []
        self._expanded: set[int] = set()
        self._fault = ""
        self._is_left = False

    def compose(self) -> ComposeResult:
        yield Static(id="about", markup=False)
        yield Static(id="strip", markup=False)
        with Horizontal():
            yield Rows(id="messages")
            yield Rows(has_cursor=False, id="text")
        yield Static(id="totals", markup=False)
        yield Static(id="choice", markup=False)
        yield Static(id="said", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self._show_about()
        self.query_one("#messages").focus()
        self.compute(self.session.views)
        self.renew()

    # Choices and their results.

    @property
    def is_settled(self) -> bool:
        """True if the view is that of the current choice."""
        view = self.view
        return bool(self._fault) or (view is not None and view.choice == self.history.choice and not view.computing)

    def renew(self) -> None:
        self._fault, self._is_left = "", False
        self._show_choice()
        self.query_one("#totals").add_class("old")
        if self.background is not None:
            self.background.ask(self.history.choice)

    def on_stepping_screen_computed(self, event: SteppingScreen.Computed) -> None:
        if event.choice != self.history.choice:
            return
        if isinstance(event.found, CondenseError):
            self._fault = error_text(event.found)
            self.say(self._fault)
            self._show_choice()
            return
        view = event.found
        at = self._renew(view)
        self._show_choice()
        self._show_about()
        if view.computing != opened.CONDENSING:
            totals = self.query_one("#totals", Static)
            totals.update(opened.totals_text(view.totals))
            totals.remove_class("old")
        warnings = [warning for warning in view.warnings if warning.startswith(("--keep", "--cut"))]
        if warnings:
            self.say(f"! {warnings[0]}")
        self._show_messages(at)

    def _renew(self, view: opened.View) -> ShownPlace | None:
        """Take another view and return the cursor's place in it; summaries come and go between views."""
        place, known = self.place, self.view.conversation.messages if self.view else []
        now = {message.id: position for position, message in enumerate(view.conversation.messages)}
        self._expanded = {now[known[position].id] for position in self._expanded if known[position].id in now}
        self.view = view
        position = now.get(known[place.position].id) if place and known else None
        return None if place is None or position is None else ShownPlace(position, place.number)

    # Views.

    @property
    def place(self) -> ShownPlace | None:
        """The message and block under the cursor."""
        current = self.query_one("#messages", Rows).current
        return self._places[current] if current < len(self._places) else None

    def _show_about(self) -> None:
        transcript = self.session.transcript
        rest = f" · {transcript.format} · {transcript.model or 'unknown model'}"
        path = tilde(self.session.path)
        room = max(_SHORTEST_PATH, self.app.size.width - len(rest))
        path = path if len(path) <= room else f"…{path[len(path) - room + 1 :]}"
        size = f"{plural(len(transcript.messages), 'message')}, {self.session.tokens:,} tokens"
        contents = opened.contents_text(self.session.contents) if self.session.knows_contents else size
        self.query_one("#about", Static).update(visible(f"{path}{rest}\n{contents}"))

    def _show_choice(self) -> None:
        text = opened.choice_text(self.history.choice, self.view, has_failed=bool(self._fault))
        self.query_one("#choice", Static).update(visible(text))

    def _show_messages(self, at: ShownPlace | None = None) -> None:
        assert self.view is not None
        at = at or self.place
        found = place_lines(self.view, self._expanded)
        self._places = [place for place, _ in found]
        current = self._places.index(at) if at in self._places else None
        self.query_one("#messages", Rows).show([line for _, line in found], current)
        self._show_place()

    def _show_place(self) -> None:
        place, strip = self.place, self.query_one("#strip", Static)
        if self.view is None or place is None:
            return
        text = self.query_one("#text", Rows)
        text.show(message_lines(self.view, place, max(10, text.size.width - 1)))
        sizes = [message.tokens for message in self.view.conversation.messages]
        found = columns(sizes, strip.size.width, place.position)
        strip.update("\n".join(strip_lines(found, _STRIP)))

    def on_rows_moved(self, event: Rows.Moved) -> None:
        if event.rows.id == "messages":
            self.query_one("#text", Rows).scroll_home(animate=False)
            self._show_place()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        place = self.place
        if place is not None and place.number is None:
            self.action_expand(place.position not in self._expanded)

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._show_place)

    # Keys.

    def action_expand(self, is_open: bool) -> None:
        """Show or hide the blocks of the message."""
        place = self.place
        if self.view is None or place is None:
            return
        (self._expanded.add if is_open else self._expanded.discard)(place.position)
        self._show_messages(place if is_open else ShownPlace(place.position))

    def action_next_cut(self, by: int) -> None:
        """Go to the next message that is cut, or back to the previous one."""
        place = self.place
        if self.view is None or place is None:
            return
        messages = self.view.conversation.messages
        rest = range(place.position + by, len(messages) if by > 0 else -1, by)
        for position in rest:
            if any(block.outcome != UNCHANGED for block in messages[position].blocks):
                self.query_one("#messages", Rows).current = self._places.index(ShownPlace(position))
                return
        self.say("No further cut." if by > 0 else "No earlier cut.")

    def action_cycle(self) -> None:
        """Keep what is under the cursor, then cut it, then leave it to the passes."""
        selector = self.selector()
        if selector:
            choice = self.history.choice.cycled(selector)
            kept, cut = selector in choice.keep, selector in choice.cut
            self.step(choice, f"{'Keep' if kept else 'Cut' if cut else 'Leave'} {selector}")

    def selector(self) -> str:
        """Return the selector of the place under the cursor; if there is none, say so and return an empty text."""
        place = self.place
        if self.view is None or place is None:
            return ""
        message = self.view.conversation.messages[place.position]
        found = "" if message.is_new else self.session.places.own(message.number, place.number)
        if not found:
            self.say("A summary is not part of the original, so it cannot be kept or cut.")
        return found

    def action_leave(self) -> None:
        if self.history.is_unwritten and not self._is_left:
            self._is_left = True
            self.say("What you chose is not written: w writes it, q once more leaves without.")
            return
        self.app.pop_screen() if len(self.app.screen_stack) > 2 else self.app.exit()

    def action_keep(self) -> None:
        choice = self.history.choice
        self._ask_what("Keep", choice.keep, choice.keeping)

    def action_cut(self) -> None:
        choice = self.history.choice
        self._ask_what("Cut", choice.cut, choice.cutting)

    def _ask_what(self, verb: str, known: Collection[str], toggled: Callable[[str], UserChoice]) -> None:
        """Ask what to keep or cut at the cursor."""
        place = self.place
        if self.view is None or place is None or not self.selector():
            return
        message = self.view.conversation.messages[place.position]
        offers = [
            Offer(each.key, each.selector, f"{each.label}{'  (again: no longer)' if each.selector in known else ''}")
            for each in self.session.places.meanings(message.number, place.number)
        ]

        def picked(selector: str) -> None:
            is_known = selector in known
            self.step(toggled(selector), f"{f'No longer {verb.lower()}' if is_known else verb} {selector}")

        self.ask(Pick(f"{verb} what?", offers), picked)

    def action_preset(self) -> None:
        configurations, choice = self.session.configurations, self.history.choice
        names = configurations.names()
        offers = [Offer("", name, f"{name:<10} {configurations.of(UserChoice(name)).description}") for name in names]
        current = names.index(choice.name) if choice.name in names else 0
        self.ask(
            Pick("Which preset?", offers, current),
            lambda name: self.step(replace(choice, name=name, text=""), f"Preset {name}"),
        )

    def action_provider(self) -> None:
        """Ask which provider runs, and set it in the text of the configuration."""
        session, choice = self.session, self.history.choice
        providers = session.providers()
        try:
            current = [provider.id for provider in providers].index(session.provider_of(choice))
        except (ConfigurationError, ValueError):
            current = 0

        def picked(name: str) -> None:
            if name != session.provider_of(choice):
                document = ConfigurationDocument(session.configurations.text_of(choice))
                self.step(replace(choice, text=document.with_value(("provider",), name).text), f"Provider {name}")

        offers = [Offer("", each.id, f"{each.id}: {each.name}", opened.abilities(each)) for each in providers]
        self.ask(Pick("Which provider?", offers, current), picked)

    def action_target(self) -> None:
        choice = self.history.choice

        def typed(value: str) -> None:
            target = choice.with_target(value)
            self.step(target, f"Target {target.target or 'none'}")

        hint = "60000, 60k or 40%; empty for no target"
        self.ask(Ask("Condense to how many tokens?", choice.target, choice.with_target, hint), typed)

    def action_edit(self) -> None:
        """Open the editor on the chosen configuration."""
        editor = EditorScreen(self.history.choice, self.session.configurations, self.session)
        self.ask(editor, lambda choice: self.step(choice, "Edited the configuration"))

    def action_write(self) -> None:
        """Ask where to write, and write there."""
        path = Path(self.session.path)

        def picked(where: str) -> None:
            if where == _CONFIGURATION:
                self._ask_file("condense.yaml", self._write_configuration)
            elif where == Where.FILE.name:
                beside = path.with_name(f"{path.stem}-small{path.suffix}")
                self._ask_file(str(beside), partial(self._write, Where.FILE))
            else:
                self._write(Where[where])

        self.ask(Pick("Write the result as", _TO), picked)

    def _ask_file(self, proposed: str, then: Callable[[str], None]) -> None:
        self.ask(Ask("To which file?", proposed, partial(opened.check_new_file, self.session.path)), then)

    def _write(self, where: Where, path: str | None = None) -> None:
        self.say("Writing…")
        self._save(partial(opened.write, self.session, self.history.choice, where, path))

    def _write_configuration(self, path: str) -> None:
        def save() -> opened.SavedResult:
            text = configuration_text(self.session.configurations, self.history.choice)
            return self.session.noted(opened.write_text(path, text))

        self._save(save)

    def _save(self, work: Callable[[], opened.SavedResult]) -> None:
        """Write in a thread, as a step that can be undone; say what was written, or why not."""

        def done() -> None:
            try:
                saved = work()
            except CondenseError as error:
                self.app.call_from_thread(self.say, error_text(error))
            else:
                self.app.call_from_thread(self._saved, saved)

        self.run_worker(done, thread=True)

    def _saved(self, saved: opened.SavedResult) -> None:
        if saved.take_back is not None:
            self.history.wrote(saved.said[0], saved.take_back)
        self.say(f"{saved.said[0]}. u undoes it." if saved.take_back else saved.said[0])
        if len(saved.said) > 1:
            self.app.push_screen(TextDialog("Written", saved.said))

    def action_contents(self) -> None:
        """Show what fills the session, as in `condense inspect`."""
        if not self.session.knows_contents:
            self.say("What fills the session is still being counted.")
            return
        width = max(40, self.app.size.width - 8)
        console = Console(width=width, force_terminal=False, color_system=None, highlight=False, markup=False)
        with console.capture() as capture:
            for part in render(sections(self.session.contents), width):
                console.print(part)
        self.app.push_screen(TextDialog("What fills the session", capture.get().split("\n")))

    def action_help(self) -> None:
        """Show the keys and the meaning of marks."""
        self.app.push_screen(TextDialog("Keys", [*help_lines(SESSION_KEYS), "", *help_lines(MARKS)]))
