"""Values that transcripts are made of: kinds of content and files, recorded usage, and texts as they are held."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, TypeVar
from zlib import crc32

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

E = TypeVar("E", bound=Enum)


def at_hand(kind: type[E]) -> type[E]:
    """The members of an enumeration as plain attributes, as later Pythons have them.

    Python 3.11 calls a function for each look-up, which a run would do for every block many times.
    """
    for name, member in kind.__members__.items():
        type.__setattr__(kind, name, member)
    return kind


@at_hand
class Role(StrEnum):
    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """The results that answer one assistant message, in formats that give them a role of their own."""


STANDING_ROLES = frozenset({Role.SYSTEM, Role.DEVELOPER})


@at_hand
class Family(StrEnum):
    """Whose rules a transcript has to satisfy."""

    ANTHROPIC = "anthropic"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"


@at_hand
class BlockKind(StrEnum):
    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    IMAGE = "image"
    OPAQUE = "opaque"


@at_hand
class ContentType(StrEnum):
    """What a pass speaks about. Thinking and opaque blocks have no content type."""

    MESSAGE_TEXT = "message_text"
    TOOL_PARAMETERS = "tool_parameters"
    TOOL_RESULTS = "tool_results"
    IMAGES = "images"


CONTENT_TYPE_OF_KIND = {
    BlockKind.TEXT: ContentType.MESSAGE_TEXT,
    BlockKind.TOOL_CALL: ContentType.TOOL_PARAMETERS,
    BlockKind.TOOL_RESULT: ContentType.TOOL_RESULTS,
    BlockKind.IMAGE: ContentType.IMAGES,
}


@at_hand
class Container(StrEnum):
    """How the records stand in the file."""

    LINES = "lines"
    ARRAY = "array"
    OBJECT = "object"


class Usage(Struct, frozen=True):
    """What the API reported for the request that `message` answers: tokens sent, cached ones included, and answered.

    One that `is_older` was recorded before a compaction: of what was sent then, not all stands before the message now.
    `model` is the one that answered, None where the file does not say so. `lives_hour` tells whether what was written
    to the cache lives for an hour and not for five minutes, None where nothing was, or nobody says for how long.
    """

    message: int
    input_tokens: int
    output_tokens: int = 0
    is_older: bool = False
    model: str | None = None
    lives_hour: bool | None = None


class WindowSigns(Struct, frozen=True):
    """What a file shows of the context window that a model had in its client. 0: nothing.

    `used` is the largest input that the API counted, in older parts of the file too; `compacted_at` the tokens in use
    when the client last compacted by itself; `named` the window as the client gives it.
    """

    model: str | None = None
    used: int = 0
    compacted_at: int = 0
    named: int = 0


LONG: Final = 500
"""Texts of fewer characters are held as strings: the way to their spelling would take as much memory."""
_read = msgspec.json.Decoder(str).decode


class LazyText(Struct, frozen=True, eq=False):
    """A text as the JSON literal that spells it, which is read each time somebody asks.

    In a string every character takes the two or four bytes that the widest one needs: an arrow doubles a text. A
    literal is UTF-8, and in a file that was read it is a stretch of the bytes that are there anyway.
    """

    literal: Raw
    checksum: int = -1
    """Of the literal, once somebody has asked for it: what remembers texts looks each one up many times."""

    def __str__(self) -> str:
        return _read(self.literal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyText) and self.literal == other.literal

    def __hash__(self) -> int:
        if self.checksum < 0:
            force_setattr(self, "checksum", crc32(self.literal))
        return self.checksum

    def __contains__(self, word: str) -> bool:
        """Whether a word is in the text. No quote, slash, backslash or control character is in the word.

        The word begins with no letter, which behind a backslash would be half of an escape. Of characters beyond ASCII
        it has only such whose number has no letters, as that of the ellipsis, 2026: an escape spells those in one way.
        """
        literal = bytes(self.literal)
        # Any other spelling of an ASCII character is an escape of its number.
        if b"\\u00" in literal:
            return word in str(self)
        return word.encode() in literal or (not word.isascii() and ascii(word)[1:-1].encode() in literal)


Text = str | LazyText
"""A text in either form: `str(text)` gives it. The two forms of one text are not equal."""


def size_of(text: Text) -> int:
    """About how many bytes the text has; nothing is read for it."""
    return len(text) if isinstance(text, str) else memoryview(text.literal).nbytes


def compact(text: Text) -> Text:
    """The text in the form that takes less memory, which for all but long ones is the string."""
    if not isinstance(text, str) or len(text) < LONG:
        return text
    try:
        return LazyText(Raw(msgspec.json.encode(text)))
    except UnicodeEncodeError:
        return text  # A lone surrogate
