"""Terminal pictures of Rich and Textual as any viewer shows them: no fonts from elsewhere, each word in its column."""

from __future__ import annotations

import re
from html import unescape

from rich.cells import cell_len

_CELL = 12.2
"""Units of the picture that one column is wide."""
_SPACE = "&#160;"
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_TEXT = re.compile(r'<text (class="[^"]*") x="([\d.]+)" (y="[\d.]+") textLength="[\d.]+"([^>]*)>([^<]*)</text>')


def for_any_viewer(svg: str) -> str:
    """The picture with every word placed by itself: some viewers drop spaces at the ends of a text, and its length."""
    return _TEXT.sub(_words, _FONTS.sub("", svg))


def _words(text: re.Match[str]) -> str:
    style, left, row, rest, content = text.groups()
    placed = []
    column = 0
    for part in re.split(f"((?:{_SPACE})+)", content):
        cells = cell_len(unescape(part))
        if part and _SPACE not in part:
            x = f"{float(left) + column * _CELL:.1f}"
            placed.append(f'<text {style} x="{x}" {row} textLength="{cells * _CELL:.1f}"{rest}>{part}</text>')
        column += cells
    return "".join(placed)
