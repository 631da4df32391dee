"""Values that transcripts are made of: kinds of content and files, recorded usage, and memory-saving texts."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, TypeVar
from zlib import crc32

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

E = TypeVar("E", bound=Enum)


def at_hand(kind: type[E]) -> type[E]:
    """Turn the members of an enumeration into plain attributes, as later Pythons do.

    Python 3.11 calls a function per look-up, too slow for looking at every block several times.
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
    """Results that answer one assistant message, in formats with a separate role for them."""


STANDING_ROLES = frozenset({Role.SYSTEM, Role.DEVELOPER})


@at_hand
class Family(StrEnum):
    """API whose rules a transcript has to satisfy."""

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
    """Kind of content that a pass addresses. Thinking and opaque blocks have none."""

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
    """Arrangement of the records in the file."""

    LINES = "lines"
    ARRAY = "array"
    OBJECT = "object"


class Usage(Struct, frozen=True):
    """Tokens the API reported for the request that `message` answers: input (cached included) and output.

    `is_older`: recorded before a compaction, so part of that input is no longer in the file. `model` is None if the
    file does not name it. `lives_hour`: cache writes live for an hour, not five minutes; None if nothing was written or
    the file does not say.
    """

    message: int
    input_tokens: int
    output_tokens: int = 0
    is_older: bool = False
    model: str | None = None
    lives_hour: bool | None = None


class WindowSigns(Struct, frozen=True):
    """Evidence in a file of a model's context window, in tokens; 0 if there is none.

    `used` is the largest input the API counted, older parts of the file included. `compacted_at` is the usage at which
    the client last compacted by itself. `named` is the window that the client names.
    """

    model: str | None = None
    used: int = 0
    compacted_at: int = 0
    named: int = 0


LONG: Final = 500
"""Shorter texts (in characters) are kept as strings: a reference to their literal would take as much memory."""
_read = msgspec.json.Decoder(str).decode


class LazyText(Struct, frozen=True, eq=False):
    """A text kept as its JSON literal and decoded on each access.

    In a string the widest character sets the width of all, two or four bytes: one arrow doubles a text. A literal is
    UTF-8, and in a file that was read it is a slice of bytes already in memory.
    """

    literal: Raw
    checksum: int = -1
    """Checksum of the literal, computed on first use: caches look up each text many times."""

    def __str__(self) -> str:
        return _read(self.literal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyText) and self.literal == other.literal

    def __hash__(self) -> int:
        if self.checksum < 0:
            force_setattr(self, "checksum", crc32(self.literal))
        return self.checksum

    def __contains__(self, word: str) -> bool:
        """Return whether a word is in the text, mostly without decoding it.

        The word must have no quote, slash, backslash or control character and must not begin with a letter, which after
        a backslash would be half an escape. Its non-ASCII characters must have code points without letters, such as
        2026 (ellipsis): those have only one escaped spelling.
        """
        literal = bytes(self.literal)
        # The only other spelling of an ASCII character is an escape of its code point.
        if b"\\u00" in literal:
            return word in str(self)
        return word.encode() in literal or (not word.isascii() and ascii(word)[1:-1].encode() in literal)


Text = str | LazyText
"""A text in either form; `str(text)` decodes. The two forms of one text are not equal."""


def size_of(text: Text) -> int:
    """Estimate the bytes of a text without decoding it."""
    return len(text) if isinstance(text, str) else memoryview(text.literal).nbytes


def compact(text: Text) -> Text:
    """Return the text in the form that takes less memory."""
    if not isinstance(text, str) or len(text) < LONG:
        return text
    try:
        return LazyText(Raw(msgspec.json.encode(text)))
    except UnicodeEncodeError:
        return text  # It has a lone surrogate.
