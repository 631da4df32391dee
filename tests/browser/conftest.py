"""A browser for all tests of pages, and for each of them a window that notes what goes wrong in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from . import chromium
from .window import Window

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium with a home of its own. Where there is none, CI fails and others are told."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = chromium.find()
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(chromium.MISSING)
    home = str(tmp_path_factory.mktemp("chromium"))
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=[*chromium.ARGUMENTS], env=environment)
        yield found
        found.close()


@pytest.fixture
def window(browser: Browser) -> Iterator[Window]:
    """A window of a laptop; the test fails where the page asked for anything, or the console had something to say."""
    opened = Window(browser)
    yield opened
    opened.close()
    assert opened.faults == []
    assert opened.requests == []
