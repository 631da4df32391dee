"""The pictures of terminals: right in any viewer, and without anything from elsewhere."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from real import PROJECT

TERMINALS = ["run.svg", "ui.svg", "ui-editor.svg"]


@pytest.mark.parametrize("name", TERMINALS)
def test_words_have_a_place_of_their_own(name: str) -> None:
    """Some viewers drop spaces at the ends of a text and ignore how long it should be, which moves what follows."""
    picture = (PROJECT / "docs" / name).read_text()
    words = re.findall(r'<text class="[^"]+" x="([\d.]+)" y="[\d.]+" textLength[^>]*>([^<]*)</text>', picture)
    assert len(words) > 50
    assert [word for _, word in words if "&#160;" in word] == []
    assert [x for x, _ in words if abs(float(x) / 12.2 - round(float(x) / 12.2)) > 0.01] == []


def test_the_picture_of_the_readme_can_be_read_on_light_and_dark_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "docs"))
    svg: Any = import_module("terminal_svg")
    dark, _, light = (PROJECT / "docs" / "run.svg").read_text().partition("@media (prefers-color-scheme: light)")
    for part, background in ((dark, svg.DARK), (light.partition("</style>")[0], svg.LIGHT)):
        colors = re.findall(r"-r\d+ \{ fill: (#[0-9a-f]{6})", part)
        assert len(colors) > 5
        assert [color for color in colors if svg.contrast(color, background) < svg.CONTRAST] == []
    assert svg.readable("#8a4346", svg.DARK) != "#8a4346"
    assert svg.readable("#c5c8c6", svg.DARK) == "#c5c8c6"


@pytest.mark.parametrize("name", TERMINALS)
def test_nothing_is_fetched(name: str) -> None:
    assert not re.search(r"@font-face|@import|url\(h|href=.http", (PROJECT / "docs" / name).read_text())
