"""What is in use of a context, in parts that add up to it. Documented in docs/json-report.md."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..tokens import MESSAGE_TOKENS
from .shares import percent
from .usage import RECORDED, InUse

CONTENT: Final = "content of the messages"
PER_MESSAGE: Final = "per message"
ESTIMATES: Final = "images, documents, encrypted thinking"
OVERHEAD: Final = "system prompt and tools"
DIFFERENCE: Final = "difference to recorded usage"


class Part(Struct, frozen=True):
    """Part of what is in use; `known` says how. Below 0 where recorded usage is less than the others together."""

    name: str
    tokens: int
    percent: float
    known: str


class Parts(Struct, frozen=True):
    """The tokens of the next request, how they are known, and the parts that add up to them."""

    tokens: int
    source: str
    parts: list[Part]


def parts_of(used: InUse, messages: int, total: int, estimated: int, overhead: tuple[int, str]) -> Parts:
    """What is in use. `total` are the tokens of so many messages, `estimated` those of them that cannot be counted.

    `overhead` is what every request carries besides, and how that is known.
    """
    constants = MESSAGE_TOKENS * messages
    parts = [
        (CONTENT, total - constants - estimated, "counted"),
        (PER_MESSAGE, constants, f"{MESSAGE_TOKENS} each"),
        (ESTIMATES, estimated, "estimated"),
        (OVERHEAD, *overhead),
        (DIFFERENCE, used.tokens - total - overhead[0], RECORDED),
    ]
    shares = [Part(name, tokens, percent(tokens, used.tokens), known) for name, tokens, known in parts if tokens]
    return Parts(used.tokens, used.source, shares)
