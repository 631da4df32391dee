"""Whole screens, as a terminal without colours shows them: `screens/` holds how each looked when somebody looked at it.

After a change that is meant, write them anew and look at the difference:

    WRITE_SCREENS=1 .venv/bin/python -m pytest tests/ui/test_screens.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from app_runs import app_of, opened, press, run, screen_text, settled
from textual.pilot import Pilot

SCREENS = Path(__file__).parent / "screens"
SMALL, LARGE = (80, 24), (120, 40)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("session-80", SMALL, ["down", "down", "space", "enter"]),
        ("session-120", LARGE, ["end", "x"]),
        ("editor-80", SMALL, ["e", "down", "down", "tab", "down"]),
        ("editor-120", LARGE, ["e", "down", "space", "a"]),
        ("tiny", (20, 5), ["down"]),
    ],
)
def test_screens_look_as_they_did(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: tuple[int, int], keys: list[str]
) -> None:
    shown: list[str] = []

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for key in keys:
            await press(pilot, key)
        # The last line is Textual's own.
        shown.extend(screen_text(pilot).split("\n")[:-1])

    monkeypatch.chdir(file.parent)
    run(app_of(opened(Path(file.name))), steps, size)
    text = "\n".join([*shown, ""])
    path = SCREENS / f"{name}.txt"
    if os.environ.get("WRITE_SCREENS"):
        path.write_text(text)
    assert text == path.read_text()
