"""A step of a run: one round of a pass, with all that is decided before it begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct

from ..config.models import PassConfig
from ..core.transcript import Message
from .draft import Draft
from .selection import Selected
from .summaries import Outcome, Summarizer, TextTask, is_up_to_date


class Bench(Struct, frozen=True, dict=True):
    """What every step of a run works on, and with.

    `read` are the messages of the input. `thinking_tokens` tells how many tokens of the draft as it stands go besides,
    as thinking that its changes make invalid. What `settles` is tried again until nothing more is found.
    """

    draft: Draft
    summarizer: Summarizer
    read: Sequence[Message]
    thinking_tokens: Callable[[], int]
    settles: bool = True

    @cached_property
    def is_up_to_date(self) -> bool:
        """Whether the conversation did not go on since its last summary."""
        return is_up_to_date(self.read)

    def free(self, target: int) -> int:
        """Tokens that the draft, as it was written last, leaves free of a target; below 0 where it misses it."""
        return target - (self.draft.tokens - self.thinking_tokens())


class Step(Struct, frozen=True):
    """What one round of a pass does: what the `config` says, to what is `selected`, until the `target` is reached.

    Without a target it works through all that is selected. `strictness` below 1 scales its limits down. `before` are
    the messages as they were written before it. `outcomes` are those of summaries that earlier rounds of the pass asked
    for; a step adds its own.
    """

    config: PassConfig
    selected: Selected
    target: int | None
    strictness: float
    before: Sequence[Message]
    outcomes: dict[TextTask, Outcome]

    def why(self, more: str = "") -> str:
        """Why the step changes a block, with what `more` there is to say of that one."""
        aim = "to reach the target" if self.target is not None else ""
        return ", ".join(filter(None, (self.selected.reason, more, aim)))
