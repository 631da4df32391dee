"""The Chromium that the tests use: one that is there, or one that is installed. Run as a script, it installs one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

VARIABLE: Final = "CONDENSE_CHROMIUM"
NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
ARGUMENTS: Final = (
    "--no-sandbox",  # As root there is none to be had; the pages are our own.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
MISSING: Final = f"There is no Chromium. Install one, or name one in {VARIABLE}; the pages were not tested."
NAMED: Final = os.environ.get(VARIABLE)
"""Read before the tests are kept from seeing it."""


def find() -> str | None:
    """Path of a Chromium on this machine, or of the one that Playwright installed."""
    found = next(filter(None, map(shutil.which, [NAMED] if NAMED else NAMES)), None)
    return found or (None if NAMED else _of_playwright())


def _of_playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> str | None:
    """Install Chromium: as the system's package where we may, or else Playwright's own build."""
    for commands in _ways():
        if all(subprocess.run(command, check=False).returncode == 0 for command in commands) and (found := find()):
            return found
    return None


def _ways() -> list[list[list[str]]]:
    ways = [[[sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        package = ["apt-get", "install", "--yes", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
        ways.insert(0, [["apt-get", "update", "-qq"], package])
    return ways


if __name__ == "__main__":
    print(f"Chromium: {find() or install() or MISSING}")
