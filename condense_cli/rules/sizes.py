"""Rules of Anthropic's API about sizes: those of images, and of the whole request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..core.transcript import Transcript
from ..core.values import BlockKind, size_of
from .violations import Violation

_SIDE: Final = 8_000
_MANY: Final = 20
_SIDE_OF_MANY: Final = 2_000
"""Pixels that an image may have each way, and those where a request has more images than so many.
https://platform.claude.com/docs/en/build-with-claude/vision"""

_IMAGE: Final = 10 * 2**20
"""Characters of base64 that an image may have: 5 MB until 2026."""

REQUEST: Final = 32 * 2**20
MESSAGES: Final = 100_000
"""Bytes and messages that a request may have. https://platform.claude.com/docs/en/api/overview#request-size-limits"""


def images_not_too_large(transcript: Transcript) -> Iterator[Violation]:
    """Those of results count as well. One whose header nobody reads here may have any size."""
    images = [(message.index, block) for message, block in transcript.blocks() if block.kind is BlockKind.IMAGE]
    is_many = len(images) > _MANY
    most = _SIDE_OF_MANY if is_many else _SIDE
    for index, block in images:
        about = str(block.place)
        if block.pixels and max(block.pixels) > most:
            said = (
                f"messages.{index}: At least one of the image dimensions exceed max allowed size"
                f"{' for many-image requests' if is_many else ''}: {most} pixels"
            )
            yield Violation("images_not_too_large", index, about, said)
        if block.encoded > _IMAGE:
            said = f"messages.{index}: image exceeds 10 MB maximum: {block.encoded} bytes > {_IMAGE} bytes"
            yield Violation("images_not_too_large", index, about, said)


def request_not_too_large(transcript: Transcript) -> Iterator[Violation]:
    """Counted are the characters of what is sent, each a byte at least; tokens are another limit, that of the model."""
    messages = transcript.messages
    if len(messages) > MESSAGES:
        said = f"messages: a request has at most {MESSAGES} messages, not {len(messages)}"
        yield Violation("request_not_too_large", messages[MESSAGES].index, "messages", said)
    size = 0
    for message, block in transcript.blocks():
        size += size_of(block.content) + (0 if block.stands_in else block.encoded)
        if size > REQUEST:
            said = "request_too_large: Request exceeds the maximum size"
            yield Violation("request_not_too_large", message.index, "", said)
            return
