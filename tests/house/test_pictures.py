"""The pictures of terminals: right in any viewer, and without anything from elsewhere."""

from __future__ import annotations

import re

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


@pytest.mark.parametrize("name", TERMINALS)
def test_nothing_is_fetched(name: str) -> None:
    assert not re.search(r"@font-face|@import|url\(h|href=.http", (PROJECT / "docs" / name).read_text())
