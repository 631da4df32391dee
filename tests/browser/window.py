"""A window of the browser with one page in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Locator

WIDE: Final = 1280
NARROW: Final = 360


class Window:
    """`faults` is what the console and the page's policy complained of, `requests` what was asked for but the page.

    `refused` are those of them that the policy stopped before they left.
    """

    def __init__(self, browser: Browser, width: int = WIDE, scheme: Literal["light", "dark"] = "light") -> None:
        self._context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page = self._context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.refused: list[str] = []
        self._opened = ""
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.on("request", lambda request: self._note(request.url))
        self.page.on(
            "requestfailed", lambda request: self.refused.append(request.url) if request.failure == "csp" else None
        )

    def _refuse(self, dialog: Dialog) -> None:
        self.faults.append(dialog.message)
        dialog.dismiss()

    def _note(self, url: str) -> None:
        if url.partition("#")[0] != self._opened and not url.startswith("data:,"):
            self.requests.append(url)

    def open(self, page: Path) -> None:
        self._opened = page.as_uri()
        self.page.goto(self._opened)

    def block(self, id: str) -> Locator:
        return self.page.locator(f"[id='{id}']")

    def ask(self, script: str) -> Any:
        """What a piece of JavaScript gives."""
        return self.page.evaluate(script)

    def close(self) -> None:
        self._context.close()
