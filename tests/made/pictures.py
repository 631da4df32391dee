"""Images of any size, in the blocks of both APIs, with no more data than an estimate looks at."""

from __future__ import annotations

import base64
import struct
from typing import Any

from hypothesis import strategies as st

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def picture(width: int, height: int) -> str:
    """A PNG header of that size as base64: all that an estimate looks at."""
    size = struct.pack(">II", width, height)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + size + b"\x08\x06\x00\x00\x00").decode()


PICTURES = st.sampled_from([PIXEL, picture(200, 200), picture(800, 600), picture(1600, 1200), "not base64"])


@st.composite
def images(draw: st.DrawFn) -> dict[str, Any]:
    """A content block with an image: its data, or where it is found."""
    if draw(st.integers(0, 4)) == 0:
        source = {"type": "url", "url": "https://example.com/a.png"}
    else:
        source = {"type": "base64", "media_type": "image/png", "data": draw(PICTURES)}
    extra = draw(st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}]))
    return {"type": "image", "source": source, **extra}


@st.composite
def image_links(draw: st.DrawFn) -> dict[str, Any]:
    """The same as a part of a chat-completions message."""
    data = draw(st.one_of(PICTURES, st.none()))
    url = "https://example.com/a.png" if data is None else f"data:image/png;base64,{data}"
    return {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}
