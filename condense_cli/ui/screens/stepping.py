"""What screens have in common on which one chooses in steps: each can be undone, and what comes of it is worked out."""

from __future__ import annotations

from typing import TypeVar

from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from ...errors import CondenseError
from ...report.text.visible import visible
from ..choice import ChoiceHistory, UserChoice
from ..opened import View

Answer = TypeVar("Answer")


class SteppingScreen(Screen[Answer]):
    """A screen with the steps in its `history`, and a line of it, `#said`, for messages."""

    history: ChoiceHistory

    class Computed(Message):
        """What became of a choice on the open session."""

        def __init__(self, choice: UserChoice, found: View | CondenseError) -> None:
            super().__init__()
            self.choice, self.found = choice, found

    def renew(self) -> None:
        """Show what is chosen now, and have worked out what comes of it."""
        raise NotImplementedError

    def step(self, choice: UserChoice, said: str) -> None:
        """Choose something else, unless that is chosen already."""
        if self.history.do(choice, said):
            self.say(said)
            self.renew()

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(visible(text))

    def action_undo(self) -> None:
        try:
            said = self.history.undo()
        except CondenseError as error:
            self.say(f"! {error.message} {error.hint}".rstrip())
            return
        self.say(said or "Nothing to undo.")
        self.renew()

    def action_redo(self) -> None:
        self.say(self.history.redo() or "Nothing to do again.")
        self.renew()
