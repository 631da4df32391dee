"""Interface between the registry and installed packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct


class FoundPlugin(Struct, frozen=True):
    """An object that a package registered under a name, or the reason why it cannot be loaded."""

    name: str
    origin: str
    thing: Any = None
    error: str = ""


class InstalledProviders(Protocol):
    """Look-up of providers in packages; used only for names that are not built in."""

    def providers(self) -> Sequence[str]:
        """Return all names, without loading any."""

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        """Return everything registered under a name; several results mean that packages clash."""


class NothingInstalled(Struct, frozen=True):
    def providers(self) -> Sequence[str]:
        return ()

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        return ()
