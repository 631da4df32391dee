"""What it is to break a rule of an API."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ..core.transcript import Transcript


class Violation(Struct, frozen=True):
    """A rule that a transcript breaks; `message` is an index, `said` what the API would answer.

    `about` names the call or block, so that the same violation is recognised before and after a run.
    """

    rule: str
    message: int
    about: str
    said: str


Rule = Callable[[Transcript], Iterator[Violation]]
