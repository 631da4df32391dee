"""What a conversation is compared by."""

from typing import NamedTuple


class Piece(NamedTuple):
    """A stretch of the conversation. `text`: what was said, the result, or the arguments of a call of `tool`."""

    who: str
    tool: str
    text: str
