"""Make the pictures of docs/commands.md: the terminal app with a sample transcript, as SVG.

python docs/make_ui_pictures.py
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from terminal_svg import for_any_viewer

from condense_cli.config.loading import PACKAGED
from condense_cli.config.own import UserConfiguration
from condense_cli.config.preset_folders import DEFAULT_PRESET
from condense_cli.providers.registry import Registry
from condense_cli.report.lists.sessions import SessionList
from condense_cli.ui.app import CondenseApp
from condense_cli.ui.choice import Configurations, UserChoice
from condense_cli.ui.opened import Desk

FOLDER = Path(__file__).resolve().parent
SAMPLE = Path("sample_transcripts") / "bugfix-session.jsonl"
SIZE = (110, 30)
PICTURES = {"ui.svg": [*["n"] * 4], "ui-editor.svg": ["e", *["down"] * 4, "tab", *["down"] * 6]}
"""The keys that lead to each."""


async def picture(keys: list[str]) -> str:
    """The screen after these keys, without the fonts that it would fetch from elsewhere."""
    desk = Desk(Configurations(PACKAGED), UserConfiguration(), Registry())
    nothing = [SessionList(1, 0, [], [], [])]
    app = CondenseApp(desk, UserChoice(DEFAULT_PRESET), lambda: nothing, str(SAMPLE))
    async with app.run_test(size=SIZE) as pilot:
        for key in ["", *keys, ""]:
            await pilot.press(*[key] if key else [])
            while not getattr(app.screen, "is_settled", True):
                await pilot.pause(0.05)
        await pilot.pause()
        return re.sub(r"terminal-\d+", "terminal", for_any_viewer(app.export_screenshot(title="condense ui")))


def main() -> None:
    os.chdir(FOLDER.parent)
    for name, keys in PICTURES.items():
        (FOLDER / name).write_text(asyncio.run(picture(keys)))


if __name__ == "__main__":
    main()
