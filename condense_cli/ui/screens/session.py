"""One session: the strip, its messages, the text of one as the choice makes it, and what that comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.widgets import Footer, Static

from ...errors import CondenseError
from ...report.page.conversation import UNCHANGED
from ...report.text.visible import visible
from ...sessions.machine import tilde
from ..background import Background
from ..choice import ChoiceHistory, UserChoice
from ..lines import ShownPlace, message_lines, place_lines
from ..opened import OpenSession, View
from ..rows import Rows
from ..strip import columns, strip_lines
from ..totals import choice_text, contents_text, totals_text
from .asking import Found, ask_preset, ask_target, ask_what, ask_where, edit, tell_contents, tell_help
from .stepping import SteppingScreen

_SHORTEST_PATH: Final = 20
_STRIP: Final = 3
"""Rows of the strip, besides the one for the cursor."""


class SessionScreen(SteppingScreen[None]):
    """A session that is open. What it shows is the `view`; the `history` says what was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "keep", "Keep"),
        Binding("x", "cut", "Cut"),
        Binding("space", "cycle", "Keep/cut", show=False),
        Binding("p", "preset", "Preset"),
        Binding("t", "target", "Target"),
        Binding("e", "edit", "Edit"),
        Binding("w", "write", "Write"),
        Binding("u", "undo", "Undo"),
        Binding("r", "redo", "Redo", show=False),
        Binding("n", "next_cut(1)", show=False),
        Binding("N", "next_cut(-1)", show=False),
        Binding("i", "contents", show=False),
        Binding("right", "expand(True)", show=False),
        Binding("left", "expand(False)", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape,q", "leave", "Back", key_display="q"),
    ]

    def __init__(self, session: OpenSession, choice: UserChoice) -> None:
        super().__init__()
        self.session = session
        self.history = ChoiceHistory(choice)
        self.view: View | None = None
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
        transcript, contents = self.session.transcript, self.session.contents
        rest = f" · {transcript.format} · {transcript.model or 'unknown model'}"
        path = tilde(self.session.path)
        room = max(_SHORTEST_PATH, self.app.size.width - len(rest))
        path = path if len(path) <= room else f"…{path[len(path) - room + 1 :]}"
        self.query_one("#about", Static).update(visible(f"{path}{rest}\n{contents_text(contents)}"))
        self.query_one("#messages").focus()
        self._background: Background[UserChoice, View] = Background(
            self.session.views, lambda choice, found: self.post_message(self.Computed(choice, found))
        )
        self.renew()

    def on_unmount(self) -> None:
        self._background.close()

    # What is chosen, and what comes of it.

    @property
    def is_settled(self) -> bool:
        """Whether what is shown is what was chosen."""
        return bool(self._fault) or (self.view is not None and self.view.choice == self.history.choice)

    def do(self, choice: UserChoice, said: str) -> None:
        """Choose something else."""
        self.step(choice, said)

    def in_background(self, work: Callable[[], Found], then: Callable[[Found], None]) -> None:
        """Do something that takes its time; an error is said, and what was found is passed on."""

        def done() -> None:
            try:
                found = work()
            except CondenseError as error:
                self.app.call_from_thread(self.say, f"! {error.message} {error.hint}".rstrip())
            else:
                self.app.call_from_thread(then, found)

        self.run_worker(done, thread=True)

    def renew(self) -> None:
        self._fault, self._is_left = "", False
        self.query_one("#choice", Static).update(visible(choice_text(self.history.choice)))
        self.query_one("#totals").add_class("old")
        self._background.ask(self.history.choice)

    def on_stepping_screen_computed(self, event: SteppingScreen.Computed) -> None:
        if event.choice != self.history.choice:
            return
        if isinstance(event.found, CondenseError):
            self._fault = f"{event.found.message} {event.found.hint}".rstrip()
            self.say(f"! {self._fault}")
            return
        view = event.found
        at = self._renew(view)
        totals = self.query_one("#totals", Static)
        totals.update(totals_text(view.totals))
        totals.remove_class("old")
        warnings = [warning for warning in view.warnings if warning.startswith(("--keep", "--cut"))]
        if warnings:
            self.say(f"! {warnings[0]}")
        self._show_messages(at)

    def _renew(self, view: View) -> ShownPlace | None:
        """Take another view; the place in it of what the cursor was on. Summaries come and go in between."""
        place, known = self.place, self.view.conversation.messages if self.view else []
        now = {message.id: position for position, message in enumerate(view.conversation.messages)}
        self._expanded = {now[known[position].id] for position in self._expanded if known[position].id in now}
        self.view = view
        position = now.get(known[place.position].id) if place and known else None
        return None if place is None or position is None else ShownPlace(position, place.number)

    # What is shown.

    @property
    def place(self) -> ShownPlace | None:
        """Where the cursor is."""
        current = self.query_one("#messages", Rows).current
        return self._places[current] if current < len(self._places) else None

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
        """Show the blocks of the message, or hide them."""
        place = self.place
        if self.view is None or place is None:
            return
        (self._expanded.add if is_open else self._expanded.discard)(place.position)
        self._show_messages(place if is_open else ShownPlace(place.position))

    def action_next_cut(self, by: int) -> None:
        """Go to the next message of which something is cut, or to the last before."""
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
        """What is under the cursor: keep it, cut it, or leave it to the passes."""
        selector = self.selector()
        if selector:
            choice = self.history.choice.cycled(selector)
            kept, cut = selector in choice.keep, selector in choice.cut
            self.do(choice, f"{'Keep' if kept else 'Cut' if cut else 'Leave'} {selector}")

    def selector(self) -> str:
        """What names the place under the cursor; empty, and said so, where nothing does."""
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
        ask_what(self, keeps=True)

    def action_cut(self) -> None:
        ask_what(self, keeps=False)

    def action_preset(self) -> None:
        ask_preset(self)

    def action_target(self) -> None:
        ask_target(self)

    def action_edit(self) -> None:
        edit(self)

    def action_write(self) -> None:
        ask_where(self)

    def action_contents(self) -> None:
        tell_contents(self)

    def action_help(self) -> None:
        tell_help(self)
