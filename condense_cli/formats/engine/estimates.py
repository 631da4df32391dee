"""Token estimates for content that cannot be counted: images, documents, encrypted thinking."""

from __future__ import annotations

import binascii
import io
from typing import Any, Final

from ...core.lazy_pattern import lazy_pattern

PIXELS_PER_TOKEN: Final = 750
"""Anthropic's rule for images: width x height / 750, after scaling down to about 1.15 megapixels."""

LARGEST_IMAGE: Final = 1_600
UNKNOWN_IMAGE: Final = 1_200
DOCUMENT_PAGE: Final = 2_000
"""A PDF page costs 1,500 to 3,000 tokens (Anthropic's PDF guide)."""

TOOL_DEFINITION: Final = 700
"""What the API puts in the place of a reference to a tool. Recorded steps with one took 370 to 1,700, half of them
less than 730."""

_PAGE: Final = lazy_pattern(rb"/Type\s*/Page(?!\w)")
"""A page object, and none of `/Pages`, which hold them."""

_HEADER_CHARS: Final = 65_536 * 4


def pixels(data: Any) -> tuple[int, int] | None:
    """Width and height of a base64 image, from its header."""
    if not isinstance(data, str):
        return None
    import imagesize

    try:
        header = binascii.a2b_base64(data.rpartition(",")[2][:_HEADER_CHARS])
        width, height = imagesize.get(io.BytesIO(header))
    except (binascii.Error, ValueError, OSError):
        return None
    return (width, height) if width > 0 and height > 0 else None


def image(data: Any) -> int:
    """Tokens of a base64 image."""
    return of_pixels(pixels(data))


def of_pixels(size: tuple[int, int] | None) -> int:
    """Tokens of an image by its width and height."""
    if size is None:
        return UNKNOWN_IMAGE
    return max(1, min(LARGEST_IMAGE, round(size[0] * size[1] / PIXELS_PER_TOKEN)))


def document(data: Any) -> int:
    """Tokens of a base64 PDF, from the number of its page objects."""
    if not isinstance(data, str):
        return DOCUMENT_PAGE
    try:
        raw = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        return DOCUMENT_PAGE
    return DOCUMENT_PAGE * max(1, len(_PAGE.findall(raw)))


SIGNATURE: Final = 50
"""Of what a signature would be in tokens, what is around the thinking in it: so long are those of a few words."""


def encrypted_thinking(signature: Any, shown: str = "") -> int:
    """Tokens of the thinking that is only there as base64: three bytes in four characters, four bytes a token.

    The text that is `shown` beside it is part of it, or a summary of it, and is counted by itself. Measured against
    recorded usage by benchmarks/token_factors.py: the model is billed for the whole.
    """
    if not isinstance(signature, str) or not signature:
        return 0
    return max(0 if shown else 1, len(signature) * 3 // 16 - SIGNATURE - len(shown) // 4)
