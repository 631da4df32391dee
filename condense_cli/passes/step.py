"""A step of a run: one round of a pass, with all that is decided before it begins."""

from __future__ import annotations

from msgspec import Struct

from ..config.models import PassConfig
from .selection import Selected
from .sheet import Sheet
from .summaries import Summarizer


class Step(Struct, frozen=True):
    """One round of a pass on a sheet: what the `config` says, to what is `selected`, until the `target` is reached.

    Without a target it works through all that is selected. `strictness` below 1 scales its limits down. What `settles`
    is tried again until nothing more is found.
    """

    sheet: Sheet
    summarizer: Summarizer
    config: PassConfig
    selected: Selected
    target: int | None
    strictness: float = 1.0
    settles: bool = True

    def why(self, more: str = "") -> str:
        """Why the step changes a block, with what `more` there is to say of that one."""
        aim = "to reach the target" if self.target is not None else ""
        return ", ".join(filter(None, (self.selected.reason, more, aim)))
