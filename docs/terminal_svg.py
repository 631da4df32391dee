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


DARK, LIGHT = "#292929", "#ffffff"
"""Backgrounds: Rich's own, and that for readers who prefer a light one."""
CONTRAST = 4.5
"""The least that the guidelines for accessible pages ask of text (WCAG 2, AA)."""
_STYLE = re.compile(r"(\.[\w-]+-r\d+) \{ fill: (#[0-9a-f]{6})")


def for_light_and_dark(svg: str) -> str:
    """The picture with colors that can be read, on a dark background or, where the reader prefers it, a light one."""
    light = [f"{name} {{ fill: {readable(color, LIGHT)} }}" for name, color in _STYLE.findall(svg)]
    light += [f'rect[fill="{DARK}"] {{ fill: {LIGHT} }}', ".condense-title { fill: #1f2328 }"]
    dark = _STYLE.sub(lambda found: f"{found[1]} {{ fill: {readable(found[2], DARK)}", svg)
    return dark.replace("</style>", f"@media (prefers-color-scheme: light) {{ {' '.join(light)} }}\n    </style>", 1)


def readable(color: str, background: str) -> str:
    """The color, as much lighter or darker as it takes to be read on the background."""
    end = 255 if background == DARK else 0
    channels = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    for step in range(101):
        mixed = [round(channel + (end - channel) * step / 100) for channel in channels]
        found = "#" + "".join(f"{channel:02x}" for channel in mixed)
        if contrast(found, background) >= CONTRAST:
            return found
    raise AssertionError


def contrast(one: str, other: str) -> float:
    """The ratio of the brightness of two colors, from 1 to 21."""
    lighter, darker = sorted((_brightness(one), _brightness(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _brightness(color: str) -> float:
    shares = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
