"""References: what stands where lines were left out that stand again in another block.

    [see lines 3-75 of the next Read of src/app.py #520917]
    [see new_string of the 2nd next Edit of src/app.py #073811]
    [see the last 4 lines of the next Bash `pytest -q` #770103]
    [see new_string of this call #298817]
    [see lines 3-9 above #401752]

A reference has a line of its own. It names the block in words that a model can see, the lines as that
block numbers them, and the hash of what stood here, so that nothing but the very same text ever takes
its place. Each token of it is paid for every time, so it says nothing twice. This file writes and reads
references; whether one resolves is decided in `decode`.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import ESCAPE
from ..core.markers import REFERENCE_PREFIX as PREFIX

_REFERENCE: Final = lazy_pattern(
    r"""\[see\ (?:
        (?P<above>lines?\ \d{1,9}(?:-\d{1,9})?\ above)
    |
        (?:(?P<where>lines?\ \d{1,9}(?:-\d{1,9})?
            |the\ (?:first|last)\ (?:line|\d{1,9}\ lines)
            |\d{1,9}\ lines\ from\ \d{1,9}\ on)\ of\ )?
        (?:(?P<field>\S{1,80})\ of\ )?
        (?:(?P<near>this\ call|the\ result)
            |the\ (?:(?P<ordinal>\d{1,6})(?:st|nd|rd|th)\ )?(?P<direction>next|previous)\ (?P<what>.+?))
        (?:,\ numbered\ from\ (?P<numbering>\d{1,9}|"[^"]{1,24}"))?
    )\ \#(?P<hash>\d{6})\]""",
    re.ASCII | re.VERBOSE,
)
SPELLED: Final = lazy_pattern(rb"\[see (?!\\)(?:[^\"\\\n]|\\.){1,200}? #\d{6}\]")
"""What looks like a reference in the bytes of a record, and has no escape."""
SHORTEST: Final = 80
"""Runs of fewer characters, with a line break behind each line, cost fewer tokens than a reference to them."""
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


class Address(Struct, frozen=True):
    """Where the lines stand: `what` names a block, `ordinal` counts such blocks from here, `field` an argument.

    The ordinal of THIS_CALL and THE_RESULT, which need no counting, is 0.
    """

    what: str
    ordinal: int = 1
    is_backward: bool = False
    field: str = ""

    def __str__(self) -> str:
        field = f"{self.field} of " if self.field else ""
        if not self.ordinal:
            return f"{field}{self.what}"
        ordinal = f"{_ordinal(self.ordinal)} " if self.ordinal > 1 else ""
        return f"{field}the {ordinal}{'previous' if self.is_backward else 'next'} {self.what}"


THIS_CALL: Final = "this call"
"""The call to which the text belongs, as its argument or as its result."""
THE_RESULT: Final = "the result"
"""The result of the call in which the reference stands."""
ABOVE: Final = Address("above", 0)
"""The very text in which the reference stands: the lines are further up in it."""
ABOVE_WORD: Final = " above #"


class Reference(Struct, frozen=True):
    """The same lines stand at an address; `where` says which, and nothing for all of them.

    `numbering` is the first number that stood before these lines, where nothing beside them tells it.
    """

    where: str
    address: Address
    hash: str
    numbering: str = ""

    def __str__(self) -> str:
        if self.address == ABOVE:
            return f"{PREFIX}{self.where} #{self.hash}]"
        where = f"{self.where} of " if self.where else ""
        numbering = f", numbered from {self.numbering}" if self.numbering else ""
        return f"{PREFIX}{where}{self.address}{numbering} #{self.hash}]"


def _ordinal(number: int) -> str:
    ending = "th" if number // 10 % 10 == 1 else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def parse_reference(line: str) -> Reference | None:
    """The reference that a line spells, if it is one and nothing else."""
    if not line.startswith(PREFIX) or line.startswith(ESCAPE, len(PREFIX)):
        return None
    match = _REFERENCE.fullmatch(line)
    if match is None:
        return None
    if match["above"]:
        reference = Reference(match["above"], ABOVE, match["hash"])
    else:
        ordinal, is_backward = 0 if match["near"] else int(match["ordinal"] or 1), match["direction"] == "previous"
        address = Address(match["near"] or match["what"], ordinal, is_backward, match["field"] or "")
        reference = Reference(match["where"] or "", address, match["hash"], match["numbering"] or "")
    return reference if str(reference) == line else None
