"""The kinds of roles, of rules, of content and of files that transcripts are told apart by."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """The results that answer one assistant message, in formats that give them a role of their own."""


STANDING_ROLES = frozenset({Role.SYSTEM, Role.DEVELOPER})


class Family(StrEnum):
    """Whose rules a transcript has to satisfy."""

    ANTHROPIC = "anthropic"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"


class BlockKind(StrEnum):
    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    IMAGE = "image"
    OPAQUE = "opaque"


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


class Container(StrEnum):
    """How the records stand in the file."""

    LINES = "lines"
    ARRAY = "array"
    OBJECT = "object"
