"""What a person chose, and the way there: every step can be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.wording import count_in
from ..errors import UsageError

_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", re.ASCII)


class UserChoice(Struct, frozen=True):
    """A configuration, a target and what is kept or cut besides.

    `name` is a preset, or what a configuration is called whose `text` is given. Tokens are the model's.
    """

    name: str
    text: str = ""
    target_tokens: int | None = None
    target_percent: float | None = None
    keep: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The target as a person types it; empty where there is none."""
        if self.target_tokens is not None:
            return f"{self.target_tokens:,}"
        return "" if self.target_percent is None else f"{self.target_percent:g}%"

    def with_target(self, typed: str) -> UserChoice:
        """The choice with a target: `60000`, `60k`, `40%`, or nothing for none. Raises UsageError."""
        typed = typed.strip()
        percent = _PERCENT.fullmatch(typed)
        if not typed or percent:
            share = float(percent[1]) if percent else None
            if share is not None and not 0 < share < 100:
                raise UsageError(f"{typed} is not between 0% and 100%.")
            return replace(self, target_tokens=None, target_percent=share)
        tokens = count_in(typed)
        if not tokens:
            raise UsageError(f"{typed!r} is not a target.", "Write 60000, 60k or 40%, or nothing for no target.")
        return replace(self, target_tokens=tokens, target_percent=None)

    def keeping(self, selector: str) -> UserChoice:
        """The choice with a selector among what is kept, and not among what is cut; without it if it was there."""
        return self._toggled(selector, "keep", "cut")

    def cutting(self, selector: str) -> UserChoice:
        """The same the other way round."""
        return self._toggled(selector, "cut", "keep")

    def cycled(self, selector: str) -> UserChoice:
        """Nothing said of a selector, then kept, then cut, then nothing again."""
        if selector in self.keep:
            return self.cutting(selector)
        return self.cutting(selector) if selector in self.cut else self.keeping(selector)

    def _toggled(self, selector: str, to: str, other: str) -> UserChoice:
        without = {name: tuple(each for each in getattr(self, name) if each != selector) for name in (to, other)}
        if selector not in getattr(self, to):
            without[to] += (selector,)
        return replace(self, **without)


class TakenStep(Struct, frozen=True):
    """A choice and what led to it. `take_back` undoes what was written besides, and says so; it may raise."""

    choice: UserChoice
    said: str = ""
    take_back: Callable[[], str] | None = None


class ChoiceHistory:
    """The steps that were taken, up to the present one, and those that were taken back."""

    def __init__(self, choice: UserChoice) -> None:
        self._steps = [TakenStep(choice)]
        self._undone: list[TakenStep] = []

    @property
    def choice(self) -> UserChoice:
        return self._steps[-1].choice

    @property
    def is_unwritten(self) -> bool:
        """Whether something was chosen that nothing was written of."""
        return len(self._steps) > 1 and self._steps[-1].take_back is None

    def do(self, choice: UserChoice, said: str) -> bool:
        """Take a step; whether it changes anything."""
        if choice == self.choice:
            return False
        self._steps.append(TakenStep(choice, said))
        self._undone.clear()
        return True

    def wrote(self, said: str, take_back: Callable[[], str]) -> None:
        """Note that something was written, which is a step as well."""
        self._steps.append(TakenStep(self.choice, said, take_back))
        self._undone.clear()

    def undo(self) -> str:
        """Take the last step back, and say what that was; empty where there is none. Raises what taking back does."""
        if len(self._steps) == 1:
            return ""
        last = self._steps[-1]
        said = last.take_back() if last.take_back else f"Undone: {last.said}"
        self._steps.pop()
        if last.take_back is None:  # What was written is not written again by itself.
            self._undone.append(last)
        return said

    def redo(self) -> str:
        """Take the step again that was undone last, and say what it is; empty where there is none."""
        if not self._undone:
            return ""
        self._steps.append(self._undone.pop())
        return f"Done again: {self._steps[-1].said}"
