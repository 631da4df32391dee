"""The pages of evaluations: nothing runs in them, and they fit a small screen."""

from pathlib import Path
from typing import Any

import compacted_work
import pytest
from helpers import condense
from looked_up import work

from .window import NARROW, Window

pytestmark = pytest.mark.integration


def test_an_evaluation_is_shown_with_its_curves(window: Window, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>.json"
    (tmp_path / name).write_bytes(work().source.data)
    quick = ("--min-tokens", "0", "--cuts", "0.5", "-j", "1", "-p", "speed", "--against", "head")
    condense("evaluate", name, *quick, "--html", "page.html", cwd=tmp_path)
    window.open(tmp_path / "page.html")
    assert window.page.get_by_role("img", name="Curves").locator("polyline").count() > 1
    assert window.page.get_by_text(name, exact=True).is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_recorded_compactions_fit_a_small_screen(scheme: Any, browser: Any, tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(compacted_work.claude_summary())
    condense("evaluate", "--recorded", "session.jsonl", "-j", "1", "--html", "page.html", cwd=tmp_path)
    window = Window(browser, NARROW, scheme)
    window.open(tmp_path / "page.html")
    assert window.page.get_by_role("table").count() == 2
    assert window.ask("document.documentElement.scrollWidth") == NARROW
    assert (window.faults, window.requests) == ([], [])
    window.close()
