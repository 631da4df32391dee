"""What is in use of a context, in parts that add up to it. Documented in docs/json-report.md."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..costs.usage import RECORDED, UNKNOWN, InUse
from ..text.shares import percent

CONTENT: Final = "content of the messages"
MARKUP: Final = "markup of messages and calls"
ESTIMATES: Final = "images, documents, encrypted thinking"
OVERHEAD: Final = "system prompt and tools"
DIFFERENCE: Final = "difference to recorded usage"
ELSEWHERE: Final = "not in the file"


class PartInUse(Struct, frozen=True):
    """Part of what is in use; `known` says how. Below 0 where recorded usage is less than the others together."""

    name: str
    tokens: int
    percent: float
    known: str


class Parts(Struct, frozen=True):
    """The tokens of the next request, how they are known, and the parts that add up to them."""

    tokens: int
    source: str
    parts: list[PartInUse]


def parts_of(used: InUse, total: int, constants: int, estimated: int, overhead: tuple[int, str]) -> Parts:
    """What is in use, in the model's tokens. `total` are those of the messages.

    Of them `constants` are for messages and calls besides their content, and `estimated` cannot be counted. `overhead`
    is what every request carries besides, and how that is known.
    """
    tokens, known = overhead
    difference = used.tokens - total - tokens
    parts = [
        (CONTENT, total - constants - estimated, "counted"),
        (MARKUP, constants, "a constant for each"),
        (ESTIMATES, estimated, "estimated"),
        (OVERHEAD, tokens, known),
        (ELSEWHERE if known == UNKNOWN and difference > 0 else DIFFERENCE, difference, RECORDED),
    ]
    shares = [PartInUse(name, tokens, percent(tokens, used.tokens), known) for name, tokens, known in parts if tokens]
    return Parts(used.tokens, used.source, shares)
