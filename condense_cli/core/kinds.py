"""The kinds of roles, of rules, of content and of files that transcripts are told apart by."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import TypeVar

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
